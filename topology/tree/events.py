"""Event expressions: occurrences, temporal events and the operators of the event algebra."""

import dataclasses
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tocsin.topology.errors import Span
from tocsin.topology.tree.base import NOWHERE, Name
from tocsin.topology.tree.expressions import Duration, Expr


@dataclass(frozen=True)
class EventExpr:
    """An event expression; `height` bounds every recursion over it."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)

    @property
    def operands(self) -> tuple["EventExpr", ...]:
        """The direct parts."""
        return ()

    @cached_property
    def height(self) -> int:
        """The length of the longest path down."""
        return 1 + max((operand.height for operand in self.operands), default=0)


@dataclass(frozen=True)
class Occurrence(EventExpr):
    """`Temp(area = $a, value > 45) as t`: an event type, conditions on it, and the role it plays.

    `group` is the number in brackets of a grouped event: `begin Op[1] ; end Op[1]` are of one execution.
    """

    event: Name
    conditions: tuple[Expr, ...] = ()
    alias: Name | None = None
    group: int | None = None

    @property
    def role(self) -> str:
        """The alias, or else the name of the event type."""
        return (self.alias or self.event).text


class TimeField(StrEnum):
    """A field of a point in time, from the coarsest to the finest; the weekday is beside them."""

    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    WEEKDAY = "weekday"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class TimeValue:
    """`hour = 9`, `weekday = Friday` (1 is Monday), or `minute = *` (None: any value)."""

    field: TimeField
    value: int | None
    span: Span = dataclasses.field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Timer(EventExpr):
    """`Timer(hour = 9, minute = 0, weekday = Friday) zone "Europe/Rome" as t`: the points in time that match.

    A field that is not given matches anything if it is coarser than the finest one given, and is its smallest
    value otherwise.
    """

    fields: tuple[TimeValue, ...]
    zone: str | None = None
    alias: Name | None = None


class Modifier(StrEnum):
    """What is taken of an event: of an operation or unit of work a phase, of any event its begin or end."""

    BEGIN = "begin"
    END = "end"
    PRECOMMIT = "precommit"
    COMMIT = "commit"
    ABORT = "abort"


@dataclass(frozen=True)
class Modified(EventExpr):
    """`begin SetPrice(oid = "IBM")`, `end (Open ; Close)`, `commit Transaction`."""

    modifier: Modifier
    operand: EventExpr

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class Pair(EventExpr):
    """An operator with a left and a right operand."""

    left: EventExpr
    right: EventExpr

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.left, self.right)

    @cached_property
    def height(self) -> int:
        """The length of the longest path down; a chain of one operator counts as one level."""
        chained = type(self.left) is type(self)
        return max(self.left.height + (not chained), self.right.height + 1)


@dataclass(frozen=True)
class Or(Pair):
    """`E1 or E2`."""


@dataclass(frozen=True)
class And(Pair):
    """`E1 and E2`, in any order."""


@dataclass(frozen=True)
class Seq(Pair):
    """`E1 ; E2`."""


@dataclass(frozen=True)
class AnyOf(EventExpr):
    """`any(2, E1, E2, E3)`: that many of distinct events; with `star`, `any(3, E*)`: of one event."""

    count: int
    choices: tuple[EventExpr, ...]
    star: bool = False

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return self.choices


@dataclass(frozen=True)
class Aperiodic(EventExpr):
    """`aperiodic(E1, E2, E3)`, Snoop's A; with `star`, `aperiodic*(E1, E2, E3)`: E2 accumulates until E3."""

    first: EventExpr
    middle: EventExpr
    last: EventExpr
    star: bool = False

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.first, self.middle, self.last)


@dataclass(frozen=True, slots=True)
class Collected:
    """`Price(oid = $x).value`: what the last such event before a tick carried."""

    occurrence: Occurrence
    attribute: Name
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Periodic(EventExpr):
    """`periodic(E1, 10 min, E3) as p`, Snoop's P; `star`: `periodic*(E1, 10 min collect Price.value, E3)`."""

    first: EventExpr
    every: Duration
    last: EventExpr
    star: bool = False
    collect: Collected | None = None
    alias: Name | None = None

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.first, self.last)


@dataclass(frozen=True)
class Not(EventExpr):
    """`not(E2)[E1, E3]`: no E2 between E1 and E3."""

    absent: EventExpr
    first: EventExpr
    last: EventExpr

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.first, self.absent, self.last)


@dataclass(frozen=True)
class Plus(EventExpr):
    """`E + 15 min as p`: a relative temporal event, that long after each E."""

    operand: EventExpr
    delay: Duration
    alias: Name | None = None

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class Within(EventExpr):
    """`E within 5 min`: occurrences that take no longer, from the first constituent to the last."""

    operand: EventExpr
    duration: Duration

    @property
    def operands(self) -> tuple[EventExpr, ...]:
        """The direct parts."""
        return (self.operand,)
