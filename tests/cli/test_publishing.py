"""Publishing against a real broker and registry, read back by a plain consumer."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import avro.io
import avro.schema
import pytest
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from typer.testing import Result

from tocsin.errors import InputError, UnavailableError
from tocsin.publisher import Coordinates, Publisher
from tocsin.schemas import RegistryDown, SingleObject, decode, event_schema, fingerprint, split
from tocsin.services import ServiceSet
from tocsin.topology import Plan, compile_rules

Tocsin = Callable[..., Result]
MakeTopic = Callable[..., str]
DEADLINE_S = 30


@pytest.fixture
def plan(compile_fire: Callable[[str, str], Plan], topic: MakeTopic) -> Plan:
    """The fire rules on topics of their own."""
    return compile_fire(topic("temps", partitions=4), topic("smoke", partitions=4))


@pytest.fixture
def consumer(services: ServiceSet) -> Iterator[Consumer]:
    plain = Consumer({"bootstrap.servers": services.bootstrap, "group.id": "plain"})
    yield plain
    plain.close()


def read(consumer: Consumer, at: Coordinates) -> Message:
    consumer.assign([TopicPartition(*at)])
    message = consumer.poll(DEADLINE_S)
    assert message is not None
    assert message.error() is None
    return message


def publish(
    services: ServiceSet, plan: Plan, registry: str | None, *events: dict[str, object]
) -> list[Coordinates]:
    """Publish temperatures and return where they are."""
    places: list[Coordinates] = []
    with Publisher(services.bootstrap, registry, plan) as publisher:
        for event in events:
            publisher.publish("Temp", event, 1_709_208_000_000, places.append)
    return places


def test_anyone_with_the_registry_can_read_what_is_published(
    services: ServiceSet, plan: Plan, consumer: Consumer
) -> None:
    [place] = publish(services, plan, services.registry_url, {"area": "hall", "value": 51.5})
    message = read(consumer, place)
    value = message.value()
    assert value is not None
    assert value[:1] == b"\0"
    with SchemaRegistryClient({"url": services.registry_url}) as registry:
        schema = avro.schema.parse(str(registry.get_schema(int.from_bytes(value[1:5], "big")).schema_str))
    body = avro.io.BinaryDecoder(io.BytesIO(value[5:]))
    assert avro.io.DatumReader(schema).read(body) == {"area": "hall", "value": 51.5}
    assert message.key() == b"hall"
    assert message.timestamp()[1] == 1_709_208_000_000


def test_without_a_registry_the_value_names_its_schema(
    services: ServiceSet, plan: Plan, consumer: Consumer
) -> None:
    [place] = publish(services, plan, None, {"area": "hall", "value": 51.5})
    frame = split(read(consumer, place).value() or b"")
    schema = event_schema(plan.input_types[0].to_dict(), plan.app)
    assert isinstance(frame, SingleObject)
    assert frame.fingerprint == fingerprint(schema)
    assert decode(schema, frame.body) == {"area": "hall", "value": 51.5}


@pytest.mark.parametrize(
    ("area", "murmur2"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("abc", 479470107),
    ],
)
def test_keys_go_to_the_partitions_java_clients_choose(
    services: ServiceSet, plan: Plan, area: str, murmur2: int
) -> None:
    """The hashes are those of Kafka's own tests."""
    [place] = publish(services, plan, None, {"area": area, "value": 1})
    assert place.partition == (murmur2 & 0x7FFFFFFF) % 4


def test_a_topic_that_does_not_exist_is_a_sentence(
    services: ServiceSet, compile_fire: Callable[[str, str], Plan], unique: Callable[[str], str]
) -> None:
    plan = compile_fire(unique("temps"), unique("smoke"))
    with pytest.raises(
        UnavailableError, match=rf"Topic '{plan.input_types[0].topic}' does not exist on .* Create it"
    ):
        publish(services, plan, None, {"area": "hall", "value": 51.5})


