"""Local state that is of something else, or has a gap to what the changelog still has."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from tests.workers.conftest import Application
from tocsin.workers import StateMismatch
from tocsin.workers.restore import offset_of
from tocsin.workers.store import RocksStore

MakeApp = Callable[..., Application]


def folder(app: Application, instance: str = "one") -> Path:
    return app.folder / "state" / app.plan.app / instance / "local-0"


def live(app: Application, rng: random.Random, instance: str = "one") -> None:
    with app.worker(instance):
        app.publish_some(rng, 300, areas=50)
        app.await_exact()


def cut(app: Application, admin: AdminClient) -> None:
    """Delete the older half of the changelog, as a policy could that someone gave it."""
    topic = f"tocsin.{app.plan.app}.local-changelog"
    middle = offset_of(admin, TopicPartition(topic, 0), OffsetSpec.latest()) // 2
    policy = ConfigEntry("cleanup.policy", "compact,delete", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[policy])
    admin.incremental_alter_configs([resource])[resource].result(timeout=30)
    at = TopicPartition(topic, 0, middle)
    admin.delete_records([at])[at].result(timeout=30)


def test_the_state_of_another_application_is_discarded(make_app: MakeApp) -> None:
    one, other, rng = make_app(partitions=1), make_app(partitions=1), random.Random(61)
    live(one, rng)
    live(other, rng)
    shutil.rmtree(folder(one))
    shutil.copytree(folder(other), folder(one))
    store = RocksStore(folder(one))
    foreign = store.checkpoint
    store.close()
    live(one, rng)
    store = RocksStore(folder(one))
    assert foreign is not None
    assert store.checkpoint is not None
    assert store.checkpoint.topic_id != foreign.topic_id
    store.close()


def test_a_store_that_is_complete_needs_no_old_changelog(make_app: MakeApp, admin: AdminClient) -> None:
    app, rng = make_app(partitions=1), random.Random(62)
    live(app, rng)
    cut(app, admin)
    live(app, rng)


@pytest.mark.parametrize("has_old_copy", [True, False])
def test_what_was_deleted_from_the_changelog_is_missed(
    make_app: MakeApp, admin: AdminClient, tmp_path: Path, has_old_copy: bool
) -> None:
    app, rng = make_app(partitions=1), random.Random(63)
    live(app, rng)
    shutil.copytree(folder(app), tmp_path / "old")
    for _ in range(3):
        live(app, rng)
    cut(app, admin)
    shutil.rmtree(folder(app))
    if has_old_copy:
        shutil.copytree(tmp_path / "old", folder(app))
    with pytest.raises(StateMismatch, match="records were deleted from it"), app.worker() as running:
        running.join()
