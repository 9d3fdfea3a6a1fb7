"""A worker's place: the folder of its state and the name it keeps across restarts.

A name that stays lets a worker that comes back end at once the transaction its predecessor left open.
"""

import fcntl
import secrets
from pathlib import Path
from typing import IO

from tocsin.workers.errors import WorkerError

_MAX_PLACES = 1_000


class Place:
    """A folder that is ours as long as this process lives."""

    def __init__(self, folder: Path, lock: IO[str], name: str) -> None:
        self.folder = folder
        self.name = name
        self._lock = lock

    def close(self) -> None:
        """Give the place back."""
        self._lock.close()


def take(state_dir: Path, app: str, instance: str | None) -> Place:
    """Take the place of a named instance, or the first that is free."""
    root = state_dir / app
    if instance is not None:
        place = _try(root / instance, instance)
        if place is None:
            raise WorkerError(f"Another worker on this machine runs as instance '{instance}' of {app}.")
        return place
    for number in range(_MAX_PLACES):
        place = _try(root / f"worker-{number}", None)
        if place is not None:
            return place
    raise WorkerError(f"All {_MAX_PLACES} places for workers under {root} are taken.")


def _try(folder: Path, name: str | None) -> Place | None:
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "instance").open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    if name is None:
        lock.seek(0)
        # Random, so that equal folders on two machines are two instances.
        name = lock.read().strip() or _write(lock, f"{folder.name}-{secrets.token_hex(4)}")
    return Place(folder, lock, name)


def _write(lock: IO[str], name: str) -> str:
    lock.write(name)
    lock.flush()
    return name
