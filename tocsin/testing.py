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
from collections.abc import Mapping
from datetime import datetime

from tocsin import schemas
from tocsin._engine import Batch, Engine
from tocsin.complex_event import ComplexEvent
from tocsin.errors import InputError
from tocsin.letters import Letter
from tocsin.topology import Plan, compile_rules
from tocsin.topology.tree import Program
from tocsin.values import checked, key_bytes, time_ms
from tocsin.vocabulary import input_type
from tocsin.workers.formats import Formats
from tocsin.workers.store import Checkpoint, MemoryStore, Store
from tocsin.workers.task import Task

__all__ = ["Driver", "Letter"]

Record = tuple[int, int, bytes | None, bytes | None, None]
"""Offset, timestamp, key, value, and no headers."""

_AHEAD_MS = 2**62
"""How far events may lie ahead of the clock: the clock is the driver's own."""

_CHECKPOINT = Checkpoint("", 0)
"""There is no changelog to be behind of."""


class Driver:
    """Runs the rules of one application in one task: how many there are changes nothing."""

    def __init__(self, rules: str | Program | Plan, *, app: str = "test") -> None:
        plan = rules if isinstance(rules, Plan) else compile_rules(rules, app=app)
        if not plan.nodes:
            raise InputError("The file defines nothing: there is no rule to test.")
        self._plan = plan.undivided()
        self._formats = Formats(self._plan, None)
        defined = self._plan.defined_types
        self._destinations = self._formats.destinations({event.topic: 1 for event in defined})
        self._schemas = {e.topic: schemas.event_schema(e.to_dict(), self._plan.app) for e in defined}
        self._names = {event.topic: event.name for event in defined}
        self._log: dict[str, list[Record]] = {topic: [] for topic in self._plan.input_topics}
        self._clock_ms = 0
        self._detected: list[ComplexEvent] = []
        self._letters: list[Letter] = []
        self._task = self._begin(MemoryStore())

    @property
    def time_ms(self) -> int:
        """The time of the clock: that of the latest event, or of the last `advance`."""
        return self._clock_ms

    @property
    def stored(self) -> int:
        """How many events and partial matches are kept for what may still come."""
        return self._task.engine.stored

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
        if topic not in self._log:
            raise InputError(f"No event that the rules use is published to '{topic}'.")
        self._clock_ms = max(self._clock_ms, timestamp)
        log = self._log[topic]
        log.append((len(log), timestamp, key, value, None))
        self._feed(self._task, topic, log[-1:])
        self._run()

    def advance(self, to: int | str | datetime) -> None:
        """Let the clock go on in silence: everything up to that time, that time included, has happened."""
        until = _ms(to)
        if until < self._clock_ms:
            raise InputError(f"The clock stands at {self._clock_ms} ms and does not go back to {until} ms.")
        self._clock_ms = until
        for topic in self._log:
            self._task.engine.advance(topic, until + 1)
        self._run()

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
        return list(self._task.store.entries())

    def restart(self) -> None:
        """Lose everything but the log and the committed state, as a crash does, and go on from there."""
        self._task = self._begin(self._task.store)

    def _begin(self, store: Store) -> Task:
        (whole,) = self._plan.subtopologies
        engine = Engine(self._plan.to_json(), whole.name, 0, self._destinations, max_ahead_ms=_AHEAD_MS)
        engine.load(list(store.entries()))
        task = Task(0, engine, store, self._clock_ms)
        for place in task.places(lambda _topic: 0):
            self._feed(task, place.topic, self._log[place.topic][place.offset :])
        return task

    def _feed(self, task: Task, topic: str, records: list[Record]) -> None:
        batch = Batch.build(topic, 0, records)
        self._formats.supply(task.engine, batch, threading.Event())
        task.feed(batch, self._clock_ms)

    def _run(self) -> None:
        """Handle what can be handled, and commit it."""
        self._step()
        while self._task.engine.is_behind:
            self._step()

    def _step(self) -> None:
        self._task.run()
        commit = self._task.take()
        self._task.committed(commit, _CHECKPOINT)
        for topic, _, _, value, _ in commit.outputs:
            datum = schemas.decode(self._schemas[topic], schemas.split(value).body)
            assert isinstance(datum, dict)
            self._detected.append(ComplexEvent.from_datum(self._names[topic], datum))
        for late, _, body in commit.letters:
            self._letters.append(Letter.read(body, late=late))


def _ms(at: int | str | datetime) -> int:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise InputError(f"{at} has no zone, and so is no moment.")
        return round(at.timestamp() * 1000)
    return time_ms(str(at))
