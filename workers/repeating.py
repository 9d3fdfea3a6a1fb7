"""The commit without transactions: nothing is lost, and after a crash complex events may come again."""

from collections.abc import Callable, Iterable, Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tocsin._engine import Commit
from tocsin.workers.commit import CommitLost, Committer
from tocsin.workers.kafka import COMMIT_TIMEOUT_S
from tocsin.workers.store import Checkpoint
from tocsin.workers.task import Task

_MARK = "changelog "


class RepeatingCommitter(Committer):
    """Commits tasks through a producer without transactions."""

    _failure: KafkaError | None = None

    def commit(self, tasks: Sequence[Task], consumer: Consumer) -> None:
        """Commit what the tasks did.

        1. Take from each task's engine what it did, produce complex events and letters, and wait until the
           broker has them.
        2. Produce how far the tasks have come, and the changes of state; wait again. The last change of a
           task is its own entry.
        3. Commit the offsets to read on from, each with the place of that entry in the changelog. From a
           worker that lost its place in the group they are refused.
        4. Write the changes to the stores.

        What stands is decided by 3 alone: what the changelog has beyond the place that was committed with the
        offsets is not restored, but put right by the next commit (`Task.amends`). A crash before 3 leaves
        complex events that will be found again; one between 3 and 4, stores that lag behind.

        Where 1 to 3 fail, nobody knows what the broker has of it: `CommitLost` is raised.
        """
        waiting = list(tasks)
        while waiting:
            taken: list[tuple[Task, Commit]] = []
            try:
                self._take(waiting, taken)  # 1
                self._flush()
                for task, commit in taken:  # 2
                    self._produce_state(task, commit)
                self._flush()
                places = [
                    TopicPartition(topic, partition, offset, metadata=mark(self._offsets[task.partition]))
                    for task, commit in taken
                    for topic, partition, offset in commit.offsets
                ]
                commit_offsets(consumer, places)  # 3
            except KafkaException as error:
                self._producer.purge()
                raise CommitLost(error.args[0].str()) from error
            for task, commit in taken:  # 4
                self._stands(task, commit, Checkpoint(self._changelog_id, self._offsets.pop(task.partition)))

    def begin(self, task: Task, places: Iterable[TopicPartition], consumer: Consumer) -> None:
        """Mark where the changelog of a task ends that no commit without transactions marked yet."""
        if task.unmarked is None:
            return
        end = mark(task.unmarked - 1)
        commit_offsets(
            consumer, [TopicPartition(at.topic, at.partition, at.offset, metadata=end) for at in places]
        )

    def _produce(self, _task: Task, commit: Commit) -> None:
        self._produce_found(commit)

    def _send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp: int,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
    ) -> None:
        super()._send(topic, value, key, partition, timestamp, on_delivery or self._reported)

    def _flush(self) -> None:
        waiting = self._producer.flush(COMMIT_TIMEOUT_S)
        if self._failure is not None:
            raise KafkaException(self._failure)
        if waiting:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 – its public spelling

    def _reported(self, error: KafkaError | None, _message: Message) -> None:
        self._failure = self._failure or error

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        self._reported(error, message)
        super()._delivered(error, message)


def commit_offsets(consumer: Consumer, places: list[TopicPartition]) -> None:
    """Commit offsets, all in one request; raise what is wrong with any of them."""
    for at in consumer.commit(offsets=places, asynchronous=False) or ():
        if at.error is not None:
            raise KafkaException(at.error)


def mark(offset: int) -> str:
    """Return what is committed with offsets: up to where the changelog belongs to them."""
    return f"{_MARK}{offset}"


def marked(places: Iterable[TopicPartition]) -> int | None:
    """Return up to where the changelog of a task belongs to its committed offsets, if that was marked.

    Offsets of a transaction have no mark: there, all that is committed of the changelog belongs to them.
    """
    marks = [at.metadata or "" for at in places if at.offset >= 0]
    if not marks or not all(each.startswith(_MARK) for each in marks):
        return None
    return max(int(each.removeprefix(_MARK)) for each in marks)
