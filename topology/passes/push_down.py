"""Predicate push-down: every condition goes to the earliest place that can decide it."""

from tocsin.topology.model import Compilation, Constituent
from tocsin.topology.plan import Match
from tocsin.topology.terms import Apply, Field, Scalar, Term, constituents, join, relocate


def push_down(compilation: Compilation) -> None:
    """Split the conditions of every constituent into its source's filter, equalities, and the rest."""
    for rule in compilation.rules:
        for constituent in rule.constituents:
            _split(constituent)


def _split(constituent: Constituent) -> None:
    own: list[Term] = []
    matches: dict[Match, None] = {}
    rest: list[Term] = []
    for condition in constituent.conditions:
        match = _match(condition, constituent.index)
        if constituents(condition) <= {constituent.index}:
            own.append(relocate(condition, 0))
        elif match is not None:
            matches[match] = None
        else:
            rest.append(condition)
    constituent.filter = join("and", own) if own else None
    constituent.match = tuple(matches)
    constituent.where = join("and", rest) if rest else None


def _match(condition: Term, own: int) -> Match | None:
    """Return the equality of an own field with an earlier constituent's, if the condition is one.

    Doubles are left out: an index compares bits, and 0.0 equals -0.0.
    """
    match condition:
        case Apply(op="eq", args=(Field() as left, Field() as right)):
            mine, other = (left, right) if left.constituent == own else (right, left)
            indexed = condition.operand_type is not Scalar.DOUBLE
            if indexed and mine.constituent == own != other.constituent:
                return Match(mine.field, (other.constituent, other.field))
    return None
