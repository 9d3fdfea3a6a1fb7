"""Conditions of constituents: which an event alone decides, and which tie it to another one."""

from dataclasses import replace

from tocsin.topology.model import Constituent
from tocsin.topology.plan import Match
from tocsin.topology.terms import Apply, Const, Field, Moment, Scalar, Term, Valued, constituents, parts

_NOT_INDEXED = frozenset({Scalar.FLOAT, Scalar.DOUBLE})


def alone(condition: Term, index: int) -> bool:
    """Tell whether an event alone decides: not what was taken before it, nor a value found elsewhere."""
    simple = all(isinstance(part, Field | Const | Apply | Moment) for part in parts(condition))
    return simple and constituents(condition) <= {index}


def by_own_values(condition: Term, constituent: Constituent) -> Term:
    """Return a condition with the parameters that the constituent gives a value read from itself."""
    match condition:
        case Valued(name=name) if name in constituent.equalities:
            field = constituent.equalities[name]
            return Field(constituent.index, field, condition.scalar, enum=condition.enum)
        case Apply(args=args):
            return replace(condition, args=tuple(by_own_values(arg, constituent) for arg in args))
        case _:
            return condition


def decides(constituent: Constituent, condition: Term) -> bool:
    """Tell whether an event of a constituent alone decides a condition of it."""
    return alone(by_own_values(condition, constituent), constituent.index)


def tie(condition: Term, own: int) -> Match | None:
    """Return the equality of an own field with another constituent's, if the condition is one.

    Doubles are left out: an index compares bits, and 0.0 equals -0.0.
    """
    match condition:
        case Apply(op="eq", args=(Field() as left, Field() as right)):
            mine, other = (left, right) if left.constituent == own else (right, left)
            indexed = condition.operand_type not in _NOT_INDEXED
            if indexed and mine.constituent == own != other.constituent:
                return Match(mine.field, (other.constituent, other.field))
    return None
