"""`tocsin status`: which worker has which task, and how it is doing."""

import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tocsin.cli.options import SUFFIX, App, Brokers, Json, only_rule_file
from tocsin.cli.output import emit, note, out

if TYPE_CHECKING:
    from tocsin.settings import Settings
    from tocsin.workers.status import Told, ToldStandby, Watch

app = typer.Typer()

REFRESH_S = 1.0
SILENT_MS = 15_000
"""A worker that tells nothing for so long is dead, or cannot reach the broker."""
NARROW = 14
KIB = 1024


@app.command(epilog="Example: tocsin status fire.tocsin --watch")
def status(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[APP|FILE]",
            help=f"The application, or its rule file. Default: the only *{SUFFIX} file here.",
            show_default=False,
        ),
    ] = None,
    app_name: App = None,
    brokers: Brokers = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Show it anew every second.")] = False,
    as_json: Json = False,
) -> None:
    """Show the tasks of an application: who has them, how far they are, and what they keep.

    Lag is what a task has not read yet, in records. Its watermark is the time up to which it has handled all
    events. Rates are of the last few seconds. --json has more, and in full.

    Exit codes: 0 shown, 1 it is not clear which application is meant, 2 the broker is missing, or no worker
    has run yet.
    """
    from tocsin.settings import Settings
    from tocsin.workers import WorkerSettings
    from tocsin.workers.status import Watch

    settings = Settings.load(app=app_name, brokers=brokers)
    application = _application(target, settings)
    addresses, _ = settings.addresses()
    told = Watch(WorkerSettings(brokers=addresses, state_dir=settings.state_dir), application)
    with closing(told), suppress(KeyboardInterrupt):
        if as_json:
            _emit(application, told)
            while watch:
                time.sleep(REFRESH_S)
                _emit(application, told)
        elif watch:
            with Live(console=out, auto_refresh=False) as live:
                while True:
                    live.update(_table(told.read(), told.standbys()), refresh=True)
                    time.sleep(REFRESH_S)
        elif tasks := told.read():
            out.print(_table(tasks, told.standbys()))
        else:
            note(f"No worker of {application} has a task now.")


def _application(target: str | None, settings: "Settings") -> str:
    if target is not None and not target.endswith(SUFFIX):
        return target
    return settings.app or (Path(target) if target else only_rule_file()).name.removesuffix(SUFFIX)


def _emit(application: str, watch: "Watch") -> None:
    tasks = [told.to_json() for told in watch.read()]
    emit({"app": application, "tasks": tasks, "standbys": [told.to_json() for told in watch.standbys()]})


def _table(tasks: "list[Told]", standbys: "Iterable[ToldStandby]" = ()) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("task", no_wrap=True)
    table.add_column("state", no_wrap=True)
    # Where the terminal is narrow, this one takes more lines.
    table.add_column("worker", overflow="fold", min_width=NARROW)
    for heading in ("lag", "watermark", "kept", "read/s", "found/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    now_ms = int(time.time() * 1000)
    for told in tasks:
        task = told.task
        table.add_row(
            task.name,
            _state(told, now_ms),
            f"{told.instance} ({told.host}:{told.process})",
            "" if task.lag is None else f"{task.lag:,}",
            f"{_span(told.told_ms - task.watermark_ms)} ago" if task.watermark_ms > 0 else "",
            _size(task.state_bytes),
            f"{told.read_rate:,.0f}",
            f"{told.detected_rate:,.0f}",
        )
    for kept in standbys:
        behind = f"standby, {kept.standby.behind:,} behind" if kept.standby.behind else "standby"
        table.add_row(
            kept.standby.name,
            _unless_silent(Text(behind), now_ms - kept.told_ms),
            kept.instance,
            "",
            "",
            _size(kept.standby.state_bytes),
        )
    return table


def _state(told: "Told", now_ms: int) -> Text:
    task = told.task
    text = Text(task.state.value, "green" if task.state.value == "running" else "yellow")
    if task.state.value == "restoring" and task.to_restore:
        text = Text(f"restoring {task.restored / task.to_restore:.0%}", "yellow")
    return _unless_silent(text, now_ms - told.told_ms)


def _unless_silent(text: Text, age_ms: int) -> Text:
    return Text(f"silent {_span(age_ms)}", "red") if age_ms > SILENT_MS else text


def _span(length_ms: int) -> str:
    seconds = length_ms / 1_000
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < KIB:
            return f"{count:.0f} {unit}"
        count /= KIB
    return f"{count:.1f} GiB"
