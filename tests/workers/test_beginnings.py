"""Where an application begins to read, and how it begins anew."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workers.conftest import Application, eventually
from tocsin.workers import WorkerError
from tocsin.workers.reset import reset


def test_an_application_begins_at_a_time(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=1)
    now_ms = int(time.time() * 1000)
    for seconds_ago in (60, 50, 10, 9):
        app.publish("hall", 50.0 + seconds_ago, now_ms - seconds_ago * 1000 - 500)
        app.publish("hall", None, now_ms - seconds_ago * 1000)
    app.publisher.flush()
    begin_ms = now_ms - 30_000
    app.record = [event for event in app.record if event.time_ms >= begin_ms]
    with app.worker(start=begin_ms):
        app.await_exact()


def test_an_application_begins_behind_everything_that_is_older(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=1)
    app.publish("hall", 50.0, int(time.time() * 1000) - 60_000)
    app.publisher.flush()
    app.record = []
    with app.worker(start=int(time.time() * 1000) + 3_000_000) as worker:
        eventually("the task runs", lambda: worker.partitions() == {0})
        app.publish("hall", None)
        app.publish("hall", 51.0)
        app.publish("hall", None)
        app.publisher.flush()
        app.await_exact()


def test_after_a_reset_everything_is_detected_again(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=2)
    with app.worker():
        app.publish("hall", 50.0)
        app.publish("hall", None)
        app.publisher.flush()
        before = app.await_exact()
    # Gone is what the workers kept, not what they wrote.
    reset(app.plan, app.settings())
    with app.worker():
        eventually("every fire twice", lambda: len(app.fires()) == 2 * len(before))
    assert {fire.identity for fire in app.fires()} == {fire.identity for fire in before}


def test_what_runs_is_not_reset(make_app: Callable[..., Application], tmp_path: Path) -> None:
    app = make_app(partitions=1)
    with app.worker() as worker:
        eventually("the task runs", lambda: worker.partitions() == {0})
        with pytest.raises(WorkerError, match="still has 1 worker"):
            reset(app.plan, replace(app.settings(), state_dir=tmp_path / "elsewhere"))


def test_a_reset_of_what_never_ran_is_done_at_once(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=1)
    reset(app.plan, app.settings())
