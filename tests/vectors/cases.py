"""Cases of other engines' suites: how they are read from a folder, and what a translator makes of one."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the oracle is needed to run cases, not to read them
    from tests.oracle.run import Detected

CLOCK = "__clock__"
"""The type of an entry among the events that only moves the clock."""


class NoCases(Exception):
    """The folder holds no cases, or something that is none."""


@dataclass(frozen=True)
class Event:
    """An event of a case. Events of the same time stand in the order of the case."""

    id: str
    type: str
    t: int
    attrs: Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A case as the file has it; `source` is the name of the file."""

    id: str
    source: str
    families: tuple[str, ...]
    timeline: tuple[Event, ...]
    pattern: Mapping[str, Any]
    expected: Any
    compare: str
    notes: str
    start_t: int | None
    end_t: int | None

    @property
    def events(self) -> tuple[Event, ...]:
        """The timeline without the entries that only move the clock."""
        return tuple(event for event in self.timeline if event.type != CLOCK)

    @property
    def until(self) -> int | None:
        """How far time goes, or None where there is nothing to tell it."""
        times = [event.t for event in self.timeline] + ([] if self.end_t is None else [self.end_t])
        return max(times, default=None)


Check = Callable[["Detected"], str | None]
"""Holds what was detected against what a case expects: None, or a sentence on the difference."""


@dataclass(frozen=True)
class Translation:
    """A case in Tocsin: a rule file, the events to run it on, how far time goes, and what must come out.

    The rule file is whole: it declares its events, too (`declare` writes those declarations). The events are
    given to the oracle under their ids as labels. `since` is when rules start, if not with the first event.
    """

    text: str
    events: tuple[Event, ...]
    check: Check
    until: int | None = None
    since: int | None = None


class Inexpressible(Exception):
    """Raised for a case that the language has no words for; `construct` names what is missing."""

    def __init__(self, construct: str) -> None:
        super().__init__(construct)
        self.construct = construct


Translator = Callable[[Case], Translation]


def load(folder: Path) -> list[Case]:
    """Read all cases of a folder, in the order of files and of cases in them."""
    if not folder.is_dir():
        raise NoCases(f"{folder} is not a folder. Name one with cases: make vectors VECTORS=FOLDER.")
    cases = [case for file in sorted(folder.glob("*.json")) for case in _read(file)]
    if not cases:
        raise NoCases(f"{folder} has no *.json file with cases.")
    return cases


def _read(file: Path) -> Iterator[Case]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        for case in content["cases"]:
            yield _case(file.stem, case)
    except (ValueError, TypeError, KeyError) as error:
        raise NoCases(f"{file} is not a file of cases: {type(error).__name__}: {error}") from error


def _case(source: str, case: Mapping[str, Any]) -> Case:
    return Case(
        id=case["id"],
        source=source,
        families=tuple(case.get("families", ())),
        timeline=tuple(
            Event(event["id"] or CLOCK, event["type"], event["t"], event.get("attrs") or {})
            for event in case["events"]
        ),
        pattern=case["pattern"],
        expected=case["expected"],
        compare=case["compare"],
        notes=case.get("notes") or "",
        start_t=case.get("start_t"),
        end_t=case.get("end_t"),
    )
