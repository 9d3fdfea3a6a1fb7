"""One Spark session for all tests, and what is needed to write complex events as a worker does."""

import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from tocsin.analytics import session
from tocsin.schemas import encode, event_schema
from tocsin.services import ServiceSet

LOCAL = {
    "spark.driver.memory": "1g",
    # The tests are over before the JVM's second compiler would pay.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
}


@pytest.fixture(scope="session")
def handlers() -> list[object]:
    """Who handled interrupts before there was a session, and after."""
    return []


@pytest.fixture(scope="session")
def spark(handlers: list[object]) -> Iterator[SparkSession]:
    handlers.append(signal.getsignal(signal.SIGINT))
    running = session("local[2]", LOCAL)
    handlers.append(signal.getsignal(signal.SIGINT))
    yield running
    running.stop()


@pytest.fixture
def output_topic(admin: AdminClient) -> Callable[..., str]:
    """Makes the topic of a complex event, as a worker would: `output_topic(app, type, partitions=1)`."""

    def create(app: str, type_: str, *, partitions: int = 1) -> str:
        name = f"tocsin.{app}.{type_}"
        new = NewTopic(name, num_partitions=partitions, replication_factor=1)
        admin.create_topics([new])[name].result(timeout=30)
        return name

    return create


@pytest.fixture
def defined() -> Callable[..., str]:
    """Makes the schema of a complex event: `defined(app, name, area="string", floor="int?")`."""

    def make(app: str, name: str, **types: str) -> str:
        fields = [
            {"name": field, "type": type_.rstrip("?"), "optional": type_.endswith("?")}
            for field, type_ in types.items()
        ]
        return event_schema({"name": name, "origin": "defined", "fields": fields}, app)

    return make


@pytest.fixture
def complex_event() -> Callable[..., bytes]:
    """Makes the value of a record: `complex_event(schema, prefix, end_ms, **attributes)`."""

    def make(schema: str, prefix: bytes, end_ms: int, **attributes: object) -> bytes:
        return prefix + encode(schema, {**attributes, "detection": _detection(end_ms)})

    return make


@pytest.fixture
def publish(services: ServiceSet) -> Callable[..., None]:
    """Writes values in one transaction: `publish(topic, values, commit=True)`."""
    producer = Producer({"bootstrap.servers": services.bootstrap, "transactional.id": uuid4().hex})
    producer.init_transactions()

    def write(topic: str, values: Iterable[bytes], *, commit: bool = True) -> None:
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, key=uuid4().hex)
        # Only what has reached the log can be aborted there.
        producer.flush()
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()

    return write


def _detection(end_ms: int) -> dict[str, Any]:
    return {
        "identity": f"{end_ms:032x}",
        "rule": "Fire",
        "version": 1,
        "context": "SELECTION",
        "start": end_ms - 1000,
        "end": end_ms,
        "bindings": {"a": "hall"},
        "provenance": [
            {
                "role": role,
                "type": type_,
                "time": end_ms,
                "topic": topic,
                "partition": 0,
                "offset": 7,
                "label": f"{topic}/0/7",
            }
            for role, type_, topic in [("s", "Smoke", "smoke"), ("t", "Temp", "temps")]
        ],
    }
