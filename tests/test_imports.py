"""Dependencies between the folders point one way: the table of ARCHITECTURE.md, held against every import."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def permissions() -> dict[str, set[str]]:
    """For each folder of ARCHITECTURE.md's table, the folders that it may import, itself included."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(\w+)/` \| `[\w.]+` \|.*\| ([^|]+) \|$", text, re.MULTILINE)
    folders = {folder for folder, _ in rows}
    allowed = {}
    for folder, words in rows:
        named = set(re.findall(r"\w+", words)) & folders
        allowed[folder] = {folder} | (folders if words == "all of them" else named)
    return allowed


def folder_of(module: str) -> str:
    """The folder that a module of ours lives in: `tocsin._engine` in engine, `tocsin.cli` in tocsin."""
    second = [*module.split("."), ""][1]
    return {"_engine": "engine"}.get(second, second if second in permissions() else "tocsin")


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(level=level) if level:
                yield "."
            case ast.ImportFrom(module="tocsin", names=names):
                yield from (f"tocsin.{alias.name}" for alias in names)
            case ast.ImportFrom(module=str(module)):
                yield module


def violations(folder: str, sources: Iterable[tuple[str, str]]) -> list[str]:
    """What is wrong in a folder's sources. Outside of the package, as in tests, all may be imported."""
    allowed = permissions()
    found = []
    for path, source in sources:
        for module in imported(source):
            top = module.partition(".")[0]
            if top == "" and folder in allowed:
                found.append(f"{path}: relative import; name the module in full")
            elif top in allowed and top != "tocsin":
                found.append(f"{path}: imports plain `{module}`, which is `tocsin.{module}`")
            elif top == "tocsin" and folder_of(module) not in allowed.get(folder, allowed):
                found.append(f"{path}: {folder} may not import {module}")
    return sorted(set(found))


def sources(folder: str) -> list[tuple[str, str]]:
    return [(str(path.relative_to(ROOT)), path.read_text()) for path in sorted((ROOT / folder).rglob("*.py"))]


def test_the_table_lists_every_folder() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages <= set(permissions())
    assert permissions()["topology"] == {"topology"}
    assert permissions()["workers"] == {"workers", "topology", "schemas", "engine"}


@pytest.mark.parametrize("folder", sorted(permissions()))
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    assert violations(folder, sources(folder)) == []


@pytest.mark.parametrize("folder", ["tests", "bench", "examples"])
def test_outsiders_use_the_import_names(folder: str) -> None:
    assert violations(folder, sources(folder)) == []


@pytest.mark.parametrize(
    ("folder", "line", "complaint"),
    [
        ("topology", "import tocsin.workers", "topology may not import tocsin.workers"),
        ("topology", "from tocsin.schemas.wire import Frame", "topology may not import tocsin.schemas.wire"),
        ("topology", "from tocsin import _engine", "topology may not import tocsin._engine"),
        ("services", "def late():\n    from tocsin import workers", "services may not import tocsin.workers"),
        ("workers", "from tocsin.cli import main", "workers may not import tocsin.cli"),
        ("workers", "import topology", "imports plain `topology`, which is `tocsin.topology`"),
        (
            "workers",
            "from workers.task import Task",
            "imports plain `workers.task`, which is `tocsin.workers.task`",
        ),
        ("workers", "from . import task", "relative import; name the module in full"),
        ("workers", "from .task import Task", "relative import; name the module in full"),
    ],
)
def test_a_violation_is_caught(folder: str, line: str, complaint: str) -> None:
    assert f"planted.py: {complaint}" in violations(folder, [("planted.py", line)])


@pytest.mark.parametrize(
    ("folder", "line"),
    [
        ("workers", "from tocsin import _engine"),
        ("workers", "from tocsin.topology import Plan"),
        ("services", "from tocsin.deploy import jars"),
        ("tocsin", "from tocsin.workers import Worker"),
        ("topology", "import json"),
    ],
)
def test_what_is_allowed_is_not_caught(folder: str, line: str) -> None:
    assert violations(folder, [("planted.py", line)]) == []
