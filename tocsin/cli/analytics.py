"""`tocsin analytics`: Spark over the complex events."""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from tocsin.cli.options import App, Brokers, Registry, Rules, load_plan
from tocsin.errors import UnavailableError

app = typer.Typer()
group = typer.Typer(help="Keep tables of the complex events with Spark.")
app.add_typer(group, name="analytics")


@group.callback()
def analytics() -> None:
    """Keep tables of the complex events with Spark."""


@group.command(epilog="Example: tocsin analytics run --output tables --available-now")
def run(
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the tables are kept, in Parquet.")
    ] = Path(".tocsin/tables"),
    every_s: Annotated[
        float, typer.Option("--every", min=0, metavar="SECONDS", help="From one batch to the next.")
    ] = 10.0,
    available_now: Annotated[
        bool, typer.Option("--available-now", help="Read what is there, and end.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where Spark keeps how far it has read. Default: in the output."),
    ] = None,
    rules: Rules = None,
    app_name: App = None,
    brokers: Brokers = None,
    registry: Registry = None,
) -> None:
    """Count the complex events of a rule file by type and minute, until stopped.

    Exit codes: 0 stopped or done, 1 the rules or options are wrong, 2 Spark, Java, Maven, a broker, a
    registry or a topic is missing.
    """
    from tocsin.schemas import event_schema
    from tocsin.settings import Settings

    try:
        from tocsin.analytics import AnalyticsSettings
        from tocsin.analytics import run as run_analytics
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        raise UnavailableError(str(error)) from error

    settings = Settings.load(app=app_name, brokers=brokers, registry=registry)
    plan = load_plan(rules, settings)
    broker_addresses, registry_address = settings.addresses()
    until = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: until.set())
    run_analytics(
        AnalyticsSettings(
            brokers=broker_addresses,
            app=plan.app,
            registry=registry_address,
            topics=[event.topic for event in plan.defined_types],
            schemas={event.topic: event_schema(event.to_dict(), plan.app) for event in plan.defined_types},
            output=output,
            checkpoint=checkpoint,
            trigger="available_now" if available_now else every_s,
            until=until,
        )
    )
