"""Taking tasks over with much state: from nothing, with a local copy, and with a warm standby.

One worker fills its state; then workers come, are killed and come back. For each task that a worker gets it
is printed how long that took to notice, what was replayed of the changelog, and how long that took. SIZE_MB
says how much state there is in all.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from stage import Stage, await_that, load

from tocsin.services import ServiceSet
from tocsin.workers import TaskState
from tocsin.workers.status import Told

MB = 1_000_000
SIZE_MB = int(os.environ.get("SIZE_MB", "100"))
NOTE_BYTES = 4_000
PARTITIONS = 2
DEADLINE_S = 900.0
SLICE = 500
CHANGED = 0.01
"""Share of the state that changes between two lives of a worker."""
RULES = """
event Temp (sensor: string, note: string) on "restore-temps" key sensor idle 5 s;
event Smoke (sensor: string) on "restore-smoke" key sensor idle 5 s;
define Fire (sensor: string, note: string)
from   Smoke(sensor = $s) as smoke and last Temp(sensor = $s) as t within 24 h from smoke
where  sensor = $s, note = t.note;
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """How a worker came to a task."""

    task: str
    noticed_s: float
    restored_s: float
    replayed_mb: float
    records: int


class Scene:
    """The application, its readings, and who has which task."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._sent = 0

    def publish(self, size_mb: float) -> None:
        """Publish readings, of new sensors, that come to so much state."""
        producer = self._stage.producer
        for number in range(int(size_mb * MB / NOTE_BYTES)):
            sensor = b"sensor-%07d" % self._sent
            note = os.urandom(NOTE_BYTES // 2).hex().encode()
            producer.produce("restore-temps", b'{"sensor": "%s", "note": "%s"}' % (sensor, note), sensor)
            self._sent += 1
            if number % SLICE == 0:
                producer.flush()
        producer.flush()
        await_that("all is read", self._is_read, DEADLINE_S)

    def _is_read(self) -> bool:
        tasks = self._stage.tasks().values()
        return len(tasks) == PARTITIONS and all(t.task.lag == 0 and t.task.waiting == 0 for t in tasks)

    def awaited(self, process: int, count: int, since_s: float) -> list[Taken]:
        """Wait until a worker runs so many tasks; return how it came to those it did not run before."""
        seen: dict[str, float] = {}
        before = {task for task, told in self._stage.tasks().items() if _runs(told, process)}
        running: dict[str, float] = {}

        def done() -> bool:
            now_s = time.monotonic()
            for task, told in self._stage.tasks().items():
                if told.process == process and task not in before:
                    seen.setdefault(task, now_s)
                    if _runs(told, process):
                        running.setdefault(task, now_s)
            return len(before) + len(running) == count

        await_that(f"a worker runs {count} tasks", done, DEADLINE_S)
        told = self._stage.tasks()
        return [
            Taken(
                task,
                seen[task] - since_s,
                running[task] - seen[task],
                told[task].task.restored_bytes / MB,
                told[task].task.to_restore,
            )
            for task in sorted(running)
        ]

    def await_standby(self) -> None:
        """Wait until every task is followed closely."""

        def followed() -> bool:
            return [told.standby.behind for told in self._stage.standbys()] == [0]

        await_that("the other's task is followed", followed, DEADLINE_S)


def _runs(told: Told, process: int) -> bool:
    return told.process == process and told.task.state is TaskState.RUNNING


def main() -> int:
    """Print how tasks were taken over."""
    console = Console()
    result = Table("", "task", "noticed s", "restored s", "replayed MB", "records", "MB/s")

    def show(what: str, takens: list[Taken]) -> None:
        for taken in takens:
            rate = f"{taken.replayed_mb / taken.restored_s:.0f}" if taken.replayed_mb >= 1 else ""
            figures = (f"{taken.noticed_s:.1f}", f"{taken.restored_s:.1f}", f"{taken.replayed_mb:.2f}")
            result.add_row(what, taken.task, *figures, f"{taken.records:,}", rate)
            console.print(what, taken.task, *figures, f"{taken.records:,}", rate, sep="   ")

    with (
        tempfile.TemporaryDirectory() as folder,
        ServiceSet.start(progress=console.print) as services,
        Stage(services.bootstrap, Path(folder), "restore", RULES, PARTITIONS) as stage,
    ):
        scene = Scene(stage)
        stage.start("one")
        stage.placed({"one"}, PARTITIONS)
        scene.publish(SIZE_MB)
        console.print(f"{SIZE_MB} MB of state in {PARTITIONS} tasks; load {load()}")

        stage.kill("one")
        begun = time.monotonic()
        one = stage.start("one")
        show("killed and started again", scene.awaited(one, PARTITIONS, begun))

        begun = time.monotonic()
        two = stage.start("two")
        show("another joins, with nothing", scene.awaited(two, 1, begun))
        scene.publish(SIZE_MB * CHANGED)

        begun = time.monotonic()
        stage.kill("one")
        show("take-over, with nothing", scene.awaited(two, PARTITIONS, begun))
        scene.publish(SIZE_MB * CHANGED)

        begun = time.monotonic()
        one = stage.start("one")
        show("the first comes back", scene.awaited(one, 1, begun))

        stage.stop("two")
        scene.awaited(one, PARTITIONS, begun)
        two = stage.start("two", standbys=1)
        scene.awaited(two, 1, begun)
        scene.publish(SIZE_MB * CHANGED)
        scene.await_standby()
        begun = time.monotonic()
        stage.kill("one")
        show("take-over, with a standby", scene.awaited(two, PARTITIONS, begun))
    console.print(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
