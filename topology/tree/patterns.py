"""TESLA's patterns: a terminator and what it asks of the past, and of the time ahead."""

from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.topology.errors import Span
from tocsin.topology.tree.base import NOWHERE, Name
from tocsin.topology.tree.events import Modified, Occurrence, Timer
from tocsin.topology.tree.expressions import Duration, Expr

Constituent = Occurrence | Modified | Timer
"""What can be a constituent; a `Modified` holds an `Occurrence` of an operation or a unit of work."""


class Selection(StrEnum):
    """Which of several possible constituents a rule takes."""

    EACH = "each"
    LAST = "last"
    FIRST = "first"


@dataclass(frozen=True, slots=True)
class Selected:
    """`last Temp(…) as t within 3 min from s`, `3 last …`: a constituent before another one.

    Without a bound it is written `before s` and has no horizon.
    """

    selection: Selection
    occurrence: Constituent
    within: Duration | None
    anchor: Name
    count: int = 1
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Bounded:
    """`d within 5 min from c`: one more bound for a constituent that was selected before."""

    role: Name
    within: Duration
    anchor: Name
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Between:
    """`between b and a`: after the one and up to the other."""

    first: Name
    last: Name
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Backward:
    """`within 1 h from a`, or `before a` where there is no bound."""

    within: Duration | None
    anchor: Name
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Ahead:
    """`within 10 min after a`: decided when the time is up."""

    within: Duration
    anchor: Name
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Negated:
    """`not Rain(area = $a) between t and s`, `not … within 1 h from s`, `not … within 10 min after s`."""

    occurrence: Constituent
    range: Between | Backward | Ahead
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregated:
    """`$m = avg(Temp(area = $a).value) within 3 min from s`, `$n = count(Temp()) between a and s`.

    `argument` is the percentage of `percentile(Temp().value, 95)`; `limit` takes the last so many only:
    `avg(3 last Temp().value) before s`.
    """

    parameter: Name
    function: Name
    occurrence: Constituent
    attribute: Name | None
    range: Between | Backward
    argument: float | int | None = None
    limit: int | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """`$m > 45`: a condition on parameters."""

    expr: Expr
    span: Span = field(default=NOWHERE, compare=False)


PatternItem = Selected | Bounded | Negated | Aggregated | Condition
"""What may follow `and` in a pattern."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The terminator, which makes the rule fire, and what it asks of the past."""

    terminator: Constituent
    items: tuple[PatternItem, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
