"""Workers join, leave and are killed while events flow: the longest gap in the output of each task.

Tasks that move are away for as long as it takes to bring their state; tasks that stay must not wait for that.
"""

import itertools
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table
from stage import Stage, await_that, load

from tocsin.services import ServiceSet

PARTITIONS = 6
SENSORS = 120_000
RATE = 600
STEADY_S = 5.0
COMMIT_INTERVAL_MS = 100
RULES = """
event Reading (sensor: string, value: long, note: string) on "readings" key sensor;

define Risen (sensor: string)
from   Reading(sensor = $s, value > 0) as b and last Reading(sensor = $s, value = 0) as a within 24 h from b
where  sensor = $s;
"""
NOTE = "x" * 200


class Feed:
    """Readings at a steady rate, each of which ends an occurrence."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def fill(self) -> None:
        """Give every sensor something to be remembered."""
        for number in range(SENSORS):
            self._produce(number, 0)
        self._stage.producer.flush()

    def _produce(self, number: int, value: int) -> None:
        sensor = f"sensor-{number:06d}"
        record = f'{{"sensor": "{sensor}", "value": {value}, "note": "{NOTE}"}}'
        while True:
            try:
                self._stage.producer.produce("readings", record.encode(), sensor.encode())
            except BufferError:
                self._stage.producer.poll(0.1)
            else:
                self._stage.producer.poll(0)
                return

    def _run(self) -> None:
        rng, start, sent = Random(1), time.monotonic(), 0
        while not self._ending.is_set():
            while sent < (time.monotonic() - start) * RATE:
                self._produce(rng.randrange(SENSORS), 1)
                sent += 1
            time.sleep(0.002)

    def start(self) -> None:
        """Begin with the steady rate."""
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._ending.set()
        self._thread.join()


@dataclass(frozen=True, slots=True)
class Phase:
    """What happened, and the longest gap of each task meanwhile, in seconds."""

    name: str
    seconds: float
    stayed: list[float]
    moved: list[float]


class Show:
    """The steps, and what they did to the output."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._owners: dict[str, str] = {}
        self.phases: list[Phase] = []

    def phase(self, name: str, change: Callable[[], object], workers: set[str]) -> None:
        """Do something, wait until the tasks run where they belong, and note the gaps until a while later."""
        begin = time.time()
        change()
        owners = self._stage.placed(workers, PARTITIONS)
        settled = time.time()
        await_that("everything to flow", lambda: self._flows(settled))
        time.sleep(STEADY_S)
        end = time.time()
        gaps = {f"local-{partition}": self._gap(partition, begin, end) for partition in range(PARTITIONS)}
        stayed = [gap for task, gap in gaps.items() if self._owners.get(task) == owners[task]]
        moved = [gap for task, gap in gaps.items() if self._owners.get(task) != owners[task]]
        self.phases.append(Phase(name, settled - begin, stayed, moved))
        self._owners = owners

    def _flows(self, since: float) -> bool:
        return {a.partition for a in self._stage.reader.arrivals if a.at_s > since} == set(range(PARTITIONS))

    def _gap(self, partition: int, begin: float, end: float) -> float:
        times = [a.at_s for a in list(self._stage.reader.arrivals) if a.partition == partition]
        within = [max(min(times, default=begin), begin), *(t for t in times if begin <= t <= end), end]
        return max(after - before for before, after in itertools.pairwise(within))


def main() -> None:
    """Run the steps and print a table."""
    console = Console()
    with (
        ServiceSet.start(progress=console.print) as services,
        tempfile.TemporaryDirectory() as folder,
        Stage(services.bootstrap, Path(folder), "rebalance", RULES, PARTITIONS) as stage,
    ):
        feed, show = Feed(stage), Show(stage)

        def start(name: str) -> Callable[[], object]:
            return lambda: stage.start(name, commit_interval_ms=COMMIT_INTERVAL_MS)

        feed.fill()
        stage.start("one", commit_interval_ms=COMMIT_INTERVAL_MS)
        stage.placed({"one"}, PARTITIONS)
        await_that("the state to be there", lambda: _read(stage) >= SENSORS)
        feed.start()
        try:
            show.phase("begins", lambda: None, {"one"})
            show.phase("nothing happens", lambda: None, {"one"})
            show.phase("two joins", start("two"), {"one", "two"})
            show.phase("three joins", start("three"), {"one", "two", "three"})
            show.phase("two leaves", lambda: stage.stop("two"), {"one", "three"})
            show.phase("three is killed", lambda: stage.kill("three"), {"one"})
            show.phase("three comes back", start("three"), {"one", "three"})
        finally:
            feed.stop()
        result = Table("", "settled s", "stay", "longest gap s", "move", "longest gap s")
        for phase in show.phases[1:]:
            result.add_row(phase.name, f"{phase.seconds:.1f}", *_cells(phase.stayed), *_cells(phase.moved))
        console.print(
            f"{RATE} events/s over {PARTITIONS} tasks, {SENSORS:,} sensors remembered, commits every "
            f"{COMMIT_INTERVAL_MS} ms; load {load()}"
        )
        console.print(result)


def _read(stage: Stage) -> int:
    return sum(told.task.counts["read"] for told in stage.tasks().values())


def _cells(gaps: list[float]) -> tuple[str, str]:
    return str(len(gaps)), f"{max(gaps):.2f}" if gaps else ""


if __name__ == "__main__":
    main()
