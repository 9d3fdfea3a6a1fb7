"""`tocsin explain-plan` and `tocsin graph`: what a rule file becomes, in words and as a drawing."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tocsin.cli.options import App, Json, RuleFile, load_plan
from tocsin.cli.output import note
from tocsin.errors import InputError

app = typer.Typer()

MERMAID = frozenset({".mmd", ".mermaid"})


@app.command(name="explain-plan", epilog="Example: tocsin explain-plan fire.tocsin")
def explain_plan(file: RuleFile, app_name: App = None, as_json: Json = False) -> None:
    """Say what of a rule file runs where, what is shared, what is kept and for how long.

    With --json, the plan itself, as the engine takes it.

    Exit codes: 0 the rules are right, 1 they are not.
    """
    from tocsin.settings import Settings
    from tocsin.topology.rendering import explain

    plan = load_plan(file, Settings.load(app=app_name))
    typer.echo(plan.to_json() if as_json else explain(plan), nl=as_json)


@app.command(epilog="Example: tocsin graph fire.tocsin -o fire.svg")
def graph(
    file: RuleFile,
    form: Annotated[
        Literal["svg", "mermaid"] | None,
        typer.Option("--format", help="The form of the drawing. Default: as OUT is named, or svg."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="Where it goes. Default: the standard output."),
    ] = None,
    app_name: App = None,
) -> None:
    """Draw the event graph that the rules of a file share.

    Exit codes: 0 it is drawn, 1 the rules are wrong or OUT cannot be written.
    """
    from tocsin.settings import Settings
    from tocsin.topology.rendering import draw_mermaid, draw_svg

    plan = load_plan(file, Settings.load(app=app_name))
    mermaid = form == "mermaid" or (form is None and output is not None and output.suffix in MERMAID)
    drawing = draw_mermaid(plan) if mermaid else draw_svg(plan)
    if output is None:
        typer.echo(drawing, nl=False)
        return
    try:
        output.write_text(drawing, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{output} cannot be written: {error.strerror}.") from error
    note(f"{output} written.")
