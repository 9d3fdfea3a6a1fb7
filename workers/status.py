"""How tasks are doing: told by each worker to a compacted topic, a record a task, and read from there.

The records are JSON under the task's name. They are no part of any transaction: a status may be lost, and is
followed by another within seconds. A task that is given up leaves a tombstone; one whose worker died leaves a
record that grows old.
"""

import json
import logging
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tocsin.workers import kafka, topics
from tocsin.workers.errors import BrokerAway, TopicsWrong
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.task import Task, TaskState

LOG = logging.getLogger(__name__)

_FLUSH_S = 2.0
_STANDBY = " on "
"""Between the name of a task and that of a worker in the key of a standby."""
_READ_S = 0.1
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class TaskStatus:
    """How one task is doing."""

    subtopology: str
    partition: int
    state: TaskState
    lag: int | None
    """Records of its input that it has not read yet; None where that is not known."""
    watermark_ms: int
    waiting: int
    """Events that wait for the watermark."""
    stored: int
    """Entries of its state that are in memory."""
    state_bytes: int
    """About how many bytes its state takes on disk."""
    restored: int
    to_restore: int
    """Records of the changelog that were replayed, of so many."""
    restored_bytes: int
    """What those that were replayed come to."""
    counts: dict[str, int]

    @property
    def name(self) -> str:
        """What the task is called among those of its application."""
        return f"{self.subtopology}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Status:
    """How a worker is doing."""

    instance: str
    tasks: tuple[TaskStatus, ...]


def status_of(task: Task, subtopology: str, consumer: Consumer) -> TaskStatus:
    """Return how a task is doing."""
    restored, to_restore = task.progress
    return TaskStatus(
        subtopology=subtopology,
        partition=task.partition,
        state=task.state,
        lag=_lag(task, consumer) if task.state is TaskState.RUNNING else None,
        watermark_ms=task.engine.watermark_ms,
        waiting=task.engine.waiting,
        stored=task.engine.stored,
        state_bytes=task.store.size_bytes(),
        restored=restored,
        to_restore=to_restore,
        restored_bytes=task.restored_bytes,
        counts=task.engine.counts,
    )


def _lag(task: Task, consumer: Consumer) -> int | None:
    """Return how many records are not read yet, by what the client knows without asking."""
    lag = 0
    for at in consumer.position([TopicPartition(topic, task.partition) for topic in task.sources]):
        _, end = consumer.get_watermark_offsets(at, cached=True)
        # Behind the last record there may be markers of transactions, which nobody reads.
        read_to = max(at.offset, task.sources[at.topic].caught_up_to)
        if end < 0 or read_to < 0:
            return None
        lag += max(end - read_to, 0)
    return lag


@dataclass(frozen=True, slots=True)
class StandbyStatus:
    """How closely a task is followed by a worker that does not run it."""

    subtopology: str
    partition: int
    behind: int
    """Records of the changelog that its store does not have yet."""
    state_bytes: int

    @property
    def name(self) -> str:
        """What the task is called among those of its application."""
        return f"{self.subtopology}-{self.partition}"


