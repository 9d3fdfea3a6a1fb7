"""What an operator can get wrong is told in a sentence, before anything is started."""

import dataclasses
import threading
from collections.abc import Callable

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.workers.conftest import DEADLINE_S, Application, eventually
from tocsin.topology import compile_rules
from tocsin.workers import BrokerAway, StateMismatch, TopicsWrong, Worker, WorkerError
from tocsin.workers.following import inputs_of
from tocsin.workers.reset import reset
from tocsin.workers.topics import partition_counts

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


def test_topics_that_grow_until_they_differ_or_are_alike(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    admin = AdminClient({"bootstrap.servers": app.services.bootstrap})
    for topic in app.plan.input_topics:
        app.publish("hall", 50.0)
        app.publisher.flush()
        with app.worker():
            eventually("a commit", lambda: inputs_of(app.plan.app, counted(admin, app), app.settings()))
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result()
        eventually("the partition", lambda topic=topic: counted(admin, app)[topic] == 2)
        # The plan for these topics is another one, of which there is no state: that alone would not tell.
        with pytest.raises(TopicsWrong, match=f"'{topic}' has 2 partitions, but there is state of 1"):
            run(app)
        reset(app.plan, app.settings())
    with app.worker() as worker:
        eventually("the tasks run", lambda: worker.partitions() == {0, 1})


def counted(admin: AdminClient, app: Application) -> dict[str, int]:
    return partition_counts(admin, app.services.bootstrap)


def test_topics_that_may_not_be_created(make_app: MakeApp) -> None:
    app = make_app(partitions=2)
    with pytest.raises(TopicsWrong, match=r"may not be created: .*'tocsin\..*\.Fire' \(2 partitions\)"):
        run(app, create_topics=False)


def test_a_changelog_of_another_partition_count(make_app: MakeApp, admin: AdminClient) -> None:
    app = make_app(partitions=2)
    changelog = f"tocsin.{app.plan.app}.local-changelog"
    admin.create_topics([NewTopic(changelog, num_partitions=5)])[changelog].result(timeout=30)
    with pytest.raises(TopicsWrong, match="has 2 partitions, but there is state of 5"):
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
