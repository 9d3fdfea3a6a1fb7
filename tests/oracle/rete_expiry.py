"""Expiry dates, §4.4 of RETE with events: until when what has matched so far can still be matched with more.

Temporal constraints bound how far apart events are. Through chains of them, each event is bounded from each
other one by the shortest path; where constraints are joined by `or`, by the longest of the alternatives.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import product

from tests.oracle.relations import Interval, Point, differences
from tests.oracle.values import mentions
from tocsin.topology import tree
from tocsin.topology.tree import JunctionOp, UnaryOp

End = tuple[str, str]
"""The start or the end of the event in a role."""

Bound = tuple[End, End, float]
"""`(u, v, d)`: v comes at most d after u."""

Bounds = dict[tuple[End, End], float]


def expiry(
    when: tree.When, known: Mapping[str, Interval], lengths: Mapping[str, float] | None = None
) -> float:
    """The date after which nothing completes a match with the known events; it can be past, or infinite.

    `lengths` says how long the events of a role can take; without it an event is a point. For an event of a
    negated condition it is the date after which it can no longer prevent a match.
    """
    lengths = lengths or {}
    roles = [role for role, negated in event_roles(when) if not negated or role in known]
    missing = [role for role, negated in event_roles(when) if not negated and role not in known]
    dates = [
        max((latest(role, known, bounds) for role in missing), default=-math.inf)
        for bounds in alternatives(when, roles, lengths)
        if consistent(known, bounds)
    ]
    return max(dates, default=-math.inf)


def latest(role: str, known: Mapping[str, Interval], bounds: Bounds) -> float:
    """The latest end that the event of a role can have."""
    return min(at + bounds[end, (role, "end")] for end, at in ends(known))


def consistent(known: Mapping[str, Interval], bounds: Bounds) -> bool:
    """Whether the known events can be in one match at all."""
    known_ends = list(ends(known))
    return all(later - at <= bounds[end, other] for end, at in known_ends for other, later in known_ends)


def ends(known: Mapping[str, Interval]) -> Iterator[tuple[End, int]]:
    for role, interval in known.items():
        yield (role, "start"), interval.start
        yield (role, "end"), interval.end


def event_roles(when: tree.When) -> Iterator[tuple[str, bool]]:
    """The roles of event conditions, and whether they are negated."""
    for item in when.items:
        match item:
            case tree.EventCondition(occurrence=tree.Occurrence(role=role), negated=negated) | (
                tree.EventCondition(
                    occurrence=tree.Modified(operand=tree.Occurrence(role=role)), negated=negated
                )
            ):
                yield role, negated
            case tree.ChangeCondition(type=name, alias=alias):
                yield alias.text if alias else f"change {name.text}", False


# --- constraints --------------------------------------------------------------------------------------------


def alternatives(when: tree.When, roles: list[str], lengths: Mapping[str, float]) -> Iterator[Bounds]:
    """The tightest bounds between all ends, for each way in which the constraints can be fulfilled."""
    for choice in product(*(ways(expr, this) for expr, this in constraints(when, roles))):
        said = [bound for bounds in choice for bound in bounds]
        tightest = shortest_paths(roles, said, lengths)
        if all(tightest[end, end] >= 0 for end in nodes(roles)):
            yield tightest


def constraints(when: tree.When, roles: list[str]) -> Iterator[tuple[tree.Expr, str]]:
    """The conditions and constraints that speak of the events of `roles` only, each with its `this`."""
    others = {role for role, _ in event_roles(when)} - set(roles)
    for item in when.items:
        match item:
            case tree.Constraint(expr=expr):
                if not mentions(expr) & others:
                    yield expr, ""
            case (
                tree.EventCondition(occurrence=tree.Occurrence() as occurrence)
                | tree.EventCondition(occurrence=tree.Modified(operand=tree.Occurrence() as occurrence))
            ):
                if occurrence.role in roles:
                    yield from ((condition, occurrence.role) for condition in occurrence.conditions)


def ways(expr: tree.Expr, this: str, *, true: bool = True) -> list[list[Bound]]:
    """The ways in which a condition can be true, or false; what is not about time says nothing."""
    match expr:
        case tree.Unary(op=UnaryOp.NOT, operand=operand):
            return ways(operand, this, true=not true)
        case tree.Junction(op=op, operands=operands):
            parts = [ways(operand, this, true=true) for operand in operands]
            if (op is JunctionOp.AND) is true:
                return [[bound for part in choice for bound in part] for choice in product(*parts)]
            return [way for part in parts for way in part]
        case tree.Relation():
            ranges = [(*named_ends(expr, d.later, d.earlier, this), d.low, d.high) for d in differences(expr)]
            if true:
                return [[bound for given in ranges for bound in between(*given)]]
            return [
                between(*outside)
                for later, earlier, low, high in ranges
                for outside in [(later, earlier, -math.inf, low - 1), (later, earlier, high + 1, math.inf)]
                if outside[2] < outside[3]
            ]
        case _:
            return [[]]


def named_ends(relation: tree.Relation, later: Point, earlier: Point, this: str) -> tuple[End, End]:
    names = {
        Point.LEFT_START: (relation.left.text, "start"),
        Point.LEFT_END: (relation.left.text, "end"),
        Point.RIGHT_START: (relation.right.text, "start"),
        Point.RIGHT_END: (relation.right.text, "end"),
    }
    one, other = names[later], names[earlier]
    return (this, one[1]) if one[0] == "this" else one, (this, other[1]) if other[0] == "this" else other


def between(later: End, earlier: End, low: float, high: float) -> list[Bound]:
    """That is, low ≤ later − earlier ≤ high."""
    return [(earlier, later, high), (later, earlier, -low)]


# --- paths --------------------------------------------------------------------------------------------------


def nodes(roles: list[str]) -> list[End]:
    return [(role, end) for role in roles for end in ("start", "end")]


def shortest_paths(roles: list[str], said: list[Bound], lengths: Mapping[str, float]) -> Bounds:
    """Floyd and Warshall's: `bounds[u, v]` is how far v can come after u at most."""
    own = [bound for r in roles for bound in between((r, "end"), (r, "start"), 0, lengths.get(r, 0))]
    bounds = {(u, v): 0.0 if u == v else math.inf for u in nodes(roles) for v in nodes(roles)}
    for u, v, distance in [*own, *said]:
        bounds[u, v] = min(bounds[u, v], distance)
    for via in nodes(roles):
        for u, v in product(nodes(roles), repeat=2):
            bounds[u, v] = min(bounds[u, v], bounds[u, via] + bounds[via, v])
    return bounds
