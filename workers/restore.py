"""Replays into a store what the changelog has beyond it, a step at a time, so that other tasks go on."""

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tocsin.workers.errors import WorkerError
from tocsin.workers.kafka import ANSWER_TIMEOUT_S, as_worker_error, is_passing, log_consumer
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.store import Checkpoint, Store

_STEP_MESSAGES = 10_000
_STEP_S = 0.1


class Restore:
    """One partition of a changelog on its way into a store.

    The end to reach is the high watermark at the beginning, though only committed records are read: a
    transaction of a predecessor that is still being decided holds the reader back, and must be waited for.
    """

    def __init__(
        self,
        admin: AdminClient,
        settings: WorkerSettings,
        changelog: TopicPartition,
        topic_id: str,
        store: Store,
    ) -> None:
        self._store = store
        self._topic_id = topic_id
        self._changelog = changelog
        self._consumer: Consumer | None = None
        begin = offset_of(admin, changelog, OffsetSpec.earliest())
        self.end = offset_of(admin, changelog, OffsetSpec.latest())
        self.position = self._first(begin)
        self.begin = self.position
        self.is_whole = self._store.checkpoint is None
        """Whether all of the changelog is replayed, rather than what the store lacks."""
        if self.position < self.end:
            self._consumer = log_consumer(settings)
            self._consumer.assign([TopicPartition(changelog.topic, changelog.partition, self.position)])

    def _first(self, begin: int) -> int:
        checkpoint = self._store.checkpoint
        if checkpoint is None:
            return begin
        if checkpoint.topic_id != self._topic_id or not begin <= checkpoint.offset + 1 <= self.end:
            # The state of another changelog, or one with a gap before what the changelog still has.
            self._store.wipe()
            return begin
        return checkpoint.offset + 1

    @property
    def done(self) -> bool:
        """Whether the store reflects the whole changelog."""
        return self.position >= self.end

    def step(self) -> None:
        """Replay some more."""
        if self._consumer is None:
            return
        changes: list[tuple[bytes, bytes | None]] = []
        messages = self._consumer.consume(_STEP_MESSAGES, _STEP_S)
        for message in messages:
            problem = message.error()
            if problem is None:
                changes.append((message.key() or b"", message.value()))
                self.position = (message.offset() or 0) + 1
            elif problem.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
                self.position = max(self.position, message.offset() or 0)
            elif not is_passing(problem):
                raise WorkerError(f"The changelog '{self._changelog.topic}' cannot be read: {problem.str()}.")
        if messages:
            self._store.apply(changes, Checkpoint(self._topic_id, self.position - 1))

    def close(self) -> None:
        """Let go of the changelog."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None


def topic_id(admin: AdminClient, topic: str, brokers: str) -> str:
    """Return the broker's id of a topic."""
    try:
        asked = admin.describe_topics(TopicCollection([topic]), request_timeout=ANSWER_TIMEOUT_S)
        described = asked[topic].result()
    except KafkaException as error:
        raise as_worker_error(error, brokers) from error
    return str(described.topic_id)


def offset_of(admin: AdminClient, partition: TopicPartition, spec: OffsetSpec) -> int:
    """Return the first or last offset of a partition."""
    at = TopicPartition(partition.topic, partition.partition)
    return int(admin.list_offsets({at: spec}, request_timeout=ANSWER_TIMEOUT_S)[at].result().offset)
