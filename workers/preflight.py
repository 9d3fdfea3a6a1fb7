"""What of the broker does not suit the rules: told before workers start, changed by nobody."""

from collections.abc import Collection, Iterable, Iterator

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from tocsin.topology import replan
from tocsin.topology.plan import DefineNode, Placement, Plan, RuleNode, SourceNode
from tocsin.topology.planning.reach import below
from tocsin.topology.printer import print_ms
from tocsin.workers import kafka
from tocsin.workers.following import changed_inputs, differences, not_begun, read_marks
from tocsin.workers.kafka import ANSWER_TIMEOUT_S
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.topics import not_there, partition_counts, topics_of, unfit


def concerns(plan: Plan, settings: WorkerSettings) -> list[str]:
    """Return, as sentences, what workers would stop at, and what their users may not expect."""
    admin = kafka.admin(settings)
    counts = partition_counts(admin, settings.brokers)
    try:
        kept = _retention(admin, [topic for topic in plan.input_topics if topic in counts])
    except KafkaException as error:
        raise kafka.as_worker_error(error, settings.brokers) from error
    changed = list(changed_inputs(plan, counts, settings))
    absent = [event for event in plan.taken_types if not topics_of(event) <= counts.keys()]
    return [
        *_missing(plan, counts),
        *(not_there(event, settings.brokers) for event in absent),
        *_untakable(plan, settings, {event.application for event in absent}),
        *(changed or unfit(replan(plan, counts), counts)),
        *_uneven(plan, counts),
        *_short(plan, kept),
    ]


def planned(plan: Plan, settings: WorkerSettings) -> Plan:
    """Return the plan that workers would run, by the partitions that the topics have."""
    return replan(plan, partition_counts(kafka.admin(settings), settings.brokers))


def _missing(plan: Plan, counts: dict[str, int]) -> Iterator[str]:
    taken = {event.topic for event in plan.taken_types}
    for topic in plan.input_topics:
        if topic not in counts and topic not in taken:
            yield f"Topic '{topic}' does not exist."


def _untakable(plan: Plan, settings: WorkerSettings, absent: Collection[str | None]) -> Iterator[str]:
    for app in plan.takes_from:
        if app not in absent:
            card = read_marks(settings, app).card
            yield from [not_begun(app)] if card is None else differences(plan, app, card)


def _uneven(plan: Plan, counts: dict[str, int]) -> Iterator[str]:
    """Yield what is planned otherwise because topics differ in their partitions."""
    live = replan(plan, counts)
    sent = [forward for sub in live.subtopologies for forward in sub.forwards]
    for sub in live.subtopologies:
        joined = [topic for topic in sub.topics if topic in live.input_topics and topic in counts]
        for forward in sent:
            event = live.types[forward.type]
            if forward.topic in sub.topics and forward.key is not None and forward.key == event.key:
                others = " and ".join(f"'{topic}', which has {counts[topic]}" for topic in joined)
                yield (
                    f"Topic '{event.topic}' has {counts[event.topic]} partitions, and is joined with "
                    f"{others}: {event.name} is sent on by {event.fields[forward.key].name}."
                )
    for before, now in zip(plan.summary(), live.summary(), strict=True):
        if before.kind != now.kind == Placement.GLOBAL:
            yield (
                f"{now.name} runs in one place: no key ties its events, and their topics differ in their "
                "partitions."
            )


def _short(plan: Plan, kept: dict[str, int]) -> Iterator[str]:
    horizons = {rule.name: rule.horizon_ms for rule in plan.summary()}
    for number, node in enumerate(plan.nodes):
        if not isinstance(node, DefineNode | RuleNode):
            continue
        horizon_ms = horizons[node.rule]
        for topic in sorted(_read(number, plan) & kept.keys()):
            if horizon_ms is None or kept[topic] < horizon_ms:
                back = "without bound" if horizon_ms is None else print_ms(horizon_ms)
                yield (
                    f"Topic '{topic}' keeps records for {print_ms(kept[topic])}, but {node.rule} looks back "
                    f"{back}: workers remember what they need, but a replay may not find it any more."
                )


def _read(number: int, plan: Plan) -> set[str]:
    nodes = (plan.nodes[other] for other in below(number, plan.nodes))
    return {plan.types[node.type].topic for node in nodes if isinstance(node, SourceNode)}


def _retention(admin: AdminClient, topics: Iterable[str]) -> dict[str, int]:
    """Return how long topics keep their records, in milliseconds, where they do not keep them for ever."""
    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not asked:
        return {}
    answers = admin.describe_configs(asked, request_timeout=ANSWER_TIMEOUT_S)
    kept = {}
    for resource, answer in answers.items():
        config = answer.result()
        retention_ms = int(config["retention.ms"].value)
        if "delete" in config["cleanup.policy"].value and retention_ms >= 0:
            kept[resource.name] = retention_ms
    return kept
