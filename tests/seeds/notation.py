"""How the tests on Snoop write histories and occurrences: in one line each.

    history("A1 B1@2.5 A2")          A1 at 1 s, B1 at 2.5 s, A2 at 3 s; the type is what the number stands
    behind history("e1¹ e2¹")               the seed's own notation: e1¹ is the first occurrence of E1
    occurrences("A ; B", "A1 A2 B1", "recent")      ["A2 B1"]: the constituents of each, in order

A point in time is written @ and its seconds: `A1 @3` is what `periodic(A, 2 s, B)` makes of an A at 1 s.
"""

import re
from collections.abc import Iterable, Sequence

from tests.oracle import run, snoop
from tests.oracle.history import Input, Occurrence, event
from tests.oracle.named import without_named
from tests.oracle.snoop_parts import Path
from tests.oracle.world import World
from tocsin.topology import tree

CONTEXTS = ("unrestricted", "recent", "chronicle", "continuous", "cumulative")

_EVENT = re.compile(r"(?P<label>(?:e(?P<number>\d)[¹²³⁴]|(?P<letters>[A-Z]+)\d))(?:@(?P<seconds>[\d.]+))?")


def history(line: str) -> list[Input]:
    """The input events of a line; without a time, the n-th occurs at n seconds."""
    events = []
    for n, word in enumerate(line.split(), start=1):
        written = _EVENT.fullmatch(word)
        assert written, word
        kind = written["letters"] or f"E{written['number']}"
        t = int(float(written["seconds"] or n) * 1000)
        events.append(event(kind, t=t, label=written["label"]))
    return events


def declarations(events: Iterable[Input], *others: str) -> str:
    """All the types, without attributes."""
    return "".join(f"event {name}; " for name in sorted({event.type for event in events} | set(others)))


def rule(expression: str, context: str, line: str) -> str:
    """The program with the expression as its only definition."""
    named = re.findall(r"\b[A-Z]\d?\b", expression)
    return (
        f"{declarations(history(line), *named)} define Found from {expression} context {context} unbounded;"
    )


def occurrences(expression: str, line: str, context: str, *, until: float | None = None) -> list[str]:
    """What occurs of an expression in a history; `context` may say `disjoint` too."""
    until_ms = None if until is None else int(until * 1000)
    detected = run.detect(rule(expression, context, line), history(line), until=until_ms)
    return [constituents(occurrence) for occurrence in detected.of("Found")]


def constituents(occurrence: Occurrence) -> str:
    """The set that an occurrence is, in the order of time."""
    return sequence(occurrence.constituents)


def sequence(occurrences: Iterable[Occurrence]) -> str:
    ordered = sorted(occurrences, key=lambda o: o.position)
    return " ".join(f"@{o.time / 1000:g}" if o.type == "Timer" else str(o.label) for o in ordered)


def players(occurrence: Occurrence, role: str) -> str:
    """What plays a role, in order."""
    return sequence(occurrence.roles.get(role, ()))


def stored(expression: str, line: str, context: str, *, after: str) -> dict[Path, list[list[str]]]:
    """What each operator node holds when an event has been handled: for each operand, its list."""
    world = World.of(without_named(run.parse(rule(expression, context, line))), history(line))
    definition = world.program.declarations[-1]
    assert isinstance(definition, tree.Define)
    at = next(o.position for o in world.events if o.label == after)
    (lists,) = snoop.stored(definition, world, at).values()
    return {path: [[sequence(e.occurrences) for e in held] for held in node] for path, node in lists.items()}


def sets(*written: str) -> set[str]:
    """Occurrences whose order does not matter."""
    return set(written)


def lines(found: Sequence[str]) -> str:
    """Occurrences in one line: `A1 B1 | A2 B1`."""
    return " | ".join(found)
