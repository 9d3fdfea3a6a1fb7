"""W1: a Temp above 45 within the 10 s before a Smoke of the same sensor; 1,000 sensors, 1 ms an event."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from tocsin.schemas import encode, event_schema
from tocsin.topology import Plan, compile_rules

SENSORS = 1_000
SMOKE_SHARE = 0.5
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
class Event:
    """One record, without its frame."""

    is_smoke: bool
    time_ms: int
    key: bytes
    value: bytes


def plan(app: str = "bench", temps: str = "temps", smoke: str = "smoke") -> Plan:
    """Return the compiled rule on the given topics."""
    return compile_rules(RULES.format(temps=temps, smoke=smoke), app=app)


def events(count: int, start_ms: int, seed: int = 1) -> Iterator[Event]:
    """Yield the same readings for the same seed: as many temperatures as smokes, every second one hot."""
    rng = random.Random(seed)
    temp_schema, smoke_schema = (event_schema(t.to_dict(), "bench") for t in plan().input_types)
    rest: dict[str, object] = {"firmware": "v4.17.2-rc1", "battery": 0.5}
    temps, smokes = [], []
    for number in range(SENSORS):
        sensor = f"sensor-{number:04d}"
        for degrees in (rng.uniform(0, 45) for _ in range(4)):
            cold = {"sensor": sensor, "value": degrees, "unit": "celsius", **rest}
            hot = cold | {"value": degrees + 45.1}
            temps += [(sensor.encode(), encode(temp_schema, reading)) for reading in (cold, hot)]
        smokes.append((sensor.encode(), encode(smoke_schema, {"sensor": sensor, "density": 0.25, **rest})))
    for number in range(count):
        is_smoke = rng.random() < SMOKE_SHARE
        key, value = rng.choice(smokes if is_smoke else temps)
        yield Event(is_smoke, start_ms + number, key, value)
