"""Tables on known input."""

from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.testing import assertDataFrameEqual

from tocsin.analytics.tables import COUNTS, counts_by_minute, total

EVENTS = "type string, detection struct<end: timestamp>"


def at(hour: int, minute: int, second: int = 0, millisecond: int = 0) -> datetime:
    return datetime(2024, 2, 29, hour, minute, second, millisecond * 1000, tzinfo=UTC)


def test_events_are_counted_by_type_and_minute_of_their_end(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [
            ("Fire", (at(10, 0, 0, 0),)),
            ("Fire", (at(10, 0, 59, 999),)),
            ("Fire", (at(10, 1, 0, 0),)),
            ("Flood", (at(10, 0, 30, 0),)),
            ("Fire", (at(9, 0, 0, 0),)),
        ],
        EVENTS,
    )
    expected = [
        ("Fire", at(9, 0), 1),
        ("Fire", at(10, 0), 2),
        ("Fire", at(10, 1), 1),
        ("Flood", at(10, 0), 1),
    ]
    assertDataFrameEqual(counts_by_minute(events), spark.createDataFrame(expected, COUNTS))


def test_no_events_give_no_counts(spark: SparkSession) -> None:
    assertDataFrameEqual(
        counts_by_minute(spark.createDataFrame([], EVENTS)), spark.createDataFrame([], COUNTS)
    )


def test_counts_of_parts_add_up_to_the_count_of_the_whole(spark: SparkSession) -> None:
    parts = [
        ("Fire", at(10, 0), 2),
        ("Flood", at(10, 0), 1),
        ("Fire", at(10, 0), 3),
        ("Fire", at(10, 1), 1),
    ]
    expected = [("Fire", at(10, 0), 5), ("Fire", at(10, 1), 1), ("Flood", at(10, 0), 1)]
    assertDataFrameEqual(total(spark.createDataFrame(parts, COUNTS)), spark.createDataFrame(expected, COUNTS))
