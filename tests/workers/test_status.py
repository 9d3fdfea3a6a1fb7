"""How tasks are doing, as workers tell it and as `tocsin status` shows it."""

import io
import json
import random
from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError, KafkaException
from rich.console import Console
from typer.testing import CliRunner, Result

from tests.workers.conftest import Application, eventually, kill
from tocsin import cli
from tocsin.cli import run
from tocsin.cli.status import SILENT_MS, _size, _span, _table
from tocsin.workers import Status, TaskState, TaskStatus, TopicsWrong
from tocsin.workers.status import Board, Told, Watch

MakeApp = Callable[..., Application]


def task(**changes: object) -> TaskStatus:
    status: dict[str, object] = {
        "subtopology": "local",
        "partition": 3,
        "state": TaskState.RUNNING,
        "lag": 1_200,
        "watermark_ms": 1_709_208_000_500,
        "waiting": 5,
        "stored": 7,
        "state_bytes": 3 * 1024 * 1024,
        "restored": 0,
        "to_restore": 0,
        "restored_bytes": 0,
        "counts": {"read": 100, "detected": 10},
    }
    return TaskStatus(**status | changes)  # type: ignore[arg-type]


def told(at_ms: int, status: TaskStatus) -> Told:
    return Told("one", "host", 42, at_ms, 10.0, 1.0, status)


def tocsin(app: Application, *arguments: str) -> Result:
    return CliRunner().invoke(cli.app, [*arguments, "--brokers", app.services.bootstrap], prog_name="tocsin")


def tasks_of(app: Application) -> dict[str, dict[str, object]]:
    """The tasks by their names, as scripts see them."""
    result = tocsin(app, "status", app.plan.app, "--json")
    assert result.exit_code == 0, result.output
    tasks = json.loads(result.stdout)["tasks"]
    return {f"{task['subtopology']}-{task['partition']}": task for task in tasks}


def test_who_has_which_task_and_how_it_is_doing(make_app: MakeApp) -> None:
    app, rng = make_app(partitions=2), random.Random(31)
    with app.worker("one", status_interval_ms=100) as one:
        eventually("it to have work", lambda: one.partitions() == {0, 1})
        app.publish_some(rng, 300)
        app.await_exact()

        def caught_up() -> bool:
            tasks = tasks_of(app).values()
            return all(t["lag"] == 0 and t["waiting"] == 0 and t["state"] == "running" for t in tasks)

        eventually("nothing to be left", caught_up)
        found = tasks_of(app)
        assert found.keys() == {"local-0", "local-1"}
        assert {task["instance"] for task in found.values()} == {"one"}
        counts = [task["counts"] for task in found.values()]
        assert sum(count["read"] for count in counts) == 300  # type: ignore[index]
        assert all(int(str(task["state_bytes"])) > 0 for task in found.values())
        shown = tocsin(app, "status", str(app.file), "--app", app.plan.app)
        assert shown.exit_code == 0
        assert "local-0" in shown.stdout
        assert "running" in shown.stdout
        with app.worker("two", status_interval_ms=100):
            eventually("both", lambda: {t["instance"] for t in tasks_of(app).values()} == {"one", "two"})
    # Who leaves says so.
    assert tasks_of(app) == {}
    assert f"No worker of {app.plan.app} has a task now." in tocsin(app, "status", app.plan.app).stderr


