"""A seeded feed of sensor readings, paced by the clock and somewhat out of order."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tocsin.publisher import Coordinates, Publisher

AREAS = 100
EVENTS_PER_S = 200
SMOKE_SHARE = 0.05
HOT_SHARE = 0.15
HOT_VALUE = 45.0
MAX_DISORDER_MS = 800
"""Below the lateness of the rules, so that nothing is late."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sensor says: a temperature, or smoke if it has no value."""

    area: str
    value: float | None
    delay_ms: int
    """For how long the sensor held it back."""


@dataclass(frozen=True, slots=True)
class Published:
    """A reading that the broker has."""

    area: str
    value: float | None
    time_ms: int
    at: Coordinates


def readings(seed: int) -> Iterator[Reading]:
    """Yield the same endless sequence for the same seed."""
    rng = random.Random(seed)
    while True:
        area = f"area-{rng.randrange(AREAS):02d}"
        delay_ms = rng.randrange(MAX_DISORDER_MS)
        if rng.random() < SMOKE_SHARE:
            yield Reading(area, None, delay_ms)
        else:
            low, high = (HOT_VALUE, 90.0) if rng.random() < HOT_SHARE else (15.0, HOT_VALUE)
            yield Reading(area, round(rng.uniform(low, high), 1), delay_ms)


class Feed:
    """Publishes readings at a steady rate, and tells of each that the broker has it."""

    def __init__(self, publisher: Publisher, seed: int, on_published: Callable[[Published], None]) -> None:
        self._publisher = publisher
        self._on_published = on_published
        self._readings = readings(seed)
        self._sent = 0
        for type_name in ("Temp", "Smoke"):
            publisher.prepare(type_name)
        self._begin_s = time.monotonic()

    def publish_due(self) -> None:
        """Publish the readings whose turn has come."""
        due = int((time.monotonic() - self._begin_s) * EVENTS_PER_S)
        while self._sent < due:
            self._sent += 1
            reading = next(self._readings)
            self._publish(reading.area, reading.value, _now_ms() - reading.delay_ms)

    def finish(self) -> None:
        """Publish a fire in every area and wait until the broker has everything.

        An area's last fire is detected after all that happened before it in its partition: whoever has seen
        all of them knows that every reading has been dealt with.
        """
        now_ms = _now_ms()
        for number in range(AREAS):
            self._publish(f"area-{number:02d}", HOT_VALUE + 1, now_ms)
            self._publish(f"area-{number:02d}", None, now_ms + 1)
        self._publisher.flush()

    def _publish(self, area: str, value: float | None, time_ms: int) -> None:
        def delivered(at: Coordinates) -> None:
            self._on_published(Published(area, value, time_ms, at))

        attributes: dict[str, object] = {"area": area}
        if value is not None:
            attributes["value"] = value
        self._publisher.publish("Smoke" if value is None else "Temp", attributes, time_ms, delivered)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
