"""Logs of the fire example, and what a replay of them gives."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tocsin.complex_event import ComplexEvent
from tocsin.replay import InputSchemas, Replay, Summary, open_files
from tocsin.topology import Plan, compile_rules

FIRE = """
event Temp  (area: string, value: double) on "temps" key area lateness 1 s;
event Smoke (area: string)                on "smoke" key area lateness 1 s;

define Fire (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > 45) as t within 3 min from s
where  area = $a, value = t.value;
"""

START_MS = 1_767_344_400_000
MINUTE_MS = 60_000

Row = Mapping[str, Any]


class Replayed(list[ComplexEvent]):
    """What was detected, and how it went."""

    def __init__(self, replay: Replay) -> None:
        super().__init__(event for found in replay.run() for event in found)
        self.summary: Summary = replay.summary

    @property
    def identities(self) -> list[str]:
        return [event.identity for event in self]

    @property
    def values(self) -> list[object]:
        return [event.attributes["value"] for event in self]


Run = Callable[..., Replayed]
WriteLines = Callable[[str, Iterable[Row]], Path]


def temp(minutes: float, value: float, area: str = "hall") -> Row:
    return {"type": "Temp", "time": START_MS + int(minutes * MINUTE_MS), "area": area, "value": value}


def smoke(minutes: float, area: str = "hall") -> Row:
    return {"type": "Smoke", "time": START_MS + int(minutes * MINUTE_MS), "area": area}


def record(event: Row, partition: int, offset: int) -> Row:
    """Return the record that an event is on its topic."""
    topic = {"Temp": "temps", "Smoke": "smoke"}[event["type"]]
    value = {name: given for name, given in event.items() if name not in {"type", "time"}}
    where = {"topic": topic, "partition": partition, "offset": offset}
    return {**where, "timestamp": event["time"], "key": event["area"], "value": value}


@pytest.fixture(scope="session")
def fire() -> Plan:
    return compile_rules(FIRE, app="fire")


@pytest.fixture
def compile_fire(unique: Callable[[str], str]) -> Callable[[str, str], Plan]:
    """Compiles the fire rules with given topics, for an application of the test's own."""

    def build(temps: str, smoke: str) -> Plan:
        text = FIRE.replace('"temps"', f'"{temps}"').replace('"smoke"', f'"{smoke}"')
        return compile_rules(text, app=unique("fire"))

    return build


@pytest.fixture
def run(fire: Plan) -> Run:
    """Replays files, by the fire rules unless others are given."""

    def replay(
        *paths: Path, plan: Plan = fire, event: str | None = None, until_ms: int | None = None
    ) -> Replayed:
        known = InputSchemas(plan, None)
        with ExitStack() as opened:
            log = open_files(paths, plan, known, event)
            for stream in log:
                opened.callback(stream.close)
            return Replayed(Replay(plan, log, known, until_ms=until_ms))

    return replay


@pytest.fixture
def lines(tmp_path: Path) -> WriteLines:
    """Writes a file of JSON lines."""

    def write(name: str, rows: Iterable[Row]) -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return path

    return write
