"""An input topic that grows while there is state of it: workers end with a sentence, nothing is wrong."""

from collections import Counter
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient, NewPartitions

from tests.workers.conftest import DEADLINE_S, Application, RunningWorker, eventually
from tocsin.demo.expectation import detected
from tocsin.publisher import Publisher
from tocsin.topology import compile_rules
from tocsin.workers import TopicsWrong
from tocsin.workers.preflight import concerns
from tocsin.workers.reset import reset

MakeApp = Callable[..., Application]

AREAS = [f"area-{number}" for number in range(12)]
UNFIT = "has 5 partitions, but there is state of 2"


def grow(admin: AdminClient, *topics: str) -> None:
    """Give topics 5 partitions, and wait until the broker tells so."""
    for future in admin.create_partitions([NewPartitions(topic, 5) for topic in topics]).values():
        future.result(timeout=30)

    def is_known(topic: str) -> bool:
        return len(admin.list_topics(timeout=30).topics[topic].partitions) == 5

    eventually("the partitions", lambda: all(map(is_known, topics)))


def identities(app: Application) -> list[str]:
    return sorted(fire.identity for fire in app.fires())


def test_topics_that_grow_while_a_worker_runs(make_app: MakeApp, admin: AdminClient) -> None:
    app = make_app(partitions=2)
    worker = app.process("one")
    try:
        for area in AREAS:
            app.publish(area, 50.0)
            app.publish(area, None)
            app.publish(area, 60.0)
        app.publisher.flush()
        before = app.await_exact()
        grow(admin, *(event.topic for event in app.plan.input_types))
        # One that knows the new partitions writes to them from its first record on.
        with Publisher(app.services.bootstrap, app.services.registry_url, app.plan) as app.publisher:
            for area in AREAS:
                app.publish(area, None)
        assert worker.wait(DEADLINE_S) == 2
    finally:
        worker.kill()
    moved = {event.area for event in app.record if event.value is None and event.at.partition >= 2}
    assert moved, "no key has moved"
    assert UNFIT in " ".join(app.said("one").split())
    assert identities(app) == sorted(fire.identity for fire in before)

    with pytest.raises(TopicsWrong, match=UNFIT), app.worker() as running:
        running.join()
    assert identities(app) == sorted(fire.identity for fire in before)

    # Without a key, events are sent to where the rules need them, wherever they lie.
    reset(app.plan, app.settings())
    app.plan = compile_rules(app.text.replace(" key area", ""), app=app.plan.app)
    wanted = app.expected()
    assert {fire.area for fire in wanted} == set(AREAS)
    assert len(wanted) == 2 * len(AREAS)
    with app.worker():
        eventually("every fire", lambda: wanted <= {detected(fire) for fire in app.fires()})
        eventually("every fire again", lambda: len(app.fires()) >= len(before) + len(wanted))
    fires = app.fires()
    assert Counter(map(detected, fires)) == Counter(map(detected, before)) + Counter(wanted)
    assert len({fire.identity for fire in fires}) == len(wanted)


def test_one_topic_that_grows_while_nothing_happens(make_app: MakeApp, admin: AdminClient) -> None:
    app = make_app(partitions=2)
    temps = app.plan.types[0].topic
    running = RunningWorker(app, "one")
    eventually("the tasks run", lambda: running.partitions() == {0, 1})
    grow(admin, temps)
    running.join()
    with pytest.raises(TopicsWrong, match=f"Topic '{temps}' {UNFIT}"):
        running.stop()
    assert any(f"Topic '{temps}' {UNFIT}" in concern for concern in concerns(app.plan, app.settings()))
