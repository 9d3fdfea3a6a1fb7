"""Bad records become letters, and the partition goes on."""

import contextlib
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer

from tests.workers.conftest import RULES, Application, eventually
from tocsin.services import ServiceSet

MakeApp = Callable[..., Application]
Record = tuple[str, bytes | None, list[tuple[str, bytes]]]


def produce(app: Application, *records: Record) -> None:
    """Produce (topic, value, headers) as they are, past everything that would refuse them."""
    producer = Producer({"bootstrap.servers": app.services.bootstrap, "message.max.bytes": 4_000_000})
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    for topic, value, headers in records:
        producer.produce(topic, value, b"hall", headers=headers, on_delivery=delivered)
    assert producer.flush(30) == 0
    assert failures == []


def test_bad_records_become_dead_letters_and_the_partition_goes_on(make_app: MakeApp) -> None:
    app = make_app(partitions=1, max_message_bytes="4000000")
    temps = app.plan.types[0].topic
    bad = {
        "not Avro": (b"\x7fgarbage", "UNDECODABLE"),
        "cut off": (b"", "UNDECODABLE"),
        "of an unknown schema": (b"\0\x00\x0f\x42\x40abc", "UNKNOWN_SCHEMA"),
        "broken JSON": (b'{"area": "hall", "value": ', "UNDECODABLE"),
        "without an attribute": (b'{"area": "hall"}', "UNDECODABLE"),
        "nearly too large": (b"?" * 1_040_000, "UNDECODABLE"),
        "too large": (b"{" + b" " * 2_000_000 + b"}", "TOO_LARGE"),
        "without a value": (None, "NULL_VALUE"),
    }
    with app.worker():
        app.publish("hall", 60.0)
        app.publisher.flush()
        produce(app, *((temps, value, [("trace", b"42")]) for value, _ in bad.values()))
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
        eventually("all letters", lambda: len(app.letters()) == len(bad))
    letters = app.letters()
    assert [letter["reason"] for letter in letters] == [reason for _, reason in bad.values()]
    for offset, (letter, (value, reason)) in enumerate(zip(letters, bad.values(), strict=True), start=1):
        assert (letter["topic"], letter["partition"], letter["offset"]) == (temps, 0, offset)
        assert letter["value"] == (None if reason == "TOO_LARGE" else value)
        assert letter["size"] == len(value or b"")
        assert letter["key"] == b"hall"
        assert letter["headers"] == ({} if reason == "TOO_LARGE" else {"trace": b"42"})
        assert letter["message"]


def test_records_without_a_value_are_passed_over_where_the_rules_say_so(
    services: ServiceSet, topic: Callable[..., str], unique: Callable[[str], str], tmp_path: Path
) -> None:
    temps, smoke = (topic(stem, partitions=1) for stem in ("temps", "smoke"))
    rules = RULES.replace("idle 1 s;", "idle 1 s nulls ignore;")
    app = Application(services, unique("fire"), temps, smoke, tmp_path, rules)
    with contextlib.closing(app.publisher), app.worker(report_interval_ms=100) as worker:
        app.publish("hall", 60.0)
        app.publisher.flush()
        produce(app, (temps, None, []), (smoke, None, []), (temps, b"garbage", []))
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
        eventually(
            "both are counted", lambda: [task.counts["ignored"] for task in worker.statuses[-1].tasks] == [2]
        )
    assert [letter["reason"] for letter in app.letters()] == ["UNDECODABLE"]


def test_a_thousand_bad_records_in_a_row(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    with app.worker():
        garbage = random.Random(7)
        produce(app, *((app.plan.types[0].topic, b"?" + garbage.randbytes(40), []) for _ in range(1_000)))
        app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
        eventually("all letters", lambda: len(app.letters()) == 1_000)


def test_times_that_are_too_late_or_too_far_ahead(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    now_ms = int(time.time() * 1000)
    with app.worker():
        app.publish("hall", 60.0, now_ms - 20_000)
        app.publish("hall", None, now_ms)
        app.publisher.flush()
        app.await_exact()  # the silence after them has released both
        temp, topic = b'{"area": "x", "value": 50}', app.plan.types[0].topic
        produce(
            app,
            (topic, temp, [("ce_specversion", b"1.0"), ("ce_time", b"2020-01-01T00:00:00Z")]),
            (topic, temp, [("ce_specversion", b"1.0"), ("ce_time", b"2090-01-01T00:00:00Z")]),
        )
        eventually("the letters", lambda: len(app.letters("late-records")) == len(app.letters()) == 1)
    (late,), (ahead,) = app.letters("late-records"), app.letters()
    assert late["reason"] == "LATE"
    assert ahead["reason"] == "BAD_TIME"


def test_json_and_cloud_events_are_understood(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    temps, smoke = app.plan.types[0].topic, app.plan.types[1].topic
    with app.worker():
        hot = json.dumps({"area": "hall", "value": 61, "unit": {"name": "C"}}).encode()
        headers = [("ce_specversion", b"1.0"), ("ce_id", b"r-17"), ("ce_source", b"/sensors/3")]
        headers += [("ce_type", b"com.example.Temp"), ("ce_time", b"2026-01-02T03:04:05.678Z")]
        smoke_headers = [*headers[:1], ("ce_id", b"s-1"), *headers[2:3], ("ce_time", b"2026-01-02T03:05:00Z")]
        produce(app, (temps, hot, headers), (smoke, b'{"area": "hall"}', smoke_headers))
        eventually("the fire", lambda: len(app.fires()) == 1)
    (fire,) = app.fires()
    labels = {constituent.role: constituent.label for constituent in fire.provenance}
    assert labels == {"t": "/sensors/3#r-17", "s": "/sensors/3#s-1"}
    assert fire.attributes == {"area": "hall", "value": 61.0}
