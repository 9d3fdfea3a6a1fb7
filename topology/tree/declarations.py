"""Declarations: the top level of a rule file."""

from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.topology.errors import Span
from tocsin.topology.tree.base import NOWHERE, Name
from tocsin.topology.tree.events import EventExpr
from tocsin.topology.tree.expressions import Duration, Expr
from tocsin.topology.tree.matches import Match
from tocsin.topology.tree.patterns import Pattern
from tocsin.topology.tree.rules import Action, Assignment, Coupling, Trigger, When

Source = Pattern | EventExpr | Match
"""What may stand behind `from`; an occurrence alone is a pattern without items."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value: double?` in the head of an event or a definition; `prices: double[]` in the latter only."""

    name: Name
    type: Name
    optional: bool = False
    many: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic an event is read from."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Application:
    """The application whose complex events are taken."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Trivia:
    """The comments of a declaration: lines above it (an empty one is a blank line) and the one behind it."""

    above: tuple[str, ...] = ()
    behind: str | None = None


class NullPolicy(StrEnum):
    """What becomes of records without a value: a dead letter, or nothing."""

    REFUSE = "refuse"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Nulls:
    """`nulls ignore`."""

    policy: NullPolicy
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Membership:
    """`unit Transaction by tx`: the attribute that says to which unit of work an event belongs."""

    unit: Name
    by: Name
    span: Span = field(default=NOWHERE, compare=False)


class EventKind(StrEnum):
    """The word a declared event is opened with.

    An operation has a begin and an end, told by `begin Op` and `end Op`; a unit of work a begin, a
    pre-commit, a commit and an abort.
    """

    EVENT = "event"
    OPERATION = "operation"
    UNIT = "unit"


@dataclass(frozen=True, slots=True)
class Event:
    """`event Temp extends Reading (…) on "temps" key area id uid time at start began lateness 2 s idle 5 s;`.

    Without a topic it is an explicit event, on a topic of the application's own. With `of "plant_a"` it is a
    complex event that another application detects.
    """

    name: Name
    attributes: tuple[Attribute, ...]
    topic: Topic | None = None
    key: Name | None = None
    time: Name | None = None
    lateness: Duration | None = None
    idle: Duration | None = None
    kind: EventKind = EventKind.EVENT
    parent: Name | None = None
    id: Name | None = None
    start: Name | None = None
    unit: Membership | None = None
    application: Application | None = None
    nulls: Nulls | None = None
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


@dataclass(frozen=True, slots=True)
class Enumeration:
    """`enum State { OFFLINE, ONLINE, ACTIVE };`."""

    name: Name
    symbols: tuple[Name, ...]
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


@dataclass(frozen=True, slots=True)
class Fact:
    """`fact Equipment (id: string, state: State) key id on "equipment";`: what is so until it is changed."""

    name: Name
    attributes: tuple[Attribute, ...]
    key: Name | None = None
    topic: Topic | None = None
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


@dataclass(frozen=True, slots=True)
class Named:
    """`event Busy = end Sell and begin SetPrice;`: a named expression; whoever uses it binds the context."""

    name: Name
    expr: EventExpr
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


@dataclass(frozen=True, slots=True)
class Priorities:
    """`priorities low, normal, urgent;`: names for priority classes, the most important one last."""

    names: tuple[Name, ...]
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


class Context(StrEnum):
    """A parameter context: which occurrences of the constituents an occurrence is made of."""

    UNRESTRICTED = "unrestricted"
    RECENT = "recent"
    CHRONICLE = "chronicle"
    CONTINUOUS = "continuous"
    CUMULATIVE = "cumulative"


class SkipTo(StrEnum):
    """Where the search goes on after a match: with the next start, or at an event of the match."""

    NEXT = "next"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class Skip:
    """`skip to next`, `skip to first b`, `skip to last b`; `role` is None for the next start."""

    to: SkipTo
    role: Name | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Detection:
    """`context chronicle disjoint`: how occurrences are formed. `context` is None where it is not said.

    `skip` is for matches only, where `disjoint` is to skip past the last event.
    """

    context: Context | None = None
    disjoint: bool = False
    skip: Skip | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Rate:
    """`at most 3 per 1 min`, for each binding; without a duration, ever."""

    count: int
    per: Duration | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Define:
    """`define Fire (…) from … if … where … consuming … context … at most … unbounded;`."""

    name: Name
    attributes: tuple[Attribute, ...]
    source: Source
    assignments: tuple[Assignment, ...] = ()
    condition: Expr | None = None
    consuming: tuple[Name, ...] = ()
    detection: Detection | None = None
    rate: Rate | None = None
    unbounded: bool = False
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


@dataclass(frozen=True, slots=True)
class Rule:
    """`rule R on E if … do …` (event, condition, action) or `rule R when … then …` (facts and events).

    `priority` is a number or the name of a class.
    """

    name: Name
    trigger: Source | When
    actions: tuple[Action, ...]
    condition: Expr | None = None
    consuming: tuple[Name, ...] = ()
    detection: Detection | None = None
    rate: Rate | None = None
    unbounded: bool = False
    coupling: Coupling | None = None
    priority: int | Name | None = None
    mode: Trigger | None = None
    inactive: bool = False
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


Declaration = Event | Enumeration | Fact | Named | Priorities | Define | Rule


@dataclass(frozen=True, slots=True)
class Program:
    """A rule file. `broken` names declarations that could not be read: what uses them is not judged."""

    declarations: tuple[Declaration, ...]
    broken: frozenset[str] = frozenset()
    comments: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return _print(self)


def _print(node: Declaration | Program) -> str:
    from tocsin.topology import printer  # noqa: PLC0415 (the printer is built on this module)

    return printer.print_tree(node)
