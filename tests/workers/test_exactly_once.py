"""Workers come and go; every complex event is there once."""

import random
from collections.abc import Callable

from tests.workers.conftest import Application, eventually, kill

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


def test_a_damaged_local_copy_is_discarded(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    with app.worker():
        app.publish("hall", 60.0)
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()
    folder = app.folder / "state" / app.plan.app / "one" / "local-0"
    (folder / "CURRENT").write_text("no such manifest", encoding="utf-8")
    with app.worker():
        app.publish("hall", None)
        app.publisher.flush()
        assert len(app.await_exact()) == 2
