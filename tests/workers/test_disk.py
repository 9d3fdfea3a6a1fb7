"""A disk that is full stops a worker, and loses nothing."""

import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workers.conftest import DEADLINE_S, Application, eventually
from tocsin.workers import DiskFull
from tocsin.workers.store import Checkpoint, RocksStore

MakeApp = Callable[..., Application]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "state"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Leave no room on a disk."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return ballast


def test_a_full_disk_stops_a_worker_and_loses_nothing(make_app: MakeApp, disk: Path) -> None:
    app, rng = make_app(partitions=2), random.Random(51)
    with_room = app.process("one")
    eventually("it to work", lambda: bool(app.publish_some(rng, 100) or app.fires()))
    ballast = fill(disk)

    def ended() -> bool:
        app.publish_some(rng, 500, areas=5_000)
        return with_room.poll() is not None

    eventually("it to stop", ended)
    assert with_room.returncode == DiskFull.exit_code, app.said("one")
    told = " ".join(app.said("one").split())
    assert "There is no room left for state in" in told
    assert "Nothing is lost" in told
    assert "Traceback" not in told
    # As long as there is no room it says the same.
    again = app.process("one")
    assert again.wait(DEADLINE_S) == DiskFull.exit_code, app.said("one")
    ballast.unlink()
    after = app.process("one")
    try:
        app.publish_some(rng, 500, areas=5_000)
        app.await_exact()
    finally:
        after.terminate()
        assert after.wait(DEADLINE_S) == 0, app.said("one")


def test_what_a_full_disk_refused_is_not_in_the_store(disk: Path) -> None:
    store = RocksStore(disk / "store")
    store.apply([(b"before", b"1")], Checkpoint("topic", 1))
    ballast = fill(disk)

    def write() -> None:
        for number in range(10_000):
            value = random.Random(number).randbytes(4096)
            store.apply([(b"%d" % number, value)], Checkpoint("topic", 2 + number))

    with pytest.raises(DiskFull, match="no room left"):
        write()
    last = store.checkpoint
    assert last is not None
    store.close()
    ballast.unlink()
    again = RocksStore(disk / "store")
    assert again.checkpoint == last
    assert len(list(again.entries())) == last.offset
    again.close()
