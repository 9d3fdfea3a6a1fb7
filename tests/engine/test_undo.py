"""After an abort an engine is as one that was just loaded from what was committed, byte by byte."""

from random import Random
from typing import TYPE_CHECKING

import pytest

from tocsin._engine import Batch, Commit, Engine

from .differential.generate import cases, drives
from .differential.run import Task
from .differential.worker import Worker
from .history import Record, as_json, rules
from .history import Task as Keyed

if TYPE_CHECKING:  # a name of the stub only
    from tocsin._engine import Fetch

FAMILIES = ("pattern", "expression", "match", "nested match")

RULES = rules("""
    event A (k: string) on "as" key k;
    event B (k: string) on "bs" key k;
    define R (k: string) from (A(k = $k) ; B(k = $k)) within 1 min where k = $k;
""")


def record(offset: int, time: int) -> Record:
    return Record(offset, time, b"k", as_json({"k": "k"}))


def advance(task: Keyed, until: int) -> None:
    for topic in task.engine.topics:
        task.engine.advance(topic, until)
    task.engine.run()


class Twins(Worker):
    """From each abort on, an engine that was loaded at that point does what the other does."""

    _twin: Engine | None = None
    compared = 0

    def _abort(self, random: Random) -> None:
        super()._abort(random)
        self._twin = self._begin()
        self._twin.load(list(self._state.items()))
        assert self._twin.resume == self._engine.resume
        self._engine = Both(self._engine, self._twin, self)  # type: ignore[assignment]

    def _restart(self, random: Random) -> None:
        super()._restart(random)
        self._twin = None


class Both:
    """Two engines that are to do the same."""

    def __init__(self, one: "Engine | Both", other: Engine, twins: Twins) -> None:
        self._one = one._one if isinstance(one, Both) else one
        self._other = other
        self._twins = twins

    def feed(self, batch: Batch, now_ms: int) -> None:
        assert self._one.feed(batch, now_ms) == self._other.feed(batch, now_ms)

    def advance(self, topic: str, watermark_ms: int) -> None:
        self._one.advance(topic, watermark_ms)
        self._other.advance(topic, watermark_ms)

    def run(self, at_most: int, fetch: "Fetch") -> None:
        assert self._one.run(at_most, fetch) == self._other.run(at_most, fetch)

    def sweep(self, entries: list[tuple[bytes, bytes]]) -> None:
        self._one.sweep(entries)
        self._other.sweep(entries)

    def swept(self) -> None:
        self._one.swept()
        self._other.swept()

    def take(self) -> Commit:
        one, other = self._one.take(), self._other.take()
        self._twins.compared += 1
        assert set(one.state) == set(other.state), set(one.state) ^ set(other.state)
        assert one.outputs == other.outputs, (one.outputs, other.outputs)
        assert one.letters == other.letters
        assert one.offsets == other.offsets
        return one

    def __getattr__(self, name: str) -> object:
        return getattr(self._one, name)


@pytest.mark.parametrize("family", [*FAMILIES, "all of them"])
def test_an_engine_that_undid_goes_on_like_one_that_was_loaded(family: str) -> None:
    compared = 0
    for seed in range(8):
        _, found = cases(seed, {family: 1.0} if family in FAMILIES else None)
        for case in found[:2]:
            task = Task(case)
            for drive in drives(seed)[1:]:
                twins = Twins(task.job, drive)
                twins.run()
                compared += twins.compared
    assert compared > 30


def test_what_was_not_committed_is_forgotten() -> None:
    task = Keyed(RULES)
    task.feed("as", [record(0, 1000)])
    advance(task, 2000)
    task.commit()
    task.engine.committed()
    task.feed("as", [record(1, 3000)])
    advance(task, 4000)
    task.engine.take()
    asked: list[list[bytes]] = []

    def fetch(prefixes: list[bytes]) -> list[tuple[bytes, bytes]]:
        asked.append(prefixes)
        return [entry for entry in task.state.items() if entry[0].startswith(tuple(prefixes))]

    task.engine.undo(fetch)
    assert len(asked) == 1
    assert len(asked[0]) == 2, "the one binding that changed, and the task itself"
    assert task.engine.resume == {("as", 0): 1, ("bs", 0): 0}
    assert task.engine.released_ms == 2000
    assert task.engine.counts["read"] == 1


def test_without_a_commit_everything_begins_anew() -> None:
    task = Keyed(RULES)
    task.engine.start("as", 5)
    task.feed("as", [record(5, 1000)])
    advance(task, 2000)
    task.engine.undo(lambda _: [])
    assert task.engine.resume is None
    assert task.engine.stored == 0
    task.feed("as", [record(4, 1000), record(5, 1000)])
    assert task.engine.waiting == 1, "reading begins where it began"
