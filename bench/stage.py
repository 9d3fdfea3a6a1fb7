"""What benchmarks of running workers share: an application on the broker, its workers, a committed reader."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tocsin import schemas
from tocsin.topology import compile_rules
from tocsin.workers import TaskState, WorkerSettings
from tocsin.workers.status import Told, ToldStandby, Watch

DEADLINE_S = 90.0
_READ_S = 0.05
_BATCH = 1_000


def await_that(what: str, holds: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Wait until a condition holds; one that never does ends the benchmark."""
    end = time.monotonic() + deadline_s
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {deadline_s:.0f} s: {what}")
        time.sleep(0.02)


def load() -> str:
    """Return how busy the machine is, to be printed beside figures that depend on it."""
    return Path("/proc/loadavg").read_text(encoding="utf-8").split()[0]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A complex event as it came to a committed reader."""

    type: str
    partition: int
    at_s: float
    attributes: dict[str, Any]


class Stage:
    """An application with topics of its own: workers in processes, and a reader of what they commit."""

    def __init__(self, brokers: str, folder: Path, app: str, rules: str, partitions: int) -> None:
        self.brokers = brokers
        self.partitions = partitions
        self.plan = compile_rules(rules, app=app)
        self._folder = folder
        self._file = folder / f"{app}.tocsin"
        self._file.write_text(rules, encoding="utf-8")
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._watch: Watch | None = None
        self.producer = Producer(
            {"bootstrap.servers": brokers, "partitioner": "murmur2_random", "linger.ms": 5}
        )
        self._create()
        self.reader = Reader(self)

    def _create(self) -> None:
        inputs = self.plan.input_topics
        outputs = [defined.topic for defined in self.plan.defined_types]
        new = [NewTopic(topic, self.partitions, 1) for topic in [*inputs, *outputs]]
        admin = AdminClient({"bootstrap.servers": self.brokers})
        for created in admin.create_topics(new).values():
            created.result(timeout=30)

    def start(self, name: str, **settings: object) -> int:
        """Start a worker in a process of its own and return its id; settings are those of `tocsin.toml`."""
        command = [sys.executable, "-m", "tocsin", "run", str(self._file), "--instance", name]
        command += ["--state-dir", str(self._folder / "state"), "--app", self.plan.app]
        given = {f"TOCSIN_{key.upper()}": str(value) for key, value in settings.items()}
        environment = os.environ | {"TOCSIN_BROKERS": self.brokers} | given
        with (self._folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        return self._processes[name].pid

    def state(self, name: str, task: str) -> Path:
        """Return the folder in which a worker keeps the state of a task."""
        return self._folder / "state" / self.plan.app / name / task

    def stop(self, name: str) -> None:
        """Let a worker hand over and end."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)

    def kill(self, name: str) -> None:
        """End a worker as a power cut would."""
        process = self._processes.pop(name)
        process.kill()
        process.wait()

    def tasks(self) -> dict[str, Told]:
        """Return what was told last of each task, by its name."""
        if self._watch is None:
            self._watch = Watch(WorkerSettings(brokers=self.brokers, state_dir=self._folder), self.plan.app)
        return {told.task.name: told for told in self._watch.read()}

    def standbys(self) -> list[ToldStandby]:
        """Return what was told last of each standby."""
        self.tasks()
        assert self._watch is not None
        return self._watch.standbys()

    def placed(self, names: set[str], count: int) -> dict[str, str]:
        """Wait until so many tasks run, spread over exactly these workers; return the worker of each."""

        def done() -> bool:
            running = {name: t for name, t in self.tasks().items() if t.task.state is TaskState.RUNNING}
            return len(running) == count and {t.instance for t in running.values()} == names

        await_that("the workers do not begin", self._topics_exist)
        await_that(f"{count} tasks do not run on {sorted(names)}", done)
        return {name: told.instance for name, told in self.tasks().items()}

    def task_count(self) -> int:
        """Return how many tasks the application has."""
        return sum(len(sub.groups) or self.partitions for sub in self.plan.subtopologies)

    def _topics_exist(self) -> bool:
        listed = self.producer.list_topics(timeout=DEADLINE_S).topics
        return f"tocsin.{self.plan.app}.task-status" in listed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in list(self._processes):
            self.kill(name)
        self.reader.close()
        if self._watch is not None:
            self._watch.close()


class Reader:
    """Reads all complex events of an application as they are committed, and notes when each came."""

    def __init__(self, stage: Stage) -> None:
        self.arrivals: list[Arrival] = []
        self._ending = threading.Event()
        self._types = {event.topic: event for event in stage.plan.defined_types}
        self._schemas = {
            topic: schemas.event_schema(event.to_dict(), stage.plan.app)
            for topic, event in self._types.items()
        }
        self._consumer = Consumer(
            {
                "bootstrap.servers": stage.brokers,
                "group.id": "unused",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign(
            [TopicPartition(topic, p, 0) for topic in self._types for p in range(stage.partitions)]
        )
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while not self._ending.is_set():
            first = self._consumer.poll(_READ_S)
            at_s = time.time()
            for message in [first, *self._consumer.consume(_BATCH, 0)] if first is not None else []:
                topic, value = message.topic() or "", message.value()
                if message.error() is not None or value is None:
                    continue
                attributes = schemas.decode(self._schemas[topic], schemas.split(value).body)
                assert isinstance(attributes, dict)
                self.arrivals.append(
                    Arrival(self._types[topic].name, message.partition() or 0, at_s, attributes)
                )

    def close(self) -> None:
        """End reading."""
        self._ending.set()
        self._thread.join()
        self._consumer.close()
