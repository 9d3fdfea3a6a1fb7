"""Without transactions nothing is lost, and what comes twice has one identity."""

import random
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from tests.workers.conftest import Application, eventually, kill
from tocsin.demo.expectation import detected
from tocsin.topology import compile_rules
from tocsin.workers import NotRunnable, Worker, repeating

MakeApp = Callable[..., Application]


def await_all(app: Application) -> int:
    """Wait until every expected fire is there, show that no other is, and return how many are there again."""
    wanted = app.expected()
    assert wanted, "a test that expects nothing shows nothing"
    eventually("all expected fires", lambda: wanted <= {detected(fire) for fire in app.fires()})
    fires = app.fires()
    assert {detected(fire) for fire in fires} == wanted
    assert len({fire.identity for fire in fires}) == len(wanted)
    return len(fires) - len(wanted)


def test_kill_9_in_the_middle_of_the_feed(make_app: MakeApp) -> None:
    app, rng = make_app(), random.Random(5)
    workers = {name: app.process(name, "--at-least-once") for name in ("one", "two")}
    try:
        for victim in ("one", "two", "one"):
            seen = len(app.fires())
            app.publish_some(rng, 300)
            while len(app.fires()) == seen:
                app.publish_some(rng, 50)
            app.publish_some(rng, 100)
            kill(workers[victim])
            app.publish_some(rng, 100)
            workers[victim] = app.process(victim, "--at-least-once")
        await_all(app)
    finally:
        for worker in workers.values():
            kill(worker)


def test_what_was_written_before_the_offsets_failed_comes_again(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, failed = make_app(partitions=1), list[bool]()
    commit = repeating.commit_offsets

    def fail_once(consumer: Consumer, places: list[TopicPartition]) -> None:
        if not failed and app.fires():
            failed.append(True)
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        commit(consumer, places)

    monkeypatch.setattr(repeating, "commit_offsets", fail_once)
    with app.worker(exactly_once=False):
        app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publish("attic", 70.0)
        app.publisher.flush()
        eventually("the fire again", lambda: len(app.fires()) == 2)
        app.publish("attic", None)
        app.publisher.flush()
        assert await_all(app) == 1
    assert failed


def test_a_changelog_beyond_the_last_commit_is_not_restored(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    with app.worker("one", exactly_once=False):
        for area in ("hall", "attic", "cellar", "loft"):
            app.publish(area, 70.0)
        app.publish("hall", None)
        app.publisher.flush()
        await_all(app)
    # A worker that was killed in the middle of a commit may have written any part of its changes.
    changelog = f"tocsin.{app.plan.app}.local-changelog"
    keys = {message.key() for message in app.messages(changelog)}
    assert len(keys) > 3
    producer = Producer({"bootstrap.servers": app.services.bootstrap})
    for key in keys:
        producer.produce(changelog, None, key, 0)
    assert producer.flush(30) == 0
    # Others have no local copy: the second of them has what the first put right, the third goes back again.
    for instance, area, exactly_once in (
        ("two", "attic", False),
        ("three", "cellar", True),
        ("four", "loft", False),
    ):
        with app.worker(instance, exactly_once=exactly_once):
            app.publish(area, None)
            app.publisher.flush()
            assert await_all(app) == 0


def test_events_that_are_sent_on_need_transactions(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    plan = compile_rules(app.text.replace(" key area", ""), app=app.plan.app)
    with pytest.raises(NotRunnable, match="cannot run at least once: events are sent on by"):
        Worker(plan, app.settings(exactly_once=False))
