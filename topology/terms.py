"""Typed expressions: what the tree's expressions mean once every name is known, as the plan writes them."""

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce


class Scalar(StrEnum):
    """The type of an attribute."""

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    FLOAT = "float"
    DOUBLE = "double"
    STRING = "string"
    BYTES = "bytes"
    TIMESTAMP = "timestamp"

    @property
    def wide(self) -> "Scalar":
        """The type that operators work on."""
        return _WIDE.get(self, self)

    @property
    def described(self) -> str:
        """The name with its article."""
        if self is Scalar.BYTES:
            return "bytes"
        return f"an {self}" if self is Scalar.INT else f"a {self}"


_WIDE = {Scalar.INT: Scalar.LONG, Scalar.TIMESTAMP: Scalar.LONG, Scalar.FLOAT: Scalar.DOUBLE}

Json = list[object]
Place = tuple[int, int | None]
"""A constituent and one of its attributes, by index; without an attribute, the occurrence as such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Typed:
    """What is known of a value: whether it may be absent, the enum it is of, whether it is a list."""

    optional: bool = False
    enum: str | None = None
    many: bool = False


@dataclass(frozen=True, slots=True)
class Field(_Typed):
    """An attribute of a constituent, both by index.

    Inside a repeat, the attribute of a role that collects there is that of the one taken last.
    """

    constituent: int
    field: int
    scalar: Scalar

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["field", self.constituent, self.field]


@dataclass(frozen=True, slots=True)
class Const(_Typed):
    """A literal value; None is the value of an optional attribute that was left out."""

    scalar: Scalar
    value: bool | int | float | str | None

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["const", self.scalar.wide.value, self.value]


@dataclass(frozen=True, slots=True)
class Apply(_Typed):
    """An operator or a function on operands of one type; `scalar` is the type of the result."""

    op: str
    operand_type: Scalar
    args: tuple["Term", ...]
    scalar: Scalar

    def to_list(self) -> Json:
        """Return the plan's form."""
        return [self.op, self.operand_type.value, *(arg.to_list() for arg in self.args)]


@dataclass(frozen=True, slots=True)
class Valued(_Typed):
    """The value of an equality parameter of an event expression or a match."""

    name: str
    scalar: Scalar

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["parameter", self.name]


@dataclass(frozen=True, slots=True)
class Numbered(_Typed):
    """The value of an equality parameter in a node of the plan, by its number there: names do not matter."""

    number: int
    scalar: Scalar

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["parameter", self.number]


@dataclass(frozen=True, slots=True)
class Computed(_Typed):
    """The value of a pattern's aggregate, by its number among the aggregates of the pattern."""

    aggregate: int
    scalar: Scalar

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["aggregate", self.aggregate]


@dataclass(frozen=True, slots=True)
class Collected(_Typed):
    """A function of what a role collected, all `places` taken together in their order.

    In the conditions of a constituent of that role: of what was taken before.
    """

    function: str
    places: tuple[Place, ...]
    scalar: Scalar
    argument: float | int | None = None

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["collect", self.function, [list(place) for place in self.places], self.argument]


@dataclass(frozen=True, slots=True)
class Previous(_Typed):
    """An attribute of the element of a repeat before this one."""

    constituent: int
    field: int
    scalar: Scalar

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["previous", self.constituent, self.field]


class Edge(StrEnum):
    """The two ends of an occurrence's interval."""

    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class Moment(_Typed):
    """When an occurrence started or ended: `startof(c)`, `timeof(c)`."""

    constituent: int
    edge: Edge
    scalar: Scalar = Scalar.TIMESTAMP

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["time", self.edge.value, self.constituent]


@dataclass(frozen=True, slots=True)
class Related(_Typed):
    """A temporal relation of two occurrences; a bound of None is without end."""

    op: str
    left: int
    right: int
    bounds_ms: tuple[int | None, ...]
    scalar: Scalar = Scalar.BOOLEAN

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["related", self.op, self.left, self.right, list(self.bounds_ms)]


Term = Field | Const | Apply | Valued | Numbered | Computed | Collected | Previous | Moment | Related


_NO_NUMBERS: Mapping[str, int] = {}


def described(term: Term) -> str:
    """Return the type of a term with its article."""
    if term.many:
        return f"a list of {term.enum or term.scalar}"
    return f"a {term.enum}" if term.enum else term.scalar.described


def widen(term: Term, scalar: Scalar) -> Term:
    """Return the term as a value of a wide type; only a long that becomes a double needs doing."""
    if scalar is not Scalar.DOUBLE or term.scalar.wide is not Scalar.LONG:
        return term
    if isinstance(term, Const):
        return Const(Scalar.DOUBLE, None if term.value is None else float(term.value), optional=term.optional)
    return Apply("cast", Scalar.DOUBLE, (term,), Scalar.DOUBLE, optional=term.optional)


def join(op: str, terms: Sequence[Term]) -> Term:
    """Join truth values by `and` or `or` as a balanced tree, so that long lists do not nest deeply."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Apply(op, Scalar.BOOLEAN, (join(op, terms[:half]), join(op, terms[half:])), Scalar.BOOLEAN)


def parts(term: Term) -> Iterator[Term]:
    """Yield a term and every term in it."""
    yield term
    if isinstance(term, Apply):
        for arg in term.args:
            yield from parts(arg)


def fields(term: Term) -> Iterator[Field]:
    """Yield every attribute a term reads directly."""
    return (part for part in parts(term) if isinstance(part, Field))


def constituents(term: Term) -> frozenset[int]:
    """Return the constituents a term reads."""
    return frozenset(index for part in parts(term) for index in _read(part))


def conjuncts(term: Term) -> tuple[Term, ...]:
    """Return the conditions that must all hold for the term to hold."""
    if isinstance(term, Apply) and term.op == "and":
        return reduce(operator.add, (conjuncts(arg) for arg in term.args))
    return (term,)


def relocate(term: Term, constituent: int) -> Term:
    """Return a term over one constituent with everything read from one other constituent."""
    match term:
        case Field() | Previous() | Moment():
            return replace(term, constituent=constituent)
        case Collected():
            return replace(term, places=tuple((constituent, field) for _, field in term.places))
        case Related():
            return replace(term, left=constituent, right=constituent)
        case Apply():
            return replace(term, args=tuple(relocate(arg, constituent) for arg in term.args))
        case _:
            return term


def renumber(term: Term, slots: Mapping[int, int], parameters: Mapping[str, int] = _NO_NUMBERS) -> Term:
    """Return the term with constituents, and equality parameters, by other numbers."""
    match term:
        case Field() | Previous() | Moment():
            return replace(term, constituent=slots[term.constituent])
        case Collected():
            return replace(term, places=tuple((slots[index], field) for index, field in term.places))
        case Related():
            return replace(term, left=slots[term.left], right=slots[term.right])
        case Valued():
            return Numbered(parameters[term.name], term.scalar, optional=term.optional, enum=term.enum)
        case Apply():
            return replace(term, args=tuple(renumber(arg, slots, parameters) for arg in term.args))
        case _:
            return term


def _read(term: Term) -> tuple[int, ...]:
    match term:
        case Field() | Previous() | Moment():
            return (term.constituent,)
        case Collected():
            return tuple(index for index, _ in term.places)
        case Related():
            return (term.left, term.right)
        case _:
            return ()
