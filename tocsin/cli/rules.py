"""`tocsin check` and `tocsin fmt`: rule files without a broker."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from tocsin.cli.options import App, Brokers, Json, RuleFile, load_plan, read_rules
from tocsin.cli.output import complain, emit, note, out, warn
from tocsin.topology import Plan, RuleErrors, format_rules

if TYPE_CHECKING:
    from tocsin.settings import Settings

app = typer.Typer()


@app.command(epilog="Example: tocsin check fire.tocsin")
def check(
    file: RuleFile,
    app_name: App = None,
    live: Annotated[
        bool, typer.Option("--live", help="Hold them against the broker too: topics, partitions, retention.")
    ] = False,
    brokers: Brokers = None,
    as_json: Json = False,
) -> None:
    """Compile a rule file and say what it does, or all that is wrong with it.

    Exit codes: 0 the rules are right, 1 they are not. What may surprise, and what --live finds, are warnings.
    """
    from tocsin.settings import Settings

    settings = Settings.load(app=app_name, brokers=brokers)
    try:
        plan = load_plan(file, settings)
    except RuleErrors as errors:
        if not as_json:
            raise
        emit({"ok": False, **errors.to_dict()})
        raise typer.Exit(1) from None
    warnings = list(plan.warnings)
    if live:
        plan, concerns = _held_against_broker(plan, settings)
        warnings += concerns
    if as_json:
        emit({"ok": True, "file": str(file), **_described(plan), "warnings": warnings})
    else:
        out.print(_events(plan))
        out.print()
        out.print(_rules(plan))
        for warning in warnings:
            warn(warning)


@app.command(name="fmt", epilog="Example: tocsin fmt fire.tocsin")
def format_file(
    file: RuleFile,
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if it would.")
    ] = False,
) -> None:
    """Bring a rule file into the one true layout.

    Exit codes: 0 the file has the layout now, 1 it has mistakes, or --check found another layout.
    """
    text = read_rules(file)
    formatted = format_rules(text, str(file))
    if formatted == text:
        return
    if only_check:
        complain(f"{file} is not in the layout of 'tocsin fmt'.")
        raise typer.Exit(1)
    Path(file).write_text(formatted, encoding="utf-8")
    note(f"{file} formatted.")


def _held_against_broker(plan: Plan, settings: "Settings") -> tuple[Plan, list[str]]:
    """Return the plan that workers would run, and what they and their users should know."""
    from tocsin.workers import WorkerSettings
    from tocsin.workers.preflight import concerns, planned

    addresses, _ = settings.addresses()
    asked = WorkerSettings(brokers=addresses, state_dir=settings.state_dir)
    return planned(plan, asked), concerns(plan, asked)


def _described(plan: Plan) -> dict[str, object]:
    return {
        "app": plan.app,
        "events": [event.to_dict() for event in plan.types],
        "rules": [rule.to_dict() for rule in plan.summary()],
    }


def _events(plan: Plan) -> Table:
    taken = ("taken from",) if plan.takes_from else ()
    table = Table("event", "topic", *taken, box=None, header_style="dim")
    for event in plan.types:
        row = (event.signature, event.topic, event.application or "")
        table.add_row(*row[: len(table.columns)])
    return table


def _rules(plan: Plan) -> Table:
    table = Table("rule", "runs", "looks back", "state", box=None, header_style="dim")
    for rule in plan.summary():
        back = "no bound" if rule.horizon_ms is None else f"{rule.horizon_ms / 1000:g} s"
        table.add_row(rule.name, rule.kind, back, rule.state)
    return table
