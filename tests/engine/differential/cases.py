"""A case: a program, a history, and how the engine is driven over it."""

from dataclasses import dataclass

from tests.oracle.history import Change, Input


@dataclass(frozen=True)
class Drive:
    """How the engine is driven: all at once, or cut and lost as a seed says; how much may be in memory."""

    seed: int | None = None
    cache_bytes: int | None = None


@dataclass(frozen=True)
class Case:
    """A program, a history, and how the engine is driven over it."""

    text: str
    events: tuple[Input, ...]
    until: int | None = None
    drive: Drive = Drive()
    since: int | None = None
    facts: tuple[Change, ...] = ()
