"""Options that several commands share, and the plan they lead to."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.errors import InputError
from tocsin.topology import Plan, compile_rules

if TYPE_CHECKING:
    from tocsin.settings import Settings

SUFFIX = ".tocsin"

RuleFile = Annotated[Path, typer.Argument(metavar="FILE", help="The rule file.", show_default=False)]
Rules = Annotated[
    Path | None,
    typer.Option(
        "--rules", "-r", metavar="FILE", help=f"The rule file. Default: the only *{SUFFIX} file here."
    ),
]
App = Annotated[
    str | None,
    typer.Option(
        "--app", metavar="NAME", help="Name of the application. Default: TOCSIN_APP, or the rule file's name."
    ),
]
Brokers = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT", help="Kafka brokers. Default: TOCSIN_BROKERS, or the local services."),
]
Registry = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Schema registry. Default: TOCSIN_REGISTRY, or the local services'."),
]
Json = Annotated[bool, typer.Option("--json", help="Write JSON, for scripts.")]


def load_plan(rules: Path | None, settings: "Settings") -> Plan:
    """Compile a rule file, or the only one in the working folder."""
    path = rules or only_rule_file()
    return compile_rules(read_rules(path), str(path), app=settings.app or path.name.removesuffix(SUFFIX))


def read_rules(path: Path) -> str:
    """Return the text of a rule file."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a rule file: its byte {error.start} is not UTF-8.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def only_rule_file() -> Path:
    """Return the only rule file in the working folder."""
    found = sorted(Path().glob(f"*{SUFFIX}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(f"There is no *{SUFFIX} file here. Name one with --rules.")
    raise InputError(
        f"There are several rule files here: {', '.join(map(str, found))}. Name one with --rules."
    )
