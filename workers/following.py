"""Time over what other applications detect: it goes as far as they say they have come.

Several tasks of an application write to one partition, so the times of its records tell nothing, and nor does
their absence, which may be that of the application. So a source of complex events follows the application's
watermark, exactly:

1. The watermark W is the smallest that its tasks have committed; one of which nothing is known holds it back.
2. Then the broker is asked where the partition ends. What the tasks found before W was written before W was
   committed, so it lies before that end. Not before the end of what is committed: transactions become visible
   on one partition after the other, and this one may have to wait for what belongs to W.
3. When the source has been read up to there, nothing before W is left to come.

An application that is away only delays those that follow it.
"""

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from tocsin import schemas
from tocsin.topology.plan import EventType, Plan
from tocsin.workers import kafka
from tocsin.workers.errors import BrokerAway, TakenWrong
from tocsin.workers.marks import CARD, INPUTS, UNTOLD_MS, Card
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.task import Task
from tocsin.workers.topics import Names, grown, partition_counts

LOG = logging.getLogger(__name__)

_ASK_EVERY_MS = 50
_BATCH = 1_000
_READ_S = 0.1


class Marks:
    """Reads the card of an application, and how far its tasks have come."""

    def __init__(self, settings: WorkerSettings, app: str) -> None:
        self.app = app
        self.card: Card | None = None
        self.inputs: dict[str, int] = {}
        """How many partitions the topics have that the application has read."""
        self._brokers = settings.brokers
        self._watermarks_ms: dict[str, int] = {}
        self._at = TopicPartition(Names(app).watermarks, 0, OFFSET_BEGINNING)
        self._position = 0
        self._consumer = kafka.log_consumer(settings)
        self._consumer.assign([self._at])

    @property
    def tasks(self) -> Iterable[str]:
        """The tasks that have told something."""
        return self._watermarks_ms

    @property
    def watermark_ms(self) -> int:
        """How far the application has come."""
        if self.card is None:
            return UNTOLD_MS
        told = (self._watermarks_ms.get(name, UNTOLD_MS) for name in self.card.task_names)
        return min(told, default=UNTOLD_MS)

    def read(self, wait_s: float = 0.0) -> None:
        """Read what has come."""
        for message in self._consumer.consume(_BATCH, wait_s):
            problem, offset = message.error(), message.offset() or 0
            if problem is None:
                self._position = offset + 1
                self._take(message.key() or b"", message.value())
            elif problem.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
                # Where the last records are markers, or compacted away, only this tells.
                self._position = max(self._position, offset)
            elif not kafka.is_passing(problem):
                raise kafka.as_worker_error(KafkaException(problem), self._brokers)

    def read_all(self) -> None:
        """Read what was told up to now; it may go on being told without a pause."""
        deadline = time.monotonic() + kafka.ANSWER_TIMEOUT_S
        end: int | None = None
        while end is None or self._position < end:
            self.read(_READ_S)
            end = self._end() if end is None else end
            if time.monotonic() > deadline:
                raise BrokerAway(f"Kafka at {self._brokers} did not answer in time.")

    def _end(self) -> int | None:
        """Ask where the topic ends; nothing where that may be known in a moment, as of one just created."""
        try:
            _, end = self._consumer.get_watermark_offsets(self._at, kafka.ANSWER_TIMEOUT_S)
        except KafkaException as error:
            if kafka.is_passing(error.args[0]):
                return None
            raise kafka.as_worker_error(error, self._brokers) from error
        return int(end)

    def _take(self, key: bytes, value: bytes | None) -> None:
        if key == CARD:
            self.card = None if value is None else Card.from_json(value)
        elif key == INPUTS:
            self.inputs = {} if value is None else json.loads(value)
        elif value is None:
            # The application was reset: the task will begin anew.
            self._watermarks_ms.pop(key.decode(), None)
        else:
            self._watermarks_ms[key.decode()] = json.loads(value)["watermark_ms"]

    def close(self) -> None:
        """Let go of the topic."""
        self._consumer.close()


def meet(plan: Plan, settings: WorkerSettings) -> dict[str, Card]:
    """Return the cards of the applications that a plan takes from; raise TakenWrong where they do not fit."""
    cards: dict[str, Card] = {}
    for app in plan.takes_from:
        card = read_marks(settings, app).card
        if card is None:
            raise TakenWrong(not_begun(app))
        for difference in differences(plan, app, card):
            raise TakenWrong(difference)
        cards[app] = card
    return cards


def not_begun(app: str) -> str:
    """Say that an application has given no card yet."""
    return (
        f"Application '{app}' has not committed anything yet: nothing can be taken from it. Start it first."
    )


def read_marks(settings: WorkerSettings, app: str) -> Marks:
    """Return what an application has told up to now."""
    marks = Marks(settings, app)
    try:
        marks.read_all()
    finally:
        marks.close()
    return marks


def changed_inputs(plan: Plan, counts: Mapping[str, int], settings: WorkerSettings) -> Iterator[str]:
    """Say which topics have other partitions than when the application began to read them."""
    began = inputs_of(plan.app, counts, settings)
    for topic in plan.input_topics:
        if topic in counts and began.get(topic, counts[topic]) != counts[topic]:
            yield grown(plan, topic, counts[topic], began[topic])


def inputs_of(app: str, counts: Mapping[str, int], settings: WorkerSettings) -> dict[str, int]:
    """Return the partitions that the topics of an application had when it began to read them, if it did."""
    return read_marks(settings, app).inputs if Names(app).watermarks in counts else {}


