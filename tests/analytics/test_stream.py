"""The job on a real broker: exact counts over runs, schemas, aborted transactions and kill -9."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tocsin.analytics import (
    AnalyticsError,
    AnalyticsSettings,
    AnalyticsUnavailable,
    complex_events,
    counts,
    run,
)
from tocsin.schemas import Registry, confluent_prefix, single_object_prefix, subject
from tocsin.services import ServiceSet

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DEADLINE_S = 120

MakeSchema = Callable[..., str]
MakeTopic = Callable[..., str]
MakeValue = Callable[..., bytes]
Publish = Callable[..., None]


@pytest.fixture
def app(unique: Callable[[str], str]) -> str:
    return unique("app")


@pytest.fixture
def settings(services: ServiceSet, app: str, tmp_path: Path) -> AnalyticsSettings:
    return AnalyticsSettings(
        brokers=services.bootstrap,
        app=app,
        registry=services.registry_url,
        output=tmp_path,
        trigger="available_now",
    )


def ms(time_: datetime) -> int:
    return int(time_.timestamp() * 1000)


def table(spark: SparkSession, output: Path) -> dict[tuple[str, datetime], int]:
    rows = counts(spark, output).selectExpr("type", "unix_seconds(minute) as minute", "count").collect()
    found = {(row["type"], datetime.fromtimestamp(row["minute"], UTC)): row["count"] for row in rows}
    assert len(found) == len(rows), "one row a type and minute"
    return found


def test_committed_events_are_counted_once_over_runs_and_schemas(
    spark: SparkSession,
    settings: AnalyticsSettings,
    app: str,
    defined: MakeSchema,
    output_topic: MakeTopic,
    complex_event: MakeValue,
    publish: Publish,
) -> None:
    assert settings.registry is not None
    registry = Registry(settings.registry)
    fire = output_topic(app, "Fire", partitions=2)
    first = defined(app, "Fire", area="string")
    prefix = confluent_prefix(registry.register(subject(fire), first))

    def fires(number: int, end: datetime) -> list[bytes]:
        return [complex_event(first, prefix, ms(end) + each, area="hall") for each in range(number)]

    publish(fire, fires(3, NOON))
    publish(fire, fires(5, NOON), commit=False)
    publish(fire, fires(2, NOON + MINUTE))
    run(settings, spark)
    assert table(spark, settings.output) == {("Fire", NOON): 3, ("Fire", NOON + MINUTE): 2}

    # A later version of the type, another type, an event of a minute that was counted before.
    second = defined(app, "Fire", area="string", floor="int?")
    later = confluent_prefix(registry.register(subject(fire), second))
    publish(fire, [complex_event(second, later, ms(NOON), area="attic", floor=3), *fires(1, NOON)])
    flood = output_topic(app, "Flood")
    other = defined(app, "Flood")
    another = confluent_prefix(registry.register(subject(flood), other))
    publish(flood, [complex_event(other, another, ms(NOON))])
    publish(flood, [b"never committed"], commit=False)
    run(settings, spark)
    run(settings, spark)
    assert table(spark, settings.output) == {
        ("Fire", NOON): 5,
        ("Fire", NOON + MINUTE): 2,
        ("Flood", NOON): 1,
    }

    typed = complex_events(spark, settings).where("type = 'Fire'").select("attributes.Fire.*")
    assert sorted(map(tuple, typed.collect())) == [("attic", 3)] + [("hall", None)] * 6
    registry.close()


def test_killed_inside_a_batch_and_run_again(
    spark: SparkSession,
    services: ServiceSet,
    app: str,
    defined: MakeSchema,
    output_topic: MakeTopic,
    complex_event: MakeValue,
    publish: Publish,
    tmp_path: Path,
) -> None:
    fire = output_topic(app, "Fire")
    schema = defined(app, "Fire", area="string")
    (tmp_path / "fire.avsc").write_text(schema, encoding="utf-8")
    for minute in range(4):
        end_ms = ms(NOON + minute * MINUTE)
        publish(fire, [complex_event(schema, single_object_prefix(schema), end_ms, area="hall")] * 9)

    output = tmp_path / "tables"
    killed = subprocess.run(
        [
            *(sys.executable, Path(__file__).with_name("job_that_dies.py"), "1"),
            *("--brokers", services.bootstrap, "--app", app, "--schema", f"{fire}={tmp_path / 'fire.avsc'}"),
            *("--output", output, "--available-now", "--max-batch-records", "15", "--master", "local[2]"),
        ],
        env={**os.environ, "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"},
        start_new_session=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert (output / "_checkpoint" / "commits" / "0").exists()
    assert not (output / "_checkpoint" / "commits" / "1").exists()
    # Of 15 offsets one is the marker of a commit; then one event of the second batch.
    assert sum(table(spark, output).values()) == 14 + 1

    run(
        AnalyticsSettings(
            brokers=services.bootstrap,
            app=app,
            schemas={fire: schema},
            output=output,
            trigger="available_now",
            max_batch_records=15,
        ),
        spark,
    )
    assert table(spark, output) == {("Fire", NOON + minute * MINUTE): 9 for minute in range(4)}


def test_the_job_runs_until_it_is_told_to_end(
    spark: SparkSession,
    services: ServiceSet,
    app: str,
    defined: MakeSchema,
    output_topic: MakeTopic,
    complex_event: MakeValue,
    publish: Publish,
    tmp_path: Path,
) -> None:
    fire = output_topic(app, "Fire")
    schema = defined(app, "Fire", area="string")
    event = complex_event(schema, single_object_prefix(schema), ms(NOON), area="hall")
    until = threading.Event()
    deadline = time.monotonic() + DEADLINE_S

    def publish_twice() -> None:
        """The second event comes when the first is counted, and the end when both are."""
        for batch in range(2):
            publish(fire, [event])
            while (
                not (tmp_path / "_checkpoint" / "commits" / str(batch)).exists()
                and time.monotonic() < deadline
            ):
                until.wait(0.1)
        until.set()

    publisher = threading.Thread(target=publish_twice)
    publisher.start()
    run(
        AnalyticsSettings(
            brokers=services.bootstrap,
            app=app,
            schemas={fire: schema},
            output=tmp_path,
            trigger=0.1,
            until=until,
        ),
        spark,
    )
    publisher.join()
    assert table(spark, tmp_path) == {("Fire", NOON): 2}


def test_an_unreadable_record_stops_the_job_and_is_not_passed_over(
    spark: SparkSession,
    services: ServiceSet,
    app: str,
    defined: MakeSchema,
    output_topic: MakeTopic,
    publish: Publish,
    tmp_path: Path,
) -> None:
    fire = output_topic(app, "Fire")
    publish(fire, [b"not framed"])
    job = AnalyticsSettings(
        brokers=services.bootstrap,
        app=app,
        schemas={fire: defined(app, "Fire", area="string")},
        output=tmp_path,
        trigger="available_now",
    )
    for _ in range(2):
        with pytest.raises(AnalyticsError) as raised:
            run(job, spark)
        assert str(raised.value) == (
            f"The record at {fire}, partition 0, offset 0 cannot be read: "
            f"its first bytes, {b'not framed'.hex()}, name no schema of its topic."
        )
    assert table(spark, tmp_path) == {}


def test_tables_without_their_checkpoint_are_not_written_to(settings: AnalyticsSettings) -> None:
    (settings.output / "counts" / "batch=0").mkdir(parents=True)
    with pytest.raises(AnalyticsError, match="Reading from the beginning would count twice"):
        run(settings)


def test_a_topic_that_does_not_exist(services: ServiceSet, app: str, tmp_path: Path) -> None:
    topic = f"tocsin.{app}.Fire"
    with pytest.raises(AnalyticsUnavailable, match=f"There is no topic '{topic}'"):
        run(
            AnalyticsSettings(
                brokers=services.bootstrap,
                app=app,
                registry=services.registry_url,
                topics=[topic],
                output=tmp_path,
            )
        )
