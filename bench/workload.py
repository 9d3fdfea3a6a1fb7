"""A Temp above 45 within the 10 s before a Smoke of the same sensor; 1,000 sensors, 1 ms an event."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tocsin.schemas import encode, event_schema
from tocsin.topology import Plan, compile_rules

SENSORS = 1_000
RULES = """
event Temp  (sensor: string, value: double, unit: string, firmware: string, battery: float)
  on "{temps}" key sensor;
event Smoke (sensor: string, density: double, firmware: string, battery: float)
  on "{smoke}" key sensor;

define Fire (sensor: string, value: double)
from   Smoke(sensor = $s) as s
  and  last Temp(sensor = $s, value > 45) as t within 10 s from s
where  sensor = $s, value = t.value;
"""


@dataclass(frozen=True, slots=True)
class Mix:
    """How many of the events are smokes, and how many of the temperatures are above 45."""

    name: str
    smoke_share: float
    hot_share: float


MONITORING = Mix("monitoring: 5 % smoke, 15 % of the temperatures hot", 0.05, 0.15)
"""The mix of the demo: most of what sensors say is that all is well."""
ALARM = Mix("alarm: 50 % smoke, 50 % of the temperatures hot", 0.5, 0.5)
"""Nearly every second event ends an occurrence: the cost of output dominates."""
MIXES = (MONITORING, ALARM)


@dataclass(frozen=True, slots=True)
class Event:
    """One record, without its frame."""

    is_smoke: bool
    time_ms: int
    key: bytes
    value: bytes


def plan(app: str = "bench", temps: str = "temps", smoke: str = "smoke") -> Plan:
    """Return the compiled rule on the given topics."""
    return compile_rules(RULES.format(temps=temps, smoke=smoke), app=app)


def events(count: int, start_ms: int, mix: Mix, seed: int = 1) -> Iterator[Event]:
    """Yield the same readings for the same mix and seed."""
    rng = random.Random(seed)
    temp_schema, smoke_schema = (event_schema(t.to_dict(), "bench") for t in plan().input_types)
    rest: dict[str, object] = {"firmware": "v4.17.2-rc1", "battery": 0.5}
    hot, cold, smokes = [], [], []
    for number in range(SENSORS):
        sensor = f"sensor-{number:04d}"
        for degrees in (rng.uniform(0, 45) for _ in range(4)):
            reading = {"sensor": sensor, "value": degrees, "unit": "celsius", **rest}
            cold.append((sensor.encode(), encode(temp_schema, reading)))
            hot.append((sensor.encode(), encode(temp_schema, reading | {"value": degrees + 45.1})))
        smokes.append((sensor.encode(), encode(smoke_schema, {"sensor": sensor, "density": 0.25, **rest})))
    for number in range(count):
        is_smoke = rng.random() < mix.smoke_share
        temps = hot if rng.random() < mix.hot_share else cold
        key, value = rng.choice(smokes if is_smoke else temps)
        yield Event(is_smoke, start_ms + number, key, value)
