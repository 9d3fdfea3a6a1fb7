"""The tables people ask for, as functions from DataFrame to DataFrame: no source, no sink, no state."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  its usual name
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

COUNTS = StructType(
    [
        StructField("type", StringType()),
        StructField("minute", TimestampType()),
        StructField("count", LongType()),
    ]
)


def counts_by_minute(events: DataFrame) -> DataFrame:
    """Count complex events by type and by the minute in which they occurred (when their terminator did)."""
    minute = F.date_trunc("minute", F.col("detection.end")).alias("minute")
    return events.groupBy("type", minute).agg(F.count("*").alias("count"))


def total(parts: DataFrame) -> DataFrame:
    """Add up counts of disjoint sets of complex events."""
    return parts.groupBy("type", "minute").agg(F.sum("count").alias("count"))