def differences(plan: Plan, app: str, card: Card) -> Iterator[str]:
    """Say what keeps a plan from taking what it declares from an application, a sentence each."""
    if plan.app in card.takes:
        yield (
            f"Application '{app}' takes events of '{plan.app}' itself, directly or through others: each "
            "would wait for the other. Let one of them detect what both need."
        )
    for event in plan.taken_types:
        if event.application == app:
            yield from _differences(event, app, card)


def _differences(event: EventType, app: str, card: Card) -> Iterator[str]:
    published = card.types.get(event.published_as)
    if published is None:
        yield (
            f"Application '{app}' publishes no {event.published_as}; it publishes "
            f"{', '.join(sorted(card.types)) or 'nothing'}."
        )
        return
    wanted = schemas.event_schema(event.to_dict(), app)
    for difference in schemas.incompatibilities(wanted, published.schema):
        yield f"{event.name} is declared otherwise than application '{app}' publishes it. {difference}"
    key = None if event.key is None else event.fields[event.key].name
    if key not in {None, published.key}:
        by = "no key" if published.key is None else f"the key {published.key}"
        yield (
            f"{event.name} is declared with the key {key}, but application '{app}' publishes it by {by}: "
            "leave it out, and events are sent on to where they are needed."
        )


def withdraw(settings: WorkerSettings, app: str) -> None:
    """Take back how far the tasks of an application have come: it begins anew, and those that follow wait."""
    topic = Names(app).watermarks
    if topic not in partition_counts(kafka.admin(settings), settings.brokers):
        return
    marks = read_marks(settings, app)
    producer = Producer({"bootstrap.servers": settings.brokers, "logger": kafka.CLIENT_LOG, "acks": "all"})
    for key in (INPUTS, *(name.encode() for name in marks.tasks)):
        producer.produce(topic, None, key, 0)
    if producer.flush(kafka.ANSWER_TIMEOUT_S):
        raise BrokerAway(f"Kafka at {settings.brokers} did not answer in time.")


class Following:
    """Advances the watermarks of sources that other applications write, in one strand."""

    def __init__(
        self, admin: AdminClient, plan: Plan, settings: WorkerSettings, topics: Iterable[str]
    ) -> None:
        self._admin = admin
        self._plan = plan
        self._has_registry = settings.registry is not None
        read = set(topics)
        taken = {event.topic: event.application or "" for event in plan.taken_types if event.topic in read}
        self._marks = {app: Marks(settings, app) for app in sorted(set(taken.values()))}
        self._by_topic = {topic: self._marks[app] for topic, app in taken.items()}
        self._cards: dict[str, Card | None] = dict.fromkeys(self._marks)
        self._asked_ms = 0
        self._answers: dict[TopicPartition, Future[ListOffsetsResultInfo]] = {}
        self._asked_for: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, tuple[int, int]] = {}
        """Where a source must have been read to, and the watermark it has then."""

    def advance(self, tasks: Iterable[Task], now_ms: int) -> None:
        """Use what was told and answered, and ask again when there is something new."""
        for marks in self._marks.values():
            marks.read()
            self._check(marks)
        sources = {TopicPartition(topic, task.partition): task for task in tasks for topic in self._by_topic}
        if self._answers and all(answer.done() for answer in self._answers.values()):
            for at, answer in self._answers.items():
                self._use(at, answer)
            self._answers = {}
        for at, task in sources.items():
            self._advance(at, task)
        if sources and not self._answers and now_ms - self._asked_ms >= _ASK_EVERY_MS:
            self._ask(sources, now_ms)

    def _ask(self, sources: Mapping[TopicPartition, Task], now_ms: int) -> None:
        self._asked_ms = now_ms
        self._asked_for = {
            at: self._by_topic[at.topic].watermark_ms
            for at, task in sources.items()
            if at not in self._ends and self._by_topic[at.topic].watermark_ms > task.sources[at.topic].told_ms
        }
        if self._asked_for:
            self._answers = self._admin.list_offsets({at: OffsetSpec.latest() for at in self._asked_for})

    def _use(self, at: TopicPartition, answer: "Future[ListOffsetsResultInfo]") -> None:
        try:
            self._ends[at] = answer.result().offset, self._asked_for[at]
        except KafkaException as error:
            LOG.debug("where %s ends is not known: %s", at, error)

    def _advance(self, at: TopicPartition, task: Task) -> None:
        end, watermark_ms = self._ends.get(at, (None, UNTOLD_MS))
        source = task.sources[at.topic]
        if end is not None and max(source.read_to, source.caught_up_to) >= end:
            del self._ends[at]
            source.told_ms = watermark_ms
            task.advance(at.topic, watermark_ms)

    def _check(self, marks: Marks) -> None:
        """Hold that an application that was changed still publishes what is taken from it."""
        card, known = marks.card, self._cards[marks.app]
        if card is None or card == known:
            return
        for difference in differences(self._plan, marks.app, card):
            raise TakenWrong(difference)
        if known is not None and not self._has_registry and card.types != known.types:
            raise TakenWrong(
                f"Application '{marks.app}' has changed what it publishes, and without a registry its new "
                "records cannot be read. Start the worker again."
            )
        self._cards[marks.app] = card

    def close(self) -> None:
        """Let go of what the applications tell."""
        for marks in self._marks.values():
            marks.close()
