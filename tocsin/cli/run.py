"""`tocsin run`: a worker."""

import os
import signal
import sys
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer
from rich.progress import Progress, TaskID

from tocsin.cli.options import App, Brokers, Json, Registry, RuleFile, load_plan
from tocsin.cli.output import emit, err, note
from tocsin.cli.processes import run_all
from tocsin.errors import InputError
from tocsin.values import time_ms

if TYPE_CHECKING:
    from tocsin.workers import Status, TaskStatus

app = typer.Typer()


@app.command(epilog="Example: tocsin run fire.tocsin")
def run(  # noqa: PLR0913, PLR0917 – a parameter an option
    file: RuleFile,
    app_name: App = None,
    brokers: Brokers = None,
    registry: Registry = None,
    instance: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of this worker; give it the same one again after a restart."),
    ] = None,
    state_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where state is kept. Default: .tocsin/state.")
    ] = None,
    start: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="earliest|latest|TIME",
            help="Where to begin in topics this application has not read before.",
        ),
    ] = "earliest",
    standbys: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="How many other workers keep a copy of each task's state. Default: 0."
        ),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, metavar="N", help="Run N workers, a process each.")] = 1,
    at_least_once: Annotated[
        bool,
        typer.Option(
            "--at-least-once", help="Commit without transactions: after a crash, events may come again."
        ),
    ] = False,
    create_topics: Annotated[
        bool, typer.Option(help="Create the application's own topics where they are missing, or fail.")
    ] = True,
    create_inputs: Annotated[
        bool, typer.Option("--create-inputs", help="Create missing input topics too.")
    ] = False,
    partitions: Annotated[
        int | None, typer.Option(min=1, help="Partitions of created input topics. Default: 4.")
    ] = None,
    as_json: Json = False,
    exit_with_parent: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Detect the complex events of a rule file until stopped.

    Run it as often as there are machines: workers of one application share its partitions. Ctrl-C or SIGTERM
    hands over cleanly.

    Exit codes: 0 stopped, 1 the rules are wrong, 2 a broker, registry or topic is missing or does not fit the
    state, 3 another worker has taken this one's place, 4 there is no room left for state.
    """
    from tocsin.settings import Settings
    from tocsin.workers import Worker, WorkerSettings

    if exit_with_parent:
        _exit_with_parent()
    begin = _begin(start)
    settings = Settings.load(
        app=app_name,
        brokers=brokers,
        registry=registry,
        state_dir=state_dir,
        partitions=partitions,
        standbys=standbys,
        exactly_once=False if at_least_once else None,
    )
    plan = load_plan(file, settings)
    broker_addresses, registry_address = settings.addresses()
    stop = threading.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, lambda _number, _frame: stop.set())

    if processes > 1:
        if instance is not None:
            raise InputError("Several processes cannot all run as one --instance; leave it out.")
        # Of an option given twice, the last counts.
        raise typer.Exit(run_all([*sys.argv[1:], "--processes", "1"], processes, stop))
    reporter = _Reporter(as_json)
    worker = Worker(
        plan,
        WorkerSettings(
            brokers=broker_addresses,
            registry=registry_address,
            state_dir=settings.state_dir,
            instance=instance,
            commit_interval_ms=settings.commit_interval_ms,
            exactly_once=settings.exactly_once,
            create_topics=create_topics,
            create_inputs=create_inputs,
            partitions=settings.partitions,
            standbys=settings.standbys,
            state_memory_bytes=_bytes(settings.state_memory_mb),
            start=begin,
        ),
        on_status=reporter,
    )
    with closing(reporter):
        worker.run(stop)


def _begin(start: str) -> Literal["earliest", "latest"] | int:
    if start in {"earliest", "latest"}:
        return cast("Literal['earliest', 'latest']", start)
    return time_ms(start)


def _bytes(megabytes: int | None) -> int | None:
    return None if megabytes is None else megabytes * 1024 * 1024


class _Reporter:
    """Tells how the worker is doing: scripts all there is, people when its tasks change or are restored."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._last = ""
        self._restoring: Progress | None = None
        self._bars: dict[str, TaskID] = {}

    def __call__(self, status: "Status") -> None:
        if self._as_json:
            told = [{**asdict(task), "state": task.state.value} for task in status.tasks]
            emit({"instance": status.instance, "tasks": told})
            return
        tasks = ", ".join(f"{task.name} {task.state.value}" for task in status.tasks)
        line = f"{status.instance}: {tasks or 'no tasks'}"
        if line != self._last:
            note(line)
            self._last = line
        if err.is_terminal:
            self._show_restoring([task for task in status.tasks if task.state.value == "restoring"])

    def _show_restoring(self, tasks: "list[TaskStatus]") -> None:
        """Show a bar for each task that is being restored; they go when none is."""
        if tasks and self._restoring is None:
            self._restoring = Progress(console=err, transient=True, auto_refresh=False)
            self._restoring.start()
        if self._restoring is None:
            return
        for task in tasks:
            if task.name not in self._bars:
                self._bars[task.name] = self._restoring.add_task(f"restoring {task.name}")
            self._restoring.update(
                self._bars[task.name], completed=task.restored, total=max(task.to_restore, 1)
            )
        for name in self._bars.keys() - {task.name for task in tasks}:
            self._restoring.remove_task(self._bars.pop(name))
        self._restoring.refresh()
        if not tasks:
            self.close()

    def close(self) -> None:
        """Give the terminal back."""
        if self._restoring is not None:
            self._restoring.stop()
        self._restoring = None
        self._bars.clear()


def _exit_with_parent() -> None:
    """End this process when whoever started it is gone, which the end of its standard input tells."""

    def watch() -> None:
        while os.read(sys.stdin.fileno(), 1024):
            pass
        os._exit(os.EX_TEMPFAIL)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
