"""The engine alone, on one thread, decode and encode included: one rule, many, and how both grow.

Sensors send readings, one event a millisecond: a temperature (above 45 more often than not), smoke or rain.
Rates are of CPU time, so that what else the machine does matters less.
"""

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import compiling
from rich.console import Console
from rich.table import Table

from tocsin._engine import Batch, Engine
from tocsin.schemas import encode, event_schema, single_object_prefix
from tocsin.topology import Plan, compile_rules

SENSORS = 1_000
BATCH = 10_000
START_MS = 1_700_000_000_000
PAGE = 4096

EVENTS = """
event Temp  (sensor: string, value: double) on "temps" key sensor;
event Smoke (sensor: string)                on "smoke" key sensor;
event Rain  (sensor: string)                on "rain" key sensor;
"""

Row: TypeAlias = tuple[int, int, bytes | None, bytes | None, None]


@dataclass(frozen=True, slots=True)
class Workload:
    """Rules, of hundred events how many are temperatures, smoke and rain, and how the events come."""

    name: str
    rules: str
    shares: tuple[int, int, int]
    batch: int = BATCH
    json: bool = False


@dataclass(frozen=True, slots=True)
class DetectionFigures:
    """What one run gave."""

    events: int
    complex_events: int
    seconds: float
    stored: int

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rules in an engine, and how long it took to get them there."""

    plan: Plan
    engine: Engine
    frames: dict[str, bytes]
    compile_seconds: float
    load_seconds: float


def fire(name: str, select: str, window: str, *, only: str = "", extra: str = "") -> str:
    """Return a rule for a temperature above 45 before smoke of the same sensor."""
    return (
        f"define {name} (sensor: string, value: double)\n"
        f"from Smoke(sensor = $s{only}) as s\n"
        f" and {select} Temp(sensor = $s{only}, value > 45) as t within {window} from s{extra}\n"
        "where sensor = $s, value = t.value;\n"
    )


def dry(window: str) -> str:
    """Return the rule without rain between the two."""
    return fire("W3", "last", window, extra="\n and not Rain(sensor = $s) between t and s")


ONE_RULE = (
    Workload("W1 last within 10 s", fire("W1", "last", "10 s"), (50, 50, 0)),
    Workload("W2 each within 1 s", fire("W2", "each", "1 s"), (50, 50, 0)),
    Workload("W3 last within 10 s, no rain", dry("10 s"), (45, 45, 10)),
    Workload(
        "W4 a thousand rules, one a sensor",
        "".join(fire(f"W4x{i}", "last", "10 s", only=f', sensor = "sensor-{i:04d}"') for i in range(SENSORS)),
        (50, 50, 0),
    ),
)


def tesla(number: int, rng: random.Random) -> str:
    """Return a rule of three constituents in a chain, with constants of its own."""
    sensor, low = f'"sensor-{rng.randrange(SENSORS):04d}"', rng.randrange(0, 90)
    return (
        f"define T{number} (value: double)\n"
        f"from Smoke(sensor = $s, sensor = {sensor}) as s\n"
        f" and last Temp(sensor = $s, value > {low}, value <= {low + 10}) as t within 15 s from s\n"
        " and each Rain(sensor = $s) as r within 15 s from t\n"
        "where value = t.value;\n"
    )


def seeds_load(count: int) -> Workload:
    """Return so many rules of TESLA's kind."""
    rng = random.Random(count)
    return Workload(f"{count:,} TESLA rules", "".join(tesla(i, rng) for i in range(count)), (45, 45, 10))


def load(rules: str) -> Loaded:
    """Compile rules and load them into an engine."""
    began = time.process_time()
    plan = compile_rules(rules, app="bench")
    compiled = time.process_time()
    frames = {t.name: single_object_prefix(event_schema(t.to_dict(), plan.app)) for t in plan.types}
    destinations = {t.name: (t.topic, frames[t.name], 4) for t in plan.defined_types}
    text = plan.to_json()
    loading = time.process_time()
    engine = Engine(text, plan.subtopologies[0].name, 0, destinations)
    loaded = time.process_time()
    for event in plan.input_types:
        engine.add_schema(frames[event.name], event_schema(event.to_dict(), plan.app))
    return Loaded(plan, engine, frames, compiled - began, loaded - loading)


def run(rules: Loaded, workload: Workload, count: int, seed: int = 1) -> DetectionFigures:
    """Feed that many events in batches as a worker would, and time the engine's share of it."""
    engine, seconds, complex_events = rules.engine, 0.0, 0
    for batches in feed(rules, workload, count, seed):
        start = time.process_time()
        for batch in batches:
            engine.feed(batch, 2**53)
        engine.run()
        seconds += time.process_time() - start
        complex_events += len(engine.take().outputs)
    return DetectionFigures(count, complex_events, seconds, engine.stored)


