"""The worker: one process's share of an application, a strand for each of its sub-topologies."""

import logging
import threading
from collections.abc import Callable

from tocsin.topology.plan import Plan
from tocsin.workers import following, kafka, place, topics
from tocsin.workers.place import Place
from tocsin.workers.runnable import check_runnable
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.status import Status, TaskStatus
from tocsin.workers.strand import Strand

LOG = logging.getLogger(__name__)


class Worker:
    """One process's share of an application."""

    def __init__(
        self, plan: Plan, settings: WorkerSettings, on_status: Callable[[Status], None] | None = None
    ) -> None:
        check_runnable(plan)
        self._plan = plan
        self._settings = settings
        self._on_status = on_status
        self._told: dict[str, tuple[TaskStatus, ...]] = {}
        self._telling = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; then commit, hand the partitions over, and return."""
        own = place.take(self._settings.state_dir, self._plan.app, self._settings.instance)
        try:
            counts = topics.prepare(kafka.admin(self._settings), self._plan, self._settings)
            cards = following.meet(self._plan, self._settings)
            strands = [
                Strand(self._plan, sub, self._settings, own, counts, self._reporter(own, sub.name), cards)
                for sub in self._plan.subtopologies
            ]
            _run_all(strands, stop)
        finally:
            own.close()

    def _reporter(self, own: Place, name: str) -> Callable[[tuple[TaskStatus, ...]], None] | None:
        on_status = self._on_status
        if on_status is None:
            return None

        def report(tasks: tuple[TaskStatus, ...]) -> None:
            with self._telling:
                self._told[name] = tasks
                on_status(Status(own.name, tuple(task for told in self._told.values() for task in told)))

        return report


def _run_all(strands: list[Strand], stop: threading.Event) -> None:
    """Run strands, a thread each, until `stop` is set or one of them fails; then all end."""
    if len(strands) == 1:
        strands[0].run(stop)
        return
    failures: list[BaseException] = []

    def run(strand: Strand) -> None:
        try:
            strand.run(stop)
        except BaseException as failure:  # noqa: BLE001 – it is raised where the worker was started
            LOG.info("a strand ends: %s", failure)
            failures.append(failure)
            stop.set()

    threads = [threading.Thread(target=run, args=(strand,), daemon=True) for strand in strands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
