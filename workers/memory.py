"""How the memory that a worker's state may take is divided: between the engines of its tasks and RocksDB."""

from dataclasses import dataclass

from tocsin.workers.store import Buffers

_MIN_BUFFERS_BYTES = 4 * 1024 * 1024
"""With less, RocksDB would write a table for every commit."""
_EVENT_BYTES = 8 * 1024
"""What an event of a commit under way takes: its changes of state, for the changelog and for the store."""
_MIN_POSITIONS = 500


@dataclass(frozen=True, slots=True)
class Memory:
    """What each task may keep in memory and handle at once, and what all stores share; None is no bound."""

    task_bytes: int | None = None
    positions: int = 100_000
    buffers: Buffers | None = None


def divide(state_memory_bytes: int | None, tasks: int) -> Memory:
    """Divide a worker's memory for the case that it comes to have all of so many tasks.

    A quarter is for the engines, an even share a task, and a quarter for RocksDB. Both are counted, the rest
    is not: it is for commits under way, which are cut accordingly, and for what allocators hold in between.
    """
    if state_memory_bytes is None:
        return Memory()
    quarter = state_memory_bytes // 4
    return Memory(
        task_bytes=quarter // tasks,
        positions=max(quarter // _EVENT_BYTES // tasks, _MIN_POSITIONS),
        buffers=Buffers(max(quarter, _MIN_BUFFERS_BYTES)),
    )
