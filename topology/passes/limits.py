"""Limits of matches, moved to where the event they count from is known.

`(L then R) within d from a` with an a of L is `L then (R within d from a)`: when the time is up the rest
fails, so that an `every` around it starts again.
"""

from dataclasses import replace

from tocsin.topology.tree import (
    Absent,
    All,
    Alternatives,
    AtMost,
    Denied,
    Every,
    InTime,
    MatchExpr,
    Modified,
    Occurrence,
    OneOfMatches,
    Repeat,
    Step,
    Taking,
    Then,
    Wait,
    While,
)


def place_limits(expr: MatchExpr, known: frozenset[str] = frozenset()) -> MatchExpr:  # noqa: PLR0911 (one case a kind)
    """Return the match with every limit at what is started after the event it counts from."""
    match expr:
        case Then(left=left, right=right):
            rest = place_limits(right, known | bound_roles(left))
            return replace(expr, left=place_limits(left, known), right=rest)
        case InTime(since=since, operand=operand):
            placed = place_limits(operand, known)
            if since is None or since.text in known or since.text not in bound_roles(operand):
                return replace(expr, operand=placed)
            return _limited(placed, expr, since.text)
        case All() | OneOfMatches() | Alternatives():
            return replace(expr, parts=tuple(place_limits(part, known) for part in expr.parts))
        case Repeat(until=until):
            ending = None if until is None else place_limits(until, known)
            return replace(expr, operand=place_limits(expr.operand, known), until=ending)
        case Taking() | Every() | AtMost() | While() | Denied() | Absent():
            return replace(expr, operand=place_limits(expr.operand, known))
        case _:
            return expr


def bound_roles(expr: MatchExpr) -> frozenset[str]:
    """Return the roles that have an event, or may have one, when a match has come true."""
    match expr:
        case Step(occurrence=written):
            occurrence = written.operand if isinstance(written, Modified) else written
            assert isinstance(occurrence, Occurrence)
            return frozenset({occurrence.role})
        case Wait(alias=alias):
            return frozenset() if alias is None else frozenset({alias.text})
        case Denied() | Absent():
            return frozenset()
        case _:
            return frozenset().union(*map(bound_roles, expr.operands))


def _limited(expr: MatchExpr, limit: InTime, role: str) -> MatchExpr:  # noqa: PLR0911 (one case a kind)
    """Return a part with the limit inside it; the role is not known where the part is started."""
    if isinstance(expr, Step | Wait) or role not in bound_roles(expr):
        return expr
    match expr:
        case Then(left=left, right=right) if role in bound_roles(left):
            return replace(expr, left=_limited(left, limit, role), right=replace(limit, operand=right))
        case Then(right=right):
            return replace(expr, right=_limited(right, limit, role))
        case OneOfMatches() | Alternatives():
            return replace(expr, parts=tuple(_limited(part, limit, role) for part in expr.parts))
        case All():
            # What completes it may be a part that knows nothing of the role.
            parts = tuple(_limited(part, limit, role) for part in expr.parts)
            return replace(limit, operand=replace(expr, parts=parts))
        case Taking() | Every() | InTime() | While():
            return replace(expr, operand=_limited(expr.operand, limit, role))
        case _:
            return replace(limit, operand=expr)
