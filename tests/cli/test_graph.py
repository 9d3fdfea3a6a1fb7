"""`tocsin explain-plan` and `tocsin graph`."""

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import Result

Tocsin = Callable[..., Result]


def test_a_plan_is_explained(tocsin: Tocsin, fire_file: Path) -> None:
    result = tocsin("explain-plan", fire_file)
    assert result.exit_code == 0
    assert "last Temp as t within 3 min from s" in result.stdout
    assert "tocsin.fire.Fire" in result.stdout
    assert not result.stderr


def test_scripts_get_the_plan_itself(tocsin: Tocsin, fire_file: Path) -> None:
    plan = json.loads(tocsin("explain-plan", fire_file, "--app", "site-7", "--json").stdout)
    assert plan["app"] == "site-7"
    assert plan["nodes"][-1]["kind"] == "define"


def test_a_graph_goes_to_the_standard_output(tocsin: Tocsin, fire_file: Path) -> None:
    result = tocsin("graph", fire_file)
    assert result.exit_code == 0
    assert ET.fromstring(result.stdout).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 – our own
    assert tocsin("graph", fire_file, "--format", "mermaid").stdout.splitlines()[1] == "flowchart LR"


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("fire.svg", [], "<svg"),
        ("fire.txt", [], "<svg"),
        ("fire.mmd", [], "%% fire"),
        ("fire.mmd", ["--format", "svg"], "<svg"),
        ("fire.md", ["--format", "mermaid"], "%% fire"),
    ],
)
def test_a_graph_goes_to_a_file(
    tocsin: Tocsin, fire_file: Path, folder: Path, name: str, options: list[str], start: str
) -> None:
    result = tocsin("graph", fire_file, "-o", name, *options)
    assert result.exit_code == 0
    assert not result.stdout
    assert result.stderr == f"{name} written.\n"
    assert (folder / name).read_text().startswith(start)


@pytest.mark.parametrize("command", ["explain-plan", "graph"])
def test_a_file_that_is_wrong_is_told_as_everywhere(tocsin: Tocsin, fire_file: Path, command: str) -> None:
    missing = tocsin(command, "none.tocsin")
    assert missing.exit_code == 1
    assert missing.stderr == "none.tocsin cannot be read: No such file or directory.\n"
    fire_file.write_text(fire_file.read_text().replace("from   Smoke", "from   Smok"))
    wrong = tocsin(command, fire_file)
    assert wrong.exit_code == 1
    assert wrong.stderr.startswith(f"{fire_file}:5:8: error: ")
    assert not wrong.stdout


def test_an_output_that_cannot_be_written_is_a_sentence(tocsin: Tocsin, fire_file: Path) -> None:
    result = tocsin("graph", fire_file, "-o", "nowhere/fire.svg")
    assert result.exit_code == 1
    assert result.stderr == "nowhere/fire.svg cannot be written: No such file or directory.\n"
    assert tocsin("graph", fire_file, "-o", ".").stderr == ". cannot be written: Is a directory.\n"


def test_an_unknown_format_is_a_sentence(tocsin: Tocsin, fire_file: Path) -> None:
    result = tocsin("graph", fire_file, "--format", "png")
    assert result.exit_code == 1
    assert "'png' is not one of 'svg', 'mermaid'" in result.stderr
