"""Logs on a broker: all partitions of some topics, committed records only, by one consumer of no group."""

import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from types import TracebackType
from typing import Self, TextIO

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tocsin._engine import Batch
from tocsin.errors import UnavailableError
from tocsin.kafka import ANSWER_TIMEOUT_S, CLIENT_LOG, require_topic, unavailable
from tocsin.letters import Letter
from tocsin.replay.saving import save
from tocsin.replay.streams import CHUNK, Place

LEAST = 100
"""Records of a partition that are read at a time, however many partitions there are."""

_AHEAD = 16
"""Chunks of a partition that are fetched while others are read."""

_DELETED = frozenset({KafkaError.OFFSET_OUT_OF_RANGE, KafkaError._AUTO_OFFSET_RESET})  # noqa: SLF001 – its public spelling

_POLL_S = 0.5
_SILENCE_S = 60.0
"""How long a broker may give nothing where there is something."""


class TopicLog:
    """What lies in topics when it is opened: from the beginning, or from the first records of a time.

    Records that are read are written to `keep`, too.
    """

    def __init__(
        self, brokers: str, topics: Iterable[str], *, from_ms: int | None = None, keep: TextIO | None = None
    ) -> None:
        self._brokers = brokers
        self._from_ms = from_ms
        self._keep = keep
        self._consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": "tocsin-replay",  # required by the library; nothing is committed to it
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "queued.max.messages.kbytes": 65_536,
                # What is fetched of a partition that is then held back is fetched again.
                "fetch.message.max.bytes": 262_144,
                # What is not there yet is not read: nobody waits for it.
                "fetch.wait.max.ms": 10,
            },
            logger=CLIENT_LOG,
        )
        try:
            spans = {place: span for topic in topics for place, span in self._spans(topic, from_ms)}
            # All of them together wait for one at a time.
            chunk = max(CHUNK // max(len(spans), 1), LEAST)
            self.streams = [PartitionStream(self, place, span, chunk) for place, span in spans.items()]
            self._by_place = {stream.place: stream for stream in self.streams}
            self._consumer.assign([TopicPartition(*s.place, s.first) for s in self.streams])
        except KafkaException as error:
            self.close()
            raise unavailable(error.args[0], brokers) from error
        except BaseException:
            self.close()
            raise

    def fetch(self) -> None:
        """Bring the next messages, of whatever partitions that wait for some."""
        for stream in self.streams:
            self._hold(stream)
        deadline = time.monotonic() + _SILENCE_S
        while not (messages := self._consumer.consume(CHUNK, _POLL_S)):
            if time.monotonic() > deadline:
                raise UnavailableError(f"Kafka at {self._brokers} gave nothing for {_SILENCE_S:.0f} s.")
        for message in messages:
            stream = self._by_place[message.topic() or "", message.partition() or 0]
            error = message.error()
            if error is None:
                stream.bring(message)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
                stream.is_read = True
            else:
                raise self._failure(stream.place, error)

    def _failure(self, place: Place, error: KafkaError) -> UnavailableError:
        if error.code() not in _DELETED:
            return unavailable(error, self._brokers)
        return UnavailableError(
            f"Records of '{place[0]}' were deleted before they were read: the topic keeps them no longer. "
            "Begin later, with --from."
        )

    def in_range(self, messages: list[Message]) -> list[Message]:
        """Return what does not lie before the beginning: records need not lie in the order of their times."""
        begin_ms = self._from_ms
        if begin_ms is None:
            return messages
        return [message for message in messages if message.timestamp()[1] >= begin_ms]

    def keep(self, messages: Sequence[Message]) -> None:
        """Write down what is read, if that is wanted."""
        if self._keep is not None:
            save(messages, self._keep)

    def _hold(self, stream: "PartitionStream") -> None:
        """Fetch nothing more of a partition that is far ahead, until it needs some."""
        holds = stream.is_read or stream.is_ahead or (stream.is_held and stream.has_enough)
        if holds != stream.is_held:
            place = [TopicPartition(*stream.place)]
            (self._consumer.pause if holds else self._consumer.resume)(place)
            stream.is_held = holds

    def _spans(self, topic: str, from_ms: int | None) -> Iterable[tuple[Place, tuple[int, int]]]:
        remedy = "There is nothing to replay before something was published to it."
        for partition in range(require_topic(self._consumer, self._brokers, topic, remedy)):
            place = TopicPartition(topic, partition)
            ends = self._consumer.get_watermark_offsets(place, timeout=ANSWER_TIMEOUT_S)
            if ends is None:
                raise UnavailableError(f"Kafka at {self._brokers} does not tell where topic '{topic}' ends.")
            first, end = ends
            if from_ms is not None:
                asked = [TopicPartition(topic, partition, from_ms)]
                offset = self._consumer.offsets_for_times(asked, ANSWER_TIMEOUT_S)[0].offset
                first = end if offset < 0 else max(first, offset)
            if first < end:
                yield (topic, partition), (first, end)

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PartitionStream:
    """The records of one partition."""

    is_sequence = False

    def __init__(self, log: TopicLog, place: Place, span: tuple[int, int], chunk: int) -> None:
        self.place = place
        self.first, self._end = span
        self.is_read = False
        """Whether all of it has been fetched."""
        self.is_held = False
        self._log = log
        self._chunk = chunk
        self._fetched: deque[Message] = deque()
        self._next = self.first

    @property
    def places(self) -> Collection[Place]:
        """The partition, until its end."""
        return [self.place] if self._fetched or not self.is_read else []

    @property
    def progress(self) -> tuple[int, int]:
        """The offsets."""
        done = self._next if self.places else self._end
        return done - self.first, self._end - self.first

    @property
    def has_enough(self) -> bool:
        """Whether the next chunk is there."""
        return len(self._fetched) >= self._chunk

    @property
    def is_ahead(self) -> bool:
        """Whether far more is there than the next chunk."""
        return len(self._fetched) >= _AHEAD * self._chunk

    def bring(self, message: Message) -> None:
        """Take in what was fetched, up to where the partition ended when it was opened."""
        offset = message.offset() or 0
        if offset < self._end:
            self._fetched.append(message)
        if offset + 1 >= self._end:
            self.is_read = True

    def read(self) -> list[Batch]:
        """Return the next records."""
        while not self.is_read and not self.has_enough:
            self._log.fetch()
        messages = [self._fetched.popleft() for _ in range(min(self._chunk, len(self._fetched)))]
        if not messages:
            return []
        self._next = (messages[-1].offset() or 0) + 1
        self._log.keep(messages)
        batches, _ = Batch.split(self._log.in_range(messages))
        return batches

    def refused(self, letter: Letter) -> None:
        """Go on, as a worker does."""

    def close(self) -> None:
        """Leave the connection to the others."""
