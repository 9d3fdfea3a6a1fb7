"""The address book: one folder a set, locked by the set's supervisor for as long as it lives.

The lock is the truth about what runs. The kernel releases it however the supervisor ends, so a folder whose
lock is free is what a crash left behind, and may be removed by whoever finds it.
"""

import fcntl
import json
import os
import re
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

DEFAULT_NAME = "default"
_LOCK = "lock"
_ENTRY = "set.json"
_FAILURE = "failure.txt"
_REMOVAL_S = 10.0
_REMOVAL_POLL_S = 0.02


class ServicesError(Exception):
    """Local services could not be started, kept running or stopped; the message says why."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class RunningSet:
    """Where a running set is to be found."""

    name: str
    pid: int
    """Of the supervisor, which owns the other processes."""
    bootstrap: str
    registry_url: str
    started_ms: int
    folder: str


def folder_of(name: str) -> Path:
    """The folder of the set of that name, which need not exist."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise ServicesError(
            f"{name!r} is no name for a set of services: use letters, digits, '-', '_' and '.', at most 64."
        )
    return _root() / name


def _root() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state).absolute() / "tocsin" / "services"


def claim(name: str) -> IO[bytes] | None:
    """Make the set's folder anew and lock it, or return None if someone has it; closing the file unlocks.

    What a crashed set left in the folder is removed.
    """
    folder = folder_of(name)
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = (folder / _LOCK).open("ab")  # it holds the owner's process id
        except FileNotFoundError:
            continue  # the owner removed the folder meanwhile
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        if _is_at(lock, folder / _LOCK):
            break
        lock.close()
    _clear(folder)
    return lock


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        if left.name != _LOCK:
            remove(left)


def _is_at(lock: IO[bytes], path: Path) -> bool:
    """Whether the locked file is still the one at `path`: its last owner may have removed it."""
    try:
        return os.path.samestat(os.fstat(lock.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _is_locked(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def owner(name: str) -> int | None:
    """The process id of the set's supervisor, also while the set is only starting or stopping."""
    folder = folder_of(name)
    if not _is_locked(folder):
        return None
    try:
        return int((folder / _LOCK).read_text())
    except (FileNotFoundError, ValueError):
        return None  # gone meanwhile, or not entered yet


def enter(running: RunningSet) -> None:
    """Write the set into the book."""
    _write(Path(running.folder) / _ENTRY, json.dumps(asdict(running), indent=2) + "\n")


def find(name: str = DEFAULT_NAME) -> RunningSet | None:
    """The running set of that name, or None."""
    folder = folder_of(name)
    if not _is_locked(folder):
        return None
    try:
        return RunningSet(**json.loads((folder / _ENTRY).read_text()))
    except FileNotFoundError:
        return None  # not ready yet, or no longer


def status() -> list[RunningSet]:
    """All running sets, by name."""
    return [running for name in _names() if (running := find(name))]


def _names() -> list[str]:
    return sorted(path.name for path in _root().iterdir()) if _root().is_dir() else []


def note_failure(folder: Path, why: str) -> None:
    """Leave nothing but word why a detached set ended, since nobody is listening to it."""
    _clear(folder)
    _write(folder / _FAILURE, why)


def _write(path: Path, text: str) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(path)


def failure(name: str = DEFAULT_NAME) -> str | None:
    """Why the detached set of that name ended by itself, if it did."""
    try:
        return (folder_of(name) / _FAILURE).read_text()
    except FileNotFoundError:
        return None


def discard(name: str) -> bool:
    """Remove what is left of a set that no longer runs; False if it does run."""
    lock = claim(name)
    if lock is None:
        return False
    with lock:
        remove(folder_of(name))
    return True


def sweep() -> None:
    """Remove what crashed sets left behind, but not the word they left."""
    for name in _names():
        if failure(name) is None:
            discard(name)


def remove(path: Path) -> None:
    """Remove a file or a tree, also while a dying process still changes it; what resists for long is left."""
    deadline = time.monotonic() + _REMOVAL_S
    while True:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError:  # something came or went meanwhile
            if time.monotonic() > deadline:
                return
            time.sleep(_REMOVAL_POLL_S)
        else:
            return
