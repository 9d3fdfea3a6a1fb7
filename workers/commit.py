"""The commit: what the tasks of a worker did since the last one becomes visible at once, or not at all."""

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tocsin._engine import Commit
from tocsin.workers.errors import WorkerError
from tocsin.workers.formats import Formats
from tocsin.workers.kafka import COMMIT_TIMEOUT_S, is_fenced
from tocsin.workers.marks import Teller
from tocsin.workers.store import Checkpoint
from tocsin.workers.task import Task

_MAX_RECORDS = 200_000
"""Records of a transaction after which no further task is taken into it."""


class Aborted(Exception):
    """The transaction came to nothing: what these tasks did since their last commit is to be undone."""

    def __init__(self, reason: str, tasks: Sequence[Task]) -> None:
        super().__init__(reason)
        self.tasks = tasks


class CommitLost(Exception):
    """Nobody knows what became of the transaction: the tasks are restored from what is committed."""


class Committer:
    """Commits tasks through one transactional producer."""

    def __init__(
        self,
        producer: Producer,
        formats: Formats,
        changelog: str,
        changelog_id: str,
        teller: Teller | None = None,
    ) -> None:
        self._producer = producer
        self._formats = formats
        self._changelog = changelog
        self._changelog_id = changelog_id
        self._teller = teller
        self._offsets: dict[int, int] = {}

    def commit(self, tasks: Sequence[Task], consumer: Consumer) -> None:
        """Commit what the tasks did, in one transaction unless it would be too long for its time-out.

        1. Begin a transaction.
        2. Take from a task's engine what it did, and produce it: complex events, letters, how far it has
           come for other applications, and changes of state; the last of those is the task's own entry. Go on
           with the next task.
        3. Send the offsets to read on from, with the group's metadata taken now: from a worker that lost its
           place in the group they are refused.
        4. Commit.
        5. Write the changes to the stores, with the offset of the last one in the changelog.

        A crash before 4 leaves nothing; between 4 and 5 it leaves stores that lag behind their changelog, and
        the difference is replayed.

        Where 1 to 3 fail, or 4 is refused, the transaction is aborted. That this succeeds proves that it was
        not committed: `Aborted` names the tasks of 2, which are to be undone, and the producer goes on. Where
        the outcome of 4 or of the abort is unknown, `CommitLost` is raised: the producer must be replaced and
        the tasks restored. A producer that was fenced stays so: its error is raised as it is.
        """
        waiting = list(tasks)
        while waiting:
            taken: list[tuple[Task, Commit]] = []
            committing = False
            try:
                self._producer.begin_transaction()  # 1
                self._take(waiting, taken)  # 2
                offsets = [
                    TopicPartition(topic, partition, offset)
                    for _, commit in taken
                    for topic, partition, offset in commit.offsets
                ]
                metadata = consumer.consumer_group_metadata()
                self._producer.send_offsets_to_transaction(offsets, metadata, COMMIT_TIMEOUT_S)  # 3
                committing = True
                self._producer.commit_transaction(COMMIT_TIMEOUT_S)  # 4
            except KafkaException as error:
                cause = error.args[0]
                if is_fenced(cause):
                    raise
                if committing and not cause.txn_requires_abort():
                    raise CommitLost(cause.str()) from error
                self._abort()
                raise Aborted(cause.str(), [task for task, _ in taken]) from error
            for task, commit in taken:  # 5
                self._stands(task, commit, Checkpoint(self._changelog_id, self._offsets.pop(task.partition)))

    def begin(self, task: Task, places: Iterable[TopicPartition], consumer: Consumer) -> None:
        """Do what is to be done before a task runs, which reads on from these places: nothing here."""

    def _stands(self, task: Task, commit: Commit, checkpoint: Checkpoint) -> None:
        task.committed(commit, checkpoint)
        if self._teller is not None:
            self._teller.committed(task, _now_ms())

    def _abort(self) -> None:
        """End a transaction that is not committed; return only when it is certain that it never will be."""
        try:
            self._producer.abort_transaction(COMMIT_TIMEOUT_S)
        except KafkaException as error:
            if is_fenced(error.args[0]):
                raise
            raise CommitLost(error.args[0].str()) from error
        self._offsets.clear()

    def _take(self, waiting: list[Task], taken: list[tuple[Task, Commit]]) -> None:
        records = 0
        while waiting and records < _MAX_RECORDS:
            task = waiting.pop()
            commit = task.take()
            taken.append((task, commit))
            self._produce(task, commit)
            records += len(commit.outputs) + len(commit.parcels) + len(commit.letters) + len(commit.state)

    def _produce(self, task: Task, commit: Commit) -> None:
        self._produce_found(commit)
        self._produce_state(task, commit)

    def _produce_found(self, commit: Commit) -> None:
        for topic, partition, key, value, timestamp in commit.outputs:
            self._send(topic, value, key, partition, timestamp)
        now_ms = _now_ms()
        for topic, partition, parcel in commit.parcels:
            self._send(topic, parcel, None, partition, now_ms)
        for late, record_key, body in commit.letters:
            topic, letter = self._formats.letter(late=late, body=body)
            self._send(topic, letter, record_key, 0, now_ms)

    def _produce_state(self, task: Task, commit: Commit) -> None:
        now_ms = _now_ms()
        if self._teller is not None:
            for key, mark in self._teller.records(task):
                self._send(self._teller.topic, mark, key, 0, now_ms)
        *entries, (last_key, last_entry) = commit.state
        for key, entry in chain(task.amends, entries):
            self._send(self._changelog, entry, key, task.partition, now_ms)
        self._send(self._changelog, last_entry, last_key, task.partition, now_ms, self._delivered)

    def _send(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        partition: int,
        timestamp: int,
        on_delivery: Callable[[KafkaError | None, Message], None] | None = None,
    ) -> None:
        while True:
            try:
                self._producer.produce(
                    topic, value, key, partition, on_delivery=on_delivery, timestamp=timestamp
                )
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                raise WorkerError(
                    f"A record of {len(value or b'')} bytes is too large to be written to '{topic}'; raise "
                    "max_output_bytes, and max.message.bytes of the topic."
                ) from error
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._offsets[message.partition() or 0] = message.offset() or 0


def _now_ms() -> int:
    return int(time.time() * 1000)
