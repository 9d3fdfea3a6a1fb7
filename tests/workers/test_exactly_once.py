"""Workers come and go; every complex event is there once."""

import random
import signal
from collections.abc import Callable

import pytest
from confluent_kafka.admin import AdminClient

from tests.workers.conftest import Application, eventually, kill
from tocsin.workers import Fenced

MakeApp = Callable[..., Application]


def test_a_worker_detects(make_app: MakeApp) -> None:
    app = make_app()
    with app.worker():
        app.publish_some(random.Random(1), 500)
        app.await_exact()


def test_kill_9_in_the_middle_of_the_feed(make_app: MakeApp) -> None:
    app, rng = make_app(), random.Random(2)
    workers = {name: app.process(name) for name in ("one", "two")}
    try:
        for victim in ("one", "two", "one"):
            seen = len(app.fires())
            app.publish_some(rng, 300)
            while len(app.fires()) == seen:
                app.publish_some(rng, 50)
            # Fires are coming out, and more readings are on their way: now.
            app.publish_some(rng, 100)
            kill(workers[victim])
            app.publish_some(rng, 100)
            workers[victim] = app.process(victim)
        app.await_exact()
    finally:
        for worker in workers.values():
            kill(worker)


def test_a_second_worker_joins_and_leaves(make_app: MakeApp) -> None:
    app, rng = make_app(), random.Random(3)
    with app.worker("one") as one:
        app.publish_some(rng, 300)
        with app.worker("two") as two:
            eventually("both to have work", lambda: bool(one.partitions()) and bool(two.partitions()))
            assert one.partitions().isdisjoint(two.partitions())
            app.publish_some(rng, 300)
        app.publish_some(rng, 300)
        app.await_exact()
        eventually("one to have it all", lambda: one.partitions() == {0, 1, 2})


def test_state_survives_a_restart_without_the_local_copy(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    with app.worker("one"):
        app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publish("attic", 70.0)
        app.publisher.flush()
        app.await_exact()
    # Another instance has an empty folder: the temperature of the attic comes back from the changelog.
    with app.worker("two"):
        app.publish("attic", None)
        app.publisher.flush()
        assert len(app.await_exact()) == 2


@pytest.mark.parametrize("damaged", ["CURRENT", ".sst", ".log"])
def test_a_damaged_local_copy_is_discarded(make_app: MakeApp, damaged: str) -> None:
    app = make_app(partitions=1)
    with app.worker():
        for number in range(200):
            app.publish(f"room-{number}", 60.0)
        app.publish("room-0", None)
        app.publisher.flush()
        app.await_exact()
    files = [file for file in (app.folder / "state").rglob("local-0/*") if damaged in file.name]
    assert files or damaged != "CURRENT"
    for file in files:
        content = file.read_bytes()
        middle = len(content) // 2
        file.write_bytes(content[:middle] + b"\xff" * 20 + content[middle + 20 :])
    with app.worker():
        for number in range(0, 200, 10):
            app.publish(f"room-{number}", None)
        app.publisher.flush()
        assert len(app.await_exact()) == 21


def test_a_worker_that_stood_still_does_no_harm(make_app: MakeApp) -> None:
    app, rng = make_app(), random.Random(5)
    still, other = app.process("still"), app.process("other")
    try:
        app.publish_some(rng, 300)
        eventually("fires", lambda: len(app.fires()) > 0)
        app.publish_some(rng, 100)
        still.send_signal(signal.SIGSTOP)
        app.publish_some(rng, 100)
        # All of it comes out though one stands still: the other has taken its partitions over.
        app.await_exact()
        still.send_signal(signal.SIGCONT)
        app.publish_some(rng, 300)
        app.await_exact()
        assert still.poll() in {None, Fenced.exit_code}, app.said("still")
    finally:
        kill(still)
        kill(other)


def test_a_worker_that_begins_with_the_latest_stays_there(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    app.publish("hall", 60.0)
    app.publish("hall", None)
    app.publisher.flush()
    app.record.clear()
    with app.worker(start="latest") as worker:
        eventually("it to run", lambda: worker.partitions() == {0})
    # Nothing came while it ran; what comes while nobody runs is not to be missed.
    app.publish("attic", 60.0)
    app.publish("attic", None)
    app.publisher.flush()
    with app.worker(start="latest"):
        app.await_exact()


def test_a_group_that_the_broker_has_forgotten_goes_on_from_the_state(
    make_app: MakeApp, admin: AdminClient
) -> None:
    app = make_app(partitions=1)
    with app.worker():
        app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
    group = f"tocsin.{app.plan.app}.local"
    admin.delete_consumer_groups([group])[group].result(timeout=30)
    with app.worker():
        app.publish("hall", None)
        app.publisher.flush()
        assert len(app.await_exact()) == 2
