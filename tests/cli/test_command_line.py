"""How every command behaves: help, exit codes, and sentences instead of tracebacks."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.testing import Result

import tocsin as package
from tocsin.cli import app

Tocsin = Callable[..., Result]


def commands(of: typer.Typer = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command there is."""
    for command in of.registered_commands:
        assert command.callback is not None
        yield (*path, command.name or command.callback.__name__)
    for group in of.registered_groups:
        assert group.typer_instance is not None
        yield from commands(
            group.typer_instance, (*path, group.name) if isinstance(group.name, str) else path
        )


COMMANDS = sorted(commands())


def test_all_commands_are_found() -> None:
    assert COMMANDS == [
        ("analytics", "run"),
        ("check",),
        ("demo",),
        ("explain-plan",),
        ("fmt",),
        ("graph",),
        ("publish",),
        ("replay",),
        ("reset",),
        ("run",),
        ("services", "down"),
        ("services", "status"),
        ("services", "up"),
        ("status",),
        ("tail",),
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example_and_its_exit_codes(
    tocsin: Tocsin, command: tuple[str, ...]
) -> None:
    result = tocsin(*command, "--help")
    assert result.exit_code == 0
    assert "Exit codes: 0 " in result.stdout
    assert f"tocsin {' '.join(command)}" in result.stdout.split("Example", 1)[1]


def test_without_a_command_there_is_help(tocsin: Tocsin) -> None:
    result = tocsin()
    assert result.exit_code == 0
    assert "Usage: tocsin" in result.stdout


def test_the_version_is_the_distributions(tocsin: Tocsin) -> None:
    assert tocsin("--version").stdout == f"tocsin {version('tocsin')}\n"


def test_the_public_names_are_where_they_are_said_to_be() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Publihser'"):
        _ = package.Publihser


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chekc"], "No such command 'chekc'. Did you mean 'check'? See `tocsin --help`."),
        (["check"], "Missing argument 'FILE'. See `tocsin check --help`."),
        (["tail", "Fire", "--max", "0"], "See `tocsin tail --help`."),
        (["--frobnicate"], "No such option: --frobnicate"),
    ],
)
def test_wrong_usage_is_wrong_input(tocsin: Tocsin, arguments: list[str], sentence: str) -> None:
    result = tocsin(*arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_failure_of_ours_is_admitted(
    tocsin: Tocsin, fire_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("tocsin.cli.options.compile_rules", fail)
    result = tocsin("check", fire_file)
    assert result.exit_code == 3
    assert result.stderr == (
        "This should not have happened: ZeroDivisionError: by zero. TOCSIN_DEBUG=1 shows where.\n"
    )
    monkeypatch.setenv("TOCSIN_DEBUG", "1")
    assert "Traceback" in tocsin("check", fire_file).stderr


def test_help_is_quick_because_it_loads_little() -> None:
    """What costs time to import is imported by the commands that need it."""
    code = "import sys; import tocsin.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, env=dict(os.environ)
    ).stdout.split()
    assert {"confluent_kafka", "avro", "pydantic", "pyspark", "rocksdict"} & set(loaded) == set()
