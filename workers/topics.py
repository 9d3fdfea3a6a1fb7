"""The topics of an application: what they are called, and that they are there as they must be."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tocsin.topology.plan import EventType, Placement, Plan, Subtopology
from tocsin.workers.errors import TopicsWrong
from tocsin.workers.kafka import ANSWER_TIMEOUT_S, as_worker_error
from tocsin.workers.settings import WorkerSettings

_SENT_ON = {"cleanup.policy": "delete", "retention.ms": "-1", "segment.bytes": "67108864"}
"""What was sent on is deleted by those who read it, when their state has it; never by time alone."""
_CHANGELOG = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.3", "segment.ms": "3600000"}
_AMENDED = {"min.compaction.lag.ms": "3600000"}
"""Without transactions: what a commit that was cut off wrote over stays until the next one mends it."""
_STATUS = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.bytes": "1048576",
    "delete.retention.ms": "3600000",
}
"""Small segments: what is told every few seconds is compacted soon, and read from the beginning."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names of what an application owns on the broker."""

    app: str

    @property
    def dead_letters(self) -> str:
        """Topic of records that could not be read."""
        return f"tocsin.{self.app}.dead-letters"

    @property
    def late(self) -> str:
        """Topic of records that came too late."""
        return f"tocsin.{self.app}.late-records"

    @property
    def status(self) -> str:
        """Topic of how the tasks are doing."""
        return f"tocsin.{self.app}.task-status"

    @property
    def watermarks(self) -> str:
        """Topic of what is published, and of how far the tasks have come."""
        return f"tocsin.{self.app}.watermarks"

    def changelog(self, subtopology: str) -> str:
        """Topic of the changes of state of a sub-topology's tasks."""
        return f"tocsin.{self.app}.{subtopology}-changelog"

    def group(self, subtopology: str) -> str:
        """Consumer group of a sub-topology's tasks."""
        return f"tocsin.{self.app}.{subtopology}"


def prepare_inputs(admin: AdminClient, plan: Plan, settings: WorkerSettings) -> dict[str, int]:
    """Verify the topics an application reads, create them if told to, and return all partition counts."""
    counts = partition_counts(admin, settings.brokers)
    for event in plan.taken_types:
        if not topics_of(event) <= counts.keys():
            raise TopicsWrong(not_there(event, settings.brokers))
    missing = [topic for topic in plan.input_topics if topic not in counts]
    if missing and not settings.create_inputs:
        raise TopicsWrong(_missing_inputs(plan, missing, settings.brokers))
    _create(admin, {topic: (settings.partitions, {}) for topic in missing}, settings)
    return counts | dict.fromkeys(missing, settings.partitions)


def prepare_own(
    admin: AdminClient, plan: Plan, counts: dict[str, int], settings: WorkerSettings
) -> dict[str, int]:
    """Verify an application's own topics, create what may be created, and return all partition counts."""
    for sentence in unfit(plan, counts):
        raise TopicsWrong(sentence)
    own = _own_topics(plan, counts, settings)
    absent = {topic: spec for topic, spec in own.items() if topic not in counts}
    if absent and not settings.create_topics:
        wanted = ", ".join(f"'{topic}' ({spec[0]} partitions)" for topic, spec in sorted(absent.items()))
        raise TopicsWrong(
            f"These topics are missing on {settings.brokers}, and may not be created: {wanted}."
        )
    _create(admin, absent, settings)
    counts = counts | {topic: spec[0] for topic, spec in absent.items()}
    names = Names(plan.app)
    fixed = {names.changelog(sub.name) for sub in plan.subtopologies} | sent_on(plan)
    for topic in sorted(fixed):
        if counts[topic] != own[topic][0]:
            raise TopicsWrong(
                f"The topic '{topic}' has {counts[topic]} partitions, but the input topics ask for "
                f"{own[topic][0]}: state and input no longer fit together."
            )
    return counts


def unfit(plan: Plan, counts: Mapping[str, int]) -> Iterator[str]:
    """Say which input topics have other partitions than the state of the tasks that read them."""
    names = Names(plan.app)
    for sub in plan.subtopologies:
        tasks = counts.get(names.changelog(sub.name))
        for topic in sub.topics:
            if tasks is not None and topic in plan.input_topics and counts.get(topic, tasks) != tasks:
                yield grown(plan, topic, counts[topic], tasks)


def grown(plan: Plan, topic: str, count: int, tasks: int) -> str:
    """Say that a topic has other partitions than there is state of."""
    by_key = any(event.topic == topic and event.key is not None for event in plan.input_types)
    again = "with --from a time since when that is so, or without `key` in the rules" if by_key else "again"
    return (
        f"Topic '{topic}' has {count} partitions, but there is state of {tasks}: where a topic grows, its "
        "keys move, and state and input no longer fit together. Stop all workers, `tocsin reset`, and run "
        f"{again}."
    )


