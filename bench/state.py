"""More state than memory: a task on its RocksDB store with a bound for what is in memory, beside one without.

The last temperatures of many sensors are kept; some are replaced, some looked at. Each variant has a process
of its own, since memory that was used once is seldom given back.
"""

import multiprocessing
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random

from detection import resident_mb
from rich.console import Console
from rich.table import Table

from tocsin._engine import Batch, Engine
from tocsin.topology import compile_rules
from tocsin.workers.store import Checkpoint, RocksStore
from tocsin.workers.task import Task

MIB = 1024 * 1024
SENSORS = 200_000
BATCH = 5_000
BATCHES = 100
SMOKE_SHARE = 0.2
BOUND_MIB = 16
ENOUGH_MIB = 2**20
RULES = """
event Temp (sensor: string, value: double, note: string) on "temps" key sensor;
event Smoke (sensor: string) on "smoke" key sensor;
define Fire (sensor: string, value: double, note: string)
from   Smoke(sensor = $s) as smoke and last Temp(sensor = $s, value > 45) as t within 24 h from smoke
where  sensor = $s, value = t.value, note = t.note;
define Paired (sensor: string, note: string)
from   (Temp(sensor = $s) as t ; Smoke(sensor = $s)) within 24 h
where  sensor = $s, note = t.note
context chronicle;
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """What one variant came to."""

    variant: str
    counted_mib: float
    away: int
    resident_mb: float
    resident_before_mb: float
    rate: float
    found: int


class Feed:
    """The same readings for every variant."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._rng = Random(1)
        self._offsets = dict.fromkeys(task.engine.topics, 0)
        self._time_ms = 0
        self.found = 0

    def skip(self, batches: int) -> None:
        """Be where the feed was after so many batches."""
        for _ in range(batches):
            self._draw()

    def _draw(self) -> tuple[str, list[int]]:
        self._time_ms += 1_000
        topic = "smoke" if self._rng.random() < SMOKE_SHARE else "temps"
        self._offsets[topic] += BATCH
        return topic, [self._rng.randrange(SENSORS) for _ in range(BATCH)]

    def step(self) -> None:
        """Read and commit a batch."""
        topic, sensors = self._draw()
        begin = self._offsets[topic] - BATCH
        records = []
        for number, sensor in enumerate(sensors):
            name = b"sensor-%06d" % sensor
            rest = b', "value": 50, "note": "%s"}' % (name * 8) if topic == "temps" else b"}"
            records.append((begin + number, self._time_ms, name, b'{"sensor": "%s"' % name + rest, None))
        self._task.feed(Batch.build(topic, 0, records), self._time_ms)
        for source in self._task.engine.topics:
            self._task.engine.advance(source, self._time_ms + 1)
        self._task.run()
        commit = self._task.take()
        self.found += len(commit.outputs)
        self._task.committed(commit, Checkpoint("changelog", self._time_ms))


def run(variant: str, folder: Path, bound_mib: int, *, again: bool) -> Figures:
    """Feed a task; `again` goes on from what an earlier one left in the folder."""
    plan = compile_rules(RULES, app="bench")
    before_mb = resident_mb()
    destinations = {t.name: (t.topic, b"", 1) for t in plan.defined_types}
    engine = Engine(plan.to_json(), "local", 0, destinations, cache_bytes=bound_mib * MIB)
    task = Task(0, engine, RocksStore(folder), 0)
    feed = Feed(task)
    if again:
        task._load()  # noqa: SLF001 – a restore without a changelog
        feed.skip(BATCHES)
    start = time.process_time()
    for _ in range(BATCHES):
        feed.step()
    seconds = time.process_time() - start
    counted, away = engine.cached
    task.store.close()
    rate = BATCHES * BATCH / seconds
    return Figures(variant, counted / MIB, away, resident_mb(), before_mb, rate, feed.found)


def main() -> int:
    """Print what each variant has in memory; fail if they do not find the same."""
    console = Console()
    result = Table("", "counted MiB", "away", "resident MB", "before", "K events/s", "found")
    figures = []
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
    ):
        for name, bound in (("no bound", ENOUGH_MIB), (f"bound of {BOUND_MIB} MiB", BOUND_MIB)):
            for again in (False, True):
                variant = f"{name}, {'started again' if again else 'from nothing'}"
                at = Path(folder) / name.replace(" ", "-")
                figures.append(pool.apply(run, (variant, at, bound), {"again": again}))
    for of in figures:
        result.add_row(
            of.variant,
            f"{of.counted_mib:.1f}",
            f"{of.away:,}",
            f"{of.resident_mb:.0f}",
            f"{of.resident_before_mb:.0f}",
            f"{of.rate / 1e3:.0f}",
            f"{of.found:,}",
        )
    console.print(result)
    same = [of.found for of in figures[:2]] == [of.found for of in figures[2:]]
    console.print("both find the same" if same else "they do not find the same")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
