"""Reading and printing a rule file that uses every construct."""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tocsin.topology import Source, format_rules, parse
from tocsin.topology.errors import Report
from tocsin.topology.tokens import tokenize

RULES = Path(__file__).parents[1] / "tests" / "topology" / "right"
ROUNDS = 20


@dataclass(frozen=True, slots=True)
class ParsingFigures:
    """The shortest of several runs over one file, beside cutting it into tokens only."""

    characters: int
    tokens_ms: float
    parse_ms: float
    format_ms: float

    @property
    def ratio(self) -> float:
        """How many times longer than cutting into tokens it takes to parse and to print."""
        return self.format_ms / self.tokens_ms


def text_of(size: int) -> str:
    """Return a file of at least that many characters: rules of every kind, over and over."""
    text = ""
    for path in itertools.cycle(sorted(RULES.glob("*.tocsin"))):
        text += path.read_text(encoding="utf-8") + "\n"
        if len(text) >= size:
            break
    return text


def run(size: int = 10_000) -> ParsingFigures:
    """Time a file of at least `size` characters."""
    text = text_of(size)
    return ParsingFigures(
        len(text),
        _shortest_ms(lambda: tokenize(Report(Source(text)))),
        _shortest_ms(lambda: parse(text)),
        _shortest_ms(lambda: format_rules(text)),
    )


def _shortest_ms(work: Callable[[], object]) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return (time.perf_counter() - start) * 1000

    return min(once() for _ in range(ROUNDS))


if __name__ == "__main__":
    figures = run()
    print(
        f"{figures.characters:,} characters: tokens {figures.tokens_ms:.1f} ms, "
        f"parsed {figures.parse_ms:.1f} ms, parsed and printed {figures.format_ms:.1f} ms "
        f"({figures.ratio:.1f} times the tokens)"
    )
