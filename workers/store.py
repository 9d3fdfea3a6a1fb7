"""The state of one task as it was last committed: on disk in RocksDB, or in memory for tests.

A store holds the entries of the changelog up to its checkpoint. It is written after a commit, so it never
shows what was not committed, and may lag behind the changelog by what a crash cut off.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, cast

from rocksdict import Options, Rdict, RdictIter, ReadOptions, WriteBatch

Entry = tuple[bytes, bytes]
Change = tuple[bytes, bytes | None]

_CHECKPOINT_KEY = b"\0checkpoint"
_SIZES = ("rocksdb.estimate-live-data-size", "rocksdb.cur-size-all-mem-tables")


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

    def fetch(self, prefixes: Sequence[bytes]) -> list[Entry]:
        """Return the entries whose keys begin with any of the prefixes, each once."""

    def size_bytes(self) -> int:
        """Return about how many bytes the entries take."""

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

    def fetch(self, prefixes: Sequence[bytes]) -> list[Entry]:
        """Return the entries whose keys begin with any of the prefixes, each once."""
        beginnings = tuple(prefixes)
        return [entry for entry in self._entries.items() if entry[0].startswith(beginnings)]

    def size_bytes(self) -> int:
        """Return how many bytes the entries take."""
        return sum(len(key) + len(value) for key, value in self._entries.items())

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
        yield from _rest(cursor)

    def fetch(self, prefixes: Sequence[bytes]) -> list[Entry]:
        """Return the entries whose keys begin with any of the prefixes, each once."""
        found: list[Entry] = []
        for prefix in _disjoint(prefixes):
            # Without an end, a scan would go on through all that is deleted, but still there, behind it.
            bounds, end = ReadOptions(), _end_of(prefix)
            if end is not None:
                bounds.set_iterate_upper_bound(end)
            cursor = self._db.iter(bounds)
            cursor.seek(prefix)
            found.extend(_rest(cursor))
        return found

    def size_bytes(self) -> int:
        """Return about how many bytes the entries take: in tables, and not yet in tables."""
        return sum(self._db.property_int_value(name) or 0 for name in _SIZES)

    def wipe(self) -> None:
        """Forget everything."""
        self._db.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._db = self._open()
        self.checkpoint = None

    def close(self) -> None:
        """Let go of the files."""
        self._db.close()


def _rest(cursor: RdictIter) -> Iterator[Entry]:
    """Yield the entries from where a cursor stands to its end."""
    while cursor.valid():
        key, value = cast("Entry", (cursor.key(), cursor.value()))
        if key != _CHECKPOINT_KEY:
            yield key, value
        cursor.next()
    # A cursor ends at damage as it ends at the end; only its status tells them apart.
    cursor.status()


def _disjoint(prefixes: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the prefixes in order, without those that begin with another."""
    last: bytes | None = None
    for prefix in sorted(prefixes):
        if last is None or not prefix.startswith(last):
            last = prefix
            yield prefix


def _end_of(prefix: bytes) -> bytes | None:
    """Return the first key behind all that begin with a prefix, if there can be one."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_paranoid_checks(True)
    options.set_keep_log_file_num(2)
    options.set_max_open_files(256)
    options.set_write_buffer_size(16 * 1024 * 1024)
    return options