@dataclass(frozen=True, slots=True)
class ToldStandby:
    """What a worker told of a standby, and when."""

    instance: str
    told_ms: int
    standby: StandbyStatus

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, flat."""
        told: dict[str, Any] = asdict(self)
        standby: dict[str, Any] = told.pop("standby")
        return told | standby

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave; what a later version added is passed over."""
        standby = StandbyStatus(**{name: told[name] for name in StandbyStatus.__slots__})
        return cls(told["instance"], told["told_ms"], standby)


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker told of a task, when, and how fast it went since it told before."""

    instance: str
    host: str
    process: int
    told_ms: int
    read_rate: float
    """Records read a second."""
    detected_rate: float
    """Complex events detected a second."""
    task: TaskStatus

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data, flat."""
        told: dict[str, Any] = asdict(self)
        task: dict[str, Any] = told.pop("task")
        return told | task | {"state": self.task.state.value}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave; what a later version added is passed over."""
        of_task = {name: told[name] for name in TaskStatus.__slots__} | {"state": TaskState(told["state"])}
        return cls(task=TaskStatus(**of_task), **{n: told[n] for n in cls.__slots__ if n != "task"})


class Board:
    """Where a worker tells how its tasks are doing: at once when their states change, else now and then."""

    def __init__(self, settings: WorkerSettings, topic: str, instance: str) -> None:
        self._topic = topic
        self._interval_ms = settings.status_interval_ms
        self._who = (instance, socket.gethostname(), os.getpid())
        self._told: dict[str, Told] = {}
        self._told_ms = 0
        self._standbys: set[str] = set()
        self._producer = Producer(
            {
                "bootstrap.servers": settings.brokers,
                "logger": kafka.CLIENT_LOG,
                "message.timeout.ms": 10_000,
            }
        )

    def is_due(self, states: Mapping[str, TaskState], now_ms: int) -> bool:
        """Tell whether there is something to tell."""
        known = {name: told.task.state for name, told in self._told.items()}
        return states != known or now_ms - self._told_ms >= self._interval_ms

    def tell(self, status: Status, now_ms: int) -> None:
        """Tell how all tasks are doing, and of those told before that they were given up."""
        self._told_ms = now_ms
        before, self._told = self._told, {}
        for task in status.tasks:
            told = self._rated(task, before.pop(task.name, None), now_ms)
            self._told[task.name] = told
            self._send(task.name, json.dumps(told.to_json()).encode())
        for name in before:
            self._send(name, None)
        self._producer.poll(0)

    def tell_standbys(self, standbys: tuple[StandbyStatus, ...], now_ms: int) -> None:
        """Tell now and then what is followed, at once what is not followed any more, or newly."""
        names = {_standby_key(standby.name, self._who[0]) for standby in standbys}
        if names == self._standbys and now_ms - self._told_ms < self._interval_ms:
            return
        self._told_ms = now_ms
        gone, self._standbys = self._standbys - names, names
        for standby in standbys:
            told = ToldStandby(self._who[0], now_ms, standby)
            self._send(_standby_key(standby.name, self._who[0]), json.dumps(told.to_json()).encode())
        for name in gone:
            self._send(name, None)
        self._producer.poll(0)

    def _rated(self, task: TaskStatus, before: Told | None, now_ms: int) -> Told:
        def rate(count: str) -> float:
            if before is None or now_ms <= before.told_ms:
                return 0.0
            # An abort takes counts back.
            gained = max(task.counts[count] - before.task.counts[count], 0)
            return gained * 1_000 / (now_ms - before.told_ms)

        return Told(*self._who, now_ms, rate("read"), rate("detected"), task)

    def forget(self, name: str) -> None:
        """Tell nothing more of a task: another worker has it."""
        self._told.pop(name, None)

    def close(self) -> None:
        """Send what is still to be sent, if the broker takes it soon."""
        self._producer.flush(_FLUSH_S)

    def _send(self, name: str, value: bytes | None) -> None:
        try:
            self._producer.produce(self._topic, value, name.encode(), 0)
        except (BufferError, KafkaException) as error:
            LOG.debug("the status of %s is not told: %s", name, error)


class Watch:
    """Reads how the tasks of an application are doing."""

    def __init__(self, settings: WorkerSettings, app: str) -> None:
        topic = topics.Names(app).status
        self._brokers = settings.brokers
        if topic not in topics.partition_counts(kafka.admin(settings), settings.brokers):
            raise TopicsWrong(
                f"Topic '{topic}' does not exist on {settings.brokers}: no worker of '{app}' has run there."
            )
        self._told: dict[str, Told] = {}
        self._standbys: dict[str, ToldStandby] = {}
        self._at = TopicPartition(topic, 0, OFFSET_BEGINNING)
        self._position = 0
        self._consumer = kafka.log_consumer(settings)
        self._consumer.assign([self._at])

    def read(self) -> list[Told]:
        """Read what was told up to now; return what was told last of each task, in their order."""
        deadline = time.monotonic() + kafka.ANSWER_TIMEOUT_S
        end = self._end(deadline)
        while self._position < end:
            self._read_some()
            if time.monotonic() > deadline:
                raise BrokerAway(f"Kafka at {self._brokers} did not answer in time.")
        return sorted(self._told.values(), key=lambda told: (told.task.subtopology, told.task.partition))

    def standbys(self) -> list[ToldStandby]:
        """Return what was told last of each standby, when tasks were read last."""
        return sorted(
            self._standbys.values(), key=lambda told: (told.standby.subtopology, told.standby.partition)
        )

    def _end(self, deadline: float) -> int:
        while True:
            try:
                return int(self._consumer.get_watermark_offsets(self._at, kafka.ANSWER_TIMEOUT_S)[1])
            except KafkaException as error:
                # A topic that was just made has no leader for a moment.
                if not kafka.is_passing(error.args[0]) or time.monotonic() > deadline:
                    raise kafka.as_worker_error(error, self._brokers) from error
            time.sleep(_READ_S)

    def _read_some(self) -> None:
        for message in self._consumer.consume(_BATCH, _READ_S):
            problem, value, offset = message.error(), message.value(), message.offset() or 0
            if problem is None:
                self._position = offset + 1
                self._take((message.key() or b"").decode(), value)
            elif problem.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
                # Where the last records were compacted away, only this tells.
                self._position = max(self._position, offset)
            elif not kafka.is_passing(problem):
                raise kafka.as_worker_error(KafkaException(problem), self._brokers)

    def _take(self, name: str, value: bytes | None) -> None:
        if value is None:
            self._told.pop(name, None)
            self._standbys.pop(name, None)
        elif _STANDBY in name:
            self._standbys[name] = ToldStandby.from_json(json.loads(value))
        else:
            self._told[name] = Told.from_json(json.loads(value))

    def close(self) -> None:
        """Let go of the topic."""
        self._consumer.close()


def _standby_key(task: str, instance: str) -> str:
    return f"{task}{_STANDBY}{instance}"
