"""`tocsin services` and what commands say when a tool is missing."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Tocsin = Callable[..., Result]


def test_services_come_are_found_and_go(tocsin: Tocsin, fire_file: Path) -> None:
    assert fire_file.exists()
    result = tocsin("services", "up", "--detach", "--json")
    try:
        assert result.exit_code == 0, result.stderr
        said = json.loads(result.stdout)
        assert json.loads(tocsin("services", "status", "--json").stdout) == said
        listed = tocsin("services", "status").stdout
        assert listed.startswith(
            f"default: brokers {said['bootstrap']}, registry {said['registry_url']}, since "
        )
        # Commands use them without being told.
        published = tocsin("publish", "Smoke", "area=hall")
        assert published.exit_code == 2
        assert f"Topic 'smoke' does not exist on {said['bootstrap']}." in published.stderr
    finally:
        down = tocsin("services", "down")
    assert (down.exit_code, down.stderr) == (0, "Stopped.\n")
    assert tocsin("services", "down").stderr == "No services 'default' are running.\n"


def test_scripts_can_ask_whether_services_run(tocsin: Tocsin) -> None:
    result = tocsin("services", "status")
    assert (result.exit_code, result.stderr) == (2, "No services are running.\n")
    result = tocsin("services", "status", "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", "")


@pytest.mark.parametrize("command", [["services", "up"], ["demo"]])
def test_without_java_there_is_a_sentence(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = tocsin(*command)
    assert result.exit_code == 2
    assert "Java" in result.stderr
    assert "Traceback" not in result.stderr


def test_without_spark_there_is_a_sentence(
    tocsin: Tocsin, fire_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fire_file.exists()
    for name in list(sys.modules):
        if name.startswith(("tocsin.analytics", "pyspark")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    result = tocsin("analytics", "run")
    assert result.exit_code == 2
    assert "tocsin[spark]" in result.stderr
