"""`tocsin services`: a broker and a registry on this machine."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.options import Json
from tocsin.cli.output import emit, note, out
from tocsin.values import time_text

if TYPE_CHECKING:
    from tocsin.services import RunningSet

app = typer.Typer()
group = typer.Typer(help="Run a Kafka broker and a schema registry on this machine, for trying things out.")
app.add_typer(group, name="services")

Name = Annotated[
    str, typer.Option(metavar="NAME", help="Name of the set, if there are several side by side.")
]
DEFAULT = "default"


@group.command(epilog="Example: tocsin services up --detach")
def up(
    name: Name = DEFAULT,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Return when they answer, and let them run.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Start the services; without --detach, Ctrl-C stops them.

    Exit codes: 0 they ran, 2 Java or Maven is missing or a service does not start.
    """
    from tocsin import services

    with services.ServiceSet.start(name, progress=note) as started:
        _show([started.running], as_json)
        if detach:
            started.detach()
        else:
            note("Ctrl-C stops them.")
            try:
                started.wait()
            except KeyboardInterrupt:
                note("Stopping.")


@group.command(epilog="Example: tocsin services down")
def down(name: Name = DEFAULT) -> None:
    """Stop the services and remove their data.

    Exit codes: 0 they are stopped, also if they were before.
    """
    from tocsin import services

    note("Stopped." if services.down(name) else f"No services '{name}' are running.")


@group.command(epilog="Example: tocsin services status --json")
def status(as_json: Json = False) -> None:
    """List the sets of services that are running.

    Exit codes: 0 there are some, 2 there are none.
    """
    from tocsin import services

    running = services.status()
    _show(running, as_json)
    if not running:
        raise typer.Exit(2)


def _show(running: list["RunningSet"], as_json: bool) -> None:
    for each in running:
        if as_json:
            emit(asdict(each))
        else:
            since = time_text(each.started_ms)
            out.print(f"{each.name}: brokers {each.bootstrap}, registry {each.registry_url}, since {since}")
    if not running and not as_json:
        note("No services are running.")