def topics_of(event: EventType) -> set[str]:
    """Return the topics that an event of another application needs."""
    return {event.topic, Names(event.application or "").watermarks}


def not_there(event: EventType, brokers: str) -> str:
    """Say that an application whose event is taken has never run."""
    return (
        f"There is nothing to take {event.name} from: no worker of application '{event.application}' that "
        f"publishes {event.published_as} has run on {brokers}. Start it first, or correct the declaration."
    )


def task_count(plan: Plan, counts: dict[str, int]) -> int:
    """Return how many tasks an application has."""
    return sum(counts[Names(plan.app).changelog(sub.name)] for sub in plan.subtopologies)


def sent_on(plan: Plan) -> set[str]:
    """Return the topics by which events are sent on from task to task."""
    return {forward.topic for sub in plan.subtopologies for forward in sub.forwards}


def _own_topics(
    plan: Plan, counts: dict[str, int], settings: WorkerSettings
) -> dict[str, tuple[int, dict[str, str]]]:
    """Return the topics that belong to an application: how many partitions each has, and how it is kept."""
    names = Names(plan.app)
    size = {"max.message.bytes": str(settings.max_output_bytes)}
    changelog = _CHANGELOG if settings.exactly_once else _CHANGELOG | _AMENDED
    widest = max(counts[topic] for topic in plan.input_topics)
    own = {names.dead_letters: (1, size), names.late: (1, size)}
    own |= {names.status: (1, _STATUS), names.watermarks: (1, _STATUS | size)}
    own |= {defined.topic: (widest, size) for defined in plan.defined_types}
    for sub in plan.subtopologies:
        tasks = _task_count(plan, sub, counts)
        own[names.changelog(sub.name)] = tasks, changelog | size
        own |= {topic: (tasks, _SENT_ON | size) for topic in sub.topics if topic in sent_on(plan)}
    return own


def _task_count(plan: Plan, sub: Subtopology, counts: dict[str, int]) -> int:
    if sub.kind is Placement.GLOBAL:
        return len(sub.groups)
    read = {counts[topic] for topic in sub.topics if topic in plan.input_topics}
    # A plan for these topics reads only such together as have the same number.
    (count,) = read or {max(counts[topic] for topic in plan.behind(sub) or plan.input_topics)}
    return count


def partition_counts(admin: AdminClient, brokers: str) -> dict[str, int]:
    """Return the partitions of all topics there are."""
    try:
        # All topics: a request that names one may create it.
        metadata = admin.list_topics(timeout=ANSWER_TIMEOUT_S)
    except KafkaException as error:
        raise as_worker_error(error, brokers) from error
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def _missing_inputs(plan: Plan, missing: list[str], brokers: str) -> str:
    def said(topic: str) -> str:
        events = ", ".join(event.name for event in plan.input_types if event.topic == topic)
        return f"'{topic}' (event {events})"

    listed = " and ".join(said(topic) for topic in missing)
    subject = f"topic {listed} does" if len(missing) == 1 else f"topics {listed} do"
    return (
        f"The input {subject} not exist on {brokers}. Correct the name in the rules, create the "
        "topic, or let Tocsin create it with --create-inputs."
    )


def _create(
    admin: AdminClient, topics: dict[str, tuple[int, dict[str, str]]], settings: WorkerSettings
) -> None:
    if not topics:
        return
    new = [
        NewTopic(name, num_partitions=count, replication_factor=settings.replication, config=config)
        for name, (count, config) in topics.items()
    ]
    for name, future in admin.create_topics(new, request_timeout=ANSWER_TIMEOUT_S).items():
        try:
            future.result()
        except KafkaException as error:
            # Another worker of the application may have been faster.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise TopicsWrong(f"Topic '{name}' could not be created: {error.args[0].str()}.") from error
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while not topics.keys() <= partition_counts(admin, settings.brokers).keys():
        # Created is not yet known: brokers learn of a topic a moment after the controller made it.
        if time.monotonic() > deadline:
            raise TopicsWrong(f"The topics {', '.join(sorted(topics))} were created, but do not appear.")


def await_gone(admin: AdminClient, names: list[str], brokers: str) -> None:
    """Wait until the broker knows none of the topics any more: deletion takes a moment."""
    deadline = time.monotonic() + ANSWER_TIMEOUT_S
    while left := set(names) & partition_counts(admin, brokers).keys():
        if time.monotonic() > deadline:
            raise TopicsWrong(f"The topics {', '.join(sorted(left))} were deleted, but do not go away.")
