"""A case: a program, a history, and how the engine is driven over it."""

from dataclasses import dataclass

from tests.oracle.history import Change, Input


@dataclass(frozen=True)
class Drive:
    """How the engine is driven: all at once, or with cuts and losses drawn from a seed."""

    seed: int | None = None


@dataclass(frozen=True)
class Case:
    """A program, a history, and how the engine is driven over it."""

    text: str
    events: tuple[Input, ...]
    until: int | None = None
    drive: Drive = Drive()
    since: int | None = None
    facts: tuple[Change, ...] = ()
