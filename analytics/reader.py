"""Reads complex-event topics into DataFrames with typed columns, streaming or as they are now."""

import json
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  its usual name
from pyspark.sql.avro.functions import from_avro

from tocsin.analytics.errors import AnalyticsUnavailable
from tocsin.analytics.source import DETECTION, Formats, Source, TopicFormat

RECORD = ("topic", "partition", "offset", "timestamp")


def complex_events(spark: SparkSession, source: Source, *, streaming: bool = False) -> DataFrame:
    """Return the committed complex events of a source, one row each.

    type        string: the name in the `define`
    attributes  struct: one field a type, with the attributes of that type; null but for the row's own type
    detection   struct: identity, rule, version, context, start, end, bindings, provenance
    record      struct: topic, partition, offset and timestamp of the Kafka record

    Records of older schemas are read as the newest. A stream knows the schemas that were registered when it
    was started; a record of a later one stops it with an error that says so, and a new start reads on.
    """
    source.check()
    with Formats(source) as formats:
        return decode(records(spark, source, streaming=streaming), formats.current())


def records(
    spark: SparkSession, source: Source, *, streaming: bool = False, max_batch_records: int | None = None
) -> DataFrame:
    """Return the committed records as Kafka has them, undecoded; a stream begins with the oldest.

    Records that retention deleted before a stream came to them stop it: every table would lack them.
    """
    reader = (spark.readStream if streaming else spark.read).format("kafka")
    reader = reader.option("kafka.bootstrap.servers", source.brokers)
    reader = reader.option("kafka.isolation.level", "read_committed")
    reader = reader.option("startingOffsets", "earliest")
    if max_batch_records is not None:
        reader = reader.option("maxOffsetsPerTrigger", str(max_batch_records))
    if source.topics is None:
        return reader.option("subscribePattern", source.pattern).load()
    return reader.option("subscribe", ",".join(source.topics)).load()


def decode(raw: DataFrame, formats: Mapping[str, TopicFormat]) -> DataFrame:
    """Return the complex events that Kafka records hold, in the columns of `complex_events`.

    A record that no format fits is an error, never left out.
    """
    if not formats:
        raise AnalyticsUnavailable(
            "No complex-event type of the application has a schema yet. Has a worker been started?"
        )
    types = {topic.rpartition(".")[2]: topic for topic in formats}
    # Two steps, so that Spark decodes a record once however many columns are taken from it.
    decoded = raw.select(
        F.substring_index("topic", ".", -1).alias("type"),
        F.struct(*RECORD).alias("record"),
        *(_value(topic, formats[topic]).alias(f"value of {name}") for name, topic in types.items()),
    )
    values = {name: F.col(f"value of {name}") for name in types}
    attributes = (_attributes(value, formats[types[name]]).alias(name) for name, value in values.items())
    detections = (value[DETECTION] for value in values.values())
    no_schema = _unreadable(F.col("record"), F.lit("its topic has no schema"))
    return decoded.select(
        "type",
        F.struct(*attributes).alias("attributes"),
        F.coalesce(*detections, no_schema).alias(DETECTION),
        "record",
    )


def _value(topic: str, form: TopicFormat) -> Column:
    """The decoded value of a record of this topic; null for the records of others."""
    begin = F.coalesce(F.lower(F.hex(F.substring("value", 1, 10))), F.lit("missing"))
    why = F.concat(F.lit("its first bytes, "), begin, F.lit(", name no schema of its topic"))
    value = _unreadable(F.struct(*RECORD), why)
    options = {"avroSchema": form.reader, "enableStableIdentifiersForUnionType": "true"}
    for prefix, writer in form.writers.items():
        wrote = F.substring("value", 1, len(prefix)) == F.lit(prefix)
        body = F.substr("value", F.lit(len(prefix) + 1))
        value = F.when(wrote, from_avro(body, writer, options)).otherwise(value)
    return F.when(F.col("topic") == topic, value)


def _attributes(value: Column, form: TopicFormat) -> Column:
    names = [field["name"] for field in json.loads(form.reader)["fields"] if field["name"] != DETECTION]
    return F.when(value.isNotNull(), F.struct(*(value[name].alias(name) for name in names)))


def _unreadable(record: Column, why: Column) -> Column:
    return F.raise_error(
        F.format_string(
            "The record at %s, partition %d, offset %d cannot be read: %s.",
            *(record["topic"], record["partition"], record["offset"], why),
        )
    )
