"""A strand of a worker: one sub-topology with its consumer group, its producer and its tasks.

It reads its share of the input, detects or sends on, commits; comes and goes without loss or doubling.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import DeletedRecords, OffsetSpec

from tocsin._engine import Batch, Engine
from tocsin.topology.plan import Plan, Subtopology
from tocsin.workers import kafka
from tocsin.workers.commit import Aborted, CommitLost, Committer
from tocsin.workers.errors import StateMismatch, WorkerError
from tocsin.workers.formats import Formats
from tocsin.workers.place import Place
from tocsin.workers.restore import Restore, offset_of, topic_id
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.silence import Silence
from tocsin.workers.status import Board, Status, TaskStatus, status_of
from tocsin.workers.store import RocksStore
from tocsin.workers.task import LocalStateDamaged, Task, TaskState
from tocsin.workers.topics import Names

LOG = logging.getLogger(__name__)

_RESTORING_POLL_S = 0.01
_MAX_POLL_S = 0.05
_COMMITTED_S = 2.0
_PURGE_EVERY_MS = 30_000


class Strand:
    """One process's share of a sub-topology. `counts` has the partitions of all topics there are."""

    def __init__(
        self,
        plan: Plan,
        subtopology: Subtopology,
        settings: WorkerSettings,
        place: Place,
        counts: dict[str, int],
        on_status: Callable[[tuple[TaskStatus, ...]], None] | None = None,
    ) -> None:
        self._plan = plan
        self._plan_json = plan.to_json()
        self._subtopology = subtopology
        self._settings = settings
        self._place = place
        self._counts = counts
        self._on_status = on_status
        self._names = Names(plan.app)
        self._tasks: dict[int, Task] = {}
        self._assigned: dict[int, set[str]] = {}
        self._stop = threading.Event()
        self._reported_ms = 0
        self._purged_ms = _now_ms()
        self._purging: dict[TopicPartition, Future[DeletedRecords]] = {}
        self._unpurged: set[str] = set()
        self._mismatches: dict[int, str] = {}

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; then commit, hand the partitions over, and return."""
        self._stop = stop
        try:
            self._open()
            try:
                self._loop()
                self._commit()
                self._tell(())
            finally:
                self._close()
        except KafkaException as error:
            raise kafka.as_worker_error(error, self._settings.brokers) from error

    def _open(self) -> None:
        settings = self._settings
        self._admin = kafka.admin(settings)
        counts = self._counts
        self._formats = Formats(self._plan, settings.registry)
        self._destinations = self._formats.destinations(counts)
        sent = {forward.topic for forward in self._subtopology.forwards}
        self._forwards = {topic: counts[topic] for topic in sent}
        behind = self._plan.behind(self._subtopology)
        self._reads = {topic: list(range(counts[topic])) for topic in behind}
        self._changelog = self._names.changelog(self._subtopology.name)
        # An even share of all tasks there are: this worker may come to have them all.
        memory = settings.state_memory_bytes
        tasks = sum(counts[self._names.changelog(sub.name)] for sub in self._plan.subtopologies)
        self._cache_bytes = None if memory is None else memory // tasks
        self._changelog_id = topic_id(self._admin, self._changelog, settings.brokers)
        self._silence = Silence(self._admin, self._plan)
        self._board = Board(settings, self._names.status, self._place.name)
        self._renew_producer()
        self._consumer = kafka.group_consumer(settings, self._names.group(self._subtopology.name))
        self._consumer.subscribe(
            list(self._subtopology.topics),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _renew_producer(self) -> None:
        name = f"{self._names.group(self._subtopology.name)}.{self._place.name}"
        producer = kafka.transactional_producer(self._settings, name)
        self._committer = Committer(producer, self._formats, self._changelog, self._changelog_id)

    def _loop(self) -> None:
        interval_ms = self._settings.commit_interval_ms
        next_commit_ms = _now_ms() + interval_ms
        while not self._stop.is_set():
            messages = self._consumer.consume(self._settings.max_batch, self._patience_s(next_commit_ms))
            self._read(messages)
            self._restore_some()
            running = self._running()
            self._silence.advance(running, _now_ms())
            for task in running:
                if self._or_discard(task, task.run):
                    self._hold_back(task)
            # What a task has left to do comes after a commit: neither transaction nor memory grows with it.
            if _now_ms() >= next_commit_ms or any(task.engine.is_behind for task in running):
                self._commit()
                next_commit_ms = _now_ms() + interval_ms
            self._purge()
            self._report()

    def _purge(self) -> None:
        """Delete what others sent on and this strand has in its state: nobody else reads it."""
        if _now_ms() - self._purged_ms < _PURGE_EVERY_MS:
            return
        self._purged_ms = _now_ms()
        done = {
            TopicPartition(topic, task.partition, offset)
            for task in self._running()
            for topic, offset in task.read_on.items()
            if topic not in self._plan.input_topics and offset > 0
        }
        for at, deleted in self._purging.items():
            if deleted.done() and deleted.exception() is not None and at.topic not in self._unpurged:
                self._unpurged.add(at.topic)
                LOG.warning(
                    "what was read of %s cannot be deleted, and stays: %s", at.topic, deleted.exception()
                )
        self._purging = self._admin.delete_records(list(done)) if done else {}

    def _report(self) -> None:
        states = {self._name(task.partition): task.state for task in self._tasks.values()}
        if self._board.is_due(states, _now_ms()):
            self._tell(self.status())
        if self._on_status is not None and _now_ms() - self._reported_ms >= self._settings.report_interval_ms:
            self._reported_ms = _now_ms()
            self._on_status(self.status())

    def _patience_s(self, next_commit_ms: int) -> float:
        if any(task.state is not TaskState.RUNNING for task in self._tasks.values()):
            return _RESTORING_POLL_S
        if any(task.engine.is_behind for task in self._running()):
            return 0.0
        return min(max((next_commit_ms - _now_ms()) / 1000, 0.001), _MAX_POLL_S)

    def _running(self) -> list[Task]:
        return [task for task in self._tasks.values() if task.state is TaskState.RUNNING]

    def _read(self, messages: list[Message]) -> None:
        batches, problems = Batch.split(messages)
        now_ms = _now_ms()
        for batch in batches:
            task = self._tasks.get(batch.partition)
            # A batch of a task that is not running was fetched before its place was known; it comes again.
            if task is not None and task.state is TaskState.RUNNING:
                self._formats.supply(task.engine, batch, self._stop)
                task.feed(batch, now_ms)
        for message in problems:
            self._handle_problem(message)

    def _handle_problem(self, message: Message) -> None:
        error = message.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
            task = self._tasks.get(message.partition() or 0)
            if task is not None and task.state is TaskState.RUNNING:
                task.sources[message.topic() or ""].caught_up_to = message.offset() or 0
        elif error.fatal():
            raise kafka.as_worker_error(KafkaException(error), self._settings.brokers)
        elif error.code() in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.TOPIC_AUTHORIZATION_FAILED}:
            raise WorkerError(f"Topic '{message.topic()}' cannot be read: {error.str()}.")
        else:
            LOG.warning("kafka: %s", error.str())

    def _hold_back(self, task: Task) -> None:
        """Pause the sources that are ahead of the slowest when too many of their events wait for it.

        The slowest itself always reads: only what it brings releases the others.
        """
        limit, waiting = self._settings.max_waiting, task.engine.waiting
        watermarks = {topic: ms for (topic, _), ms in task.engine.source_watermarks_ms.items()}
        slowest = min(watermarks.values())
        for topic, source in task.sources.items():
            at = TopicPartition(topic, task.partition)
            if source.paused and (waiting <= limit // 2 or watermarks[topic] == slowest):
                self._consumer.resume([at])
                source.paused = False
            elif not source.paused and waiting > limit and watermarks[topic] > slowest:
                self._consumer.pause([at])
                source.paused = True

    # ── commits ──

    def _commit(self) -> None:
        tasks = [task for task in self._running() if task.dirty]
        if tasks:
            try:
                self._committer.commit(tasks, self._consumer)
            except Aborted as aborted:
                LOG.warning("transaction aborted, going on from the last commit: %s", aborted)
                for task in aborted.tasks:
                    self._undo(task)
            except CommitLost as lost:
                LOG.warning("commit lost, restoring the tasks: %s", lost)
                self._recover()

    def _undo(self, task: Task) -> None:
        """Go back to the last commit in memory; where that ends in the input is read on from."""
        self._consumer.pause(self._of(task.partition))
        self._or_discard(task, lambda: task.undo(_now_ms()))

    def _recover(self) -> None:
        """Go back to what is known to be committed, with a new producer that fences the old one."""
        self._renew_producer()
        for task in list(self._tasks.values()):
            self._consumer.pause(self._of(task.partition))
            self._restart(task)

    # ── assignment ──

    def _of(self, partition: int) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for topic in self._subtopology.topics]

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)
        for assigned in partitions:
            self._assigned.setdefault(assigned.partition, set()).add(assigned.topic)
        for partition, held in self._assigned.items():
            if held == set(self._subtopology.topics) and partition not in self._tasks:
                self._start_task(partition)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._commit()
        self._drop(partitions)
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        # Someone else has them: nothing of ours may be committed any more.
        self._drop(partitions)
        for lost in partitions:
            self._board.forget(self._name(lost.partition))
        consumer.incremental_unassign(partitions)

    def _drop(self, partitions: list[TopicPartition]) -> None:
        for dropped in partitions:
            self._assigned.get(dropped.partition, set()).discard(dropped.topic)
            task = self._tasks.pop(dropped.partition, None)
            if task is not None:
                task.close()

    def _start_task(self, partition: int) -> None:
        engine = Engine(
            self._plan_json,
            self._subtopology.name,
            partition,
            self._destinations,
            reads=self._reads,
            forwards=self._forwards,
            max_record_bytes=self._settings.max_record_bytes,
            max_output_bytes=self._settings.max_output_bytes,
            max_ahead_ms=self._settings.max_ahead_ms,
            cache_bytes=self._cache_bytes,
        )
        store = RocksStore(self._place.folder / f"{self._subtopology.name}-{partition}")
        sends = bool(self._subtopology.forwards)
        self._tasks[partition] = Task(partition, engine, store, _now_ms(), sends=sends)

    def _restore_some(self) -> None:
        """Bring the tasks that are not running a step nearer to it.

        The group's offsets are read before the changelog: the answer waits for transactions that are still
        being decided, so the changelog read afterwards has all that belongs to it.
        """
        for task in list(self._tasks.values()):
            try:
                self._bring_nearer(task)
            except KafkaException as error:
                if not kafka.is_passing(error.args[0]):
                    raise
                LOG.warning("task %s: %s; trying again", self._name(task.partition), error.args[0].str())

    def _bring_nearer(self, task: Task) -> None:
        if task.state is TaskState.CREATED:
            changelog = TopicPartition(self._changelog, task.partition)
            offsets = self._committed(task.partition)
            restore = Restore(self._admin, self._settings, changelog, self._changelog_id, task.store)
            task.begin_restore(offsets, restore)
        if task.state is TaskState.RESTORING and not self._or_discard(task, task.restore_step):
            return
        if task.state is TaskState.UNDONE:
            task.compare(self._committed(task.partition))
        if task.state is TaskState.LOADED:
            self._begin(task)

    def _or_discard(self, task: Task, step: Callable[[], None]) -> bool:
        """Do what needs the store; where that is damaged, begin to restore from the changelog alone."""
        try:
            step()
        except LocalStateDamaged as error:
            # Dealt with below: as long as the error lives, its trace holds the database open.
            damage = str(error)
        else:
            return True
        LOG.warning("task %s: local state discarded: %s", self._name(task.partition), damage)
        self._consumer.pause(self._of(task.partition))
        task.store.wipe()
        self._restart(task)
        return False

    def _begin(self, task: Task) -> None:
        """Read on from where the state ends; where the client is not ready for that, try again next time."""
        try:
            places = task.places(lambda topic: self._first(topic, task.partition))
        except StateMismatch as mismatch:
            # One that moves is the work of another worker that has our place, of which we shall be told soon.
            if self._mismatches.get(task.partition) == str(mismatch):
                raise
            self._mismatches[task.partition] = str(mismatch)
            self._restart(task)
            return
        self._mismatches.pop(task.partition, None)
        for at in places:
            self._check_range(at)
            try:
                self._consumer.seek(at)
            except KafkaException as error:
                if error.args[0].code() in kafka.NOT_YET:
                    return
                raise
        task.begin()
        self._consumer.resume(self._of(task.partition))
        LOG.info("task %s runs", self._name(task.partition))

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

    def _restart(self, task: Task) -> None:
        task.close()
        self._start_task(task.partition)

    def _first(self, topic: str, partition: int) -> int:
        at, start = TopicPartition(topic, partition), self._settings.start
        if topic not in self._plan.input_topics:
            # Where the application begins, those have begun that send: all of it is wanted.
            return offset_of(self._admin, at, OffsetSpec.earliest())
        if isinstance(start, int):
            found = offset_of(self._admin, at, OffsetSpec.for_timestamp(start))
            # Nothing is that young: the next record will be.
            return found if found >= 0 else offset_of(self._admin, at, OffsetSpec.latest())
        spec = OffsetSpec.latest() if start == "latest" else OffsetSpec.earliest()
        return offset_of(self._admin, at, spec)

    def _committed(self, partition: int) -> dict[str, int]:
        answer = self._consumer.committed(self._of(partition), _COMMITTED_S)
        for at in answer:
            if at.error is not None:
                raise KafkaException(at.error)
        return {at.topic: at.offset for at in answer}

    # ── the end ──

    def _close(self) -> None:
        """Let go of the tasks, so that nothing more is committed, and leave the group."""
        for task in self._tasks.values():
            task.close()
        self._tasks.clear()
        self._consumer.close()
        self._formats.close()
        self._board.close()

    # ── status ──

    def status(self) -> tuple[TaskStatus, ...]:
        """Return how the tasks are doing."""
        tasks = sorted(self._tasks.values(), key=lambda task: task.partition)
        return tuple(status_of(task, self._subtopology.name, self._consumer) for task in tasks)

    def _tell(self, tasks: tuple[TaskStatus, ...]) -> None:
        self._board.tell(Status(self._place.name, tasks), _now_ms())

    def _name(self, partition: int) -> str:
        return f"{self._subtopology.name}-{partition}"


def _now_ms() -> int:
    return int(time.time() * 1000)
