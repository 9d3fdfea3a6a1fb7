"""The worker: one process's share of an application, a strand for each of its sub-topologies."""

import logging
import threading
from collections.abc import Callable

from tocsin.topology import Plan, replan
from tocsin.workers import following, kafka, place, topics
from tocsin.workers.errors import TopicsWrong
from tocsin.workers.memory import divide
from tocsin.workers.place import Place
from tocsin.workers.runnable import check_runnable
from tocsin.workers.settings import WorkerSettings
from tocsin.workers.standby import Standbys
from tocsin.workers.status import Status, TaskStatus
from tocsin.workers.strand import Strand

LOG = logging.getLogger(__name__)


class Worker:
    """One process's share of an application."""

    def __init__(
        self, plan: Plan, settings: WorkerSettings, on_status: Callable[[Status], None] | None = None
    ) -> None:
        check_runnable(plan, exactly_once=settings.exactly_once)
        self._plan = plan
        self._settings = settings
        self._on_status = on_status
        self._told: dict[str, tuple[TaskStatus, ...]] = {}
        self._telling = threading.Lock()

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; then commit, hand the partitions over, and return."""
        own = place.take(self._settings.state_dir, self._plan.app, self._settings.instance)
        try:
            admin = kafka.admin(self._settings)
            counts = topics.prepare_inputs(admin, self._plan, self._settings)
            for sentence in following.changed_inputs(self._plan, counts, self._settings):
                raise TopicsWrong(sentence)
            plan = replan(self._plan, counts)
            check_runnable(plan, exactly_once=self._settings.exactly_once)
            counts = topics.prepare_own(admin, plan, counts, self._settings)
            cards = following.meet(plan, self._settings)
            memory = divide(self._settings.state_memory_bytes, topics.task_count(plan, counts))
            standbys = Standbys(plan, self._settings, own, counts, memory)
            strands = [
                Strand(
                    plan,
                    sub,
                    self._settings,
                    own,
                    counts,
                    self._reporter(own, sub.name),
                    cards=cards,
                    standbys=standbys,
                )
                for sub in plan.subtopologies
            ]
            _run_all([*(strand.run for strand in strands), *standbys.runs], stop)
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


def _run_all(parts: list[Callable[[threading.Event], None]], stop: threading.Event) -> None:
    """Run parts of a worker, a thread each, until `stop` is set or one of them fails; then all end."""
    if len(parts) == 1:
        parts[0](stop)
        return
    failures: list[BaseException] = []

    def run(part: Callable[[threading.Event], None]) -> None:
        try:
            part(stop)
        except BaseException as failure:  # noqa: BLE001 – it is raised where the worker was started
            LOG.info("a part of the worker ends: %s", failure)
            failures.append(failure)
            stop.set()

    threads = [threading.Thread(target=run, args=(part,), daemon=True) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
