"""`tocsin demo`: everything at once, on this machine, in a minute."""

from typing import Annotated

import typer

app = typer.Typer()


@app.command(epilog="Examples: tocsin demo\n\nDEMO_SECONDS=20 tocsin demo")
def demo(
    seconds: Annotated[
        float | None,
        typer.Option(
            envvar="DEMO_SECONDS",
            min=1,
            help="Feed for that long, then compare what was detected with what should have been. "
            "Default: until Ctrl-C; 15 without a terminal.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another number, another feed.")] = 1,
) -> None:
    """Start a broker, a registry, two workers and a sensor feed, and watch fires being detected.

    Exit codes: 0 every expected complex event was seen exactly once and nothing else, or Ctrl-C; 1 not so;
    2 Java or Maven is missing.
    """
    from tocsin.demo import run

    raise typer.Exit(run(seconds, seed))
