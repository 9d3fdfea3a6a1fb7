"""The streaming job: reads the complex-event topics of an application and keeps tables of them.

How the counts stay exact. Spark writes down the offsets of a batch before it runs it, and after a crash runs
the same batch, with the same id and offsets, again. A batch of ours therefore writes its own counts, and only
those, into a folder named by its id:

    <output>/counts/batch=<id>/part-….parquet

Running a batch again replaces its folder by the same content, so nothing is doubled; a batch is marked as
done only after its folder is complete, so nothing is lost. A folder holds one file, put in place by a rename:
readers see all of a batch or nothing of it. The table is the sum over its batches, which `counts` returns.

The alternative, rows by type and minute from Spark's stateful aggregation, would have to wait for a watermark
before it may append a row, and drop what comes later: rules replayed over old events would count nothing.
The price here is a small file a batch, so a job that runs for long should not have more of them than needed.
"""

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tocsin.analytics.errors import AnalyticsError
from tocsin.analytics.reader import decode, records
from tocsin.analytics.session import session
from tocsin.analytics.source import Formats, Source
from tocsin.analytics.tables import COUNTS, counts_by_minute, total

COUNTS_FOLDER = "counts"
POLL_S = 1
GRACE_S = 30


@dataclass(frozen=True, kw_only=True)
class AnalyticsSettings(Source):
    """What to read, where to keep it, and for how long."""

    output: Path
    checkpoint: Path | None = None
    """Folder in which Spark keeps how far it has read; by default beside the tables."""
    trigger: float | Literal["available_now"] = 10.0
    """Seconds from one batch to the next, or to read what is there and end."""
    until: threading.Event | None = None
    """Ends the job when set: after the batch under way, or inside it if that takes long."""
    max_batch_records: int = 500_000
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


def run(settings: AnalyticsSettings, spark: SparkSession | None = None) -> None:
    """Keep the tables up to date until the trigger or `until` ends it; after a crash, just run it again."""
    output = settings.output.absolute()
    checkpoint = (settings.checkpoint or output / "_checkpoint").absolute()
    _require_checkpoint(output, checkpoint)
    settings.check()
    running = spark or session(settings.master, settings.conf)
    try:
        with Formats(settings) as formats:
            _keep(settings, formats, output, checkpoint, running)
    finally:
        if spark is None:
            running.stop()


def write_batch(events: DataFrame, batch_id: int, output: Path) -> None:
    """Write what one batch adds to the tables, in place of what an earlier attempt at it has left."""
    folder = output / COUNTS_FOLDER / f"batch={batch_id}"
    counts_by_minute(events).coalesce(1).write.mode("overwrite").parquet(str(folder))


def counts(spark: SparkSession, output: Path) -> DataFrame:
    """Return the table of counts: type, minute, count."""
    folder = output.absolute() / COUNTS_FOLDER
    if not any(folder.glob("batch=*")):
        return spark.createDataFrame([], COUNTS)
    return total(spark.read.schema(COUNTS).parquet(str(folder)))


def _keep(
    settings: AnalyticsSettings, formats: Formats, output: Path, checkpoint: Path, spark: SparkSession
) -> None:
    failures: list[Exception] = []

    def write(batch: DataFrame, batch_id: int) -> None:
        try:
            # Asked for each batch: its records may be of types and schemas that are new.
            write_batch(decode(batch, formats.current()), batch_id, output)
        except Exception as error:
            # Spark would pass on only its text, deep inside its own.
            failures.append(error)
            raise

    stream = records(spark, settings, streaming=True, max_batch_records=settings.max_batch_records)
    writer = stream.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    query = _triggered(writer, settings.trigger).start()
    try:
        _await(query, settings.until)
    except StreamingQueryException as error:
        raise _told(failures[-1] if failures else error) from error
    finally:
        query.stop()


def _await(query: StreamingQuery, until: threading.Event | None) -> None:
    deadline = None
    while not query.awaitTermination(POLL_S):
        if until is None or not until.is_set():
            continue
        deadline = deadline or time.monotonic() + GRACE_S
        if not query.status["isTriggerActive"] or time.monotonic() > deadline:
            return


def _triggered(writer: DataStreamWriter, trigger: float | Literal["available_now"]) -> DataStreamWriter:
    if trigger == "available_now":
        return writer.trigger(availableNow=True)
    return writer.trigger(processingTime=f"{round(trigger * 1000)} milliseconds")


def _require_checkpoint(output: Path, checkpoint: Path) -> None:
    if any((output / COUNTS_FOLDER).glob("batch=*")) and not (checkpoint / "metadata").exists():
        raise AnalyticsError(
            f"{output} holds counts, but how far they go is not known: {checkpoint} is missing. Reading from "
            "the beginning would count twice; choose another output, or remove this one to count anew."
        )


def _told(error: Exception) -> AnalyticsError:
    if isinstance(error, AnalyticsError):
        return error
    ours = re.search(r"\[USER_RAISED_EXCEPTION\] (.*?) SQLSTATE", str(error))
    return AnalyticsError(ours[1] if ours else f"The analytics stopped: {str(error).splitlines()[0]}")
