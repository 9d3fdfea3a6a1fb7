"""What an operator can get wrong is told in a sentence, before anything is started."""

import dataclasses
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.workers.conftest import DEADLINE_S, Application, eventually
from tocsin.topology import compile_rules
from tocsin.workers import BrokerAway, StateMismatch, TopicsWrong, Worker, WorkerError

MakeApp = Callable[..., Application]


def run(app: Application, **changes: object) -> None:
    """Run a worker that is to fail; one that does not ends by itself."""
    stop = threading.Event()
    timer = threading.Timer(DEADLINE_S, stop.set)
    timer.start()
    try:
        Worker(app.plan, app.settings(**changes)).run(stop)
    finally:
        timer.cancel()


def test_a_missing_input_topic(make_app: MakeApp, unique: Callable[[str], str]) -> None:
    app = make_app()
    absent = unique("absent")
    app.plan = compile_rules(app.text.replace(app.plan.types[0].topic, absent), app=app.plan.app)
    with pytest.raises(TopicsWrong) as failure:
        run(app)
    assert str(failure.value).startswith(f"The input topic '{absent}' (event Temp) does not exist on ")
    assert "--create-inputs" in str(failure.value)


def test_input_topics_of_different_partition_counts(make_app: MakeApp, topic: Callable[..., str]) -> None:
    app = make_app(partitions=2)
    other = topic("temps", partitions=3)
    smoke = app.plan.types[1].topic
    app.plan = compile_rules(app.text.replace(app.plan.types[0].topic, other), app=app.plan.app)
    with pytest.raises(TopicsWrong) as failure:
        run(app)
    assert f"'{smoke}' has 2" in str(failure.value)
    assert f"'{other}' has 3" in str(failure.value)


def test_topics_that_may_not_be_created(make_app: MakeApp) -> None:
    app = make_app(partitions=2)
    with pytest.raises(TopicsWrong, match=r"may not be created: .*'tocsin\..*\.Fire' \(2 partitions\)"):
        run(app, create_topics=False)


def test_a_changelog_of_another_partition_count(make_app: MakeApp, admin: AdminClient) -> None:
    app = make_app(partitions=2)
    changelog = f"tocsin.{app.plan.app}.local-changelog"
    admin.create_topics([NewTopic(changelog, num_partitions=5)])[changelog].result(timeout=30)
    with pytest.raises(TopicsWrong, match=rf"'{changelog}' has 5 partitions, but the input topics ask for 2"):
        run(app)


def test_no_broker(make_app: MakeApp) -> None:
    app = make_app()
    settings = dataclasses.replace(app.settings(), brokers="127.0.0.1:1")
    with pytest.raises(BrokerAway, match=r"No Kafka broker answers at 127\.0\.0\.1:1"):
        Worker(app.plan, settings).run(threading.Event())


def test_an_instance_that_runs_already(make_app: MakeApp) -> None:
    app = make_app()
    with app.worker("one") as one:
        eventually("the first to run", lambda: bool(one.statuses))
        with pytest.raises(WorkerError, match="runs as instance 'one'"):
            run(app)


def test_an_input_topic_that_was_made_anew(make_app: MakeApp, admin: AdminClient) -> None:
    app = make_app(partitions=1)
    with app.worker():
        for _ in range(5):
            app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
    temps = app.plan.types[0].topic
    admin.delete_topics([temps])[temps].result(timeout=30)
    eventually("the topic to go", lambda: temps not in admin.list_topics(timeout=10).topics)
    admin.create_topics([NewTopic(temps, num_partitions=1)])[temps].result(timeout=30)
    eventually("the topic to come", lambda: temps in admin.list_topics(timeout=10).topics)
    with pytest.raises(StateMismatch, match="the topic was made anew"), app.worker() as running:
        running.join()


def test_offsets_that_were_changed_by_hand(make_app: MakeApp, admin: AdminClient) -> None:
    app = make_app(partitions=1)
    with app.worker():
        app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
    group = f"tocsin.{app.plan.app}.local"
    moved = TopicPartition(app.plan.types[0].topic, 0, 0)
    admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [moved])])[group].result(
        timeout=30
    )
    with pytest.raises(StateMismatch, match="one was changed by hand"), app.worker() as running:
        running.join()
