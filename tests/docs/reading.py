"""Examples in documents: fenced blocks of rules, and of histories that say what the rules detect.

A `tocsin` block is a rule file; it is compiled. A block of declarations alone is given to every later block
of its chapter (`##`), so that examples stay short. Behind a block may stand

* a `history` block, run on the rules. A line begins with a time and tells an input event, a fact that holds
  from then on, or, behind an arrow, what is detected at that time: all that the rules of the block detect.

      0 s       Temp(area = "hall", value = 51.5) as t1
      0 s       fact Room(id = "hall", floor = 2)
      1 min     no fact Room("hall")
      90 s      Smoke(area = "hall")
      90 s      -> Fire(area = "hall") {t1, Smoke}
      2 min     .
      end       -> fact Burnt(room = "hall")

  `as` names an event; the braces hold the events something is made of, by their names (an event without one
  goes by its type). Attributes and braces that are not given are not compared. A dot lets time go on; `end`
  is when all is over. Times are durations (`1 min 30 s`) or points in time (`2026-01-02 09:00`), in UTC.

* an `error` block: the rules are wrong, and the message has these lines in it.

A `python` block is a program; it is run, and prints the block behind it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.oracle.history import Change, Input, Occurrence, fact, retraction
from tests.oracle.run import parse
from tocsin.topology import RuleErrors, tree

FENCE = re.compile(r"^```(?P<language>\w*).*\n(?P<text>(?:.*\n)*?)```$|^## (?P<chapter>.*)$", re.MULTILINE)
LINE = re.compile(
    r"(?P<time>\S.*?)(?:\s{2,}|\s+(?=\.$))(?P<arrow>->\s*)?(?P<fact>(?:no )?fact\s+)?"
    r"(?P<name>\.|\w+)(?:\((?P<values>.*?)\))?(?:\s+as (?P<label>\S+))?(?:\s*\{(?P<made_of>.*)\})?"
)
DURATION = re.compile(r"(\d+) (ms|s|min|h|day)\b")
UNIT_MS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "day": 86_400_000}
DECLARATIONS = (tree.Event, tree.Fact, tree.Enumeration, tree.Priorities)


@dataclass(frozen=True)
class Expectation:
    """What is detected at a time: attributes and constituents where they are told."""

    t: int
    name: str
    attributes: tuple[tuple[str, Any], ...] | None
    made_of: tuple[str, ...] | None


@dataclass(frozen=True)
class History:
    """A history block."""

    events: tuple[Input, ...]
    facts: tuple[Change, ...]
    until: int
    expected: tuple[Expectation, ...]
    facts_at_end: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]


@dataclass(frozen=True)
class Example:
    """A block of rules with the declarations it uses, and the blocks behind it."""

    place: str
    text: str
    histories: tuple[History, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class Script:
    """A program in Python, and what it prints."""

    place: str
    code: str
    output: str


def scripts(file: Path) -> list[Script]:
    """All programs of a document; each has the next block as its output."""
    document = file.read_text(encoding="utf-8")
    blocks = [block for block in FENCE.finditer(document) if not block["chapter"]]
    return [
        Script(f"{file.name}:{document.count(chr(10), 0, block.start()) + 2}", block["text"], after["text"])
        for block, after in pairwise(blocks)
        if block["language"] == "python"
    ]


def examples(file: Path) -> list[Example]:
    """All examples of a document, in order."""
    found: list[Example] = []
    shared, document = "", file.read_text(encoding="utf-8")
    for block in FENCE.finditer(document):
        text = block["text"]
        if block["chapter"]:
            shared = ""
        elif block["language"] == "tocsin":
            line = document.count("\n", 0, block.start()) + 2
            found.append(Example(f"{file.name}:{line}", f"{shared}{text}"))
            if only_declares(text):
                shared += text
        elif block["language"] == "history":
            last = found[-1]
            found[-1] = Example(last.place, last.text, (*last.histories, read_history(text)))
        elif block["language"] == "error":
            found[-1] = Example(found[-1].place, found[-1].text, error=text)
    return found


def only_declares(text: str) -> bool:
    """Whether a block holds nothing that detects."""
    try:
        return all(isinstance(declaration, DECLARATIONS) for declaration in parse(text).declarations)
    except RuleErrors:
        return False


def read_history(text: str) -> History:
    """Read a history block."""
    events: list[Input] = []
    facts: list[Change] = []
    expected: list[Expectation] = []
    facts_at_end: list[tuple[str, tuple[tuple[str, Any], ...]]] = []
    until = 0
    for line in filter(None, (line.split("  --")[0].strip() for line in text.splitlines())):
        found = LINE.fullmatch(line)
        assert found is not None, f"this is no line of a history: {line}"
        name, values = found["name"], found["values"]
        if found["time"] == "end":
            assert values is not None
            facts_at_end.append((name, _assigned(values)))
            continue
        t = _time(found["time"])
        until = max(until, t)
        if found["arrow"]:
            made_of = found["made_of"]
            expected.append(
                Expectation(
                    t,
                    name,
                    None if values is None else _assigned(values),
                    None if made_of is None else tuple(sorted(re.split(r"\s*,\s*", made_of.strip()))),
                )
            )
        elif found["fact"] and found["fact"].startswith("no"):
            assert values is not None
            facts.append(retraction(name, t, json.loads(values)))
        elif found["fact"]:
            facts.append(fact(name, t, **dict(_assigned(values or ""))))
        elif name != ".":
            events.append(
                Input(name, t, dict(_assigned(values or "")), found["label"] or _fresh(name, events))
            )
    return History(tuple(events), tuple(facts), until, tuple(expected), tuple(facts_at_end))


def told(occurrence: Occurrence, like: Expectation | None) -> Expectation:
    """An occurrence as a history tells it: with attributes and constituents if that one has them."""
    return Expectation(
        occurrence.time,
        occurrence.type,
        tuple(sorted(occurrence.attributes.items())) if like and like.attributes is not None else None,
        tuple(sorted(set(_labels(occurrence)))) if like and like.made_of is not None else None,
    )


def _labels(occurrence: Occurrence) -> Iterator[str]:
    for constituent in occurrence.constituents:
        yield str(constituent.label) if isinstance(constituent.label, str) else constituent.type


def _fresh(name: str, events: list[Input]) -> str:
    """The type, and a number behind it where there are several without a name."""
    same = sum(event.type == name for event in events)
    return f"{name}{same + 1}" if same else name


def _time(text: str) -> int:
    if re.match(r"\d{4}-", text):
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)
    parts = DURATION.findall(text)
    assert " ".join(f"{amount} {unit}" for amount, unit in parts) == text, f"this is no time: {text}"
    return sum(int(amount) * UNIT_MS[unit] for amount, unit in parts)


def _assigned(values: str) -> tuple[tuple[str, Any], ...]:
    """`area = "hall", prices = [1.5, 2.5]`, in the order of names."""
    written = re.sub(r'("(?:[^"\\]|\\.)*")|(\w+) = ', lambda m: m[1] or f'"{m[2]}": ', values)
    read = json.loads("{" + written + "}")
    return tuple(sorted((name, tuple(v) if isinstance(v, list) else v) for name, v in read.items()))
