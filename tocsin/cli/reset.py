"""`tocsin reset`: an application begins anew."""

from pathlib import Path
from typing import Annotated

import typer

from tocsin.cli.options import App, Brokers, RuleFile, load_plan
from tocsin.cli.output import note

app = typer.Typer()


@app.command(epilog="Example: tocsin reset fire.tocsin && tocsin run fire.tocsin --from 2026-01-02T09:00:00Z")
def reset(
    file: RuleFile,
    app_name: App = None,
    brokers: Brokers = None,
    state_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where state is kept. Default: .tocsin/state.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget what an application has read and kept; the next worker begins where its --from says.

    Deletes its offsets, its changelog and its local state. Input topics and what was detected stay: a complex
    event that is detected again has the same identity as before. All workers must be stopped.

    Exit codes: 0 it begins anew, 1 the rules are wrong or you said no, 2 a broker is missing or workers run.
    """
    from tocsin.settings import Settings
    from tocsin.workers import WorkerSettings
    from tocsin.workers.reset import reset as forget

    settings = Settings.load(app=app_name, brokers=brokers, state_dir=state_dir)
    plan = load_plan(file, settings)
    addresses, _ = settings.addresses()
    if not yes:
        typer.confirm(f"Forget all that '{plan.app}' on {addresses} has read and kept?", abort=True, err=True)
    forget(plan, WorkerSettings(brokers=addresses, state_dir=settings.state_dir))
    note(f"{plan.app} begins anew.")
