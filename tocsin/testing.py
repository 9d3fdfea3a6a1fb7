"""Rules under test, without a broker: the tasks of a worker, on a log and a clock of their own.

    driver = Driver(rules)
    driver.publish("Temp", {"area": "hall", "value": 51.5}, at="2026-01-02T09:00:00Z")
    driver.publish("Smoke", {"area": "hall"}, at="2026-01-02T09:01:00Z")
    driver.advance("2026-01-02T09:05:00Z")
    assert [fire.attributes["value"] for fire in driver.detected("Fire")] == [51.5]

What is published is encoded, keyed, decoded, ordered and committed as it would be on Kafka. Time goes on by
the events' own times, as far as their lateness allows, and by `advance`, which is a silence: absence,
periodic and calendar events fire in it.
"""

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count

from tocsin import schemas
from tocsin._engine import Batch, Engine, partition_of
from tocsin.complex_event import ComplexEvent
from tocsin.errors import InputError
from tocsin.topology import Plan, compile_rules
from tocsin.topology.tree import Program
from tocsin.values import checked, key_bytes, time_ms
from tocsin.vocabulary import input_type
from tocsin.workers.formats import Formats
from tocsin.workers.runnable import sole_subtopology
from tocsin.workers.store import Checkpoint, MemoryStore
from tocsin.workers.task import Task

Record = tuple[int, int, bytes | None, bytes | None, None]
"""Offset, timestamp, key, value, and no headers."""

_AHEAD_MS = 2**62
"""How far events may lie ahead of the clock: the clock is the driver's own."""

_CHECKPOINT = Checkpoint("", 0)
"""There is no changelog to be behind of."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that was refused, or came too late."""

    late: bool
    reason: str
    message: str
    topic: str
    partition: int
    offset: int


class Driver:
    """Runs the rules of one application, on so many partitions: results do not depend on that."""

    def __init__(self, rules: str | Program | Plan, *, app: str = "test", partitions: int = 1) -> None:
        self._plan = rules if isinstance(rules, Plan) else compile_rules(rules, app=app)
        self._subtopology = sole_subtopology(self._plan)
        if partitions < 1:
            raise InputError("A topic has at least one partition.")
        self._partitions = partitions
        self._formats = Formats(self._plan, None)
        defined = self._plan.defined_types
        self._destinations = self._formats.destinations({event.topic: partitions for event in defined})
        self._schemas = {e.topic: schemas.event_schema(e.to_dict(), self._plan.app) for e in defined}
        self._names = {event.topic: event.name for event in defined}
        self._log: defaultdict[tuple[str, int], list[Record]] = defaultdict(list)
        self._keyless = count()
        self._clock_ms = 0
        self._detected: list[ComplexEvent] = []
        self._letters: list[Letter] = []
        self._tasks = [Task(n, self._engine(n), MemoryStore(), 0) for n in range(partitions)]
        for task in self._tasks:
            task.places(lambda _topic: 0)

    @property
    def time_ms(self) -> int:
        """The time of the clock: that of the latest event, or of the last `advance`."""
        return self._clock_ms

    @property
    def stored(self) -> int:
        """How many events and partial matches are kept for what may still come."""
        return sum(task.engine.stored for task in self._tasks)

    def publish(
        self, type_name: str, attributes: Mapping[str, object], at: int | str | datetime | None = None
    ) -> None:
        """Publish an event, at a time in milliseconds or ISO 8601, or where the clock stands."""
        event = input_type(self._plan, type_name)
        values = checked(event, attributes)
        schema = schemas.event_schema(event.to_dict(), self._plan.app)
        timestamp = self._clock_ms if at is None else _ms(at)
        value = schemas.single_object_prefix(schema) + schemas.encode(schema, values)
        self.publish_raw(event.topic, key_bytes(event, values), value, timestamp)

    def publish_raw(
        self, topic: str, key: bytes | None, value: bytes | None, at: int | str | datetime
    ) -> None:
        """Publish a record as it is, such as one that is no event at all."""
        timestamp = _ms(at)
        self._clock_ms = max(self._clock_ms, timestamp)
        partition = next(self._keyless) if key is None else partition_of(key, self._partitions)
        task = self._tasks[partition % self._partitions]
        if topic not in task.engine.topics:
            raise InputError(f"No event that the rules use is published to '{topic}'.")
        log = self._log[topic, task.partition]
        log.append((len(log), timestamp, key, value, None))
        self._feed(task, topic, log[-1:])
        self._run(task)

    def advance(self, to: int | str | datetime) -> None:
        """Let the clock go on in silence: everything up to that time, that time included, has happened."""
        until = _ms(to)
        if until < self._clock_ms:
            raise InputError(f"The clock stands at {self._clock_ms} ms and does not go back to {until} ms.")
        self._clock_ms = until
        for task in self._tasks:
            for topic in task.engine.topics:
                task.engine.advance(topic, until + 1)
            self._run(task)

    def detected(self, name: str | None = None) -> list[ComplexEvent]:
        """Return the complex events so far, in the order of their detection; of one type, or all."""
        if name is not None and name not in self._names.values():
            raise InputError(f"No complex event is called '{name}'.")
        return [event for event in self._detected if name in {None, event.type}]

    def letters(self) -> list[Letter]:
        """Return the records that were refused or came too late."""
        return list(self._letters)

    def state(self) -> list[tuple[bytes, bytes]]:
        """Return the entries of the committed state, as a worker keeps them in RocksDB."""
        return [entry for task in self._tasks for entry in task.store.entries()]

    def restart(self) -> None:
        """Lose everything but the log and the committed state, as a crash does, and go on from there."""
        lost, self._tasks = self._tasks, []
        for old in lost:
            engine = self._engine(old.partition)
            engine.load(list(old.store.entries()))
            task = Task(old.partition, engine, old.store, self._clock_ms)
            for place in task.places(lambda _topic: 0):
                self._feed(task, place.topic, self._log[place.topic, place.partition][place.offset :])
            self._tasks.append(task)

    def _engine(self, partition: int) -> Engine:
        return Engine(
            self._plan.to_json(),
            self._subtopology.name,
            partition,
            self._destinations,
            max_ahead_ms=_AHEAD_MS,
        )

    def _feed(self, task: Task, topic: str, records: list[Record]) -> None:
        batch = Batch.build(topic, task.partition, records)
        self._formats.supply(task.engine, batch, threading.Event())
        task.feed(batch, self._clock_ms)

    def _run(self, task: Task) -> None:
        """Handle what can be handled, and commit it."""
        task.run()
        commit = task.take()
        task.committed(commit, _CHECKPOINT)
        for topic, _, _, value, _ in commit.outputs:
            datum = schemas.decode(self._schemas[topic], schemas.split(value).body)
            assert isinstance(datum, dict)
            self._detected.append(ComplexEvent.from_datum(self._names[topic], datum))
        for late, _, body in commit.letters:
            self._letters.append(_letter(body, late=late))


def _ms(at: int | str | datetime) -> int:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise InputError(f"{at} has no zone, and so is no moment.")
        return round(at.timestamp() * 1000)
    return time_ms(str(at))


def _letter(body: bytes, *, late: bool) -> Letter:
    letter = schemas.decode(schemas.load("dead_letter"), body)
    assert isinstance(letter, dict)
    where = {name: letter[name] for name in ("reason", "message", "topic", "partition", "offset")}
    return Letter(late=late, **where)
