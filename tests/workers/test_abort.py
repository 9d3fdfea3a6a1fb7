"""A transaction that comes to nothing: what it did is undone, and done again."""

import random
from collections.abc import Callable
from typing import Any, cast

import pytest
from confluent_kafka import Consumer as Member
from confluent_kafka import KafkaError, KafkaException

from tests.workers.conftest import Application, eventually
from tests.workers.test_memory import Kept
from tocsin.workers import kafka
from tocsin.workers.commit import Aborted, CommitLost, Committer
from tocsin.workers.store import MemoryStore
from tocsin.workers.task import LocalStateDamaged, Task, TaskState

MakeApp = Callable[..., Application]


class Calls:
    """How often a method of tasks was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.count = 0
        original = getattr(Task, name)

        def counted(task: Task, *arguments: object) -> object:
            self.count += 1
            return original(task, *arguments)

        monkeypatch.setattr(Task, name, counted)


class Refusal:
    """While it is on, offsets are sent as of a member that has left the group, which the broker refuses."""

    def __init__(self, app: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_on = False
        consumer = kafka.group_consumer(app.settings(), f"tocsin.{app.plan.app}.local")
        consumer.subscribe(list(app.plan.input_topics))
        eventually("a member", lambda: consumer.poll(0.1) is None and bool(consumer.assignment()))
        self._metadata = consumer.consumer_group_metadata()
        consumer.close()
        original = Committer.commit

        def commit(committer: Committer, tasks: list[Task], consumer: Member) -> None:
            original(committer, tasks, cast("Member", self) if self.is_on else consumer)

        monkeypatch.setattr(Committer, "commit", commit)

    def consumer_group_metadata(self) -> object:
        return self._metadata


@pytest.mark.parametrize("memory", [None, 2_000])
def test_no_event_is_lost_or_doubled_by_aborts(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch, memory: int | None
) -> None:
    app, rng = make_app(partitions=2), random.Random(21)
    refusal = Refusal(app, monkeypatch)
    restored, undone = Calls(monkeypatch, "begin_restore"), Calls(monkeypatch, "undo")
    with app.worker(state_memory_bytes=memory):
        app.publish_some(rng, 300)
        app.await_exact()
        begun = restored.count
        for _ in range(2):
            refusal.is_on, before = True, undone.count
            app.publish_some(rng, 100)
            eventually("several aborts", lambda before=before: undone.count >= before + 5)  # type: ignore[misc]
            refusal.is_on = False
            app.publish_some(rng, 50)
            app.await_exact()
    assert restored.count == begun, "nothing is restored"


def test_workers_that_join_and_leave_while_commits_are_refused(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, rng = make_app(), random.Random(22)
    refusal, undone = Refusal(app, monkeypatch), Calls(monkeypatch, "undo")
    with app.worker("one") as one:
        app.publish_some(rng, 300)
        app.await_exact()
        refusal.is_on = True
        app.publish_some(rng, 100)
        eventually("an abort", lambda: undone.count > 0)
        with app.worker("two") as two:
            eventually("the other to have work", lambda: bool(two.statuses and two.statuses[-1].tasks))
            refusal.is_on = False
            app.publish_some(rng, 100)
            eventually("both to work", lambda: bool(one.partitions()) and bool(two.partitions()))
            app.await_exact()
        app.publish_some(rng, 100)
        app.await_exact()


class Producer:
    """Fails where it is told to, and remembers what was asked of it."""

    def __init__(self, **failures: KafkaError) -> None:
        self._failures = failures
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        def ask(*_: object, **__: object) -> None:
            self.asked.append(name)
            if name in self._failures:
                raise KafkaException(self._failures[name])

        return ask


class Consumer:
    """Belongs to a group."""

    def consumer_group_metadata(self) -> object:
        return object()


class Letterless:
    """No records are refused here."""


def commit(producer: Producer) -> Kept:
    """Commit an event through a producer that fails."""
    kept = Kept(MemoryStore(), 0)
    kept.handle("temps", 1_000, ["hall"])
    committer = Committer(cast("Any", producer), cast("Any", Letterless()), "changelog", "id")
    committer.commit([kept.task], cast("Any", Consumer()))
    return kept


REFUSED = KafkaError(KafkaError.ILLEGAL_GENERATION, "refused", txn_requires_abort=True)
UNKNOWN = KafkaError(KafkaError._TIMED_OUT, "who knows", retriable=True)
FENCED = KafkaError(KafkaError.PRODUCER_FENCED, "another", fatal=True)


@pytest.mark.parametrize("step", ["produce", "send_offsets_to_transaction", "commit_transaction"])
def test_what_is_refused_is_aborted(step: str) -> None:
    producer = Producer(**{step: REFUSED})
    with pytest.raises(Aborted, match="refused") as raised:
        commit(producer)
    assert producer.asked[-1] == "abort_transaction"
    assert [task.partition for task in raised.value.tasks] == [0]


def test_a_commit_of_unknown_outcome_is_not_aborted() -> None:
    producer = Producer(commit_transaction=UNKNOWN)
    with pytest.raises(CommitLost, match="who knows"):
        commit(producer)
    assert "abort_transaction" not in producer.asked


def test_an_abort_of_unknown_outcome_ends_the_producer() -> None:
    with pytest.raises(CommitLost, match="who knows"):
        commit(Producer(send_offsets_to_transaction=REFUSED, abort_transaction=UNKNOWN))


@pytest.mark.parametrize("step", ["begin_transaction", "commit_transaction"])
def test_a_fenced_producer_says_so(step: str) -> None:
    with pytest.raises(KafkaException, match="another"):
        commit(Producer(**{step: FENCED}))


def running(kept: Kept) -> Task:
    kept.task.state = TaskState.RUNNING
    return kept.task


def test_after_an_abort_nothing_counts_as_read() -> None:
    kept = Kept(MemoryStore(), 0)
    kept.handle("temps", 1_000, ["hall"])
    kept.commit()
    kept.handle("temps", 2_000, ["hall"])
    task = running(kept)
    task.sources["temps"].caught_up_to = 2
    task.take()
    task.undo(now_ms=5_000)
    assert task.state is TaskState.UNDONE
    assert task.engine.resume == {("temps", 0): 1, ("smoke", 0): 0}
    assert task.sources["temps"].caught_up_to < 0, "what is read again is not yet there"
    assert task.sources["temps"].quiet_since_ms == 5_000
    task.compare({"temps": 1, "smoke": 0})
    places = {at.topic: at.offset for at in task.places(lambda _topic: 99)}
    assert places == {"temps": 1, "smoke": 0}


def test_a_store_that_cannot_be_read_is_told_from_other_failures() -> None:
    kept = Kept(MemoryStore(), 0)
    kept.handle("temps", 1_000, ["hall"])
    commit = kept.commit()
    kept.handle("temps", 2_000, ["hall"])
    task = running(kept)
    key = next(key for key, value in commit.state if value is not None and not key.startswith(b"\0"))
    task.store.apply([(key, b"\xff")], task.store.checkpoint)  # type: ignore[arg-type]
    with pytest.raises(LocalStateDamaged):
        task.undo(now_ms=5_000)
