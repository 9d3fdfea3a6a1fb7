"""Reading of complex events: committed ones only, decoded, from the beginning or from now on."""

import json
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Literal, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tocsin.complex_event import ComplexEvent
from tocsin.errors import InputError, UnavailableError
from tocsin.kafka import ANSWER_TIMEOUT_S, CLIENT_LOG, require_topic, unavailable
from tocsin.schemas import Confluent, Registry, RegistryDown, SchemaError, decode, fingerprint, split
from tocsin.schemas.derive import DETECTION

POLL_S = 0.25
LEADER_POLL_S = 0.05

_NO_LEADER_YET = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)
"""What a broker says of a topic that was created a moment ago."""


class Subscriber:
    """Iterates over the complex events of some topics.

    A registry tells the schemas of records in Confluent wire format; for Avro's single-object encoding, give
    the schemas that may occur. It belongs to no consumer group: every subscriber sees every event.

        with Subscriber("localhost:9092", "http://localhost:8081", ["tocsin.fire.Fire"]) as fires:
            for fire in fires:
                print(fire.attributes["area"], fire.identity)
    """

    def __init__(
        self,
        brokers: str,
        registry: str | None,
        topics: Iterable[str],
        *,
        schemas: Iterable[str] = (),
        start: Literal["earliest", "latest"] = "latest",
    ) -> None:
        self._brokers = brokers
        self._registry = Registry(registry) if registry else None
        self._schemas = {fingerprint(schema): schema for schema in schemas}
        self._consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": "tocsin-subscriber",  # required by the library; nothing is committed to it
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            },
            logger=CLIENT_LOG,
        )
        try:
            places = [place for topic in topics for place in self._places(topic, start)]
            self._consumer.assign(places)
            self._unread: set[tuple[str | None, int | None]] = {(p.topic, p.partition) for p in places}
        except BaseException:
            self.close()
            raise

    def read(self, timeout_s: float) -> ComplexEvent | None:
        """Return the next complex event, or None if there was none for that long."""
        deadline = time.monotonic() + timeout_s
        while True:
            event = self._poll(max(0.0, min(POLL_S, deadline - time.monotonic())))
            if event is not None or time.monotonic() >= deadline:
                return event

    def read_all(self) -> Iterator[ComplexEvent]:
        """Yield events until the end of every partition has been seen once, and stop there."""
        while self._unread:
            event = self._poll(POLL_S)
            if event is not None:
                yield event

    def __iter__(self) -> Iterator[ComplexEvent]:
        while True:
            event = self.read(POLL_S)
            if event is not None:
                yield event

    def close(self) -> None:
        """Disconnect."""
        self._consumer.close()
        if self._registry is not None:
            self._registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _places(self, topic: str, start: Literal["earliest", "latest"]) -> Iterator[TopicPartition]:
        count = require_topic(
            self._consumer,
            self._brokers,
            topic,
            "It appears when `tocsin run` runs the rules that define it.",
        )
        for partition in range(count):
            # Not OFFSET_END, which would mean the end at the first fetch, some time from now.
            first, end = self._ends(topic, partition)
            yield TopicPartition(topic, partition, first if start == "earliest" else end)

    def _ends(self, topic: str, partition: int) -> tuple[int, int]:
        place = TopicPartition(topic, partition)
        deadline = time.monotonic() + ANSWER_TIMEOUT_S
        while True:
            try:
                ends = self._consumer.get_watermark_offsets(place, timeout=ANSWER_TIMEOUT_S)
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER_YET or time.monotonic() > deadline:
                    raise unavailable(error.args[0], self._brokers) from error
                time.sleep(LEADER_POLL_S)
            else:
                break
        if ends is None:
            raise UnavailableError(f"Kafka at {self._brokers} does not tell where topic '{topic}' ends.")
        return ends

    def _poll(self, timeout_s: float) -> ComplexEvent | None:
        message = self._consumer.poll(timeout_s)
        if message is None:
            return None
        error = message.error()
        if error is None:
            return self._decode(message)
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
            self._unread.discard((message.topic(), message.partition()))
            return None
        raise unavailable(error, self._brokers)

    def _decode(self, message: Message) -> ComplexEvent:
        where = f"{message.topic()}, partition {message.partition()}, offset {message.offset()}"
        try:
            schema, body = self._opened(message.value() or b"")
            datum = decode(schema, body)
            if not isinstance(datum, dict) or DETECTION not in datum:
                raise SchemaError("It is not a complex event.")
        except RegistryDown:
            raise
        except SchemaError as failure:
            raise InputError(f"The record at {where} cannot be read. {failure}") from failure
        return ComplexEvent.from_datum(json.loads(schema)["name"], datum)

    def _opened(self, value: bytes) -> tuple[str, bytes]:
        frame = split(value)
        if isinstance(frame, Confluent):
            if self._registry is None:
                raise InputError(
                    f"The records name their schema by the number {frame.schema_id} of a schema registry. "
                    "Set TOCSIN_REGISTRY to where it is."
                )
            return self._registry.get(frame.schema_id), frame.body
        if frame.fingerprint not in self._schemas:
            raise SchemaError(
                f"Its schema, with fingerprint {frame.fingerprint:016x}, is none of the rules given: they "
                "may have changed since it was written."
            )
        return self._schemas[frame.fingerprint], frame.body
