"""The command line as tests call it: in a folder of its own, with nothing of the user's environment."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tocsin.cli import app
from tocsin.topology import Plan, compile_rules

FIRE = """\
event Temp (area: string, value: double) on "temps" key area lateness 1 s idle 2 s;
event Smoke (area: string) on "smoke" key area lateness 1 s idle 2 s;

define Fire (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > 45) as t within 3 min from s
where  area = $a, value = t.value;
"""

Tocsin = Callable[..., Result]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: empty, and without services or settings in reach."""
    for name in os.environ:
        if name.startswith(("TOCSIN_", "DEMO_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tocsin(folder: Path) -> Tocsin:  # noqa: ARG001 – it is where the command runs
    """Runs `tocsin` with the given arguments."""

    def run(*arguments: str | Path, stdin: str | None = None) -> Result:
        return CliRunner().invoke(
            app, [str(argument) for argument in arguments], input=stdin, prog_name="tocsin"
        )

    return run


@pytest.fixture
def fire_file(folder: Path) -> Path:
    path = folder / "fire.tocsin"
    path.write_text(FIRE, encoding="utf-8")
    return path


@pytest.fixture
def compile_fire(unique: Callable[[str], str]) -> Callable[[str, str], Plan]:
    """Compiles the fire rules with given topics, for an application of the test's own."""

    def build(temps: str, smoke: str) -> Plan:
        text = FIRE.replace('"temps"', f'"{temps}"').replace('"smoke"', f'"{smoke}"')
        return compile_rules(text, app=unique("fire"))

    return build
