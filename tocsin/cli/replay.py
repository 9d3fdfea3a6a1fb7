"""`tocsin replay`: the rules over a stored log."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from tocsin.cli.options import App, Brokers, Registry, load_plan
from tocsin.cli.output import err, warn
from tocsin.errors import InputError, UnavailableError
from tocsin.topology import Plan
from tocsin.values import time_ms, time_text
from tocsin.vocabulary import suggestion

if TYPE_CHECKING:
    from tocsin.replay import Replay, Stream, Summary
    from tocsin.settings import Settings

app = typer.Typer()

STDOUT = "-"


@app.command(
    epilog="Examples: tocsin replay fire.tocsin january.jsonl february.jsonl\n\n"
    "tocsin replay fire.tocsin temps.parquet --event Temp --output fires.jsonl\n\n"
    "tocsin replay fire.tocsin --from 2026-01-02T09:00:00Z --to 2026-01-02T10:00:00Z",
)
def replay(  # noqa: PLR0913, PLR0917 – a parameter an option
    rules: Annotated[Path, typer.Argument(metavar="RULES", help="The rule file.", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="The log: JSON lines, Avro object container files, Parquet. Default: the input topics.",
            show_default=False,
        ),
    ] = None,
    event_name: Annotated[
        str | None,
        typer.Option("--event", metavar="TYPE", help="All that is in the files are events of that type."),
    ] = None,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topic", metavar="TOPIC", help="Read only that input topic; may be given repeatedly."),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Begin topics with the first record of that time, in milliseconds or ISO 8601. "
            "Default: with the oldest.",
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            "--to",
            "--until",
            metavar="TIME",
            help="Let time go on to there, and no further. Default: to the last event.",
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where complex events go, as JSON lines; - is standard output.",
        ),
    ] = STDOUT,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Keep the records that are read from topics, to be replayed from there (.jsonl).",
        ),
    ] = None,
    app_name: App = None,
    brokers: Brokers = None,
    registry: Registry = None,
) -> None:
    """Detect the complex events of a rule file over a stored log, as fast as it can be read.

    The log is in files, or in the input topics of the rules. Nothing is published, and no worker disturbed;
    what was detected live has the same identity here.

    Exit codes: 0 the log is read to its end, 1 the rules or the log are wrong, 2 the broker, registry or
    topic is missing, or pyarrow, which Parquet needs.
    """
    from tocsin.replay import InputSchemas, Replay, TopicLog, open_files
    from tocsin.schemas import Registry as SchemaRegistry
    from tocsin.settings import Settings

    until_ms = None if until is None else time_ms(until)
    from_ms = None if start is None else time_ms(start)
    settings = Settings.load(app=app_name, brokers=brokers, registry=registry)
    plan = load_plan(rules, settings)
    if files and (topics or start is not None or save is not None):
        raise InputError("--topic, --from and --save are for topics; files are read as they are.")
    if not files and event_name is not None:
        raise InputError("--event is for files; what is in topics says itself what it is.")
    with ExitStack() as opened:
        address = _registry_address(settings)
        known = InputSchemas(
            plan, opened.enter_context(closing(SchemaRegistry(address))) if address else None
        )
        if files:
            log: Sequence[Stream] = open_files(files, plan, known, event_name)
            for stream in log:
                opened.callback(stream.close)
        else:
            keep = opened.enter_context(_opened(save)) if save else None
            bootstrap, _ = settings.addresses()
            for schema in _published(plan, bootstrap, settings):
                known.know(schema)
            on_broker = TopicLog(bootstrap, _chosen(plan, topics), from_ms=from_ms, keep=keep)
            log = opened.enter_context(on_broker).streams
        _run(Replay(plan, log, known, until_ms=until_ms), output)


def _registry_address(settings: "Settings") -> str | None:
    """Return where schemas are looked up, for files as well; they need no broker."""
    with suppress(UnavailableError):
        return settings.addresses()[1]
    return settings.registry


def _published(plan: Plan, brokers: str, settings: "Settings") -> Iterator[str]:
    """Yield the schemas of what is taken from other applications: they tell them, also without a registry."""
    from tocsin.workers import WorkerSettings
    from tocsin.workers.following import read_marks

    for app in plan.takes_from:
        card = read_marks(WorkerSettings(brokers=brokers, state_dir=settings.state_dir), app).card
        if card is not None:
            yield from (published.schema for published in card.types.values())


def _chosen(plan: Plan, topics: list[str] | None) -> Sequence[str]:
    for topic in topics or ():
        if topic not in plan.input_topics:
            raise InputError(f"The rules read no topic '{topic}'{suggestion(topic, plan.input_topics)}")
    return sorted(set(topics or plan.input_topics))


def _run(replay: "Replay", output: str) -> None:
    with _opened(output) as out, _progress(replay, output) as went_on:
        for found in replay.run():
            out.writelines(f"{event.to_json()}\n" for event in found)
            went_on()
    err.print(_table(replay.summary))
    refused = replay.summary.first_refused
    if refused is not None:
        warn(
            f"Records were refused, the first at {refused.topic}/{refused.partition}/{refused.offset}: "
            f"{refused.message}."
        )


@contextmanager
def _opened(output: str) -> Iterator[TextIO]:
    if output == STDOUT:
        yield sys.stdout
        sys.stdout.flush()
        return
    try:
        with Path(output).open("w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}.") from error


@contextmanager
def _progress(replay: "Replay", output: str) -> Iterator[Callable[[], None]]:
    """Show how far it is, where nothing else is shown."""
    if not err.is_terminal or (output == STDOUT and sys.stdout.isatty()):
        yield lambda: None
        return
    columns = (
        TextColumn("Replaying"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]:,.0f} events/s"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task("", total=1.0, rate=0.0)
        yield lambda: bar.update(task, completed=replay.progress, rate=_rate(replay.summary))


def _table(summary: "Summary") -> Table:
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(justify="right")
    for name, count in summary.detected.items():
        table.add_row(name, f"{count:,}", style="bold")
    table.add_row("events read", f"{summary.read:,}")
    table.add_row("late", f"{summary.late:,}")
    table.add_row("refused", f"{summary.refused:,}")
    table.add_row("events/s", f"{_rate(summary):,.0f}")
    if summary.until_ms is not None:
        table.add_row("until", time_text(summary.until_ms))
    return table


def _rate(summary: "Summary") -> float:
    return summary.read / max(summary.seconds, 1e-3)
