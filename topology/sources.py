"""Typed sources: what a rule detects, with constituents by index, times in milliseconds, conditions as terms.

They mirror the tree (patterns, event expressions, matches, `when`), where named expressions were put in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import overload

from tocsin.topology.errors import Span
from tocsin.topology.terms import Scalar, Term
from tocsin.topology.tree import Modifier, Selection, Take

# --- patterns -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Between:
    """After one constituent and up to another."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Backward:
    """Before a constituent, at most so long if there is a bound."""

    within_ms: int | None
    anchor: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """After a constituent, until the time is up."""

    within_ms: int
    anchor: int


Range = Between | Backward | Ahead


@dataclass(frozen=True, slots=True)
class Selected:
    """A constituent before another one; `count` of them at most, each for itself."""

    constituent: int
    selection: Selection
    range: Backward
    count: int = 1


@dataclass(frozen=True, slots=True)
class Bounded:
    """One more bound for a constituent."""

    constituent: int
    range: Backward


@dataclass(frozen=True, slots=True)
class Negated:
    """No such occurrence in a range."""

    constituent: int
    range: Range


@dataclass(frozen=True, slots=True)
class Aggregated:
    """A function over the occurrences in a range, or the last `limit` of them.

    `number` is its place among the aggregates of the pattern: `terms.Computed` refers to it.
    """

    number: int
    parameter: str
    function: str
    constituent: int
    field: int | None
    range: Between | Backward
    scalar: Scalar
    argument: float | int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """A condition on what was found so far."""

    condition: Term


Item = Selected | Bounded | Negated | Aggregated | Filtered


@dataclass(frozen=True, slots=True)
class Pattern:
    """Constituent 0 is the terminator; the items are evaluated in their order."""

    items: tuple[Item, ...] = ()


# --- event expressions --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaf:
    """The occurrences of a constituent: of an event, or of a timer."""

    constituent: int


@dataclass(frozen=True, slots=True)
class Point:
    """`begin E`, `end E`: the same occurrence, as the point where it started or ended."""

    modifier: Modifier
    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Or:
    """One of two."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class And:
    """Both, in any order."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class Seq:
    """One before the other."""

    left: "Expression"
    right: "Expression"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """So many of distinct choices; with `star`, so many occurrences of the one choice."""

    count: int
    choices: tuple["Expression", ...]
    star: bool = False


@dataclass(frozen=True, slots=True)
class Aperiodic:
    """Snoop's A, and A* with `star`."""

    first: "Expression"
    middle: "Expression"
    last: "Expression"
    star: bool = False


@dataclass(frozen=True, slots=True)
class Periodic:
    """Snoop's P, and P* with `star`. `tick` is the constituent of the ticks.

    With a `sample`, the tick's only attribute is that field of the last such occurrence before it.
    """

    first: "Expression"
    every_ms: int
    last: "Expression"
    tick: int
    star: bool = False
    sample: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Not:
    """No `absent` from `first` to `last`."""

    absent: "Expression"
    first: "Expression"
    last: "Expression"


@dataclass(frozen=True, slots=True)
class Plus:
    """So long after each occurrence; `tick` is the constituent of that point in time."""

    operand: "Expression"
    delay_ms: int
    tick: int


@dataclass(frozen=True, slots=True)
class Within:
    """Occurrences that take no longer."""

    operand: "Expression"
    within_ms: int


Expression = Leaf | Point | Or | And | Seq | AnyOf | Aperiodic | Periodic | Not | Plus | Within


# --- matches ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Step:
    """One event."""

    constituent: int


@dataclass(frozen=True, slots=True)
class Taking:
    """Which event the first step takes."""

    take: Take
    operand: "MatchNode"


@dataclass(frozen=True, slots=True)
class Repeat:
    """`low` to `high` times; `condition` compares an element with `terms.Previous`."""

    operand: "MatchNode"
    low: int
    high: int | None
    take: Take = Take.FIRST
    condition: Term | None = None
    until: "MatchNode | None" = None


