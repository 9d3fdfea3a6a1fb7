"""Random rules over random histories: the engine finds what the definition says, each exactly once.

However the records are cut into batches, wherever a crash falls, the same complex events come out.
"""

import math
from collections import Counter
from random import Random

import pytest

from .generate import Case, case
from .history import END_MS, Detected, Task, read_on
from .reference import complex_event

BLOCKS, CASES = 8, 50
"""Tests, and cases of each; the seed of a case is its place among all."""


class Drive:
    """Feeds a history to a task in random cuts, commits now and then, and lets it crash."""

    def __init__(self, of: Case, random: Random) -> None:
        self.random = random
        self.records = of.records
        self.times = {(event.topic, event.offset): event.time for event in of.history}
        self.task = Task(of.plan)
        for frame, schema in of.frames.items():
            self.task.know(schema, frame)
        self.next = dict.fromkeys(of.records, 0)
        """Index of the next record to read, of each topic."""
        self.seen = dict.fromkeys(of.records, 0)
        """How many records of each topic were ever read."""
        self.committed = dict.fromkeys(of.records, 0)

    def run(self, crashes: int) -> Task:
        """Feed everything, and return the task with what it committed."""
        while any(self.next[topic] < len(records) for topic, records in self.records.items()):
            self.feed()
            if self.random.random() < 0.2:
                self.fall_silent()
            if self.random.random() < 0.6:
                self.task.engine.run()
            if self.random.random() < 0.4:
                self.committed = read_on(self.task.commit())
            if crashes and self.random.random() < 0.2:
                self.crash()
                crashes -= 1
        self.task.finish()
        return self.task

    def feed(self) -> None:
        topic = self.random.choice([t for t, records in self.records.items() if self.next[t] < len(records)])
        start = self.next[topic]
        end = min(start + self.random.choice((1, 2, 5, 30)), len(self.records[topic]))
        self.task.feed(topic, self.records[topic][start:end])
        self.next[topic] = end
        self.seen[topic] = max(end, self.seen[topic])

    def fall_silent(self) -> None:
        """Advance a topic of which everything was read that was ever there, as far as what comes allows."""
        topic = self.random.choice(list(self.records))
        if self.next[topic] == self.seen[topic]:
            rest = self.records[topic][self.next[topic] :]
            self.task.engine.advance(topic, min((self.times[topic, r.offset] for r in rest), default=END_MS))

    def crash(self) -> None:
        entries = list(self.task.state.items())
        self.random.shuffle(entries)
        resume = self.task.crash(entries)
        assert resume == self.committed
        for topic, records in self.records.items():
            self.next[topic] = sum(record.offset < resume[topic] for record in records)


def comparable(value: object) -> object:
    """Return a value that is equal only to the same: NaN to NaN, no zero to the other, no 1 to true."""
    if isinstance(value, dict):
        return {name: comparable(part) for name, part in value.items()}
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (math.copysign(1, value), value)
    return (type(value), value) if not isinstance(value, list) else [comparable(part) for part in value]


def expected(of: Case) -> tuple[list[object], Counter[tuple[str, int]]]:
    """Return the complex events of a history, and the terminators of those that lack a value."""
    records: list[object] = []
    lacking: Counter[tuple[str, int]] = Counter()
    for rule in of.rules:
        for scene in rule.occurrences(of.history):
            record = complex_event(rule, scene)
            if record is None:
                terminator = scene.bound[rule.constituents[0].role]
                lacking[terminator.topic, terminator.offset] += 1
            else:
                records.append(comparable(record))
    return records, lacking


def found(task: Task) -> tuple[list[object], Counter[tuple[str, int]]]:
    """Return the same of what a task committed, without the identities."""
    records = []
    for detected in task.detected:
        detection = {name: part for name, part in detected.value["detection"].items() if name != "identity"}
        records.append(comparable({**detected.value, "detection": detection}))
    assert {reject.reason for reject in task.rejects} <= {"NO_VALUE"}
    return records, Counter((reject.topic, reject.offset) for reject in task.rejects)


def identities(detected: list[Detected]) -> dict[str, object]:
    """Return what each identity stands for, after checking that each is there once and names its record."""
    by_identity: dict[str, object] = {
        d.value["detection"]["identity"]: (d.topic, d.provenance) for d in detected
    }
    assert len(by_identity) == len(detected) == len(set(by_identity.values()))
    assert [d.key for d in detected] == list(by_identity)
    return by_identity


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_engine_finds_what_the_definition_says(block: int) -> None:
    matches = 0
    for seed in range(block * CASES, (block + 1) * CASES):
        of = case(seed)
        records, lacking = expected(of)
        random = Random(seed)
        at_once = Drive(of, random).run(crashes=0)
        interrupted = Drive(of, random).run(crashes=6)
        for task in (at_once, interrupted):
            got, rejected = found(task)
            assert sorted(got, key=str) == sorted(records, key=str), f"seed {seed}\n{of.text}"
            assert rejected == lacking, f"seed {seed}\n{of.text}"
        assert identities(at_once.detected) == identities(interrupted.detected), f"seed {seed}\n{of.text}"
        matches += len(records)
    assert matches > CASES, "the cases are too poor to show anything"
