"""A strand of a worker: one sub-topology with its consumer group, its producer and its tasks.

It reads its share of the input, detects or sends on, commits; comes and goes without loss or doubling.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import DeletedRecords

from tocsin._engine import Batch, Engine
from tocsin.topology.plan import Plan, Subtopology
from tocsin.workers import kafka
from tocsin.workers.commit import Aborted, CommitLost, Committer
from tocsin.workers.errors import WorkerError
from tocsin.workers.following import Following
from tocsin.workers.formats import Formats
from tocsin.workers.growth import Growth
from tocsin.workers.marks import Card, Teller, card_of
from tocsin.workers.memory import Memory
from tocsin.workers.place import Place
from tocsin.workers.repeating import RepeatingCommitter
from tocsin.workers.restore import topic_id
from tocsin.workers.restorer import Group, Restorer
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.silence import Silence
from tocsin.workers.standby import Standbys
from tocsin.workers.status import Board, Status, TaskStatus, status_of
from tocsin.workers.store import RocksStore
from tocsin.workers.task import LocalStateDamaged, Task, TaskState
from tocsin.workers.topics import Names

LOG = logging.getLogger(__name__)

_MAX_POLL_S = 0.05
_PURGE_EVERY_MS = 30_000


class Strand:
    """One process's share of a sub-topology.

    `counts` has the partitions of all topics there are, `cards` what is known of the applications that events
    are taken from.
    """

    def __init__(
        self,
        plan: Plan,
        subtopology: Subtopology,
        settings: WorkerSettings,
        place: Place,
        counts: dict[str, int],
        on_status: Callable[[tuple[TaskStatus, ...]], None] | None = None,
        *,
        cards: Mapping[str, Card] | None = None,
        standbys: Standbys | None = None,
    ) -> None:
        self._plan = plan
        self._memory = standbys.memory if standbys is not None else Memory()
        self._standbys = standbys
        self._plan_json = plan.to_json()
        self._subtopology = subtopology
        self._settings = settings
        self._place = place
        self._counts = counts
        self._on_status = on_status
        self._cards = cards or {}
        self._names = Names(plan.app)
        self._tasks: dict[int, Task] = {}
        """Those that run; the others are the restorer's."""
        self._begun: set[int] = set()
        """Partitions whose tasks run or were asked for."""
        self._ready: list[tuple[Task, list[TopicPartition]]] = []
        self._assigned: dict[int, set[str]] = {}
        self._stop = threading.Event()
        self._reported_ms = 0
        self._purged_ms = _now_ms()
        self._purging: dict[TopicPartition, Future[DeletedRecords]] = {}
        self._unpurged: set[str] = set()

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
        known = [type_.schema for card in self._cards.values() for type_ in card.types.values()]
        self._formats = Formats(self._plan, settings.registry, known)
        self._destinations = self._formats.destinations(counts)
        sent = {forward.topic for forward in self._subtopology.forwards}
        self._forwards = {topic: counts[topic] for topic in sent}
        behind = self._plan.behind(self._subtopology)
        self._reads = {topic: list(range(counts[topic])) for topic in behind}
        self._changelog = self._names.changelog(self._subtopology.name)
        self._changelog_id = topic_id(self._admin, self._changelog, settings.brokers)
        name, topics = self._subtopology.name, self._subtopology.topics
        group, inputs = self._names.group(name), self._plan.input_topics
        self._group = Group(name, group, topics, inputs, self._changelog, self._changelog_id)
        self._growth = Growth(self._admin, self._plan, counts)
        self._silence = Silence(self._admin, self._plan)
        self._following = Following(self._admin, self._plan, settings, self._subtopology.topics)
        self._board = Board(settings, self._names.status, self._place.name)
        self._renew_producer()
        self._consumer = kafka.group_consumer(settings, group)
        self._restorer = Restorer(self._group, settings, self._admin, self._consumer, self._make)
        self._consumer.subscribe(
            list(topics),
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_lost,
        )

    def _renew_producer(self) -> None:
        card = card_of(self._plan, self._counts, self._cards)
        self._teller = Teller(self._plan, self._subtopology, card, self._counts)
        if self._settings.exactly_once:
            name = f"{self._names.group(self._subtopology.name)}.{self._place.name}"
            kind, producer = Committer, kafka.transactional_producer(self._settings, name)
        else:
            kind, producer = RepeatingCommitter, kafka.repeating_producer(self._settings)
        self._committer = kind(producer, self._formats, self._changelog, self._changelog_id, self._teller)

    def _loop(self) -> None:
        interval_ms = self._settings.commit_interval_ms
        next_commit_ms = _now_ms() + interval_ms
        # Not more than is handled at once, or it would pile up.
        max_batch = min(self._settings.max_batch, self._memory.positions)
        while not self._stop.is_set():
            messages = self._consumer.consume(max_batch, self._patience_s(next_commit_ms))
            self._read(messages)
            self._begin_ready()
            running = list(self._tasks.values())
            self._silence.advance(running, _now_ms())
            self._following.advance(running, _now_ms())
            for task in running:
                if self._or_discard(task, task.run):
                    self._hold_back(task)
                    self._go_back(task)
            # What a task has left to do comes after a commit: neither transaction nor memory grows with it.
            if _now_ms() >= next_commit_ms or self._is_behind():
                # Counted from its beginning: what a commit takes is no reason to wait longer for the next.
                next_commit_ms = _now_ms() + interval_ms
                self._commit()
            self._growth.check_at_times(_now_ms())
            self._purge()
            self._report()

    def _purge(self) -> None:
        """Delete what others sent on and this strand has in its state: nobody else reads it."""
        if _now_ms() - self._purged_ms < _PURGE_EVERY_MS:
            return
        self._purged_ms = _now_ms()
        done = {
            TopicPartition(topic, task.partition, offset)
            for task in self._tasks.values()
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
        states = {self._name(partition): TaskState.RUNNING for partition in self._tasks}
        states |= {status.name: status.state for status in self._restorer.statuses()}
        if self._board.is_due(states, _now_ms()):
            self._tell(self.status())
        if self._on_status is not None and _now_ms() - self._reported_ms >= self._settings.report_interval_ms:
            self._reported_ms = _now_ms()
            self._on_status(self.status())

    def _patience_s(self, next_commit_ms: int) -> float:
        if self._is_behind():
            return 0.0
        return min(max((next_commit_ms - _now_ms()) / 1000, 0.001), _MAX_POLL_S)

    def _is_behind(self) -> bool:
        return any(task.engine.is_behind for task in self._tasks.values())

    def _read(self, messages: list[Message]) -> None:
        batches, problems = Batch.split(messages)
        now_ms = _now_ms()
        for batch in batches:
            task = self._tasks.get(batch.partition)
            # A batch of a task that is not running was fetched before its place was known; it comes again.
            if task is not None:
                self._formats.supply(task.engine, batch, self._stop)
                task.feed(batch, now_ms)
        for message in problems:
            self._handle_problem(message)

    def _handle_problem(self, message: Message) -> None:
        error = message.error()
        assert error is not None
        if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 – its public spelling
            task = self._tasks.get(message.partition() or 0)
            if task is not None:
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

    def _go_back(self, task: Task) -> None:
        """Read again what was passed over in a topic of parcels, when it is time for that.

        Such a topic carries many sources, so it cannot be paused for those that are ahead of the slowest.
        """
        if (passed_over := task.engine.passed_over) is None:
            return
        topic, offset = passed_over
        try:
            self._consumer.seek(TopicPartition(topic, task.partition, offset))
        except KafkaException as error:
            if error.args[0].code() not in kafka.NOT_YET:
                raise
        else:
            task.engine.read_again(topic, offset)

    # ── commits ──

    def _commit(self) -> None:
        running, now_ms = self._tasks.values(), _now_ms()
        tasks = [task for task in running if task.dirty or self._teller.has_news(task, now_ms)]
        if tasks:
            self._growth.check(now_ms)
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
        self._consumer.pause(self._group.of(task.partition))
        if self._or_discard(task, lambda: task.undo(_now_ms())):
            self._restorer.compare(self._tasks.pop(task.partition))

    def _recover(self) -> None:
        """Go back to what is known to be committed, with a new producer that fences the old one."""
        self._renew_producer()
        for task in list(self._tasks.values()):
            self._restart(task)

    # ── assignment ──

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)
        for assigned in partitions:
            self._assigned.setdefault(assigned.partition, set()).add(assigned.topic)
        tasks = range(self._counts[self._changelog])
        for partition, held in self._assigned.items():
            # A partition that came later has no task: the topic grew, and the worker is about to end.
            is_whole = held == set(self._subtopology.topics) and partition in tasks
            if is_whole and partition not in self._begun:
                self._begun.add(partition)
                self._restorer.want(partition)

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
        gone = self._begun & {dropped.partition for dropped in partitions}
        self._begun -= gone
        for partition in gone:
            self._restorer.drop(partition)
        tasks = [*self._tasks.values(), *(task for task, _ in self._ready)]
        for task in tasks:
            if task.partition in gone:
                self._restorer.close(task)
        self._tasks = {partition: task for partition, task in self._tasks.items() if partition not in gone}
        self._ready = [(task, places) for task, places in self._ready if task.partition not in gone]

    def _make(self, partition: int) -> Task:
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
            cache_bytes=self._memory.task_bytes,
            max_waiting=self._settings.max_waiting,
        )
        name = self._name(partition)
        if self._standbys is not None:
            self._standbys.claim(name)
        store = RocksStore(self._place.folder / name, self._memory.buffers)
        return Task(
            partition,
            engine,
            store,
            _now_ms(),
            sends=bool(self._subtopology.forwards),
            memory=self._memory,
            on_close=self._release(name),
        )

    def _release(self, name: str) -> Callable[[], None] | None:
        standbys = self._standbys
        return None if standbys is None else lambda: standbys.release(name)

    def _begin_ready(self) -> None:
        """Let the tasks run that are restored; where the client is not ready for it, try again next time."""
        self._ready += self._restorer.ready()
        waiting = []
        for task, places in self._ready:
            try:
                for at in places:
                    self._consumer.seek(at)
                self._committer.begin(task, places, self._consumer)
            except KafkaException as error:
                if error.args[0].code() not in kafka.NOT_YET and not kafka.is_passing(error.args[0]):
                    raise
                waiting.append((task, places))
                continue
            task.begin()
            self._tasks[task.partition] = task
            self._consumer.resume(self._group.of(task.partition))
            LOG.info("task %s runs", self._name(task.partition))
        self._ready = waiting

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
        task.store.wipe()
        self._restart(task)
        return False

    def _restart(self, task: Task) -> None:
        del self._tasks[task.partition]
        self._consumer.pause(self._group.of(task.partition))
        self._restorer.close(task)
        self._restorer.want(task.partition)

    # ── the end ──

    def _close(self) -> None:
        """Let go of the tasks, so that nothing more is committed, and leave the group."""
        for task in [*self._tasks.values(), *(task for task, _ in self._ready)]:
            task.close()
        self._tasks.clear()
        self._ready.clear()
        self._restorer.end()
        self._consumer.close()
        self._formats.close()
        self._following.close()
        self._board.close()

    # ── status ──

    def status(self) -> tuple[TaskStatus, ...]:
        """Return how the tasks are doing."""
        running = [status_of(task, self._subtopology.name, self._consumer) for task in self._tasks.values()]
        return tuple(sorted(running + self._restorer.statuses(), key=lambda status: status.partition))

    def _tell(self, tasks: tuple[TaskStatus, ...]) -> None:
        self._board.tell(Status(self._place.name, tasks), _now_ms())

    def _name(self, partition: int) -> str:
        return f"{self._subtopology.name}-{partition}"


def _now_ms() -> int:
    return int(time.time() * 1000)
