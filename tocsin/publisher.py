"""Publishing of events: checked against their declaration, then encoded and keyed as the rules expect."""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tocsin.errors import InputError, UnavailableError
from tocsin.kafka import CLIENT_LOG, require_topic, unavailable
from tocsin.schemas import Registry, confluent_prefix, encode, event_schema, single_object_prefix, subject
from tocsin.topology import EventType, Plan
from tocsin.values import checked, key_bytes
from tocsin.vocabulary import input_type

FLUSH_TIMEOUT_S = 30.0


class Coordinates(NamedTuple):
    """Where a record lies."""

    topic: str
    partition: int
    offset: int


class _Format(NamedTuple):
    """How the events of a type are written."""

    event: EventType
    schema: str
    prefix: bytes


class Publisher:
    """Publishes the input events of an application's rules.

    With a registry, values are in Confluent wire format and anyone can read them who knows the registry;
    without, in Avro's single-object encoding. `publish` returns before the broker has the event: leave the
    `with` block, or call `flush`, to be sure.

        with Publisher("localhost:9092", None, plan) as publisher:
            publisher.publish("Temp", {"area": "hall", "value": 51.5})
    """

    def __init__(self, brokers: str, registry: str | None, plan: Plan) -> None:
        self._brokers = brokers
        self._registry = Registry(registry) if registry else None
        self._plan = plan
        self._formats: dict[str, _Format] = {}
        self._failure: KafkaError | None = None
        self._producer = Producer(
            {
                "bootstrap.servers": brokers,
                "partitioner": "murmur2_random",
                "enable.idempotence": True,
                "linger.ms": 5,
            },
            logger=CLIENT_LOG,
        )

    def prepare(self, type_name: str) -> None:
        """Do now what the first `publish` of a type would do: look for its topic and register its schema."""
        self._format(type_name)

    def publish(
        self,
        type_name: str,
        attributes: Mapping[str, object],
        time_ms: int | None = None,
        on_delivery: Callable[[Coordinates], None] | None = None,
    ) -> None:
        """Publish one event, at `time_ms` or now; `on_delivery` learns where its record lies."""
        if time_ms is not None and time_ms <= 0:
            raise InputError(f"The time {time_ms} ms is not after 1970, where Kafka's calendar begins.")
        event, schema, prefix = self._format(type_name)
        values = checked(event, attributes)
        key, value = key_bytes(event, values), prefix + encode(schema, values)

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failure = self._failure or error
            elif on_delivery is not None:
                on_delivery(Coordinates(event.topic, message.partition() or 0, message.offset() or 0))

        while True:
            try:
                self._producer.produce(event.topic, value, key, timestamp=time_ms or 0, on_delivery=delivered)
            except BufferError:
                self._producer.poll(1.0)
            except KafkaException as error:
                raise unavailable(error.args[0], self._brokers) from error
            else:
                break
        self._producer.poll(0)
        self._raise_failure()

    def flush(self) -> None:
        """Wait until the broker has every event published so far."""
        waiting = self._producer.flush(FLUSH_TIMEOUT_S)
        self._raise_failure()
        if waiting:
            raise UnavailableError(
                f"Kafka at {self._brokers} did not take {waiting} events within {FLUSH_TIMEOUT_S:.0f} s."
            )

    def close(self) -> None:
        """Give up what is not delivered, and disconnect."""
        self._producer.purge()
        if self._registry is not None:
            self._registry.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.flush()
        finally:
            self.close()

    def _format(self, type_name: str) -> _Format:
        if type_name not in self._formats:
            event = input_type(self._plan, type_name)
            if event.application is not None:
                raise InputError(
                    f"{type_name} is not published: application '{event.application}' detects it."
                )
            schema = event_schema(event.to_dict(), self._plan.app)
            remedy = "Create it, or let a worker do so with `tocsin run --create-inputs`."
            require_topic(self._producer, self._brokers, event.topic, remedy)
            if self._registry is None:
                prefix = single_object_prefix(schema)
            else:
                prefix = confluent_prefix(self._registry.register(subject(event.topic), schema))
            self._formats[type_name] = _Format(event, schema, prefix)
        return self._formats[type_name]

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise unavailable(self._failure, self._brokers)
