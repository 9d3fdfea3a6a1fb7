"""What the distribution holds, against what the tree holds; and the compose file against what it starts."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tocsin.settings import Settings

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = SETTINGS["tool"]["setuptools"]
FOLDERS = sorted(path.parent for path in ROOT.glob("*/__init__.py"))


def packages_in_the_tree() -> dict[str, str]:
    """Every package, with its folder: `tocsin.topology.passes` and `topology/passes`."""
    found = {}
    for init in (init for folder in FOLDERS for init in folder.rglob("__init__.py")):
        folder = init.parent.relative_to(ROOT)
        parts = folder.parts if folder.parts[0] == "tocsin" else ("tocsin", *folder.parts)
        found[".".join(parts)] = folder.as_posix()
    return found


def test_every_package_is_listed_and_mapped() -> None:
    assert sorted(SETUPTOOLS["packages"]) == sorted(packages_in_the_tree())
    assert SETUPTOOLS["package-dir"] == packages_in_the_tree()


def test_every_data_file_is_included() -> None:
    wanted = {".avsc", ".typed", ".pyi", ".tocsin"}
    data = {path for folder in FOLDERS for path in folder.rglob("*") if path.suffix in wanted}
    data |= set(ROOT.glob("deploy/*/pom.xml"))
    included = {
        path
        for package, patterns in SETUPTOOLS["package-data"].items()
        for pattern in patterns
        for path in (ROOT / SETUPTOOLS["package-dir"][package]).glob(pattern)
    }
    assert sorted(data) == sorted(included)
    assert ROOT / "tocsin" / "py.typed" in included


def locked(name: str) -> dict[str, str]:
    """The entries of a lock, by what is required."""
    lock = (ROOT / "requirements" / f"{name}.lock").read_text()
    entries = re.split(r"^(?=\w)", lock, flags=re.MULTILINE)[1:]
    return {entry.partition("==")[0]: entry for entry in entries}


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=]", requirement)[0] for requirement in requirements}


@pytest.mark.parametrize("name", ["build", "dev", "run"])
def test_a_lock_has_a_version_and_a_hash_for_everything_and_names_no_place(name: str) -> None:
    for entry in locked(name).values():
        assert re.match(r"[\w.-]+==\d", entry)
        assert "--hash=sha256:" in entry
        assert "://" not in entry


def test_the_locks_hold_what_is_required_and_agree() -> None:
    project = SETTINGS["project"]
    groups = SETTINGS["dependency-groups"]
    assert names(groups["build"]) == names(SETTINGS["build-system"]["requires"])
    assert names(groups["build"]) <= locked("build").keys()
    assert names(project["dependencies"]) <= locked("run").keys()
    tools = [requirement for requirement in groups["dev"] if isinstance(requirement, str)]
    assert names(tools + project["optional-dependencies"]["spark"]) <= locked("dev").keys()
    assert locked("build").items() <= locked("dev").items()
    assert locked("run").items() <= locked("dev").items()


@pytest.fixture
def compose() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    return services


def test_compose_wires_the_workers_to_the_broker_and_the_registry(compose: dict[str, Any]) -> None:
    broker, worker = compose["broker"]["environment"], compose["worker"]
    assert set(worker["depends_on"]) == {"broker", "registry"} == set(compose) - {"worker"}
    assert f"INSIDE://{worker['environment']['TOCSIN_BROKERS']}" in broker[
        "KAFKA_ADVERTISED_LISTENERS"
    ].split(",")
    assert worker["environment"]["TOCSIN_REGISTRY"] == "http://registry:8080/apis/ccompat/v7"
    assert worker["deploy"]["replicas"] == 2


def test_compose_names_settings_and_files_that_exist(compose: dict[str, Any]) -> None:
    worker = compose["worker"]
    settings = {f"TOCSIN_{name.upper()}" for name in Settings.model_fields}
    assert worker["environment"].keys() <= settings
    assert (ROOT / worker["build"]["context"] / worker["build"]["dockerfile"]).is_file()
    folder, mounted, _ = worker["volumes"][0].split(":")
    command, rules, creating = worker["command"]
    assert command == "run"
    assert creating == "--create-inputs"  # nobody else creates them there
    assert (ROOT / folder / Path(rules).relative_to(mounted)).is_file()


@pytest.mark.parametrize("name", ["broker", "registry"])
def test_compose_runs_the_versions_that_the_poms_name(name: str, compose: dict[str, Any]) -> None:
    version = compose[name]["image"].rpartition(":")[2]
    assert f"<version>{version}</version>" in (ROOT / "deploy" / name / "pom.xml").read_text()
