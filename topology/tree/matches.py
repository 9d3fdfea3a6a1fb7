"""Matches: patterns that are looked for forward, from where they were started.

A match expression is started at a position and takes what comes after it: the first event that fits, each
that fits, or only the next one.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tocsin.topology.errors import Span
from tocsin.topology.tree.base import NOWHERE, Name
from tocsin.topology.tree.events import Modified, Occurrence
from tocsin.topology.tree.expressions import Duration, Expr


@dataclass(frozen=True)
class MatchExpr:
    """A match expression; `height` bounds every recursion over it."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)

    @property
    def operands(self) -> tuple["MatchExpr", ...]:
        """The direct parts."""
        return ()

    @cached_property
    def height(self) -> int:
        """The length of the longest path down."""
        return 1 + max((operand.height for operand in self.operands), default=0)


class Take(StrEnum):
    """Which of the events to come a step takes."""

    FIRST = "first"
    EACH = "each"
    NEXT = "next"


@dataclass(frozen=True)
class Step(MatchExpr):
    """`Login(ok = false) as f`: one event."""

    occurrence: Occurrence | Modified


@dataclass(frozen=True)
class Taking(MatchExpr):
    """`each M`, `next M`: which event the first step of M takes; without it, the first that fits."""

    take: Take
    operand: MatchExpr

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class Repeat(MatchExpr):
    """`M{2,5}`, `M{3 each}`, `M{10 while value > previous.value}`, `M{2,} until U`.

    `take` says how the second and later ones are found, `condition` compares each with the one before. With
    `until` it is true once: when U comes after enough of them.
    """

    operand: MatchExpr
    low: int
    high: int | None
    take: Take = Take.FIRST
    condition: Expr | None = None
    until: MatchExpr | None = None

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,) if self.until is None else (self.operand, self.until)


@dataclass(frozen=True)
class Then(MatchExpr):
    """`M1 then M2`: M2 is started where M1 came true."""

    left: MatchExpr
    right: MatchExpr

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.left, self.right)

    @cached_property
    def height(self) -> int:
        """The length of the longest path down; a chain of `then` counts as one level."""
        return max(self.left.height + (not isinstance(self.left, Then)), self.right.height + 1)


@dataclass(frozen=True)
class All(MatchExpr):
    """`M1 and M2 and not M3`: all of them, in any order, and the denied ones not before."""

    parts: tuple[MatchExpr, ...]

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return self.parts


@dataclass(frozen=True)
class OneOfMatches(MatchExpr):
    """`M1 or M2`: until one of them is through."""

    parts: tuple[MatchExpr, ...]

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return self.parts


@dataclass(frozen=True)
class Alternatives(MatchExpr):
    """`M1 | M2`: each of them on its own, whatever becomes of the other."""

    parts: tuple[MatchExpr, ...]

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return self.parts


@dataclass(frozen=True)
class Denied(MatchExpr):
    """`not M`: true where it is started, until M comes true; mostly among the parts of an `and`."""

    operand: MatchExpr

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class Every(MatchExpr):
    """`every M`: M is started again each time it comes true or fails."""

    operand: MatchExpr

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class InTime(MatchExpr):
    """`M within 5 min`: from where M was started, or `M within 5 min from a`: from that event's time."""

    operand: MatchExpr
    duration: Duration
    since: Name | None = None

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class AtMost(MatchExpr):
    """`M at most 3`: ended by the occurrence that is one too many."""

    operand: MatchExpr
    count: int

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class While(MatchExpr):
    """`M while b.id != "B2"`: ended by the first occurrence that violates the condition."""

    operand: MatchExpr
    condition: Expr

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class Wait(MatchExpr):
    """`wait 5 min as w`: true that long after it was started."""

    duration: Duration
    alias: Name | None = None


@dataclass(frozen=True)
class Absent(MatchExpr):
    """`not M for 1 s`, `not M for 1 s from a`: true when the time is up and M has not come true."""

    operand: MatchExpr
    duration: Duration
    since: Name | None = None

    @property
    def operands(self) -> tuple[MatchExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True, slots=True)
class Match:
    """What stands behind `from match`."""

    expr: MatchExpr
    span: Span = field(default=NOWHERE, compare=False)