def feed(rules: Loaded, workload: Workload, count: int, seed: int = 1) -> Iterator[list[Batch]]:
    """Yield the events of a workload in batches, one of each topic at a time."""
    record = records(rules, random.Random(seed), workload)
    topics = rules.plan.subtopologies[0].topics
    offsets = dict.fromkeys(topics, 0)
    for first in range(0, count, workload.batch):
        rows: dict[str, list[Row]] = {topic: [] for topic in topics}
        for number in range(first, min(first + workload.batch, count)):
            topic, key, value = record()
            if topic in rows:
                rows[topic].append((offsets[topic], START_MS + number, key, value, None))
                offsets[topic] += 1
        yield [Batch.build(topic, 0, of_topic) for topic, of_topic in rows.items()]


def records(rules: Loaded, rng: random.Random, workload: Workload) -> Callable[[], tuple[str, bytes, bytes]]:
    """Return a function that gives the next record: topic, key and value, from a pool made before."""
    schemas = {t.name: event_schema(t.to_dict(), "bench") for t in rules.plan.input_types}
    pools: list[list[tuple[str, bytes, bytes]]] = []
    for name, topic, copies in (("Temp", "temps", 8), ("Smoke", "smoke", 1), ("Rain", "rain", 1)):
        pool = []
        for number in range(SENSORS * copies):
            sensor = f"sensor-{number % SENSORS:04d}"
            reading: dict[str, object] = {"sensor": sensor}
            if name == "Temp":
                reading["value"] = rng.uniform(0, 100)
            if workload.json:
                value = json.dumps(reading).encode()
            else:
                value = rules.frames[name] + encode(schemas[name], reading)
            pool.append((topic, sensor.encode(), value))
        pools.append(pool)

    def draw() -> tuple[str, bytes, bytes]:
        return rng.choice(rng.choices(pools, workload.shares)[0])

    return draw


def resident_mb() -> float:
    """Return how much memory the process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def table(console: Console, title: str, workloads: Sequence[Workload], count: int) -> None:
    """Run workloads and print a line each; ratios are to the first."""
    result = Table(
        title, "M events/s", "ratio", "M complex/s", "partial matches", "nodes", "compile s", "load s", "MB"
    )
    first = 0.0
    for workload in workloads:
        console.print(f"{workload.name}: {count:,} events…")
        before = resident_mb()
        rules = load(EVENTS + workload.rules)
        figures = run(rules, workload, count)
        first = first or figures.rate
        result.add_row(
            workload.name,
            f"{figures.rate / 1e6:.2f}",
            f"{figures.rate / first:.2f}",
            f"{figures.complex_events / figures.seconds / 1e6:.2f}",
            f"{figures.stored:,}",
            f"{len(rules.plan.nodes):,}",
            f"{rules.compile_seconds:.2f}",
            f"{rules.load_seconds:.2f}",
            f"{max(0.0, resident_mb() - before):.0f}",
        )
    console.print(result)


def loading(console: Console) -> None:
    """Print how long varied rules take to compile and to load, side by side."""
    result = Table("varied rules", "nodes", "compile s", "load s", "load of compile")
    for count in (1_000, 10_000):
        console.print(f"{count:,} rules…")
        rules = load("\n".join(compiling.rules(count)))
        share = rules.load_seconds / rules.compile_seconds
        result.add_row(
            f"{count:,}",
            f"{len(rules.plan.nodes):,}",
            f"{rules.compile_seconds:.2f}",
            f"{rules.load_seconds:.2f}",
            f"{share:.2f}",
        )
    console.print(result)


def main() -> None:
    """Run all workloads."""
    console = Console()
    table(console, "one rule, and a thousand like it", ONE_RULE, 1_000_000)
    table(console, "the load of the TESLA text", [seeds_load(5_000)], 500_000)
    growth = [
        Workload(f"{n:,} rules", "".join(tesla(i, random.Random(i)) for i in range(n)), (45, 45, 10))
        for n in (1, 10, 100, 1_000, 10_000)
    ]
    table(console, "more rules", growth, 200_000)
    windows = [
        Workload(f"last within {window}", fire("W", "last", window), (50, 50, 0))
        for window in ("1 s", "10 s", "1 min", "10 min", "1 h")
    ]
    table(console, "longer windows", windows, 500_000)
    formats = [replace(ONE_RULE[0], name=f"W1, {'JSON' if js else 'Avro'}", json=js) for js in (False, True)]
    table(console, "formats", formats, 500_000)
    sizes = [replace(ONE_RULE[0], name=f"W1, {n:,} a batch", batch=n) for n in (100, 1_000, 10_000, 100_000)]
    table(console, "sizes of batches", sizes, 500_000)
    loading(console)


if __name__ == "__main__":
    main()
