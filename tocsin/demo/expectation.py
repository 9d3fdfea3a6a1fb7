"""The fires that must be detected, by asking of every smoke what the rule asks, over everything published.

This is the rule of `fire.tocsin` said again in Python, on purpose without anything the engine is made of.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from tocsin.complex_event import ComplexEvent
from tocsin.demo.feed import HOT_VALUE, Published
from tocsin.publisher import Coordinates

WITHIN_MS = 3 * 60 * 1000


class Fire(NamedTuple):
    """A fire, and the records of the smoke and the temperature it was concluded from."""

    area: str
    value: float
    smoke: Coordinates
    temp: Coordinates


class Verdict(NamedTuple):
    """How what was detected compares with what was expected."""

    missing: list[Fire]
    unexpected: list[Fire]
    doubled: list[Fire]

    @property
    def is_exact(self) -> bool:
        return not any(self)


def expected(record: Iterable[Published]) -> set[Fire]:
    """Return for every smoke the fire it makes with the last hot temperature before it, if there is one."""
    by_area: dict[str, list[Published]] = defaultdict(list)
    for event in record:
        by_area[event.area].append(event)
    return {
        Fire(smoke.area, temp.value, smoke.at, temp.at)
        for events in by_area.values()
        for smoke in events
        if smoke.value is None
        if (temp := _last_hot(events, smoke)) and temp.value is not None
    }


def detected(event: ComplexEvent) -> Fire:
    """Return what was detected in the form of what was expected."""
    at = {each.role: Coordinates(each.topic, each.partition, each.offset) for each in event.provenance}
    return Fire(event.attributes["area"], event.attributes["value"], at["s"], at["t"])


def judge(wanted: set[Fire], seen: Iterable[Fire]) -> Verdict:
    """Compare, and sort what is wrong into its kinds."""
    counts = Counter(seen)
    return Verdict(
        missing=sorted(wanted - counts.keys()),
        unexpected=sorted(counts.keys() - wanted),
        doubled=sorted(fire for fire, count in counts.items() if count > 1),
    )


def _last_hot(events: Iterable[Published], smoke: Published) -> Published | None:
    hot = [
        temp
        for temp in events
        if temp.value is not None
        and temp.value > HOT_VALUE
        and _position(temp) < _position(smoke)
        and smoke.time_ms - temp.time_ms <= WITHIN_MS
    ]
    return max(hot, key=_position, default=None)


def _position(event: Published) -> tuple[int, str, int, int]:
    """Return the place of an event in the total order, within its area."""
    return event.time_ms, event.at.topic, event.at.partition, event.at.offset
