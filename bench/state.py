"""More state than memory: workers on the real broker with a bound for their state, beside one without.

The last temperatures of many sensors are kept; some are replaced, some looked at. What a worker takes is the
peak of its resident memory, less that of one with the same traffic and nothing to keep.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table
from stage import Arrival, Stage, await_that, load

from tocsin.services import ServiceSet
from tocsin.workers.store import RocksStore

MIB = 1024 * 1024
BOUND_MIB = int(os.environ.get("BOUND_MB", "64"))
SENSORS = BOUND_MIB * 4_500
PARTITIONS = 2
LOOKS = 50_000
"""Events of random sensors, in each of two lives of the worker."""
SMOKE_SHARE = 0.2
FEW_SMOKE = 0.02
"""Some there must be: behind a silent topic all others wait, and what waits takes memory."""
DEADLINE_S = 300.0
RATE = 5_000
"""Events a second: below what any of the workers can do, so that none waits in the client's queues."""
SLICES_PER_S = 20
NOTE = b"%09d" + 8 * b" is a reading whose note takes some hundred characters"
RULES = """
event Temp (sensor: string, value: double, note: string) on "{topic}-temps" key sensor idle 5 s;
event Smoke (sensor: string) on "{topic}-smoke" key sensor idle 5 s;
define Fire (sensor: string, value: double, note: string)
from   Smoke(sensor = $s) as smoke and last Temp(sensor = $s, value > 45) as t within 24 h from smoke
where  sensor = $s, value = t.value, note = t.note;
define Paired (sensor: string, note: string)
from   (Temp(sensor = $s, value > 45) as t ; Smoke(sensor = $s)) within 24 h
where  sensor = $s, note = t.note
context recent;
"""


@dataclass(frozen=True, slots=True)
class Life:
    """What was seen of a worker between its start and its end, in MiB."""

    begun: float
    peak: float


class Scene:
    """An application, and the same readings for each."""

    def __init__(self, stage: Stage, bound_mib: int | None, *, is_hot: bool) -> None:
        self._stage = stage
        self._is_hot = is_hot
        self._bound = {} if bound_mib is None else {"state_memory_mb": bound_mib}
        self._rng = Random(1)
        self._topics = {event.name: event.topic for event in stage.plan.input_types}
        self._sent: list[tuple[int, str, int, int]] = []
        self.lives: list[Life] = []
        self.is_exact = False

    def live(self, *, fill: bool) -> None:
        """Let a worker run over its part of the readings, and see what memory it takes."""
        process = self._stage.start("one", **self._bound)
        self._stage.placed({"one"}, PARTITIONS)
        begun = _memory_mib(process, "VmRSS")
        if fill:
            self._publish(SENSORS, every_sensor=True)
        self._publish(LOOKS, every_sensor=False)
        wanted = self._wanted()
        arrivals = self._stage.reader.arrivals
        await_that("all is found", lambda: len(arrivals) >= wanted.total() and self._is_read(), DEADLINE_S)
        found = Counter((a.type, a.attributes["sensor"], _reading(a)) for a in arrivals)
        self.is_exact = found == wanted
        self.lives.append(Life(begun, _memory_mib(process, "VmHWM")))
        self._stage.stop("one")

    def _publish(self, count: int, *, every_sensor: bool) -> None:
        producer, begun = self._stage.producer, time.monotonic()
        for number in range(count):
            sensor = number if every_sensor else self._rng.randrange(SENSORS)
            is_smoke = self._rng.random() < (FEW_SMOKE if every_sensor else SMOKE_SHARE)
            name, reading = "Smoke" if is_smoke else "Temp", len(self._sent)
            time_ms = int(time.time() * 1000)
            value = 50 if self._is_hot else 40
            rest = b"" if is_smoke else b', "value": %d, "note": "%s"' % (value, NOTE % reading)
            key = b"sensor-%06d" % sensor
            producer.produce(self._topics[name], b'{"sensor": "%s"%s}' % (key, rest), key, timestamp=time_ms)
            self._sent.append((time_ms, self._topics[name], sensor, reading))
            if number % (RATE // SLICES_PER_S) == 0:
                producer.flush()
                time.sleep(max(begun + number / RATE - time.monotonic(), 0))
        producer.flush()

    def _is_read(self) -> bool:
        tasks = self._stage.tasks().values()
        return len(tasks) == PARTITIONS and all(t.task.lag == 0 and t.task.waiting == 0 for t in tasks)

    def _wanted(self) -> "Counter[tuple[str, str, int]]":
        """Return what the rules say of what was sent."""
        wanted: Counter[tuple[str, str, int]] = Counter()
        last: dict[int, int] = {}
        for _, topic, sensor, reading in sorted(self._sent) if self._is_hot else ():
            if topic == self._topics["Temp"]:
                last[sensor] = reading
            elif sensor in last:
                # In the recent context the last initiator goes on to initiate.
                wanted.update((name, f"sensor-{sensor:06d}", last[sensor]) for name in ("Fire", "Paired"))
        return wanted

    def state_mib(self) -> float:
        """Return how many bytes the entries have that a worker left behind."""
        size = 0
        for partition in range(PARTITIONS):
            store = RocksStore(self._stage.state("one", f"local-{partition}"))
            size += sum(len(key) + len(value) for key, value in store.entries())
            store.close()
        return size / MIB


def _reading(arrival: Arrival) -> int:
    return int(arrival.attributes["note"].split()[0])


def _memory_mib(process: int, line: str) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    (found,) = (text for text in status.splitlines() if text.startswith(line))
    return int(found.split()[1]) / 1024


def main() -> int:
    """Print what each worker takes; fail if the bound does not hold or the result is not exact."""
    console = Console()
    console.print(f"{SENSORS:,} sensors, then {LOOKS:,} events of some of them, twice; load {load()}")
    result = Table("", "state MiB", "bound MiB", "begun MiB", "peak MiB", "for state MiB", "result")
    holds, exact, base = True, True, 0.0
    variants = (
        ("nothing to keep", False, BOUND_MIB, 1),
        ("bound", True, BOUND_MIB, 2),
        ("no bound", True, None, 1),
    )
    with tempfile.TemporaryDirectory() as folder, ServiceSet.start(progress=console.print) as services:
        for number, (name, is_hot, bound, lives) in enumerate(variants):
            rules = RULES.format(topic=f"state-{number}")
            with Stage(services.bootstrap, Path(folder), f"state-{number}", rules, PARTITIONS) as stage:
                scene = Scene(stage, bound, is_hot=is_hot)
                for life in range(lives):
                    scene.live(fill=life == 0)
                    seen, state = scene.lives[-1], scene.state_mib()
                    base = base if is_hot else seen.peak
                    taken = seen.peak - base
                    if is_hot and bound is not None:
                        holds = holds and taken <= bound and state >= 4 * bound
                    exact = exact and scene.is_exact
                    figures = (f"{value:.0f}" for value in (state, bound or 0, seen.begun, seen.peak, taken))
                    result.add_row(
                        f"{name}{', started again' if life else ''}",
                        *figures,
                        "exact" if scene.is_exact else "WRONG",
                    )
    console.print(result)
    console.print("the bound holds" if holds else "the bound does not hold")
    return 0 if holds and exact else 1


if __name__ == "__main__":
    sys.exit(main())
