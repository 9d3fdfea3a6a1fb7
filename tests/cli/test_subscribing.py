"""Subscribing against a real broker: committed events only, decoded, or a sentence why not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import Result

from tocsin.errors import InputError, UnavailableError
from tocsin.schemas import Registry, confluent_prefix, encode, event_schema, single_object_prefix, subject
from tocsin.services import ServiceSet
from tocsin.subscriber import Subscriber
from tocsin.topology import Plan

Tocsin = Callable[..., Result]
MakeTopic = Callable[..., str]


def fire(area: str) -> dict[str, Any]:
    return {
        "area": area,
        "value": 51.5,
        "detection": {
            "identity": f"identity of {area}",
            "rule": "Fire",
            "version": 1,
            "context": "SELECTION",
            "start": 1_709_208_000_000,
            "end": 1_709_208_001_000,
            "bindings": {"a": area},
            "provenance": [
                {
                    "role": "s",
                    "type": "Smoke",
                    "time": 1_709_208_001_000,
                    "topic": "smoke",
                    "partition": 1,
                    "offset": 2,
                    "label": "smoke/1/2",
                }
            ],
        },
    }


class Output:
    """The topic of complex events, written as a worker would."""

    def __init__(self, services: ServiceSet, plan: Plan, topic: str) -> None:
        self.topic = topic
        self.schema = event_schema(plan.defined_types[0].to_dict(), plan.app)
        self._services = services

    def write(self, areas: list[str], *, registry: bool = True, commit: bool = True) -> None:
        prefix = self._registered() if registry else single_object_prefix(self.schema)
        self.write_bytes([prefix + encode(self.schema, fire(area)) for area in areas], commit=commit)

    def write_bytes(self, values: list[bytes], *, commit: bool = True) -> None:
        producer = Producer({"bootstrap.servers": self._services.bootstrap, "transactional.id": self.topic})
        producer.init_transactions()
        producer.begin_transaction()
        for value in values:
            producer.produce(self.topic, value)
        producer.flush()
        (producer.commit_transaction if commit else producer.abort_transaction)()

    def read(self, *, registry: bool = True) -> list[str]:
        with Subscriber(
            self._services.bootstrap,
            self._services.registry_url if registry else None,
            [self.topic],
            schemas=[self.schema],
            start="earliest",
        ) as events:
            return [event.attributes["area"] for event in events.read_all()]

    def _registered(self) -> bytes:
        with Registry(self._services.registry_url) as registry:
            return confluent_prefix(registry.register(subject(self.topic), self.schema))


@pytest.fixture
def plan(compile_fire: Callable[[str, str], Plan]) -> Plan:
    return compile_fire("temps", "smoke")


@pytest.fixture
def output(services: ServiceSet, plan: Plan, topic: MakeTopic) -> Output:
    return Output(services, plan, topic("fires", partitions=3))


def test_only_committed_events_are_read(output: Output) -> None:
    output.write(["a", "b"])
    output.write(["never"], commit=False)
    output.write(["c"])
    assert sorted(output.read()) == ["a", "b", "c"]


def test_single_objects_need_the_schemas_instead_of_a_registry(output: Output) -> None:
    output.write(["a"], registry=False)
    assert output.read(registry=False) == ["a"]


def test_an_event_is_taken_apart(services: ServiceSet, output: Output) -> None:
    output.write(["hall"])
    with Subscriber(services.bootstrap, services.registry_url, [output.topic], start="earliest") as events:
        [event] = events.read_all()
    assert (event.type, event.attributes) == ("Fire", {"area": "hall", "value": 51.5})
    assert (event.identity, event.rule, event.version) == ("identity of hall", "Fire", 1)
    assert (event.start_ms, event.end_ms) == (1_709_208_000_000, 1_709_208_001_000)
    assert event.bindings == {"a": "hall"}
    assert [(each.role, each.topic, each.partition, each.offset) for each in event.provenance] == [
        ("s", "smoke", 1, 2)
    ]


def test_latest_means_from_now_on(services: ServiceSet, output: Output) -> None:
    output.write(["before"])
    with Subscriber(services.bootstrap, services.registry_url, [output.topic]) as events:
        output.write(["after"])
        event = events.read(30)
        assert event is not None
        assert event.attributes["area"] == "after"


def test_a_topic_whose_leader_is_not_known_yet_is_waited_for(
    output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusals = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE]

    class Hesitant(Consumer):
        def get_watermark_offsets(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 – as inherited
            if refusals:
                raise KafkaException(KafkaError(refusals.pop()))
            return super().get_watermark_offsets(*arguments, **options)

    monkeypatch.setattr("tocsin.subscriber.Consumer", Hesitant)
    output.write(["a"])
    assert output.read() == ["a"]
    assert not refusals


def test_without_the_registry_its_records_cannot_be_read(output: Output) -> None:
    output.write(["a"])
    with pytest.raises(InputError, match="Set TOCSIN_REGISTRY"):
        output.read(registry=False)


def test_a_record_that_is_none_of_ours_is_named(output: Output) -> None:
    output.write_bytes([b"plain text"])
    with pytest.raises(
        InputError, match=rf"The record at {output.topic}, partition \d, offset 0 cannot be read\."
    ):
        output.read()


def test_a_topic_that_does_not_exist_is_a_sentence(
    services: ServiceSet, unique: Callable[[str], str]
) -> None:
    name = unique("none")
    with pytest.raises(
        UnavailableError, match=rf"Topic '{name}' does not exist on {services.bootstrap}\. It appears"
    ):
        Subscriber(services.bootstrap, None, [name])


@pytest.fixture
def arguments(fire_file: Path, services: ServiceSet, plan: Plan) -> list[str]:
    """Options that lead the command line to the test's own application."""
    assert fire_file.exists()
    return ["--app", plan.app, "--brokers", services.bootstrap, "--registry", services.registry_url]


def test_tail_shows_events(
    tocsin: Tocsin, arguments: list[str], services: ServiceSet, plan: Plan, admin: AdminClient
) -> None:
    _create(admin, plan)
    Output(services, plan, plan.defined_types[0].topic).write(["hall"])
    tail = ["tail", "Fire", "--from", "earliest", "--max", "1", "--timeout", "30", *arguments]
    result = tocsin(*tail)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "2024-02-29T12:00:01.000Z Fire area=hall value=51.5 identity of hall\n"
    said = json.loads(tocsin(*tail, "--json").stdout)
    assert (said["attributes"]["area"], said["identity"]) == ("hall", "identity of hall")


def test_tail_that_waits_in_vain_fails(
    tocsin: Tocsin, arguments: list[str], plan: Plan, admin: AdminClient
) -> None:
    _create(admin, plan)
    result = tocsin("tail", "Fire", "--max", "2", "--timeout", "0.1", *arguments)
    assert result.exit_code == 1
    assert result.stderr == "Only 0 of 2 events came within 0.1 s.\n"
    assert tocsin("tail", "Fire", "--timeout", "0.1", *arguments).exit_code == 0


def test_tail_of_a_topic_that_does_not_exist_yet(tocsin: Tocsin, arguments: list[str]) -> None:
    result = tocsin("tail", "Fire", *arguments)
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


def test_tail_of_an_input_names_the_complex_events(tocsin: Tocsin, arguments: list[str]) -> None:
    result = tocsin("tail", "Temp", *arguments)
    assert result.exit_code == 1
    assert result.stderr == "Temp events are input; the complex ones are Fire.\n"


def _create(admin: AdminClient, plan: Plan) -> None:
    name = plan.defined_types[0].topic
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
