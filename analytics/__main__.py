"""The streaming job as a program of its own, for `python -m tocsin.analytics` and spark-submit.

    python -m tocsin.analytics --brokers localhost:9092 --app fire --registry http://… --output tables
    spark-submit --master … analytics/__main__.py --brokers …

SIGINT and SIGTERM end it in good order, and SIGKILL does no harm.
"""

import argparse
import signal
import sys
import threading
from pathlib import Path

from tocsin.analytics import AnalyticsError, AnalyticsSettings, run
from tocsin.deploy import FetchFailed, MissingTool


def main(arguments: list[str] | None = None) -> int:
    """Run the job until it is done or told to stop, and return the exit code."""
    until = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: until.set())
    try:
        run(_settings(arguments, until))
    except (AnalyticsError, FetchFailed, MissingTool) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _settings(arguments: list[str] | None, until: threading.Event) -> AnalyticsSettings:
    parser = argparse.ArgumentParser(
        prog="tocsin.analytics", description="Keep tables of the complex events of an application."
    )
    add = parser.add_argument
    add("--brokers", required=True, metavar="HOST:PORT,…", help="Kafka brokers")
    add("--app", required=True, metavar="NAME", help="application whose complex events are read")
    add("--registry", metavar="URL", help="schema registry")
    add("--topic", action="append", help="read only this topic; may be repeated")
    add(
        "--schema", action="append", type=_schema, default=[], metavar="TOPIC=FILE", help="without a registry"
    )
    add("--output", required=True, type=Path, metavar="FOLDER", help="where the tables are kept")
    add("--checkpoint", type=Path, metavar="FOLDER", help="where Spark keeps how far it has read")
    add("--every", type=float, default=10.0, metavar="SECONDS", help="from one batch to the next")
    add("--available-now", action="store_true", help="read what is there, and end")
    add("--max-batch-records", type=int, default=AnalyticsSettings.max_batch_records, metavar="N")
    add("--master", help="Spark master; default local[*], or what spark-submit says")
    given = parser.parse_args(arguments)
    return AnalyticsSettings(
        brokers=given.brokers,
        app=given.app,
        registry=given.registry,
        topics=given.topic,
        schemas=dict(given.schema),
        output=given.output,
        checkpoint=given.checkpoint,
        trigger="available_now" if given.available_now else given.every,
        until=until,
        max_batch_records=given.max_batch_records,
        master=given.master,
    )


def _schema(text: str) -> tuple[str, str]:
    topic, _, path = text.partition("=")
    try:
        return topic, Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot read '{path}': {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
