"""Replays into a store what the changelog has beyond it, a step at a time, so that other tasks go on."""

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tocsin.workers.errors import StateMismatch, WorkerError
from tocsin.workers.kafka import ANSWER_TIMEOUT_S, as_worker_error, is_passing, log_consumer
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.store import Change, Checkpoint, Store

_STEP_MESSAGES = 10_000
_STEP_S = 0.1


class Restore:
    """One partition of a changelog on its way into a store.

    The end to reach is the high watermark at the beginning, though only committed records are read: a
    transaction of a predecessor that is still being decided holds the reader back, and must be waited for.
    With `follow` it goes on behind that end, for as long as it is asked to.

    Without transactions the offsets are `marked` with the place up to which the changelog belongs to them.
    What is beyond it was never committed: it is not restored, and `amends` has what it must be followed by.
    """

    def __init__(
        self,
        admin: AdminClient,
        settings: WorkerSettings,
        changelog: TopicPartition,
        topic_id: str,
        store: Store,
        *,
        marked: int | None = None,
        follow: bool = False,
    ) -> None:
        self._store = store
        self._topic_id = topic_id
        self._changelog = changelog
        self._consumer: Consumer | None = None
        begin = offset_of(admin, changelog, OffsetSpec.earliest())
        self.end = offset_of(admin, changelog, OffsetSpec.latest())
        self.stands = self.end if marked is None else min(marked + 1, self.end)
        """Where what is known to be committed ends."""
        self.is_marked = marked is not None
        self._beyond: set[bytes] = set()
        self.position = self._first(begin)
        self.begin = self.position
        self.read_bytes = 0
        self._follows = follow
        self.is_whole = self._store.checkpoint is None
        """Whether all of the changelog is replayed, rather than what the store lacks."""
        if self.position < self.end or follow:
            self._consumer = log_consumer(settings)
            self._consumer.assign([TopicPartition(changelog.topic, changelog.partition, self.position)])

    def _first(self, begin: int) -> int:
        checkpoint = self._store.checkpoint
        is_ours = checkpoint is not None and checkpoint.topic_id == self._topic_id
        if checkpoint is not None and is_ours and begin <= checkpoint.offset + 1 <= self.stands:
            return checkpoint.offset + 1
        if begin > 0:
            # Compaction leaves the beginning where it is: what is gone was deleted, and may be missing.
            at = self._changelog
            raise StateMismatch(
                f"Partition {at.partition} of the changelog '{at.topic}' begins at offset {begin}: records "
                "were deleted from it, and the state here does not have them. Start the worker that has run "
                "the task last, or begin anew with `tocsin reset`; let nothing but compaction delete there."
            )
        if checkpoint is not None:
            self._store.wipe()
        return begin

    @property
    def done(self) -> bool:
        """Whether the store reflects the whole changelog."""
        return self.position >= self.end

    def step(self) -> None:
        """Replay some more."""
        if self._consumer is None:
            return
        changes: list[tuple[bytes, bytes | None]] = []
        messages = self._consumer.consume(_STEP_MESSAGES, 0 if self._follows else _STEP_S)
        for message in messages:
            problem = message.error()
            if problem is None:
                key, value, offset = message.key() or b"", message.value(), message.offset() or 0
                self.read_bytes += len(key) + len(value or b"")
                self.position = offset + 1
                if offset < self.stands or not self.is_marked:
                    changes.append((key, value))
                else:
                    self._beyond.add(key)
            elif problem.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
                self.position = max(self.position, message.offset() or 0)
            elif not is_passing(problem):
                raise WorkerError(f"The changelog '{self._changelog.topic}' cannot be read: {problem.str()}.")
        if self._follows:
            self._look_ahead()
        if messages:
            applied = min(self.position, self.stands) if self.is_marked else self.position
            self._store.apply(changes, Checkpoint(self._topic_id, applied - 1))

    @property
    def amends(self) -> list[Change]:
        """The entries, as they were committed, that the changelog has otherwise since."""
        held = dict(self._store.fetch(sorted(self._beyond))) if self._beyond else {}
        return [(key, held.get(key)) for key in sorted(self._beyond)]

    def _look_ahead(self) -> None:
        """Take the end from what the client knows without asking."""
        assert self._consumer is not None
        _, end = self._consumer.get_watermark_offsets(self._changelog, cached=True)
        self.end = max(self.end, end)

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
