"""What the demo runs on: private services, topics and worker processes, all gone when it is."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.resources import as_file, files
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tocsin.errors import UnavailableError
from tocsin.kafka import ANSWER_TIMEOUT_S, CLIENT_LOG, partitions
from tocsin.services import ServiceSet
from tocsin.topology import Plan, compile_rules

PARTITIONS = 4
WORKERS = 2
READY_S = 60.0
STOP_S = 20.0
POLL_S = 0.1
LOG_LINES = 15


class Worker:
    """A `tocsin run` in a process of its own, which ends at the latest when we do."""

    def __init__(self, rules: Path, services: ServiceSet, folder: Path, name: str) -> None:
        self.name = name
        self._log = folder / f"{name}.log"
        command = [sys.executable, "-P", "-m", "tocsin", "run", str(rules), "--instance", name]
        command += ["--brokers", services.bootstrap, "--registry", services.registry_url]
        command += ["--state-dir", str(folder / name), "--exit-with-parent"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # its end, when we are gone, tells the worker
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us
            )

    @property
    def is_up(self) -> bool:
        return self._process.poll() is None

    def last_words(self) -> str:
        """Return how the worker ended and what it said last."""
        log = self._log.read_text(errors="replace").splitlines()[-LOG_LINES:]
        return "\n".join([f"{self.name} ended with code {self._process.returncode}:", *log])

    def ask_to_stop(self) -> None:
        """Let the worker hand over and end."""
        self._process.terminate()

    def wait(self) -> None:
        """Return when the worker has ended, which it must in time."""
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


class Stage:
    """Services, topics and workers for the rules of the demo."""

    def __init__(self, plan: Plan, services: ServiceSet, workers: list[Worker]) -> None:
        self.plan = plan
        self.services = services
        self.workers = workers

    @property
    def output_topic(self) -> str:
        return self.plan.defined_types[0].topic

    @property
    def workers_up(self) -> int:
        return sum(worker.is_up for worker in self.workers)

    def check(self) -> None:
        """Raise if no worker is left: as long as there is one, it does the work of the others."""
        if not self.workers_up:
            words = "\n".join(worker.last_words() for worker in self.workers)
            raise UnavailableError(f"All workers have ended.\n{words}")

    def stop_workers(self) -> None:
        """Let all workers hand over and end."""
        for worker in self.workers:
            worker.ask_to_stop()
        for worker in self.workers:
            worker.wait()


@contextlib.contextmanager
def set_up(progress: Callable[[str], None]) -> Iterator[Stage]:
    """Start everything; at the end of the block stop it and remove its data."""
    with contextlib.ExitStack() as stack:
        rules = stack.enter_context(as_file(files(__package__).joinpath("fire.tocsin")))
        plan = compile_rules(rules.read_text(encoding="utf-8"), str(rules), app=rules.stem)
        services = stack.enter_context(ServiceSet.start(f"demo-{os.getpid()}", progress=progress))
        # In the services' folder, which their supervisor removes however we end.
        folder = Path(services.running.folder) / "demo"
        folder.mkdir()
        admin = AdminClient({"bootstrap.servers": services.bootstrap}, logger=CLIENT_LOG)
        created = admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in plan.input_topics])
        for outcome in created.values():
            outcome.result(ANSWER_TIMEOUT_S)
        stage = Stage(plan, services, [])
        stack.callback(stage.stop_workers)
        for number in range(1, WORKERS + 1):
            stage.workers.append(Worker(rules, services, folder, f"worker-{number}"))
        _await_output(stage, admin)
        progress(f"{WORKERS} workers up")
        yield stage


def _await_output(stage: Stage, admin: AdminClient) -> None:
    """Wait for the topic of complex events, which the first worker that is ready creates."""
    deadline = time.monotonic() + READY_S
    while stage.output_topic not in partitions(admin, stage.services.bootstrap):
        stage.check()
        if time.monotonic() > deadline:
            raise UnavailableError(
                f"The workers did not create topic '{stage.output_topic}' in {READY_S:.0f} s."
            )
        time.sleep(POLL_S)
