"""Forgets what an application has read and kept, so that it begins anew. What it wrote stays."""

import shutil
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from tocsin.topology import Plan, replan
from tocsin.workers import kafka, place
from tocsin.workers.errors import WorkerError
from tocsin.workers.following import inputs_of, withdraw
from tocsin.workers.kafka import ANSWER_TIMEOUT_S
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.topics import Names, await_gone, partition_counts, sent_on


def reset(plan: Plan, settings: WorkerSettings) -> None:
    """Delete the offsets, the changelogs, the status and the local state of an application that does not run.

    1. Nobody may be in its groups: a worker would go on with what it has in memory.
    2. What others were told of its tasks goes first, then the local state, then the changelogs and what was
       sent on, then the offsets. Wherever this is cut off, doing it again finishes it, and a worker that
       starts in between says that state and offsets do not fit.
    """
    names, admin = Names(plan.app), kafka.admin(settings)
    counts = partition_counts(admin, settings.brokers)
    # What ran depends on the partitions that topics had, and they may have grown since.
    plans = [plan, replan(plan, counts), replan(plan, inputs_of(plan.app, counts, settings))]
    subtopologies = sorted({sub.name for one in plans for sub in one.subtopologies})
    groups = [names.group(name) for name in subtopologies]
    try:
        for group in groups:
            _refuse_members(admin, group)
        withdraw(settings, plan.app)
        _forget_local(settings.state_dir, plan.app)
        changelogs = [names.changelog(name) for name in subtopologies]
        between = sorted({topic for one in plans for topic in sent_on(one)})
        _delete_topics(admin, [*changelogs, *between, names.status], settings.brokers)
        for future in admin.delete_consumer_groups(groups, request_timeout=ANSWER_TIMEOUT_S).values():
            _unless(KafkaError.GROUP_ID_NOT_FOUND, future.result)
    except KafkaException as error:
        raise kafka.as_worker_error(error, settings.brokers) from error


def _refuse_members(admin: AdminClient, group: str) -> None:
    described = admin.describe_consumer_groups([group], request_timeout=ANSWER_TIMEOUT_S)[group]
    try:
        members = described.result().members
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return
        raise
    if members:
        count = f"{len(members)} {'worker' if len(members) == 1 else 'workers'}"
        raise WorkerError(
            f"Group '{group}' still has {count}. Stop all workers of the application, then reset it; one "
            "that was killed leaves the group when its session times out, after less than a minute."
        )


def _forget_local(state_dir: Path, app: str) -> None:
    for folder in sorted((state_dir / app).glob("*")):
        taken = place.take(state_dir, app, folder.name)
        try:
            for stored in folder.iterdir():
                if stored.is_dir():
                    shutil.rmtree(stored)
        finally:
            taken.close()


def _delete_topics(admin: AdminClient, topics: list[str], brokers: str) -> None:
    for future in admin.delete_topics(topics, request_timeout=ANSWER_TIMEOUT_S).values():
        _unless(KafkaError.UNKNOWN_TOPIC_OR_PART, future.result)
    await_gone(admin, topics, brokers)


def _unless(code: int, done: Callable[[], object]) -> None:
    """Wait for an answer; what is not there need not be deleted."""
    try:
        done()
    except KafkaException as error:
        if error.args[0].code() != code:
            raise
