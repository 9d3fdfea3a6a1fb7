"""Warm standbys: a worker follows the changelogs of tasks that others run, so that taking one over is quick.

Who keeps which is decided by each worker for itself, from what all tell to the status topic. Nothing depends
on it: a task that is taken over is restored from where its local store stands, however it came there.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import KafkaException, TopicPartition

from tocsin.topology.plan import Plan
from tocsin.workers import kafka
from tocsin.workers.errors import WorkerError
from tocsin.workers.memory import Memory
from tocsin.workers.place import Place
from tocsin.workers.restore import Restore, topic_id
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.status import Board, StandbyStatus, Watch
from tocsin.workers.store import RocksStore
from tocsin.workers.topics import Names

LOG = logging.getLogger(__name__)

_LOOK_S = 1.0
_PAUSE_S = 0.05
_ALIVE_MS = 30_000
"""Who has told nothing for so long keeps no standby."""


class Standbys:
    """The standbys of a worker: stores in its own place, of tasks that it does not run."""

    def __init__(
        self, plan: Plan, settings: WorkerSettings, place: Place, counts: Mapping[str, int], memory: Memory
    ) -> None:
        self._settings = settings
        self._place = place
        self.memory = memory
        self._app = plan.app
        self._names = Names(plan.app)
        self._changelogs = {
            f"{sub.name}-{partition}": TopicPartition(self._names.changelog(sub.name), partition)
            for sub in plan.subtopologies
            for partition in range(counts[self._names.changelog(sub.name)])
        }
        self._subtopologies = {self._names.changelog(sub.name): sub.name for sub in plan.subtopologies}
        self._ids: dict[str, str] = {}
        self._lock = threading.Lock()
        """Held while a store of a standby is opened, written or closed."""
        self._claimed: set[str] = set()
        self._followed: dict[str, Restore] = {}
        self._stores: dict[str, RocksStore] = {}

    def claim(self, task: str) -> None:
        """Let go of a task's store, and leave it alone until it is released: its task runs here now."""
        with self._lock:
            self._claimed.add(task)
            self._drop(task)

    def release(self, task: str) -> None:
        """Say that the store of a task is closed, and may be followed."""
        with self._lock:
            self._claimed.discard(task)

    @property
    def runs(self) -> list[Callable[[threading.Event], None]]:
        """What is to run beside the tasks: nothing where no standbys are wanted."""
        return [self._run] if self._settings.standbys > 0 else []

    def _run(self, stop: threading.Event) -> None:
        watch = Watch(self._settings, self._app)
        board = Board(self._settings, self._names.status, self._place.name)
        try:
            looked_s = 0.0
            while not stop.is_set():
                try:
                    if time.monotonic() - looked_s >= _LOOK_S:
                        looked_s = time.monotonic()
                        self._choose(watch)
                    self._step()
                except (KafkaException, WorkerError) as error:
                    LOG.warning("standbys: %s; trying again", error)
                    self._drop_all()
                board.tell_standbys(self.status(), int(time.time() * 1000))
                stop.wait(_PAUSE_S)
            board.tell_standbys((), int(time.time() * 1000))
        finally:
            self._drop_all()
            board.close()
            watch.close()

    def status(self) -> tuple[StandbyStatus, ...]:
        """Return what is followed, and how closely."""
        with self._lock:
            return tuple(self._status(task) for task in sorted(self._followed))

    def _status(self, task: str) -> StandbyStatus:
        changelog, restore = self._changelogs[task], self._followed[task]
        return StandbyStatus(
            subtopology=self._subtopologies[changelog.topic],
            partition=changelog.partition,
            behind=max(restore.end - restore.position, 0),
            state_bytes=self._stores[task].size_bytes(),
        )

    def _choose(self, watch: Watch) -> None:
        now_ms = int(time.time() * 1000)
        told = watch.read()
        owners = {one.task.name: one.instance for one in told}
        alive = {one.instance for one in told if now_ms - one.told_ms < _ALIVE_MS}
        alive |= {one.instance for one in watch.standbys() if now_ms - one.told_ms < _ALIVE_MS}
        mine, count = self._place.name, self._settings.standbys
        for task in self._changelogs:
            owner = owners.get(task)
            chosen = keepers(task, (alive | {mine}) - {owner}, count)
            with self._lock:
                if task in self._claimed or owner == mine or mine not in chosen:
                    self._drop(task)
                elif owner is not None and task not in self._followed:
                    self._follow(task)

    def _follow(self, task: str) -> None:
        changelog = self._changelogs[task]
        admin = kafka.admin(self._settings)
        if changelog.topic not in self._ids:
            self._ids[changelog.topic] = topic_id(admin, changelog.topic, self._settings.brokers)
        store = RocksStore(self._place.folder / task, self.memory.buffers)
        try:
            self._followed[task] = Restore(
                admin, self._settings, changelog, self._ids[changelog.topic], store, follow=True
            )
        except BaseException:
            store.close()
            raise
        self._stores[task] = store

    def _step(self) -> None:
        for task in list(self._followed):
            with self._lock:
                restore = self._followed.get(task)
                if restore is not None:
                    restore.step()

    def _drop(self, task: str) -> None:
        restore, store = self._followed.pop(task, None), self._stores.pop(task, None)
        if restore is not None and store is not None:
            restore.close()
            store.close()

    def _drop_all(self) -> None:
        with self._lock:
            for task in list(self._followed):
                self._drop(task)


def keepers(task: str, instances: Iterable[str], count: int) -> set[str]:
    """Return which of some workers keep the standbys of a task: few change when workers come and go."""

    def weight(instance: str) -> bytes:
        return hashlib.blake2b(f"{task}\0{instance}".encode()).digest()

    return set(sorted(instances, key=weight)[:count])
