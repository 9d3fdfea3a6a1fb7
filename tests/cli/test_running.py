"""`tocsin run` as a process: how it begins, how it ends."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tocsin.services import ServiceSet

DEADLINE_S = 60


@pytest.fixture
def command(fire_file: Path, services: ServiceSet, unique: Callable[[str], str]) -> list[str]:
    """Runs the fire rules for an application and on topics of the test's own."""
    text = fire_file.read_text()
    for topic in ("temps", "smoke"):
        text = text.replace(f'"{topic}"', f'"{unique(topic)}"')
    fire_file.write_text(text)
    options = ["--app", unique("fire"), "--brokers", services.bootstrap, "--registry", services.registry_url]
    return [sys.executable, "-P", "-m", "tocsin", "run", str(fire_file), *options]


@contextmanager
def running(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """A worker that has all four partitions running."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        try:
            assert worker.stdout is not None
            for line in worker.stdout:
                states = [task["state"] for task in json.loads(line)["tasks"]]
                if states == ["running"] * 4:
                    break
            yield worker
        finally:
            worker.kill()


def test_a_missing_input_topic_is_a_sentence(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert result.returncode == 2
    assert "do not exist" in result.stderr
    assert "--create-inputs" in result.stderr
    assert "Traceback" not in result.stderr


def test_wrong_rules_start_nothing(command: list[str], fire_file: Path) -> None:
    fire_file.write_text(fire_file.read_text().replace("from   Smoke", "from   Smok"))
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert result.returncode == 1
    assert f"{fire_file}:5:8: error" in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_well(command: list[str], number: signal.Signals) -> None:
    with running([*command, "--create-inputs", "--json"]) as worker:
        worker.send_signal(number)
        worker.communicate(timeout=DEADLINE_S)
        assert worker.returncode == 0


def test_a_worker_can_end_with_its_parent(command: list[str]) -> None:
    with running([*command, "--create-inputs", "--json", "--exit-with-parent"]) as worker:
        assert worker.stdin is not None
        worker.stdin.close()
        assert worker.wait(DEADLINE_S) != 0


def test_several_processes_share_the_partitions_and_end_together(command: list[str]) -> None:
    command = [*command, "--create-inputs", "--json", "--processes", "2"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as workers:
        try:
            assert workers.stdout is not None
            shares: dict[str, set[int]] = {}
            for line in workers.stdout:
                status = json.loads(line)
                tasks = [task["partition"] for task in status["tasks"] if task["state"] == "running"]
                shares[status["instance"]] = set(tasks)
                held = sorted(partition for share in shares.values() for partition in share)
                if len(shares) == 2 and all(shares.values()) and held == [0, 1, 2, 3]:
                    break
            workers.send_signal(signal.SIGTERM)
            workers.communicate(timeout=DEADLINE_S)
            assert workers.returncode == 0
        finally:
            workers.kill()


def test_what_ends_one_of_several_processes_ends_all(command: list[str]) -> None:
    command = [*command, "--processes", "2"]
    result = subprocess.run(
        command, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert result.returncode == 2
    assert "do not exist" in result.stderr


def test_several_processes_cannot_be_one_instance(command: list[str]) -> None:
    command = [*command, "--processes", "2", "--instance", "one"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert (result.returncode, "leave it out" in result.stderr) == (1, True)
