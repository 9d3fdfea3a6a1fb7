"""Silence is an event too: sources that are caught up and quiet follow the clock.

A source is caught up when the broker, asked now, has nothing beyond what was read. Asking, rather than
trusting the last answer, keeps the watermark from running on while the broker is away.
"""

from collections.abc import Iterable
from concurrent.futures import Future

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from tocsin.topology.plan import Plan
from tocsin.workers.task import Task

_ASK_EVERY_MS = 250


class Silence:
    """Advances the watermarks of quiet sources; asks the broker in the background, one request at a time."""

    def __init__(self, admin: AdminClient, plan: Plan) -> None:
        self._admin = admin
        self._idle_ms: dict[str, int] = {}
        self._lateness_ms: dict[str, int] = {}
        for event in plan.input_types:
            if event.application is not None:
                # What another application detects follows its watermark, not the clock.
                continue
            self._idle_ms[event.topic] = max(self._idle_ms.get(event.topic, 0), event.idle_timeout_ms)
            self._lateness_ms[event.topic] = max(self._lateness_ms.get(event.topic, 0), event.lateness_ms)
        self._asked_ms = 0
        self._answers: dict[TopicPartition, Future[ListOffsetsResultInfo]] = {}

    def advance(self, tasks: Iterable[Task], now_ms: int) -> None:
        """Use the answers that have come, and ask again when it is time."""
        by_partition = {task.partition: task for task in tasks}
        if self._answers and all(answer.done() for answer in self._answers.values()):
            for at, answer in self._answers.items():
                self._use(by_partition.get(at.partition), at, answer)
            self._answers = {}
        if not self._answers and now_ms - self._asked_ms >= _ASK_EVERY_MS:
            quiet = [
                TopicPartition(topic, task.partition)
                for task in by_partition.values()
                for topic, source in task.sources.items()
                # What is sent on comes with how far it has come.
                if topic in self._idle_ms
                and source.caught_up_to >= 0
                and now_ms - source.quiet_since_ms >= self._idle_ms[topic]
            ]
            self._asked_ms = now_ms
            if quiet:
                self._answers = self._admin.list_offsets({at: OffsetSpec.latest() for at in quiet})

    def _use(self, task: Task | None, at: TopicPartition, answer: "Future[ListOffsetsResultInfo]") -> None:
        try:
            end = answer.result().offset
        except KafkaException:
            return
        if task is None or task.sources[at.topic].caught_up_to < end:
            return
        idle_ms = self._idle_ms[at.topic]
        if self._asked_ms - task.sources[at.topic].quiet_since_ms >= idle_ms:
            task.advance(at.topic, self._asked_ms - self._lateness_ms[at.topic] - idle_ms)
