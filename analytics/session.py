"""A Spark session that can read Kafka and Avro, on whatever master the user's options name."""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark import SparkConf
from pyspark.sql import SparkSession

from tocsin.deploy import jars, java

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "tocsin analytics",
    # What goes wrong is raised, with Spark's own error as the cause; its log would tell it first, in a stack.
    "spark.log.level": "FATAL",
    # Minutes and days are those of event time, wherever the job runs.
    "spark.sql.session.timeZone": "UTC",
    # The tables group few rows; Spark's default of 200 would cost more than the work.
    "spark.sql.shuffle.partitions": "8",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def session(master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return the running session, or start one with the jars it needs (fetched by Maven when first used).

    Without `master` it is what spark-submit, PYSPARK_SUBMIT_ARGS or spark-defaults.conf say, else local[*].
    Settings in `conf`, and those given to spark-submit, go before our defaults.
    """
    java()
    paths = [str(path) for path in sorted(jars("spark").glob("*.jar"))]
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # spark-submit has started the driver's JVM, and its class path is what it is.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ

    settings = SparkConf()
    if master is not None:
        settings.setMaster(master)
    for name, value in (conf or {}).items():
        settings.set(name, value)
    for name, value in DEFAULTS.items():
        settings.setIfMissing(name, value)
    if not submitted:
        settings.set("spark.jars", ",".join(paths))

    with _interrupts_kept():
        spark = SparkSession.builder.config(conf=settings).getOrCreate()
    if submitted:
        for path in paths:
            spark.sql(f"ADD JAR '{path}'")
    return spark


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Undo that a new Spark context takes Ctrl-C for itself: what it means is the caller's to decide."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
