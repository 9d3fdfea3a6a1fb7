"""Tasks on their way to run, in a thread of their own: those that run do not wait for what others load.

Every task is of one thread at a time. A strand asks for tasks and takes those that are ready; what it has no
use for any more it gives back, so that stores are closed here before they are opened again.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from tocsin.workers import kafka
from tocsin.workers.errors import StateMismatch
from tocsin.workers.repeating import marked
from tocsin.workers.restore import Restore, offset_of
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.status import TaskStatus, status_of
from tocsin.workers.task import LocalStateDamaged, Task, TaskState

LOG = logging.getLogger(__name__)

_RETRY_S = 0.05


@dataclass(frozen=True, slots=True)
class Group:
    """What the tasks of a strand read, and where their state is."""

    name: str
    """Name of the sub-topology."""
    group: str
    """Name of the consumer group."""
    topics: Sequence[str]
    inputs: Sequence[str]
    """Topics that users write to, of all the application reads."""
    changelog: str
    changelog_id: str

    def of(self, partition: int) -> list[TopicPartition]:
        """Return what the task of a partition reads."""
        return [TopicPartition(topic, partition) for topic in self.topics]


@dataclass(slots=True, eq=False)
class _Charge:
    """A task that is wanted, or to be closed."""

    partition: int
    task: Task | None = None
    is_wanted: bool = True
    places: list[TopicPartition] | None = None
    """Where to read on: the task is ready."""
    mismatch: str = ""
    status: TaskStatus | None = None


class Restorer:
    """Makes the tasks of a strand, restores them, and finds where they read on."""

    def __init__(
        self,
        group: Group,
        settings: WorkerSettings,
        admin: AdminClient,
        consumer: Consumer,
        make: Callable[[int], Task],
    ) -> None:
        self._group = group
        self._settings = settings
        self._admin = admin
        self._consumer = consumer
        self._make = make
        self._charges: list[_Charge] = []
        self._failure: BaseException | None = None
        self._is_ending = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=f"restorer of {group.name}", daemon=True)
        self._thread.start()

    # ── for the strand ──

    def want(self, partition: int) -> None:
        """Ask for the task of a partition."""
        self._add(_Charge(partition))

    def compare(self, task: Task) -> None:
        """Ask for a task that was undone: where it reads on is to be compared with what is committed."""
        self._add(_Charge(task.partition, task))

    def close(self, task: Task) -> None:
        """Let go of a task. One that is wanted of the same partition comes after it."""
        self._add(_Charge(task.partition, task, is_wanted=False))

    def drop(self, partition: int) -> None:
        """Forget that the task of a partition was wanted."""
        with self._changed:
            for charge in self._charges:
                if charge.partition == partition:
                    charge.is_wanted = False
            self._changed.notify()

    def ready(self) -> list[tuple[Task, list[TopicPartition]]]:
        """Return the tasks that can run now, and where each reads on; raise what came in their way."""
        with self._changed:
            if self._failure is not None:
                raise self._failure
            found = [charge for charge in self._charges if charge.is_wanted and charge.places is not None]
            self._charges = [charge for charge in self._charges if charge not in found]
        return [(charge.task, charge.places) for charge in found if charge.task and charge.places]

    def statuses(self) -> list[TaskStatus]:
        """Return how the tasks are doing that were asked for."""
        with self._changed:
            return [charge.status for charge in self._charges if charge.is_wanted and charge.status]

    def end(self) -> None:
        """Let go of all tasks."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join()

    def _add(self, charge: _Charge) -> None:
        with self._changed:
            self._charges.append(charge)
            self._changed.notify()

    # ── in its own thread ──

    def _run(self) -> None:
        try:
            while charges := self._next():
                # In their order: what is closed of a partition was there before what is wanted.
                waits = [self._attend(charge) for charge in charges]
                if any(waits):
                    with self._changed:
                        self._changed.wait(_RETRY_S)
        except BaseException as failure:  # noqa: BLE001 – it is raised where the tasks are asked for
            self._failure = failure
        finally:
            for charge in self._charges:
                if charge.task is not None:
                    charge.task.close()

    def _next(self) -> list[_Charge]:
        """Wait for something to do; return nothing when it is the end."""
        with self._changed:
            while not self._is_ending:
                found = [charge for charge in self._charges if not charge.is_wanted or charge.places is None]
                if found:
                    return found
                self._changed.wait()
            return []

    def _attend(self, charge: _Charge) -> bool:
        """Bring a task a step nearer to run, or let go of it; tell whether it has to wait for the broker."""
        if not charge.is_wanted:
            with self._changed:
                self._charges.remove(charge)
            if charge.task is not None:
                charge.task.close()
            return False
        try:
            self._bring_nearer(charge)
        except KafkaException as error:
            if not kafka.is_passing(error.args[0]):
                raise
            LOG.warning(
                "task %s-%d: %s; trying again", self._group.name, charge.partition, error.args[0].str()
            )
            return True
        return False

    def _bring_nearer(self, charge: _Charge) -> None:
        """Take the next step.

        The group's offsets are read before the changelog: the answer waits for transactions that are still
        being decided, so the changelog read afterwards has all that belongs to it.
        """
        task = charge.task = charge.task or self._make(charge.partition)
        charge.status = status_of(task, self._group.name, self._consumer)
        if task.state is TaskState.CREATED:
            committed = self._committed(task.partition)
            group, changelog = self._group, TopicPartition(self._group.changelog, task.partition)
            restore = Restore(
                self._admin,
                self._settings,
                changelog,
                group.changelog_id,
                task.store,
                marked=marked(committed),
            )
            task.begin_restore(_offsets(committed), restore)
        elif task.state is TaskState.RESTORING:
            self._restore(charge, task)
        elif task.state is TaskState.UNDONE:
            task.compare(_offsets(self._committed(task.partition)))
        elif task.state is TaskState.LOADED:
            self._place(charge, task)

    def _restore(self, charge: _Charge, task: Task) -> None:
        try:
            task.restore_step()
        except LocalStateDamaged as error:
            # Dealt with below: as long as the error lives, its trace holds the database open.
            damage = str(error)
        else:
            return
        LOG.warning("task %s-%d: local state discarded: %s", self._group.name, task.partition, damage)
        task.store.wipe()
        task.close()
        charge.task = None

    def _place(self, charge: _Charge, task: Task) -> None:
        """Find out where the task reads on."""
        try:
            places = task.places(lambda topic: self._first(topic, task.partition))
            for at in places:
                self._check_range(at)
        except StateMismatch as mismatch:
            # One that moves is the work of another worker that has our place, of which we shall be told soon.
            if charge.mismatch == str(mismatch):
                raise
            charge.mismatch = str(mismatch)
            task.close()
            charge.task = None
            return
        with self._changed:
            charge.places = places

    def _first(self, topic: str, partition: int) -> int:
        at, start = TopicPartition(topic, partition), self._settings.start
        if topic not in self._group.inputs:
            # Where the application begins, those have begun that send: all of it is wanted.
            return offset_of(self._admin, at, OffsetSpec.earliest())
        if isinstance(start, int):
            found = offset_of(self._admin, at, OffsetSpec.for_timestamp(start))
            # Nothing is that young: the next record will be.
            return found if found >= 0 else offset_of(self._admin, at, OffsetSpec.latest())
        spec = OffsetSpec.latest() if start == "latest" else OffsetSpec.earliest()
        return offset_of(self._admin, at, spec)

    def _check_range(self, at: TopicPartition) -> None:
        first, end = (
            offset_of(self._admin, at, spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest())
        )
        if at.offset > end:
            raise StateMismatch(
                f"Partition {at.partition} of topic '{at.topic}' ends at offset {end}, but was read up to "
                f"{at.offset} before: the topic was made anew. Begin anew too, with `tocsin reset`."
            )
        if at.offset < first:
            LOG.warning(
                "offsets %d to %d of topic %s, partition %d, are past their retention and were not read",
                at.offset,
                first - 1,
                at.topic,
                at.partition,
            )

    def _committed(self, partition: int) -> list[TopicPartition]:
        """Ask as no member of the group, whose standing may just be changing."""
        asked = ConsumerGroupTopicPartitions(self._group.group, self._group.of(partition))
        (answer,) = self._admin.list_consumer_group_offsets(
            [asked], require_stable=True, request_timeout=kafka.ANSWER_TIMEOUT_S
        ).values()
        offsets: list[TopicPartition] = answer.result().topic_partitions
        for at in offsets:
            if at.error is not None:
                raise KafkaException(at.error)
        return offsets


def _offsets(committed: list[TopicPartition]) -> dict[str, int]:
    return {at.topic: at.offset for at in committed}
