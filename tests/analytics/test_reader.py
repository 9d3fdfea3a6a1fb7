"""Records of Kafka to typed columns."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.testing import assertDataFrameEqual

from tocsin.analytics import AnalyticsError, Source
from tocsin.analytics.reader import decode
from tocsin.analytics.source import Formats, TopicFormat
from tocsin.schemas import confluent_prefix

FIRE, SWING = "tocsin.fire.Fire", "tocsin.fire.Swing"
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)

MakeSchema = Callable[..., str]
MakeValue = Callable[..., bytes]
Schemas = dict[str, str]


@pytest.fixture
def schemas(defined: MakeSchema) -> Schemas:
    return {
        "old": defined("fire", "Fire", area="string", value="double"),
        "new": defined("fire", "Fire", area="string", value="double", floor="int?"),
        "bare": defined("fire", "Swing"),
    }


@pytest.fixture
def formats(schemas: Schemas) -> dict[str, TopicFormat]:
    fires = {confluent_prefix(1): schemas["old"], confluent_prefix(2): schemas["new"]}
    return {
        FIRE: TopicFormat(schemas["new"], fires),
        SWING: TopicFormat(schemas["bare"], {confluent_prefix(3): schemas["bare"]}),
    }


def kafka(spark: SparkSession, *records: tuple[str, bytes | None]) -> DataFrame:
    rows = [(topic, 0, offset, NOON, value) for offset, (topic, value) in enumerate(records)]
    columns = "topic string, partition int, offset bigint, timestamp timestamp, value binary"
    return spark.createDataFrame(rows, columns)


def test_each_type_has_its_attributes_typed(
    spark: SparkSession, schemas: Schemas, formats: dict[str, TopicFormat], complex_event: MakeValue
) -> None:
    old = complex_event(schemas["old"], confluent_prefix(1), NOON_MS, area="hall", value=50.5)
    new = complex_event(schemas["new"], confluent_prefix(2), NOON_MS, area="attic", value=60.0, floor=3)
    bare = complex_event(schemas["bare"], confluent_prefix(3), NOON_MS)
    events = decode(kafka(spark, (FIRE, old), (SWING, bare), (FIRE, new)), formats)

    assertDataFrameEqual(
        events.where("type = 'Fire'").select("attributes.Fire.*", "record.offset"),
        spark.createDataFrame(
            [("hall", 50.5, None, 0), ("attic", 60.0, 3, 2)],
            "area string, value double, floor int, offset bigint",
        ),
        ignoreNullable=True,
    )
    others = events.where("type = 'Swing'").select("attributes.Fire", "detection.identity")
    assert [tuple(row) for row in others.collect()] == [(None, f"{NOON_MS:032x}")]


def test_detection_and_coordinates_are_as_written(
    spark: SparkSession, schemas: Schemas, formats: dict[str, TopicFormat], complex_event: MakeValue
) -> None:
    value = complex_event(schemas["old"], confluent_prefix(1), NOON_MS, area="hall", value=50.5)
    taken = decode(kafka(spark, (FIRE, value)), formats).selectExpr(
        "detection.rule",
        "detection.version",
        "detection.context",
        "unix_millis(detection.start) as start",
        "unix_millis(detection.end) as end",
        "detection.bindings['a'].member_string as a",
        "transform(detection.provenance, c -> concat_ws(' ', c.role, c.type, c.label)) as provenance",
        "record.topic",
        "record.partition",
    )
    assert [row.asDict() for row in taken.collect()] == [
        {
            "rule": "Fire",
            "version": 1,
            "context": "SELECTION",
            "start": NOON_MS - 1000,
            "end": NOON_MS,
            "a": "hall",
            "provenance": ["s Smoke smoke/0/7", "t Temp temps/0/7"],
            "topic": FIRE,
            "partition": 0,
        }
    ]


@pytest.mark.parametrize(
    ("topic", "value", "reason"),
    [
        (FIRE, b"\0\0\0\0\x09body", "its first bytes, 0000000009626f6479, name no schema of its topic."),
        (FIRE, None, "its first bytes, missing, name no schema of its topic."),
        ("tocsin.fire.Flood", b"\0\0\0\0\x01", "its topic has no schema."),
    ],
    ids=["unknown schema", "no value", "unknown type"],
)
def test_a_record_that_cannot_be_read_is_an_error(
    spark: SparkSession, formats: dict[str, TopicFormat], topic: str, value: bytes | None, reason: str
) -> None:
    with pytest.raises(PySparkException) as raised:
        decode(kafka(spark, (topic, value)), formats).select("detection.end").collect()
    assert f"The record at {topic}, partition 0, offset 0 cannot be read: {reason}" in str(raised.value)


def test_another_detection_is_read_as_ours(schemas: Schemas) -> None:
    other = json.loads(schemas["old"])
    del other["fields"][-1]["type"]["fields"][-1]
    source = Source(brokers="localhost:9092", app="fire", schemas={FIRE: json.dumps(other)})
    with Formats(source) as formats:
        assert json.loads(formats.current()[FIRE].reader) == json.loads(schemas["old"])


def test_nothing_can_be_read_without_a_schema(spark: SparkSession) -> None:
    with pytest.raises(AnalyticsError, match="No complex-event type of the application has a schema yet"):
        decode(kafka(spark), {})
