"""What every part of the tree is made of: names where they were written, units of time, spans."""

from dataclasses import dataclass, field
from enum import Enum

from tocsin.topology.errors import Span

NOWHERE = Span(0, 0)
"""The span of a node that was built in code."""


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier where it was written."""

    text: str
    span: Span = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return self.text


class Unit(Enum):
    """A unit of time, by its length in milliseconds."""

    MILLISECOND = 1
    SECOND = 1_000
    MINUTE = 60_000
    HOUR = 3_600_000
    DAY = 86_400_000
    WEEK = 604_800_000
