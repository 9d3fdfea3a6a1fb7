"""Typed expressions: what the tree's expressions mean once every name is known, as the plan writes them."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    TIMESTAMP = "timestamp"

    @property
    def wide(self) -> "Scalar":
        """The type that operators work on."""
        return _WIDE.get(self, self)

    @property
    def described(self) -> str:
        """The name with its article."""
        return f"an {self}" if self is Scalar.INT else f"a {self}"


_WIDE = {Scalar.INT: Scalar.LONG, Scalar.TIMESTAMP: Scalar.LONG, Scalar.FLOAT: Scalar.DOUBLE}

Json = list[object]


@dataclass(frozen=True, slots=True)
class Field:
    """An attribute of a constituent, both by index."""

    constituent: int
    field: int
    scalar: Scalar
    optional: bool = False

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["field", self.constituent, self.field]


@dataclass(frozen=True, slots=True)
class Const:
    """A literal value."""

    scalar: Scalar
    value: bool | int | float | str
    optional: bool = False

    def to_list(self) -> Json:
        """Return the plan's form."""
        return ["const", self.scalar.wide.value, self.value]


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator on operands of one type; `scalar` is the type of the result."""

    op: str
    operand_type: Scalar
    args: tuple["Term", ...]
    scalar: Scalar
    optional: bool = False

    def to_list(self) -> Json:
        """Return the plan's form."""
        return [self.op, self.operand_type.value, *(arg.to_list() for arg in self.args)]


Term = Field | Const | Apply


def widen(term: Term, scalar: Scalar) -> Term:
    """Return the term as a value of a wide type; only a long that becomes a double needs doing."""
    if scalar is not Scalar.DOUBLE or term.scalar.wide is not Scalar.LONG:
        return term
    if isinstance(term, Const):
        return Const(Scalar.DOUBLE, float(term.value))
    return Apply("cast", Scalar.DOUBLE, (term,), Scalar.DOUBLE, term.optional)


def join(op: str, terms: Sequence[Term]) -> Term:
    """Join truth values by `and` or `or` as a balanced tree, so that long lists do not nest deeply."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return Apply(op, Scalar.BOOLEAN, (join(op, terms[:half]), join(op, terms[half:])), Scalar.BOOLEAN)


def fields(term: Term) -> Iterator[Field]:
    """Yield every attribute a term reads."""
    if isinstance(term, Field):
        yield term
    elif isinstance(term, Apply):
        for arg in term.args:
            yield from fields(arg)


def constituents(term: Term) -> frozenset[int]:
    """Return the constituents a term reads."""
    return frozenset(field.constituent for field in fields(term))


def conjuncts(term: Term) -> tuple[Term, ...]:
    """Return the conditions that must all hold for the term to hold."""
    if isinstance(term, Apply) and term.op == "and":
        return reduce(operator.add, (conjuncts(arg) for arg in term.args))
    return (term,)


def relocate(term: Term, constituent: int) -> Term:
    """Return the term with every attribute read from one other constituent."""
    match term:
        case Field():
            return Field(constituent, term.field, term.scalar, term.optional)
        case Const():
            return term
        case Apply():
            args = tuple(relocate(arg, constituent) for arg in term.args)
            return Apply(term.op, term.operand_type, args, term.scalar, term.optional)
