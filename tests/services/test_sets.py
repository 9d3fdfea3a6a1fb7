"""Sets of services: they serve, stand side by side, and leave nothing behind however they end."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from confluent_kafka.admin import AdminClient

from tocsin.deploy import MissingTool
from tocsin.services import RunningSet, ServicesError, ServiceSet, down, failure, find, status, up

DEADLINE_S = 60


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that holds all sets' folders, apart from the user's; none of them outlives the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path / "state" / "tocsin" / "services"
    for left in status():
        down(left.name)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def ended(pid: int) -> bool:
    """Whether a process is gone, or dead and only waiting for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def children(pid: int) -> dict[str, int]:
    """The processes of a supervisor, by what they run."""
    found = {}
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        command = Path(f"/proc/{child}/cmdline").read_text()
        found["broker" if "kafka.Kafka" in command else "registry"] = int(child)
    return found


def topics(running: RunningSet) -> set[str]:
    return set(AdminClient({"bootstrap.servers": running.bootstrap}).list_topics(timeout=30).topics)


def register(running: RunningSet, subject: str) -> None:
    url = f"{running.registry_url}/subjects/{subject}/versions"
    body = json.dumps({"schema": '"string"'}).encode()
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=DEADLINE_S) as answer:
        assert "id" in json.load(answer)


def subjects(running: RunningSet) -> list[str]:
    with urlopen(f"{running.registry_url}/subjects", timeout=DEADLINE_S) as answer:
        found: list[str] = json.load(answer)
        return found


Spawn = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Starts Python with a script, and ends it with the test."""
    with contextlib.ExitStack() as stack:

        def start(script: str) -> "subprocess.Popen[bytes]":
            # Who runs the tests in the background of a shell has SIGINT ignored, and so have their children.
            listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            process = subprocess.Popen([sys.executable, "-c", listening + script])
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        yield start


def appears(name: str) -> RunningSet:
    until(lambda: find(name) is not None)
    running = find(name)
    assert running is not None
    return running


@pytest.mark.usefixtures("state")
def test_two_sets_side_by_side_do_not_know_each_other(
    services: ServiceSet, topic: Callable[..., str]
) -> None:
    ours = topic("ours")
    lines: list[str] = []
    with ServiceSet.start(progress=lines.append) as other:
        assert ours in topics(services.running)
        assert ours not in topics(other.running)
        register(services.running, ours)
        assert ours in subjects(services.running)
        assert subjects(other.running) == []
        assert find(other.running.name) == other.running
        assert status() == [other.running]
        assert lines[-2:] == [
            f"broker up on {other.bootstrap}",
            f"registry up on {other.registry_url.removeprefix('http://').partition('/')[0]}",
        ]
    assert not Path(other.running.folder).exists()
    assert ours in topics(services.running)


def test_a_detached_set_outlives_its_parent_until_down(state: Path, spawn: Spawn) -> None:
    assert spawn("from tocsin.services import up; up('far', detach=True)").wait(DEADLINE_S) == 0
    running = find("far")
    assert running is not None
    owned = children(running.pid)
    assert topics(running) is not None
    with pytest.raises(ServicesError, match="'far' are running already"):
        up("far")
    assert down("far")
    assert all(ended(pid) for pid in owned.values())
    until(lambda: ended(running.pid))
    assert list(state.iterdir()) == []
    assert not down("far")


def test_a_detached_set_leaves_word_when_a_service_dies(state: Path) -> None:
    running = up("far", detach=True)
    owned = children(running.pid)
    os.kill(owned["broker"], signal.SIGKILL)
    until(lambda: ended(running.pid))
    assert ended(owned["registry"])
    assert find("far") is None
    assert "The broker ended with code -9. Its log ends:" in str(failure("far"))
    assert not down("far")
    assert list(state.iterdir()) == []


def test_kill_of_the_parent_leaves_nothing(state: Path, spawn: Spawn) -> None:
    parent = spawn("from tocsin.services import up; up('doomed')")
    running = appears("doomed")
    owned = children(running.pid)
    assert set(owned) == {"broker", "registry"}
    parent.kill()
    until(lambda: ended(running.pid))
    assert all(ended(pid) for pid in owned.values())
    assert list(state.iterdir()) == []


def test_interrupt_of_a_foreground_set_leaves_nothing(state: Path, spawn: Spawn) -> None:
    foreground = spawn("from tocsin.services import up; up('doomed')")
    running = appears("doomed")
    owned = children(running.pid)
    foreground.send_signal(signal.SIGINT)
    assert foreground.wait(DEADLINE_S) == 0
    assert all(ended(pid) for pid in (running.pid, *owned.values()))
    assert list(state.iterdir()) == []


def test_kill_of_the_supervisor_ends_the_services(state: Path) -> None:
    services = ServiceSet.start("doomed")
    owned = children(services.running.pid)
    os.kill(services.running.pid, signal.SIGKILL)
    with pytest.raises(ServicesError, match="supervisor of the services was killed"):
        services.wait()
    until(lambda: all(ended(pid) for pid in owned.values()))
    assert find("doomed") is None
    services.stop()
    assert list(state.iterdir()) == []


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a `java` on PATH that knows its version and otherwise does what a line of shell says."""

    def make(does: str, version: str = "17.0.1") -> None:
        real = shutil.which("java")
        script = tmp_path / "bin" / "java"
        script.parent.mkdir()
        script.write_text(
            f"#!/bin/sh\nREAL={real} STAMP={tmp_path}/stamp\n"
            f'[ "$1" = -version ] && echo \'openjdk version "{version}"\' >&2 && exit 0\n{does}\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{script.parent}:{os.environ['PATH']}")

    return make


def test_a_taken_port_is_chosen_again(state: Path, fake_java: Callable[[str], None]) -> None:
    fake_java('mkdir "$STAMP" 2>&- && echo "Address already in use" && exit 1; exec "$REAL" "$@"')
    with ServiceSet.start() as services:
        assert topics(services.running) is not None
    assert list(state.iterdir()) == []


def test_a_service_that_does_not_start_is_explained_by_its_log(
    state: Path, fake_java: Callable[[str], None]
) -> None:
    fake_java('echo "no luck today"; exit 3')
    with pytest.raises(ServicesError) as raised:
        ServiceSet.start()
    assert "ended with code 3. Its log ends:\nno luck today" in str(raised.value)
    assert list(state.iterdir()) == []


def test_what_a_crash_left_is_removed_by_the_next_start(
    state: Path, fake_java: Callable[[str], None]
) -> None:
    (state / "crashed" / "data").mkdir(parents=True)
    (state / "crashed" / "lock").write_text("1")
    fake_java("exit 3")
    with pytest.raises(ServicesError):
        ServiceSet.start("other")
    assert list(state.iterdir()) == []


def test_missing_java_is_one_sentence(state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool) as raised:
        up()
    assert str(raised.value) == (
        "Java 17 or newer is needed for the broker and the registry; "
        "install it, e.g. `apt-get install default-jre-headless`."
    )
    assert raised.value.exit_code == 2
    assert not state.exists()


@pytest.mark.usefixtures("state")
def test_an_old_java_is_told_apart(fake_java: Callable[..., None]) -> None:
    fake_java("exit 1", version="11.0.20")
    with pytest.raises(MissingTool, match="is Java 11; install"):
        up()


@pytest.mark.usefixtures("state")
def test_a_name_must_be_a_name() -> None:
    with pytest.raises(ServicesError, match="is no name for a set"):
        find("../elsewhere")
