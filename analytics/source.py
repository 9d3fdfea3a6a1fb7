"""Where complex events come from: the topics of an application, and the schemas that wrote their records."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry import RegisteredSchema, SchemaRegistryClient

from tocsin.analytics.errors import AnalyticsError, AnalyticsUnavailable
from tocsin.schemas import confluent_prefix, load, single_object_prefix, subject

DETECTION = "detection"
TIMEOUT_S = 10
MAX_RETRIES = 2
RETRY_WAIT_MS = 200


@dataclass(frozen=True, kw_only=True)
class Source:
    """The complex-event topics `tocsin.<app>.<Type>` of one application.

    With a registry their records are framed as Confluent's, and the registry knows their schemas. Without one
    they are in Avro's single-object encoding, and `schemas` has the schema of each topic.
    """

    brokers: str
    app: str
    registry: str | None = None
    topics: Sequence[str] | None = None
    """None for all topics of the application, those included that appear while a stream runs."""
    schemas: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for topic in [*(self.topics or ()), *self.schemas]:
            if not re.fullmatch(self.pattern, topic):
                raise AnalyticsError(
                    f"'{topic}' is not a complex-event topic of the application '{self.app}': "
                    f"those are named tocsin.{self.app}.<Type>."
                )
        if self.registry is None:
            unknown = sorted(set(self.topics or ()) - set(self.schemas))
            if unknown or not self.schemas:
                what = f"topic '{unknown[0]}'" if unknown else f"any topic of the application '{self.app}'"
                raise AnalyticsError(f"Without a schema registry the schema of {what} must be given.")

    @property
    def pattern(self) -> str:
        """The regular expression, in Python and Java, of the application's topics."""
        return re.escape(f"tocsin.{self.app}.") + "[A-Za-z_][A-Za-z0-9_]*"

    def check(self) -> None:
        """Say in a sentence what is missing, where Spark would wait for minutes and then show a stack."""
        client = AdminClient({"bootstrap.servers": self.brokers, "log_level": 0})
        try:
            present = client.list_topics(timeout=TIMEOUT_S).topics
        except KafkaException as error:
            message = f"No Kafka broker answers at {self.brokers} ({error.args[0].str()}). Is it running?"
            raise AnalyticsUnavailable(message) from error
        for topic in self.topics or ():
            if topic not in present:
                message = f"There is no topic '{topic}' at {self.brokers}. Has a worker been started?"
                raise AnalyticsUnavailable(message)


@dataclass(frozen=True)
class TopicFormat:
    """How to read the records of one topic."""

    reader: str
    """Schema as which all records are read: the newest, with the `detection` that this Tocsin knows."""
    writers: Mapping[bytes, str]
    """Schema that wrote a record, by the bytes that stand before its Avro body."""


class Formats:
    """The formats of a source's topics, as they are known at the moment of asking.

    A schema is registered before the first record is written with it, so formats asked for after some records
    arrived can read all of them.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._registry = _client(source.registry) if source.registry else None

    def current(self) -> dict[str, TopicFormat]:
        """Return the format of each topic that has one, by the topic's name."""
        if self._registry is None:
            given = self._source.schemas
            return {
                topic: _format(topic, [(single_object_prefix(given[topic]), given[topic])])
                for topic in self._source.topics or given
            }
        try:
            written = self._registered(self._registry)
        except Exception as error:
            reason = str(error) or type(error).__name__
            message = (
                f"The schema registry at {self._source.registry} does not answer ({reason}). Is it running?"
            )
            raise AnalyticsUnavailable(message) from error
        return {topic: _format(topic, writers) for topic, writers in written.items()}

    def _registered(self, registry: SchemaRegistryClient) -> dict[str, list[tuple[bytes, str]]]:
        written = {}
        suffix = subject("")
        for name in registry.get_subjects():
            topic = name.removesuffix(suffix)
            if name.endswith(suffix) and self._wanted(topic):
                numbers = sorted(registry.get_versions(name))
                written[topic] = [_written(registry.get_version(name, number)) for number in numbers]
        return written

    def _wanted(self, topic: str) -> bool:
        if self._source.topics is not None:
            return topic in self._source.topics
        return re.fullmatch(self._source.pattern, topic) is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._registry is not None:
            self._registry.close()


def _client(url: str) -> SchemaRegistryClient:
    settings = {
        "url": url,
        "timeout": TIMEOUT_S,
        "max.retries": MAX_RETRIES,
        "retries.wait.ms": RETRY_WAIT_MS,
    }
    try:
        return SchemaRegistryClient(settings)
    except ValueError as error:
        raise AnalyticsError(f"'{url}' is not the address of a schema registry: {error}.") from error


def _written(version: RegisteredSchema) -> tuple[bytes, str]:
    assert version.schema_id is not None
    assert version.schema.schema_str is not None
    return confluent_prefix(version.schema_id), version.schema.schema_str


def _format(topic: str, writers: list[tuple[bytes, str]]) -> TopicFormat:
    """Return the format of a topic from its schemas, oldest first."""
    newest = json.loads(writers[-1][1])
    fields = newest.get("fields", []) if isinstance(newest, dict) else []
    # Our own detection, so that it has one type in all topics.
    ours = [
        {**each, "type": json.loads(load("complex_event"))} for each in fields if each["name"] == DETECTION
    ]
    if not ours:
        raise AnalyticsError(
            f"The schema of '{topic}' is not that of a complex event: it has no {DETECTION}."
        )
    attributes = [each for each in fields if each["name"] != DETECTION]
    return TopicFormat(json.dumps({**newest, "fields": [*attributes, *ours]}), dict(writers))
