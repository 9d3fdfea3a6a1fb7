"""Tasks come and go; those that stay do not wait for them."""

import random
import threading
from collections.abc import Callable

import pytest

from tests.workers.conftest import DEADLINE_S, Application, eventually
from tocsin.demo.expectation import detected, expected
from tocsin.workers.restore import Restore

MakeApp = Callable[..., Application]


def test_tasks_that_stay_go_on_while_others_are_restored(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, rng, may_restore = make_app(partitions=4), random.Random(61), threading.Event()
    step = Restore.step

    def wait(restore: Restore) -> None:
        assert may_restore.wait(DEADLINE_S)
        step(restore)

    monkeypatch.setattr(Restore, "step", wait)
    may_restore.set()
    with app.worker("one", report_interval_ms=50) as one:
        app.publish_some(rng, 300)
        app.await_exact()
        with app.worker("two") as two:
            eventually("both to work", lambda: bool(two.partitions()) and len(one.partitions()) < 4)
            app.publish_some(rng, 200)
            app.await_exact()
            stay = one.partitions()
            may_restore.clear()
        # What the other had is back, and lacks what was committed there.
        eventually("the others to be restored", lambda: len(one.statuses[-1].tasks) == 4)
        app.publish_some(rng, 200)
        wanted = expected([event for event in app.record if event.at.partition in stay])
        eventually("more of those that stay", lambda: wanted <= {detected(fire) for fire in app.fires()})
        assert one.partitions() == stay
        may_restore.set()
        app.await_exact()


def test_a_task_that_is_taken_away_while_it_is_restored(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, rng, may_restore = make_app(partitions=2), random.Random(62), threading.Event()
    step, begun = Restore.step, threading.Event()

    def wait(restore: Restore) -> None:
        # Only who has nothing has to wait.
        if restore.begin == 0:
            begun.set()
            assert may_restore.wait(DEADLINE_S)
        step(restore)

    with app.worker("one"):
        app.publish_some(rng, 300)
        app.await_exact()
    monkeypatch.setattr(Restore, "step", wait)
    with app.worker("two") as two:
        assert begun.wait(DEADLINE_S)
        with app.worker("one") as one:
            eventually("one to have work", lambda: bool(one.partitions()))
            app.publish_some(rng, 100)
            may_restore.set()
            eventually("both to work", lambda: len(one.partitions() | two.partitions()) == 2)
            app.await_exact()
        app.publish_some(rng, 100)
        app.await_exact()