def test_what_a_killed_worker_told_stays(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    process = app.process("one")
    try:
        eventually("it to run", lambda: "running" in app.said("one"))
    finally:
        kill(process)
    (left,) = tasks_of(app).values()
    assert left["process"] == process.pid


def test_an_application_that_never_ran(make_app: MakeApp) -> None:
    app = make_app()
    result = tocsin(app, "status", app.plan.app)
    assert result.exit_code == TopicsWrong.exit_code
    assert f"no worker of '{app.plan.app}' has run there" in " ".join(result.stderr.split())


def test_progress_of_a_restore(make_app: MakeApp) -> None:
    app, rng = make_app(partitions=1), random.Random(32)
    with app.worker("one"):
        app.publish_some(rng, 300)
        app.await_exact()
    with app.worker("two") as two:
        eventually("it to run", lambda: two.partitions() == {0})
        (status,) = two.statuses[-1].tasks
        assert status.restored == status.to_restore > 0


def test_the_watch_sees_what_is_told_later(make_app: MakeApp) -> None:
    app = make_app(partitions=1)
    with app.worker("one"):
        pass  # makes the topics
    settings = app.settings()
    board = Board(settings, f"tocsin.{app.plan.app}.task-status", "one")
    watch = Watch(settings, app.plan.app)
    assert watch.read() == []
    board.tell(Status("one", (task(), task(partition=0))), 1_000)
    eventually("both", lambda: [told.task.partition for told in watch.read()] == [0, 3])
    board.tell(Status("one", (task(counts={"read": 300, "detected": 9}),)), 3_000)
    eventually("one to go", lambda: [told.task.partition for told in watch.read()] == [3])
    (last,) = watch.read()
    assert (last.read_rate, last.detected_rate) == (100.0, 0.0), "what an abort took back is no rate"
    board.forget("local-3")
    board.tell(Status("one", ()), 4_000)
    board.close()
    assert len(watch.read()) == 1, "what another has is not its to give up"
    watch.close()


def test_a_broker_that_does_not_know_the_topic_yet_is_asked_again(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(partitions=1)
    with app.worker("one"):
        pass  # makes the topics
    watch = Watch(app.settings(), app.plan.app)
    consumer, refusals = watch._consumer, iter([KafkaError.NOT_LEADER_FOR_PARTITION] * 2)

    class Forgetful:
        """Refuses twice what it is asked, as a broker does that is about to learn of a topic."""

        def get_watermark_offsets(self, *arguments: object) -> object:
            for refusal in refusals:
                raise KafkaException(KafkaError(refusal))
            return consumer.get_watermark_offsets(*arguments)  # type: ignore[arg-type]

        def __getattr__(self, name: str) -> object:
            return getattr(consumer, name)

    monkeypatch.setattr(watch, "_consumer", Forgetful())
    assert watch.read() == []
    assert next(refusals, None) is None, "it did refuse"
    watch.close()


def test_told_goes_through_json_and_bears_a_later_version() -> None:
    before = told(5, task(lag=None))
    plain = json.loads(json.dumps(before.to_json() | {"added_later": 1}))
    assert Told.from_json(plain) == before


def rendered(*tasks: Told, width: int = 200) -> str:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(_table(list(tasks)))
    return console.export_text()


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 100.0)
    running = rendered(told(99_000, task(watermark_ms=95_500)))
    for part in ("local-3", "running", "one", "host:42", "1,200", "4 s ago", "3 MiB"):
        assert part in running
    assert "local-3  running  one (host:42)" in rendered(told(99_000, task()), width=80)
    restoring = told(99_000, task(state=TaskState.RESTORING, lag=None, restored=45, to_restore=100))
    assert "restoring 45%" in rendered(restoring)
    assert "silent 16 s" in rendered(told(100_000 - SILENT_MS - 1_000, task()))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (5 * 1024**3, "5.0 GiB")]
)
def test_sizes(size: int, text: str) -> None:
    assert _size(size) == text


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [(0, "0 s"), (119_000, "119 s"), (120_000, "2 min"), (7_200_000, "2 h"), (10**9, "12 days")],
)
def test_spans(span_ms: int, text: str) -> None:
    assert _span(span_ms) == text


def test_a_bar_while_a_worker_restores(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(force_terminal=True, width=100, file=io.StringIO())
    monkeypatch.setattr(run, "err", terminal)
    report = run._Reporter(as_json=False)
    halfway = task(state=TaskState.RESTORING, restored=50, to_restore=100)
    report(Status("one", (halfway,)))
    report(Status("one", (task(),)))
    written = terminal.file.getvalue()  # type: ignore[attr-defined]
    assert "restoring local-3" in written
    assert "50%" in written
    assert report._restoring is None
