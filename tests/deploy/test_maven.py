"""From poms to folders of jars, with a client in Maven's place that counts its runs."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tocsin.deploy import FetchFailed, MissingTool, jars
from tocsin.deploy.maven import POMS


class Client:
    """An `mvn` on PATH that runs a line of shell; `$RUNS` is a file with a line for each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs = folder / "runs"
        self.runs.touch()

    def does(self, line: str) -> None:
        script = self.folder / "mvn"
        script.write_text(f"#!/bin/sh\nRUNS={self.runs}\necho run >> $RUNS\n{line}\n")
        script.chmod(0o755)

    def count(self) -> int:
        return len(self.runs.read_text().splitlines())


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return Client(folder)


def test_parallel_callers_fetch_once(client: Client) -> None:
    client.does("mkdir jars && touch jars/a.jar")
    lines: list[str] = []
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: jars("broker", progress=lines.append), range(4)))
    assert len(folders) == 1
    assert [path.name for path in folders.pop().iterdir()] == ["a.jar"]
    assert client.count() == 1
    assert lines == ["fetching jars: broker (first time only)…"]


def test_a_failed_download_is_tried_again(client: Client) -> None:
    client.does("[ $(wc -l < $RUNS) = 3 ] && mkdir jars")
    assert jars("broker").is_dir()
    assert client.count() == 3


def test_what_cannot_be_fetched_is_told_and_leaves_nothing(client: Client, tmp_path: Path) -> None:
    client.does('echo "[ERROR] no route to anywhere"; exit 1')
    with pytest.raises(FetchFailed, match="`broker` after 3 attempts: no route to anywhere"):
        jars("broker")
    assert [path.name for path in (tmp_path / "cache" / "tocsin" / "jars").iterdir()] == ["lock"]


@pytest.mark.usefixtures("client")
def test_missing_maven_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool) as raised:
        jars("broker")
    assert str(raised.value) == (
        "Maven is needed to fetch the broker, the registry and Spark's jars; "
        "install it, e.g. `apt-get install maven`."
    )
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("name", ["broker", "registry", "spark"])
def test_every_version_in_a_pom_is_pinned(name: str) -> None:
    pom = ET.parse(POMS / name / "pom.xml")  # noqa: S314 – our own file
    space = "{http://maven.apache.org/POM/4.0.0}"
    wanted = [
        *pom.iter(f"{space}plugin"),
        *pom.iter(f"{space}dependency"),
        *pom.iter(f"{space}artifactItem"),
    ]
    versions = [entry.findtext(f"{space}version", "") for entry in wanted]
    assert versions
    assert all(version[:1].isdigit() for version in versions)
    assert not list(pom.iter(f"{space}repository"))
