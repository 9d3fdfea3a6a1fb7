"""The abstract syntax tree: what a rule file says, before anything is looked up.

Spans and comments take no part in equality: two trees are equal when they say the same.
"""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from functools import cached_property

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


# --- expressions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Expr:
    """An expression; `height` bounds every recursion over it."""

    span: Span = field(default=NOWHERE, compare=False, kw_only=True)

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return ()

    @cached_property
    def height(self) -> int:
        """The length of the longest path down."""
        return 1 + max((child.height for child in self.children), default=0)


@dataclass(frozen=True, eq=False)
class Literal(Expr):
    """`45`, `-1.5`, `"north"`, `true`; `1`, `1.0` and `true` are three different ones."""

    value: bool | int | float | str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[type, bool | int | float | str]:
        return type(self.value), self.value


@dataclass(frozen=True)
class Duration(Expr):
    """`3 min`; as a value it is a number of milliseconds."""

    amount: int
    unit: Unit

    @property
    def ms(self) -> int:
        """The length in milliseconds."""
        return self.amount * self.unit.value


@dataclass(frozen=True)
class Parameter(Expr):
    """`$a`; `name` is without the dollar."""

    name: str


@dataclass(frozen=True)
class Reference(Expr):
    """`value` (of the event whose conditions these are) or `t.value`."""

    attribute: Name
    of: Name | None = None


class UnaryOp(StrEnum):
    """What stands before one operand."""

    NOT = "not"
    NEG = "-"


@dataclass(frozen=True)
class Unary(Expr):
    """`not e`, `-e`."""

    op: UnaryOp
    operand: Expr

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return (self.operand,)


class BinaryOp(StrEnum):
    """What stands between two operands."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"


COMPARISONS = frozenset({BinaryOp.EQ, BinaryOp.NE, BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE})


@dataclass(frozen=True)
class Binary(Expr):
    """A comparison or a piece of arithmetic."""

    op: BinaryOp
    left: Expr
    right: Expr

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return (self.left, self.right)


class JunctionOp(StrEnum):
    """What joins truth values."""

    AND = "and"
    OR = "or"


@dataclass(frozen=True)
class Junction(Expr):
    """`a and b and c`: any number of operands, so that long lists of alternatives stay flat."""

    op: JunctionOp
    operands: tuple[Expr, ...]

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return self.operands

    @cached_property
    def height(self) -> int:
        """The length of the longest path down, counted as if pairs were joined to pairs."""
        return len(self.operands).bit_length() + max(child.height for child in self.operands)


# --- patterns -----------------------------------------------------------------------------------------------


class Selection(StrEnum):
    """Which of several possible constituents a rule takes."""

    LAST = "last"


@dataclass(frozen=True, slots=True)
class Occurrence:
    """`Temp(area = $a, value > 45) as t`: an event type, conditions on it, and the role it plays."""

    event: Name
    conditions: tuple[Expr, ...] = ()
    alias: Name | None = None
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def role(self) -> str:
        """The alias, or else the name of the event type."""
        return (self.alias or self.event).text


@dataclass(frozen=True, slots=True)
class Selected:
    """`last Temp(…) as t within 3 min from s`: a constituent before another one."""

    selection: Selection
    occurrence: Occurrence
    within: Duration
    anchor: Name
    span: Span = field(default=NOWHERE, compare=False)


PatternItem = Selected
"""What may follow `and` in a pattern."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The terminator, which makes the rule fire, and what it asks of the past."""

    terminator: Occurrence
    items: tuple[PatternItem, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


# --- declarations -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value: double?` in the head of an event or a definition."""

    name: Name
    type: Name
    optional: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Topic:
    """The topic an event is read from."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Trivia:
    """The comments of a declaration: lines above it (an empty one is a blank line) and the one behind it."""

    above: tuple[str, ...] = ()
    behind: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """`event Temp (…) on "temps" key area lateness 2 s;`."""

    name: Name
    attributes: tuple[Attribute, ...]
    topic: Topic
    key: Name | None = None
    time: Name | None = None
    lateness: Duration | None = None
    idle: Duration | None = None
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`value = t.value` in a `where` clause."""

    attribute: Name
    value: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Define:
    """`define Fire (…) from … where …;`."""

    name: Name
    attributes: tuple[Attribute, ...]
    pattern: Pattern
    assignments: tuple[Assignment, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    trivia: Trivia = field(default=Trivia(), compare=False)

    def __str__(self) -> str:
        return _print(self)


Declaration = Event | Define


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
