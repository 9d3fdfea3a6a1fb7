"""Logs on a real broker: what is read of topics, and the sentences where nothing can be."""

import json
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.replay.conftest import MINUTE_MS, START_MS, Replayed, Row, smoke, temp
from tocsin.errors import InputError, UnavailableError
from tocsin.replay import InputSchemas, Replay, TopicLog
from tocsin.services import ServiceSet
from tocsin.topology import Plan

Compile = Callable[[str, str], Plan]

DEADLINE_S = 60


@pytest.fixture
def plan(topic: Callable[..., str], compile_fire: Compile) -> Plan:
    """The fire rules on topics of their own, which have different numbers of partitions."""
    # The records are older than what brokers keep by default.
    temps, smokes = (
        topic("temps", partitions=3, retention_ms="-1"),
        topic("smoke", partitions=2, retention_ms="-1"),
    )
    return compile_fire(temps, smokes)


def run(services: ServiceSet, plan: Plan, **options: int) -> Replayed:
    known = InputSchemas(plan, None)
    with TopicLog(services.bootstrap, plan.input_topics, **options) as log:
        return Replayed(Replay(plan, log.streams, known))


def send(producer: Producer, plan: Plan, event: Row) -> None:
    topic = next(declared.topic for declared in plan.input_types if declared.name == event["type"])
    values = {name: value for name, value in event.items() if name not in {"type", "time"}}
    producer.produce(topic, json.dumps(values), event["area"], timestamp=event["time"])


@pytest.fixture
def producer(services: ServiceSet, unique: Callable[[str], str]) -> Producer:
    made = Producer({"bootstrap.servers": services.bootstrap, "transactional.id": unique("feed")})
    made.init_transactions()
    return made


def await_decided(services: ServiceSet, plan: Plan) -> None:
    """Wait until brokers have heard the end of every transaction, which may be after its producer has."""
    counts = {"temps": 3, "smoke": 2}
    places = [TopicPartition(t, p) for t in plan.input_topics for p in range(counts[t.partition("-")[0]])]
    readers = [
        Consumer({"bootstrap.servers": services.bootstrap, "group.id": "unused", "isolation.level": level})
        for level in ("read_committed", "read_uncommitted")
    ]
    deadline = time.monotonic() + DEADLINE_S
    while True:
        ends = [[reader.get_watermark_offsets(place) for place in places] for reader in readers]
        if ends[0] == ends[1]:
            break
        assert time.monotonic() < deadline, "a transaction stays undecided"
    for reader in readers:
        reader.close()


def test_what_is_not_committed_is_not_read(
    services: ServiceSet, plan: Plan, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Partitions end with what is no record, and those that are ahead are held back."""
    monkeypatch.setattr("tocsin.replay.topics.CHUNK", 4)
    monkeypatch.setattr("tocsin.replay.topics.LEAST", 4)
    expected = []
    for i in range(60):
        producer.begin_transaction()
        send(producer, plan, temp(i, 50 + i, f"area-{i % 7}"))
        send(producer, plan, smoke(i + 0.5, f"area-{i % 7}"))
        producer.flush()
        if i % 3 == 0:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
            expected.append(50 + i)
    await_decided(services, plan)
    replayed = run(services, plan)
    assert (replayed.values, replayed.summary.read) == (expected, 80)
    assert run(services, plan).identities == replayed.identities


def test_reading_begins_with_the_first_record_of_a_time(
    services: ServiceSet, plan: Plan, producer: Producer
) -> None:
    producer.begin_transaction()
    for i in range(10):
        send(producer, plan, temp(i, 50 + i))
        send(producer, plan, smoke(i + 0.5))
    producer.commit_transaction()
    await_decided(services, plan)
    replayed = run(services, plan, from_ms=START_MS + 7 * MINUTE_MS)
    assert (replayed.values, replayed.summary.read) == ([57, 58, 59], 6)


def test_records_that_go_away_meanwhile_are_a_sentence(
    services: ServiceSet, plan: Plan, producer: Producer, admin: AdminClient
) -> None:
    producer.begin_transaction()
    send(producer, plan, smoke(1))
    producer.commit_transaction()
    await_decided(services, plan)
    with TopicLog(services.bootstrap, plan.input_topics) as log:
        (stream,) = log.streams
        for deleted in admin.delete_records([TopicPartition(*stream.place, 1)]).values():
            deleted.result()
        # Whether the record is fetched before it is deleted is a race: ask for it again.
        log._consumer.assign([TopicPartition(*stream.place, 0)])
        with pytest.raises(UnavailableError, match="were deleted before they were read"):
            stream.read()


def test_topics_without_records_are_a_sentence(services: ServiceSet, plan: Plan) -> None:
    with pytest.raises(InputError, match="There is nothing to replay"):
        run(services, plan)


def test_a_topic_that_does_not_exist_is_a_sentence(
    services: ServiceSet, compile_fire: Compile, unique: Callable[[str], str]
) -> None:
    with pytest.raises(UnavailableError, match="does not exist"):
        run(services, compile_fire(unique("temps"), unique("smoke")))
