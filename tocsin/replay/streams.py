"""What a replay reads: streams of records, each from its beginning to its end."""

from collections.abc import Collection
from typing import Protocol

from tocsin._engine import Batch
from tocsin.letters import Letter

Place = tuple[str, int]
"""A topic and one of its partitions."""

Headers = list[tuple[str, bytes]]
Record = tuple[int, int, bytes | None, bytes | None, Headers | None]
"""Offset, timestamp, key, value, headers."""

CHUNK = 10_000
"""Records that are read at a time. Time goes on between two of them, and what it has passed is late: so that
each replay gives the same, it is this number that decides, not the speed of a disk or a network."""


class Stream(Protocol):
    """A part of a log. Which partitions it has is known before it is read: time waits for all of them."""

    @property
    def places(self) -> Collection[Place]:
        """The partitions it may still bring records of."""

    @property
    def is_sequence(self) -> bool:
        """Whether its partitions are one sequence, in which lateness is counted over all of them."""

    @property
    def progress(self) -> tuple[int, int]:
        """How much of it is read, and how much there is, in some unit of its own."""

    def read(self) -> list[Batch]:
        """Return the next records, no more than `CHUNK`; none at the end."""

    def refused(self, letter: Letter) -> None:
        """Hear that the engine refused a record of the last ones; raise a sentence if it must not."""

    def close(self) -> None:
        """Let go of what it reads from."""
