"""The state of one task as it was last committed: on disk in RocksDB, or in memory for tests.

A store holds the entries of the changelog up to its checkpoint. It is written after a commit, so it never
shows what was not committed, and may lag behind the changelog by what a crash cut off.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, cast

from rocksdict import Options, Rdict, WriteBatch

Entry = tuple[bytes, bytes]
Change = tuple[bytes, bytes | None]

_CHECKPOINT_KEY = b"\0checkpoint"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Which changelog a store reflects, and up to which offset."""

    topic_id: str
    """The broker's id of the topic: one that was deleted and made anew has another."""
    offset: int


class Store(Protocol):
    """What a task needs of a store."""

    checkpoint: Checkpoint | None

    def apply(self, changes: Iterable[Change], checkpoint: Checkpoint) -> None:
        """Write changes and the checkpoint that includes them, both or neither."""

    def entries(self) -> Iterator[Entry]:
        """Yield every entry."""

    def wipe(self) -> None:
        """Forget everything."""

    def close(self) -> None:
        """Let go of the files."""


class MemoryStore:
    """A store that lasts as long as the process."""

    def __init__(self) -> None:
        self.checkpoint: Checkpoint | None = None
        self._entries: dict[bytes, bytes] = {}

    def apply(self, changes: Iterable[Change], checkpoint: Checkpoint) -> None:
        """Write changes and the checkpoint that includes them."""
        for key, value in changes:
            if value is None:
                self._entries.pop(key, None)
            else:
                self._entries[key] = value
        self.checkpoint = checkpoint

    def entries(self) -> Iterator[Entry]:
        """Yield every entry."""
        yield from self._entries.items()

    def wipe(self) -> None:
        """Forget everything."""
        self._entries.clear()
        self.checkpoint = None

    def close(self) -> None:
        """Do nothing: there are no files."""


class RocksStore:
    """A store in RocksDB. A folder that cannot be opened, or has no readable checkpoint, is discarded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._db = self._open()
        self.checkpoint = self._read_checkpoint()
        if self.checkpoint is None:
            self.wipe()

    def _open(self) -> Rdict:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            return Rdict(str(self._folder), _options())
        except Exception:  # noqa: BLE001 – RocksDB's errors have no types; if it is not corruption, it comes again
            shutil.rmtree(self._folder, ignore_errors=True)
            return Rdict(str(self._folder), _options())

    def _read_checkpoint(self) -> Checkpoint | None:
        try:
            raw = self._db.get(_CHECKPOINT_KEY)
            return None if raw is None else Checkpoint(**json.loads(raw))
        except Exception:  # noqa: BLE001 – whatever is wrong with it, it is not to be trusted
            return None

    def apply(self, changes: Iterable[Change], checkpoint: Checkpoint) -> None:
        """Write changes and the checkpoint that includes them, both or neither."""
        batch = WriteBatch(raw_mode=True)
        for key, value in changes:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        batch.put(_CHECKPOINT_KEY, json.dumps(asdict(checkpoint)).encode())
        self._db.write(batch)
        self.checkpoint = checkpoint

    def entries(self) -> Iterator[Entry]:
        """Yield every entry."""
        cursor = self._db.iter()
        cursor.seek_to_first()
        while cursor.valid():
            key, value = cast("Entry", (cursor.key(), cursor.value()))
            if key != _CHECKPOINT_KEY:
                yield key, value
            cursor.next()
        # A cursor ends at damage as it ends at the end; only its status tells them apart.
        cursor.status()

    def wipe(self) -> None:
        """Forget everything."""
        self._db.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._db = self._open()
        self.checkpoint = None

    def close(self) -> None:
        """Let go of the files."""
        self._db.close()


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_paranoid_checks(True)
    options.set_keep_log_file_num(2)
    options.set_max_open_files(256)
    options.set_write_buffer_size(16 * 1024 * 1024)
    return options
