"""Drives an engine as a worker would: batches cut somewhere, silence, commits, aborts, losses of state."""

import json
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from tocsin._engine import Batch, Engine

from .cases import Drive
from .decoding import ComplexEvent, complex_event
from .records import TASK, Record, time_of

PARTITION = 0
MANY = 100_000
"""More positions than a history has."""

Output = tuple[str, bytes]
"""A record that was written: topic and value."""


class Refused(Exception):
    """The engine refused a record that the oracle accepts."""


class Job:
    """What there is to be done: records for a plan, in which time goes to `until`."""

    def __init__(self, plan: Mapping[str, Any], records: Mapping[str, Sequence[Record]], until: int) -> None:
        self.plan = json.dumps(plan)
        actions = [action for node in plan["nodes"] for action in node.get("actions", ())]
        published = {plan["types"][a["type"]]["name"] for a in actions if a["do"] == "publish"}
        made = [t for t in plan["types"] if t["origin"] == "defined" or t["name"] in published]
        self.types = {f"made.{t['name']}": t for t in made}
        self.frames = {t["name"]: (topic, b"", 1) for topic, t in self.types.items()}
        self.records = records
        self.times = {
            topic: [time_of(record, plan, topic) for record in sent] for topic, sent in records.items()
        }
        self.until = until

    def read(self, outputs: Iterable[Output]) -> list[ComplexEvent]:
        """Return the complex events that were written."""
        return [complex_event(body, self.types[topic]) for topic, body in outputs]


class Worker:
    """Drives an engine over records, and gathers what it commits."""

    def __init__(self, job: Job, drive: Drive) -> None:
        self._job = job
        self._records = job.records
        self._times = job.times
        self._until = job.until
        self._drive = drive
        self._at_most = MANY
        self._state: dict[bytes, bytes] = {}
        self._outputs: list[Output] = []
        self._engine = self._begin()
        self._read = dict.fromkeys(job.records, 0)
        self._ever_read = dict.fromkeys(job.records, 0)

    def run(self) -> list[Output]:
        """Return what was detected, in the order in which it was."""
        if self._drive.seed is not None:
            self._run_in_pieces(Random(self._drive.seed))
        for topic in self._records:
            self._feed(topic, len(self._records[topic]))
        for topic in self._records:
            self._engine.advance(topic, self._until + 1)
        while self._engine.is_behind:
            self._engine.run(self._at_most, self._fetch)
        self._commit()
        return self._outputs

    def _run_in_pieces(self, random: Random) -> None:
        topics = sorted(self._records)
        size = random.choice((1, 1, 2, 4))
        self._at_most = random.choice((1, 2, 5, MANY, MANY, MANY))
        restless = random.choice((0, 1, 1, 3))
        does = ["feed"] * 6 + ["run"] * 4 + ["advance"] * 5 + ["commit", "abort", "lose", "move"] * restless
        for _ in range(3 * sum(map(len, self._records.values()))):
            topic = random.choice(topics)
            match random.choice(does):
                case "feed":
                    self._feed(topic, random.randint(1, size))
                case "run":
                    self._engine.run(self._at_most, self._fetch)
                case "advance":
                    self._advance(topic, random)
                case "commit":
                    self._commit()
                case "abort":
                    self._abort(random)
                case "lose":
                    self._restart(random)
                case "move":
                    self._commit()
                    self._restart(random)

    def _begin(self) -> Engine:
        return Engine(self._job.plan, TASK, PARTITION, self._job.frames, cache_bytes=self._drive.cache_bytes)

    def _feed(self, topic: str, count: int) -> None:
        at = self._read[topic]
        batch = list(self._records[topic][at : at + count])
        if batch:
            self._engine.feed(Batch.build(topic, PARTITION, batch), self._until + 1)
            self._read[topic] += len(batch)
            self._ever_read[topic] = max(self._ever_read[topic], self._read[topic])

    def _advance(self, topic: str, random: Random) -> None:
        """Say that a topic is silent, no further than to what it still carries.

        A worker does not say so while it reads again what it had read before a restart.
        """
        if self._read[topic] < self._ever_read[topic]:
            return
        left = self._times[topic][self._read[topic] :]
        self._engine.advance(topic, min(left, default=self._until + 1) - random.choice((0, 0, 0, 1, 20)))

    def _commit(self) -> None:
        self._engine.sweep(list(self._state.items()))
        self._engine.swept()
        commit = self._engine.take()
        self._engine.committed()
        for key, value in commit.state:
            if value is None:
                self._state.pop(key, None)
            else:
                self._state[key] = value
        for reason in map(_refusal, commit.letters):
            if reason is not None:
                raise Refused(reason)
        for topic, _, _, body, _ in commit.outputs:
            self._outputs.append((topic, body))

    def _abort(self, random: Random) -> None:
        """Let a transaction fail, be it before or after the engine was asked what to write."""
        if random.random() < 0.5:
            self._engine.take()
        self._engine.undo(self._fetch)
        self._go_on()

    def _restart(self, random: Random) -> None:
        """Begin again from what was committed, in any order: all of it, or only what must be in memory."""
        self._engine = self._begin()
        entries = list(self._state.items())
        random.shuffle(entries)
        shelved = tuple(self._engine.shelved)
        if shelved and random.random() < 0.5:
            self._engine.load([entry for entry in entries if not entry[0].startswith(shelved)])
            self._engine.let_go()
        else:
            self._engine.load(entries)
        self._go_on()

    def _fetch(self, prefixes: list[bytes]) -> list[tuple[bytes, bytes]]:
        """Return the committed entries whose keys begin so."""
        return [entry for entry in self._state.items() if entry[0].startswith(tuple(prefixes))]

    def _go_on(self) -> None:
        resume = {topic: offset for (topic, _), offset in (self._engine.resume or {}).items()}
        self._read = dict.fromkeys(self._records, 0) | resume


def _refusal(letter: tuple[bool, bytes | None, bytes]) -> str | None:
    """Return why a record was refused; an attribute without a value is no refusal of a record."""
    body = letter[2]
    return None if b"has no value here" in body else repr(body)
