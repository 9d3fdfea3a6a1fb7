"""Sensors that notify temperature, smoke and rain: the setting of the TESLA text's examples."""

from collections.abc import Sequence

from tests.oracle.history import Input, Value, event
from tests.oracle.run import Detected, detect

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000

SENSORS = """
event Temp  (area: string, value: double) on "temps" key area;
event Smoke (area: string)                on "smoke" key area;
event Rain  (area: string)                on "rain"  key area;
"""


def temp(t: float, value: float, area: str = "a") -> Input:
    """A reading, `t` minutes after the beginning."""
    return event("Temp", t=round(t * MINUTE), area=area, value=float(value))


def smoke(t: float, area: str = "a") -> Input:
    return event("Smoke", t=round(t * MINUTE), area=area)


def rain(t: float, area: str = "a") -> Input:
    return event("Rain", t=round(t * MINUTE), area=area)


def sensed(rules: str, events: Sequence[Input], until: float | None = None) -> Detected:
    return detect(SENSORS + rules, events, until=None if until is None else round(until * MINUTE))


def found(detected: Detected, name: str, attribute: str = "value") -> list[tuple[float, Value]]:
    """When something occurred, in minutes, and one of its attributes."""
    return [(one.time / MINUTE, one.attributes.get(attribute)) for one in detected.of(name)]