def test_a_broker_that_is_away_is_a_sentence(
    compile_fire: Callable[[str, str], Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.kafka.ANSWER_TIMEOUT_S", 0.5)
    with (
        Publisher("127.0.0.1:1", None, compile_fire("temps", "smoke")) as publisher,
        pytest.raises(UnavailableError, match=r"No Kafka broker answers at 127\.0\.0\.1:1\. Start one"),
    ):
        publisher.publish("Temp", {"area": "hall", "value": 51.5})


def test_a_registry_that_is_away_is_a_sentence(services: ServiceSet, plan: Plan) -> None:
    with pytest.raises(RegistryDown, match=r"The schema registry at http://127\.0\.0\.1:1 does not answer"):
        publish(services, plan, "http://127.0.0.1:1", {"area": "hall", "value": 51.5})


def test_a_time_that_kafka_cannot_carry_is_a_sentence(services: ServiceSet, plan: Plan) -> None:
    with (
        Publisher(services.bootstrap, None, plan) as publisher,
        pytest.raises(InputError, match="not after 1970"),
    ):
        publisher.publish("Temp", {"area": "hall", "value": 51.5}, 0)


@pytest.fixture
def arguments(fire_file: Path, services: ServiceSet, plan: Plan) -> list[str]:
    """Options that lead the command line to the test's own topics."""
    temps, smoke = (event.topic for event in plan.input_types)
    text = fire_file.read_text().replace('"temps"', f'"{temps}"').replace('"smoke"', f'"{smoke}"')
    fire_file.write_text(text)
    return ["--brokers", services.bootstrap, "--registry", services.registry_url]


def test_the_command_line_publishes_one_event(
    tocsin: Tocsin, arguments: list[str], consumer: Consumer
) -> None:
    result = tocsin(
        "publish", "Temp", "area=hall", "value=51.5", "--time", "2024-02-29T12:00Z", "--json", *arguments
    )
    assert result.exit_code == 0, result.stderr
    message = read(consumer, Coordinates(**json.loads(result.stdout)))
    assert message.key() == b"hall"
    assert message.timestamp()[1] == 1_709_208_000_000


def test_the_command_line_publishes_lines(tocsin: Tocsin, arguments: list[str], folder: Path) -> None:
    lines = (
        '{"type": "Temp", "area": "a", "value": 3}\n\n{"type": "Smoke", "area": "a", "time": "2024-02-29"}\n'
    )
    result = tocsin("publish", "--from", "-", *arguments, stdin=lines)
    assert (result.exit_code, result.stderr) == (0, "2 events published.\n")
    (folder / "events.jsonl").write_text('{"area": "a"}\n{"area": "b", "time": 1709208000000}\n')
    result = tocsin("publish", "Smoke", "--from", "events.jsonl", *arguments)
    assert (result.exit_code, result.stderr) == (0, "2 events published.\n")


def test_a_wrong_line_is_named_and_those_before_it_are_published(
    tocsin: Tocsin, arguments: list[str]
) -> None:
    result = tocsin(
        "publish", "Smoke", "--from", "-", *arguments, stdin='{"area": "a"}\n{"area": 3}\n{"area": "b"}\n'
    )
    assert result.exit_code == 1
    assert result.stderr == "1 event published.\nLine 2: Smoke.area is of type string; 3 is not.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["Temp", "area=hall"], "Temp needs a value for value."),
        (["Temp", "area=hall", "value=hot"], "Temp.value is of type double; 'hot' is not."),
        (["Temp", "area=hall", "valeu=5"], "Temp has no attribute 'valeu'; did you mean value?"),
        (["Temp", "hall"], "'hall' is not an attribute and its value, as in area=hall."),
        (["Temp", "area=a", "area=b"], "Attribute 'area' is given twice."),
        (["Tmep"], "The rules know no event 'Tmep'; did you mean Temp?"),
        (["Fire", "area=a"], "Fire events are made by the rules; those to publish are Temp, Smoke."),
        (["Temp", "area=a", "value=5", "--time", "noon"], "'noon' is not a time"),
        (["Temp", "area=a", "--from", "-"], "Give either attributes or --from, not both."),
        (["--from", "none.jsonl"], "none.jsonl cannot be read: No such file or directory."),
        ([], "Say what to publish: a TYPE with its attributes, or --from a file."),
    ],
)
def test_wrong_input_is_named_before_anything_is_published(
    tocsin: Tocsin, fire_file: Path, words: list[str], sentence: str
) -> None:
    assert fire_file.exists()
    result = tocsin("publish", *words, "--brokers", "127.0.0.1:1")
    assert result.exit_code == 1
    assert result.stderr.startswith(sentence)


def test_the_rule_file_is_the_only_one_here_or_named(tocsin: Tocsin, folder: Path, fire_file: Path) -> None:
    other = folder / "other.tocsin"
    other.write_text(fire_file.read_text())
    result = tocsin("publish", "Temp")
    assert result.stderr == (
        "There are several rule files here: fire.tocsin, other.tocsin. Name one with --rules.\n"
    )
    assert tocsin("publish", "Temp", "-r", "other.tocsin").stderr == "Temp needs a value for area, value.\n"
    fire_file.unlink()
    other.unlink()
    assert tocsin("publish", "Temp").stderr == "There is no *.tocsin file here. Name one with --rules.\n"


def test_what_another_application_detects_cannot_be_published(services: ServiceSet) -> None:
    plan = compile_rules('event Fire (area: string) of "plant_a"; define Seen from Fire;', app="site")
    publisher = Publisher(services.bootstrap, None, plan)
    with pytest.raises(InputError, match="Fire is not published: application 'plant_a' detects it"):
        publisher.publish("Fire", {"area": "hall"})