@dataclass(frozen=True, slots=True)
class Then:
    """One behind the other."""

    left: "MatchNode"
    right: "MatchNode"


@dataclass(frozen=True, slots=True)
class All:
    """All parts, in any order."""

    parts: tuple["MatchNode", ...]


@dataclass(frozen=True, slots=True)
class OneOf:
    """Until one part is through."""

    parts: tuple["MatchNode", ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Each part on its own."""

    parts: tuple["MatchNode", ...]


@dataclass(frozen=True, slots=True)
class Denied:
    """True where it is started, until the operand comes true."""

    operand: "MatchNode"


@dataclass(frozen=True, slots=True)
class Every:
    """Started again each time it comes true or fails."""

    operand: "MatchNode"


@dataclass(frozen=True, slots=True)
class InTime:
    """Counted from the start, or from the constituent `since`."""

    operand: "MatchNode"
    within_ms: int
    since: int | None = None


@dataclass(frozen=True, slots=True)
class AtMost:
    """No more than so many times."""

    operand: "MatchNode"
    count: int


@dataclass(frozen=True, slots=True)
class While:
    """Ended by the first occurrence that violates the condition."""

    operand: "MatchNode"
    condition: Term


@dataclass(frozen=True, slots=True)
class Wait:
    """So long after the start; `tick` is the constituent of that point in time."""

    delay_ms: int
    tick: int


@dataclass(frozen=True, slots=True)
class Absent:
    """The time is up, from the start or from the constituent `since`, and it has not come true."""

    operand: "MatchNode"
    within_ms: int
    since: int | None = None


MatchNode = (
    Step
    | Taking
    | Repeat
    | Then
    | All
    | OneOf
    | Alternatives
    | Denied
    | Every
    | InTime
    | AtMost
    | While
    | Wait
    | Absent
)


@dataclass(frozen=True, slots=True)
class Match:
    """What is started once, before all events."""

    root: MatchNode


# --- facts and events ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Held:
    """A fact (`event` is false) or an event; negated, there is none."""

    constituent: int
    event: bool
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact goes from one state to another.

    `before` is the constituent of the old state, `after` that of the new one, `event` that of the change.
    """

    before: int
    after: int
    event: int


@dataclass(frozen=True, slots=True)
class When:
    """Facts and events that hold together, and the constraints between them, with the places of these."""

    conditions: tuple[Held | Changed, ...]
    constraints: tuple[Term, ...] = ()
    spans: tuple[Span, ...] = ()


Source = Pattern | Expression | Match | When

Operator = Expression | MatchNode


@overload
def operands(node: Expression) -> tuple[Expression, ...]: ...
@overload
def operands(node: MatchNode) -> tuple[MatchNode, ...]: ...
@overload
def operands(node: Operator) -> tuple[Operator, ...]: ...
def operands(node: Operator) -> tuple[Operator, ...]:  # noqa: PLR0911 (one case a shape)
    """Return the direct parts of a node of an event expression or a match, in textual order."""
    match node:
        case Leaf() | Step() | Wait():
            return ()
        case Or() | And() | Seq() | Then():
            return node.left, node.right
        case AnyOf():
            return node.choices
        case Aperiodic():
            return node.first, node.middle, node.last
        case Periodic():
            return node.first, node.last
        case Not():
            return node.first, node.absent, node.last
        case All() | OneOf() | Alternatives():
            return node.parts
        case Repeat() if node.until is not None:
            return node.operand, node.until
        case _:
            return (node.operand,)


def own_constituents(node: Operator) -> tuple[int, ...]:
    """Return the constituents that stand at a node itself: an event, a tick, what a tick samples."""
    match node:
        case Leaf() | Step():
            return (node.constituent,)
        case Periodic() if node.sample is not None:
            return node.tick, node.sample[0]
        case Periodic() | Plus() | Wait():
            return (node.tick,)
        case _:
            return ()


def constituents_of(node: Operator) -> Iterator[int]:
    """Yield the constituents at and below a node."""
    yield from own_constituents(node)
    for operand in operands(node):
        yield from constituents_of(operand)
