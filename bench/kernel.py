"""The engine alone, on one thread: decode, order, detect, encode."""

import time
from dataclasses import dataclass

from workload import Mix, events, plan

from tocsin._engine import Batch, Engine
from tocsin.schemas import event_schema, single_object_prefix

BATCH = 10_000


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """What one run gave."""

    events: int
    complex_events: int
    seconds: float
    stored: int

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def run(count: int, mix: Mix) -> EngineFigures:
    """Feed `count` events in batches as a worker would, and time the engine's share of it."""
    rules = plan()
    frames = {t.name: single_object_prefix(event_schema(t.to_dict(), rules.app)) for t in rules.types}
    fire = rules.defined_types[0]
    engine = Engine(rules.to_json(), "local", 0, {fire.name: (fire.topic, frames[fire.name], 4)})
    for event in rules.input_types:
        engine.add_schema(frames[event.name], event_schema(event.to_dict(), rules.app))

    pairs = list(_batches(count, mix, frames))
    seconds, complex_events = 0.0, 0
    for pair in pairs:
        start = time.perf_counter()
        for batch in pair:
            engine.feed(batch, 2**53)
        engine.run()
        seconds += time.perf_counter() - start
        complex_events += len(engine.take().outputs)
    return EngineFigures(count, complex_events, seconds, engine.stored)


def _batches(count: int, mix: Mix, frames: dict[str, bytes]) -> list[tuple[Batch, Batch]]:
    temps: list[tuple[int, int, bytes | None, bytes | None, None]] = []
    smokes: list[tuple[int, int, bytes | None, bytes | None, None]] = []
    offsets = {True: 0, False: 0}
    pairs = []
    for number, event in enumerate(events(count, 1_700_000_000_000, mix), start=1):
        name, to = ("Smoke", smokes) if event.is_smoke else ("Temp", temps)
        to.append((offsets[event.is_smoke], event.time_ms, event.key, frames[name] + event.value, None))
        offsets[event.is_smoke] += 1
        if number % BATCH == 0 or number == count:
            pairs.append((Batch.build("temps", 0, temps), Batch.build("smoke", 0, smokes)))
            temps, smokes = [], []
    return pairs
