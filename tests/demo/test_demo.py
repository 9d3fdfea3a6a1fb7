"""The demo as users start it, with a worker killed in the middle of the feed."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

FEED_S = 8
DEADLINE_S = 120


def test_every_fire_is_seen_exactly_once_although_a_worker_is_killed(tmp_path: Path) -> None:
    environment = os.environ | {"DEMO_SECONDS": str(FEED_S), "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "tocsin", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as demo:
        try:
            assert demo.stderr is not None
            for line in demo.stderr:
                # Some fires are out and more are under way.
                if re.search(r"complex events [1-9]", line):
                    os.kill(_worker(demo.pid, "worker-2"), signal.SIGKILL)
                    break
            out, err = demo.communicate(timeout=DEADLINE_S)
        except BaseException:
            demo.kill()
            raise
    assert demo.returncode == 0, err
    assert "workers 1 of 2" in err
    counts = dict(line.split(": ") for line in out.splitlines())
    assert counts.keys() == {"events", "complex events", "expected"}
    assert counts["complex events"] == counts["expected"]
    assert int(counts["expected"]) > 100
    assert not any((tmp_path / "state" / "tocsin" / "services").iterdir())


def test_nothing_is_left_of_a_demo_that_is_killed(tmp_path: Path) -> None:
    environment = os.environ | {"DEMO_SECONDS": "60", "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "tocsin", "demo"], stderr=subprocess.PIPE, text=True, env=environment
    ) as demo:
        try:
            assert demo.stderr is not None
            assert any("2 workers up" in line for line in demo.stderr)
            processes = _children(demo.pid)
            assert len(processes) == 3  # the services' supervisor and two workers
        finally:
            demo.kill()
    deadline = time.monotonic() + DEADLINE_S
    while any(_runs(process) for process in processes):
        assert time.monotonic() < deadline, "something runs on"
        time.sleep(0.05)
    assert not any((tmp_path / "state" / "tocsin" / "services").iterdir())


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _worker(demo: int, name: str) -> int:
    [pid] = [pid for pid in _children(demo) if name in Path(f"/proc/{pid}/cmdline").read_text().split("\0")]
    return pid


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
