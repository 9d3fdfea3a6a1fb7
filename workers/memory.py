"""How the memory that a worker's state may take is divided: between the engines of its tasks and RocksDB."""

from dataclasses import dataclass

from tocsin.workers.store import Buffers

_FIXED_BYTES = 32 * 1024 * 1024
"""What clients, compaction and Python take while state is written and read, however much there is of it."""
_MIN_BUFFERS_BYTES = 4 * 1024 * 1024
"""With less, RocksDB would write a table for every commit."""
_EVENT_BYTES = 32 * 1024
"""What an event of a commit under way takes, all in all: what it changes is copied for the changelog, for its
client, and for the store."""
_MIN_POSITIONS = 100


@dataclass(frozen=True, slots=True)
class Memory:
    """What each task may keep in memory and handle at once, and what all stores share; None is no bound."""

    task_bytes: int | None = None
    positions: int = 100_000
    buffers: Buffers | None = None


def divide(state_memory_bytes: int | None, tasks: int) -> Memory:
    """Divide a worker's memory for the case that it comes to have all of so many tasks.

    Some of it is taken as soon as there is state at all. Of the rest a quarter is for the engines, an even
    share a task; a quarter for RocksDB; and a quarter for commits under way, which are cut accordingly. What
    is left is for what cannot be counted: allocators hold some of what is free.
    """
    if state_memory_bytes is None:
        return Memory()
    share = max(state_memory_bytes - _FIXED_BYTES, state_memory_bytes // 4) // 4
    return Memory(
        task_bytes=share // tasks,
        positions=max(share // _EVENT_BYTES // tasks, _MIN_POSITIONS),
        buffers=Buffers(max(share, _MIN_BUFFERS_BYTES)),
    )
