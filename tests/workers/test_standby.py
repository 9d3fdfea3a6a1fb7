"""Warm standbys: who takes a task over replays what its copy lacks, and nothing else changes."""

import random
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.workers.conftest import Application, eventually, kill
from tests.workers.test_status import tocsin
from tocsin.workers.restore import offset_of
from tocsin.workers.standby import keepers
from tocsin.workers.status import ToldStandby, Watch

MakeApp = Callable[..., Application]


@pytest.fixture
def watched(make_app: MakeApp) -> Iterator[tuple[Application, Callable[[], list[ToldStandby]]]]:
    """An application, and how the standbys of its tasks are doing."""
    app = make_app(partitions=4)
    with app.worker():
        pass  # makes the topics
    watch = Watch(app.settings(), app.plan.app)

    def standbys() -> list[ToldStandby]:
        watch.read()
        return watch.standbys()

    yield app, standbys
    watch.close()


def test_a_task_is_taken_over_from_its_standby(
    watched: tuple[Application, Callable[[], list[ToldStandby]]], admin: AdminClient
) -> None:
    (app, standbys), rng = watched, random.Random(41)
    killed = app.process("killed")
    try:
        with app.worker("standing", standbys=1, status_interval_ms=100) as standing:
            eventually("both to have work", lambda: 0 < len(standing.partitions()) < 4)
            app.publish_some(rng, 2_000, areas=400)
            app.await_exact()
            theirs = {0, 1, 2, 3} - standing.partitions()

            def followed() -> bool:
                told = {one.standby.partition: one.standby.behind for one in standbys()}
                return told == dict.fromkeys(theirs, 0)

            eventually("the other's tasks, and no others, to be followed", followed)
            shown = tocsin(app, "status", app.plan.app).stdout
            assert shown.count("standby") == len(theirs)
            kill(killed)
            eventually("it to take over", lambda: standing.partitions() == {0, 1, 2, 3})
            taken = [t for t in standing.statuses[-1].tasks if t.partition in theirs]
            changelog = f"tocsin.{app.plan.app}.local-changelog"
            for task in taken:
                whole = offset_of(admin, TopicPartition(changelog, task.partition), OffsetSpec.latest())
                assert whole > 100
                assert task.to_restore < whole // 10, "only the difference is replayed"
            app.publish_some(rng, 500, areas=400)
            app.await_exact()
            eventually("what it runs itself not to be followed", lambda: standbys() == [])
    finally:
        kill(killed)


def test_workers_that_follow_each_other_come_and_go(
    watched: tuple[Application, Callable[[], list[ToldStandby]]],
) -> None:
    (app, standbys), rng = watched, random.Random(42)
    with app.worker("one", standbys=1, status_interval_ms=100) as one:
        for _ in range(2):
            with app.worker("two", standbys=1, status_interval_ms=100) as two:
                eventually("both to have work", lambda: bool(one.partitions()) and bool(two.partitions()))
                app.publish_some(rng, 300)

                def crossed() -> bool:
                    told = {(s.instance, s.standby.partition) for s in standbys()}
                    return told == {
                        *(("one", partition) for partition in two.partitions()),
                        *(("two", partition) for partition in one.partitions()),
                    }

                eventually("each to follow the tasks of the other", crossed)
                app.await_exact()
            eventually("the first to have all", lambda: len(one.partitions()) == 4)
            app.publish_some(rng, 300)
            app.await_exact()


def test_few_standbys_move_when_workers_come_and_go() -> None:
    tasks = [f"local-{number}" for number in range(100)]
    before = {task: keepers(task, ["a", "b", "c"], 1) for task in tasks}
    after = {task: keepers(task, ["a", "b", "c", "d"], 1) for task in tasks}
    assert {name for chosen in before.values() for name in chosen} == {"a", "b", "c"}
    assert all(after[task] in (before[task], {"d"}) for task in tasks)
    assert keepers("local-0", ["a"], 2) == {"a"}
    assert keepers("local-0", [], 1) == set()
