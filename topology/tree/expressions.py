"""Expressions: what conditions, assignments and constraints are made of."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tocsin.topology.errors import Span
from tocsin.topology.tree.base import NOWHERE, Name, Unit


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
    """`3 min`, and `-10 s` as a bound of a relation; as a value it is a number of milliseconds."""

    amount: int
    unit: Unit

    @property
    def ms(self) -> int:
        """The length in milliseconds."""
        return self.amount * self.unit.value


@dataclass(frozen=True)
class Parameter(Expr):
    """`$a`; `name` is without the dollar. Alone as a condition it names the event's key: `Change($x)`."""

    name: str


@dataclass(frozen=True)
class Reference(Expr):
    """`value` (of the event whose conditions these are), `t.value`, or `t` alone where a role is meant."""

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


@dataclass(frozen=True)
class IsNull(Expr):
    """`note is null`, `note is not null`: whether an optional value is missing."""

    operand: Expr
    negated: bool = False

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return (self.operand,)


@dataclass(frozen=True)
class OneOf(Expr):
    """`state in ("ONLINE", "ACTIVE")`."""

    operand: Expr
    options: tuple[Literal, ...]

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return (self.operand, *self.options)


@dataclass(frozen=True)
class Call(Expr):
    """A function of values (`abs(x)`), of a role (`timeof(c)`), or of what it collected (`avg(t.value)`)."""

    function: Name
    arguments: tuple[Expr, ...]

    @property
    def children(self) -> tuple["Expr", ...]:
        """The direct parts."""
        return self.arguments


class RelationOp(StrEnum):
    """How two occurrences lie to each other in time: Allen's thirteen relations."""

    AFTER = "after"
    BEFORE = "before"
    MEETS = "meets"
    METBY = "metby"
    OVERLAPS = "overlaps"
    OVERLAPPEDBY = "overlappedby"
    STARTS = "starts"
    STARTEDBY = "startedby"
    DURING = "during"
    INCLUDES = "includes"
    FINISHES = "finishes"
    FINISHEDBY = "finishedby"
    COINCIDES = "coincides"


@dataclass(frozen=True)
class Relation(Expr):
    """`c after [1 s, 5 s] a`; a bound of None is `*`, without end.

    `this` is the event whose conditions these are.
    """

    op: RelationOp
    left: Name
    right: Name
    bounds: tuple[Duration | None, ...] = ()
