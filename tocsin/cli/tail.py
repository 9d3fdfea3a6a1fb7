"""`tocsin tail`: complex events as they are detected."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from tocsin.cli.options import App, Brokers, Json, Registry, Rules, load_plan
from tocsin.cli.output import complain, out
from tocsin.values import time_text
from tocsin.vocabulary import complex_type

if TYPE_CHECKING:
    from tocsin.complex_event import ComplexEvent

app = typer.Typer()

FOREVER_S = float("inf")
READ_S = 0.5


@app.command(epilog="Example: tocsin tail Fire --from earliest --max 10")
def tail(  # noqa: PLR0913, PLR0917 – a parameter an option
    type_name: Annotated[
        str, typer.Argument(metavar="TYPE", help="The complex event type.", show_default=False)
    ],
    start: Annotated[
        Literal["earliest", "latest"],
        typer.Option("--from", help="Begin with the oldest events, or with new ones."),
    ] = "latest",
    maximum: Annotated[
        int | None, typer.Option("--max", min=1, metavar="N", help="Stop after that many events.")
    ] = None,
    timeout_s: Annotated[
        float | None, typer.Option("--timeout", min=0, metavar="SECONDS", help="Stop after that time.")
    ] = None,
    rules: Rules = None,
    app_name: App = None,
    brokers: Brokers = None,
    registry: Registry = None,
    as_json: Json = False,
) -> None:
    """Show the complex events of a type, each once, until stopped.

    Exit codes: 0 stopped, 1 the type is unknown or --timeout came before --max events, 2 the broker,
    registry or topic is missing.
    """
    from tocsin.schemas import event_schema
    from tocsin.settings import Settings
    from tocsin.subscriber import Subscriber

    settings = Settings.load(app=app_name, brokers=brokers, registry=registry)
    plan = load_plan(rules, settings)
    event_type = complex_type(plan, type_name)
    deadline = time.monotonic() + (FOREVER_S if timeout_s is None else timeout_s)
    seen = 0
    broker_addresses, registry_address = settings.addresses()
    with (
        suppress(KeyboardInterrupt),
        Subscriber(
            broker_addresses,
            registry_address,
            [event_type.topic],
            schemas=[event_schema(event_type.to_dict(), plan.app)],
            start=start,
        ) as events,
    ):
        while seen != maximum and (left_s := deadline - time.monotonic()) > 0:
            event = events.read(min(left_s, READ_S))
            if event is not None:
                seen += 1
                _show(event, as_json)
        if maximum is not None and seen < maximum:
            complain(f"Only {seen} of {maximum} events came within {timeout_s:g} s.")
            raise typer.Exit(1)


def _show(event: "ComplexEvent", as_json: bool) -> None:
    if as_json:
        typer.echo(event.to_json())
        return
    attributes = " ".join(f"{name}={value}" for name, value in event.attributes.items())
    out.print(
        Text.assemble(
            (time_text(event.end_ms), "dim"),
            " ",
            (event.type, "bold"),
            f" {attributes} ",
            (event.identity, "dim"),
        )
    )
