"""The commit: what the tasks of a worker did since the last one becomes visible at once, or not at all."""

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tocsin._engine import Commit
from tocsin.workers.formats import Formats
from tocsin.workers.kafka import COMMIT_TIMEOUT_S, is_fenced
from tocsin.workers.store import Checkpoint
from tocsin.workers.task import Task


class CommitLost(Exception):
    """The transaction failed, or nobody knows: the tasks go back to what is known to be committed."""


class Committer:
    """Commits tasks through one transactional producer."""

    def __init__(self, producer: Producer, formats: Formats, changelog: str, changelog_id: str) -> None:
        self._producer = producer
        self._formats = formats
        self._changelog = changelog
        self._changelog_id = changelog_id
        self._offsets: dict[int, int] = {}

    def commit(self, tasks: Sequence[Task], consumer: Consumer) -> int:
        """Commit and return the number of complex events.

        1. Take from each task's engine what it did.
        2. Begin a transaction.
        3. Produce complex events, letters, and changes of state; the last of those is the task's own entry.
        4. Send the offsets to read on from, with the group's metadata taken now: from a worker that lost its
           place in the group they are refused.
        5. Commit.
        6. Write the changes to the stores, with the offset of the last one in the changelog.

        A crash before 5 leaves nothing; between 5 and 6 it leaves stores that lag behind their changelog, and
        the difference is replayed. Where 2 to 5 fail or their outcome is unknown, `CommitLost` is raised: the
        producer must be replaced and the tasks restored. A producer that was fenced stays so: its error is
        raised as it is.
        """
        taken = [(task, task.take()) for task in tasks]  # 1
        try:
            self._producer.begin_transaction()  # 2
            for task, commit in taken:
                self._produce(task, commit)  # 3
            offsets = [
                TopicPartition(topic, task.partition, offset)
                for task, commit in taken
                for topic, offset in commit.offsets
            ]
            metadata = consumer.consumer_group_metadata()
            self._producer.send_offsets_to_transaction(offsets, metadata, COMMIT_TIMEOUT_S)  # 4
            self._producer.commit_transaction(COMMIT_TIMEOUT_S)  # 5
        except KafkaException as error:
            if is_fenced(error.args[0]):
                raise
            raise CommitLost(error.args[0].str()) from error
        for task, commit in taken:  # 6
            task.committed(commit, Checkpoint(self._changelog_id, self._offsets.pop(task.partition)))
        return sum(len(commit.outputs) for _, commit in taken)

    def _produce(self, task: Task, commit: Commit) -> None:
        for topic, partition, key, value, timestamp in commit.outputs:
            self._send(topic, value, key, partition, timestamp)
        now_ms = int(time.time() * 1000)
        for late, record_key, body in commit.letters:
            topic, letter = self._formats.letter(late=late, body=body)
            self._send(topic, letter, record_key, 0, now_ms)
        entries = commit.state
        for key, entry in entries[:-1]:
            self._send(self._changelog, entry, key, task.partition, now_ms)
        last_key, last_entry = entries[-1]
        self._producer.produce(
            self._changelog, last_entry, last_key, task.partition, on_delivery=self._delivered
        )

    def _send(
        self, topic: str, value: bytes | None, key: bytes | None, partition: int, timestamp: int
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, partition, timestamp=timestamp)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._offsets[message.partition() or 0] = message.offset() or 0
