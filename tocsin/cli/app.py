"""The root command: its options, its subcommands, and how every run ends."""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from tocsin import __version__
from tocsin.cli import analytics, demo, graph, publish, replay, reset, rules, run, services, status, tail
from tocsin.cli.output import complain
from tocsin.topology import TocsinError

OK = 0
WRONG_INPUT = 1
INTERNAL = 3

EPILOG = (
    "Exit codes: 0 all is well; 1 the rules or the input are wrong; 2 the environment is: a tool, broker, "
    "registry or topic is missing; 3 Tocsin is (TOCSIN_DEBUG=1 shows where)."
)


class Commands(TyperGroup):
    """Ends every run with one of the documented codes, and every failure with a sentence."""

    def main(  # type: ignore[override]  # it always exits, so it has nothing to return
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,  # noqa: ANN401 – passed on as it came
    ) -> NoReturn:
        """Run the command line and exit."""
        extra["standalone_mode"] = False
        try:
            code = super().main(args, prog_name, **extra)
        except Exception as error:  # noqa: BLE001 – the last place where a sentence can be made of it
            if os.environ.get("TOCSIN_DEBUG"):
                traceback.print_exception(error)
            sys.exit(_told(error))
        sys.exit(code if isinstance(code, int) else OK)


app = typer.Typer(
    cls=Commands,
    help="Find patterns over many events in Kafka, each exactly once.",
    epilog=EPILOG,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Find patterns over many events in Kafka, each exactly once."""
    if version:
        typer.echo(f"tocsin {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


for module in (rules, graph, run, status, replay, reset, publish, tail, services, demo, analytics):
    app.add_typer(module.app)


def main() -> None:
    """Run the command line."""
    app()


def _told(error: Exception) -> int:
    """Tell the user what went wrong and return the exit code for it."""
    if isinstance(error, typer.TyperException):
        context: typer.Context | None = getattr(error, "ctx", None)
        command = context.command_path if context else "tocsin"
        complain(f"{error.format_message()} See `{command} --help`.")
        return WRONG_INPUT
    code = getattr(error, "exit_code", WRONG_INPUT if isinstance(error, TocsinError) else None)
    if code is None:
        complain(
            f"This should not have happened: {type(error).__name__}: {error}. TOCSIN_DEBUG=1 shows where."
        )
        return INTERNAL
    complain(str(error))
    return int(code)
