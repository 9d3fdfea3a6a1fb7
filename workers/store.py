"""The state of one task as it was last committed: on disk in RocksDB, or in memory for tests.

A store holds the entries of the changelog up to its checkpoint. It is written after a commit, so it never
shows what was not committed, and may lag behind the changelog by what a crash cut off.
"""

import contextlib
import errno
import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, cast

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    WriteBatch,
    WriteBufferManager,
)

from tocsin.workers.errors import DiskFull

LOG = logging.getLogger(__name__)

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

    def entries(self, begin: bytes = b"", end: bytes | None = None) -> Iterator[Entry]:
        """Yield the entries in the order of their keys, from a key on, up to another."""

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

    def entries(self, begin: bytes = b"", end: bytes | None = None) -> Iterator[Entry]:
        """Yield the entries in the order of their keys, from a key on, up to another."""
        found = (key for key in self._entries if begin <= key and (end is None or key < end))
        yield from ((key, self._entries[key]) for key in sorted(found))

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

    def __init__(self, folder: Path, buffers: "Buffers | None" = None) -> None:
        self._folder = folder
        self._buffers = buffers
        self._db = self._open()
        self.checkpoint = self._read_checkpoint()
        if self.checkpoint is None:
            self.wipe()

    def _open(self) -> Rdict:
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        with self._full_told():
            try:
                return Rdict(str(self._folder), _options(self._buffers))
            except (
                Exception
            ) as error:  # RocksDB's errors have no types; if it is not corruption, it comes again
                if _is_full(error):
                    raise
                shutil.rmtree(self._folder, ignore_errors=True)
                return Rdict(str(self._folder), _options(self._buffers))

    @contextlib.contextmanager
    def _full_told(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if not _is_full(error):
                raise
            raise DiskFull(
                f"There is no room left for state in {self._folder}: {error}. Nothing is lost: all that was "
                "committed is on the broker. Make room, then start the worker again: it goes on from there."
            ) from error

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
        with self._full_told():
            self._db.write(batch)
        self.checkpoint = checkpoint

    def entries(self, begin: bytes = b"", end: bytes | None = None) -> Iterator[Entry]:
        """Yield the entries in the order of their keys, from a key on, up to another."""
        bounds = _bounds(end)
        # Who goes through many reads each once: that must not drive out what is read again and again.
        bounds.fill_cache(False)  # type: ignore[call-arg]  # the stub has forgotten it
        yield from self._from(begin, bounds)

    def _from(self, begin: bytes, bounds: ReadOptions) -> Iterator[Entry]:
        """Yield entries. While it does, `bounds` is alive: the cursor looks into it without owning it."""
        cursor = self._db.iter(bounds)
        cursor.seek(begin)
        yield from _rest(cursor)

    def fetch(self, prefixes: Sequence[bytes]) -> list[Entry]:
        """Return the entries whose keys begin with any of the prefixes, each once."""
        found: list[Entry] = []
        for prefix in disjoint(prefixes):
            # Without an end, a scan would go on through all that is deleted, but still there, behind it.
            found.extend(self._from(prefix, _bounds(end_of(prefix))))
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
        try:
            self._db.close()
        except Exception as error:  # noqa: BLE001 – what could not be written is read from the changelog again
            LOG.warning("the store %s was not closed cleanly: %s", self._folder, error)


def _is_full(error: Exception) -> bool:
    """Tell whether a write failed for want of room, by the system's words: RocksDB passes on nothing else."""
    return any(os.strerror(code) in str(error) for code in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))


def _rest(cursor: RdictIter) -> Iterator[Entry]:
    """Yield the entries from where a cursor stands to its end."""
    while cursor.valid():
        key, value = cast("Entry", (cursor.key(), cursor.value()))
        if key != _CHECKPOINT_KEY:
            yield key, value
        cursor.next()
    # A cursor ends at damage as it ends at the end; only its status tells them apart.
    cursor.status()


def disjoint(prefixes: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the prefixes in order, without those that begin with another."""
    last: bytes | None = None
    for prefix in sorted(prefixes):
        if last is None or not prefix.startswith(last):
            last = prefix
            yield prefix


def end_of(prefix: bytes) -> bytes | None:
    """Return the first key behind all that begin with a prefix, if there can be one."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _bounds(end: bytes | None) -> ReadOptions:
    bounds = ReadOptions()
    if end is not None:
        bounds.set_iterate_upper_bound(end)
    return bounds


class Buffers:
    """What all stores of a process may take for their blocks and for what is not yet in tables, together."""

    def __init__(self, size_bytes: int) -> None:
        self.cache = Cache(size_bytes)
        # Charged to the cache; no store waits for another to be written.
        self.writes = WriteBufferManager.new_write_buffer_manager_with_cache(
            size_bytes // 2, allow_stall=False, cache=self.cache
        )


def _options(buffers: Buffers | None) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_paranoid_checks(True)
    options.set_keep_log_file_num(2)
    options.set_max_open_files(256)
    options.set_write_buffer_size(16 * 1024 * 1024)
    if buffers is not None:
        tables = BlockBasedOptions()
        tables.set_block_cache(buffers.cache)
        # Otherwise they would be held beside the cache, as long as a table is open; in parts, or a small
        # cache would read a large one again for every key.
        tables.set_cache_index_and_filter_blocks(True)
        tables.set_index_type(BlockBasedIndexType.two_level_index_search())
        options.set_block_based_table_factory(tables)
        options.set_write_buffer_manager(buffers.writes)
    return options
