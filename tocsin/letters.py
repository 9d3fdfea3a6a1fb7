"""Letters: records that took no part in detection, and why."""

from dataclasses import dataclass
from typing import Self

from tocsin import schemas


@dataclass(frozen=True, slots=True)
class Letter:
    """A record that was refused, or came too late."""

    late: bool
    reason: str
    message: str
    topic: str
    partition: int
    offset: int

    @classmethod
    def read(cls, body: bytes, *, late: bool) -> Self:
        """Take apart what the engine wrote."""
        letter = schemas.decode(schemas.load("dead_letter"), body)
        assert isinstance(letter, dict)
        where = {name: letter[name] for name in ("reason", "message", "topic", "partition", "offset")}
        return cls(late=late, **where)
