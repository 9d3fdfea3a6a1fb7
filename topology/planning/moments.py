"""What conditions say about time: limits on how far the starts and ends of constituents lie apart.

A disjunction says what all its alternatives say; what cannot be told as differences says nothing.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

from tocsin.topology.terms import Apply, Const, Edge, Moment, Related, Term
from tocsin.topology.types import Type

Instant = tuple[int, Edge]
"""The start or the end of a constituent."""
Differences = Mapping[tuple[Instant, Instant], int]
"""How long after the first moment the second one can be at most."""

_START, _END = Edge.START, Edge.END
_MIRRORED = {
    "before": "after",
    "metby": "meets",
    "overlappedby": "overlaps",
    "startedby": "starts",
    "includes": "during",
    "finishedby": "finishes",
}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Clock:
    """Knows the types of the constituents, which of those have an interval, and so which moments are one."""

    types: Mapping[int, Type]
    lasting: Container[str]

    def instant(self, constituent: int, edge: Edge) -> Instant:
        """Return a moment; a constituent that is a point has only one."""
        return constituent, (edge if self.lasts(constituent) else _END)

    def lasts(self, constituent: int) -> bool:
        """Tell whether a constituent has an interval."""
        return self.types[constituent].name in self.lasting

    def differences(self, term: Term) -> Differences:
        """Return what a condition says when it holds."""
        match term:
            case Related(left=left, right=right) if left in self.types and right in self.types:
                return self._related(term)
            case Apply(op="and"):
                return _both(self.differences(arg) for arg in term.args)
            case Apply(op="or"):
                return _either(self.differences(arg) for arg in term.args)
            case Apply(op="not", args=(operand,)):
                return self._failing(operand)
            case Apply(op="lt" | "le" | "gt" | "ge" | "eq", args=(left, right)):
                return self._compared(term.op, left, right)
            case _:
                return {}

    def _failing(self, term: Term) -> Differences:
        match term:
            case Apply(op="and"):
                return _either(self._failing(arg) for arg in term.args)
            case Apply(op="or"):
                return _both(self._failing(arg) for arg in term.args)
            case Apply(op="not", args=(operand,)):
                return self.differences(operand)
            case Apply(op="lt" | "le" | "gt" | "ge" | "ne", args=(left, right)):
                return self._compared(_OPPOSITE[term.op], left, right)
            case Related(op="after" | "before") if term.left in self.types and term.right in self.types:
                return self._not_after(term)
            case _:
                return {}

    def _compared(self, op: str, left: Term, right: Term) -> Differences:
        """Read `timeof(c) - timeof(a) <= 5 s` and its like, wherever its parts stand."""
        sums = self._linear(left), self._linear(right)
        if sums[0] is None or sums[1] is None:
            return {}
        weights, constant = _added(sums[0], sums[1], -1)
        plus = [moment for moment, weight in weights.items() if weight == 1]
        minus = [moment for moment, weight in weights.items() if weight == -1]
        if len(weights) != len(plus) + len(minus) or (len(plus), len(minus)) != (1, 1):
            return {}
        # plus - minus + constant OP 0
        strict = op in {"lt", "gt"}
        found: dict[tuple[Instant, Instant], int] = {}
        if op in {"lt", "le", "eq"}:
            found[minus[0], plus[0]] = -constant - strict
        if op in {"gt", "ge", "eq"}:
            found[plus[0], minus[0]] = constant - strict
        return found

    def _linear(self, term: Term) -> "_Sum | None":
        match term:
            case Const(value=int(value)):
                return {}, value
            case Moment(constituent=constituent, edge=edge) if constituent in self.types:
                return {self.instant(constituent, edge): 1}, 0
            case Apply(op="add" | "sub", args=(left, right)):
                sums = self._linear(left), self._linear(right)
                if sums[0] is None or sums[1] is None:
                    return None
                return _added(sums[0], sums[1], 1 if term.op == "add" else -1)
            case _:
                return None

    def _not_after(self, term: Related) -> Differences:
        low, high = _bounds_after(term)
        left, right = (term.right, term.left) if term.op == "before" else (term.left, term.right)
        start, end = self.instant(left, _START), self.instant(right, _END)
        if high is None and low is not None:
            return {(end, start): low - 1}
        if low is None and high is not None:
            return {(start, end): -high - 1}
        return {}

    def _related(self, term: Related) -> Differences:
        left, right = term.left, term.right
        op = term.op
        if op in _MIRRORED:
            op, left, right = _MIRRORED[op], right, left
        ends = (self.instant(left, _START), self.instant(left, _END))
        others = (self.instant(right, _START), self.instant(right, _END))
        if op == "after":
            return _between(others[1], ends[0], *_bounds_after(term))
        return _RELATIONS[op](ends, others, term.bounds_ms)


_Sum = tuple[dict[Instant, int], int]
_Ends = tuple[Instant, Instant]
_Bounds = tuple[int | None, ...]


def _added(left: _Sum, right: _Sum, sign: int) -> _Sum:
    weights = dict(left[0])
    for moment, weight in right[0].items():
        weights[moment] = weights.get(moment, 0) + sign * weight
    return {moment: weight for moment, weight in weights.items() if weight}, left[1] + sign * right[1]


def _bounds_after(term: Related) -> tuple[int | None, int | None]:
    given: _Bounds = (*term.bounds_ms, None, None)
    return (given[0], given[1]) if term.bounds_ms else (1, None)


def _between(first: Instant, second: Instant, low: int | None, high: int | None) -> Differences:
    """Say that the second moment is `low` to `high` after the first."""
    found: dict[tuple[Instant, Instant], int] = {}
    if high is not None:
        found[first, second] = high
    if low is not None:
        found[second, first] = -low
    return found


def _close(first: Instant, second: Instant, tolerance_ms: int | None) -> Differences:
    return {} if tolerance_ms is None else _between(first, second, -tolerance_ms, tolerance_ms)


def _tolerance(bounds: _Bounds) -> int | None:
    return bounds[0] if bounds else 0


def _meets(own: _Ends, other: _Ends, bounds: _Bounds) -> Differences:
    return _close(own[1], other[0], _tolerance(bounds))


def _coincides(own: _Ends, other: _Ends, bounds: _Bounds) -> Differences:
    start = _tolerance(bounds)
    end = bounds[1] if len(bounds) > 1 else start
    return _both((_close(own[0], other[0], start), _close(own[1], other[1], end)))


def _starts(own: _Ends, other: _Ends, bounds: _Bounds) -> Differences:
    return _both((_close(own[0], other[0], _tolerance(bounds)), _between(own[1], other[1], 1, None)))


def _finishes(own: _Ends, other: _Ends, bounds: _Bounds) -> Differences:
    return _both((_close(own[1], other[1], _tolerance(bounds)), _between(other[0], own[0], 1, None)))


def _during(own: _Ends, other: _Ends, bounds: _Bounds) -> Differences:
    """One bound is the greatest distance of both ends, two the least and the greatest, four are two each."""
    match bounds:
        case ():
            distances: tuple[int | None, ...] = (1, None, 1, None)
        case (high,):
            distances = (1, high, 1, high)
        case (low, high):
            distances = (low, high, low, high)
        case _:
            distances = bounds
    starts = _between(other[0], own[0], distances[0], distances[1])
    ends = _between(own[1], other[1], distances[2], distances[3])
    return _both((starts, ends))


def _overlaps(own: _Ends, other: _Ends, bounds: _Bounds) -> Differences:
    low, high = (bounds[0], bounds[1]) if len(bounds) > 1 else (1, bounds[0] if bounds else None)
    return _both(
        (
            _between(own[0], other[0], 1, None),
            _between(own[1], other[1], 1, None),
            _between(other[0], own[1], low, high),
        )
    )


_RELATIONS: Mapping[str, Callable[[_Ends, _Ends, _Bounds], Differences]] = {
    "meets": _meets,
    "coincides": _coincides,
    "starts": _starts,
    "finishes": _finishes,
    "during": _during,
    "overlaps": _overlaps,
}


def _both(parts: Iterable[Differences]) -> Differences:
    found: dict[tuple[Instant, Instant], int] = {}
    for part in parts:
        for pair, bound_ms in part.items():
            found[pair] = min(bound_ms, found.get(pair, bound_ms))
    return found


def _either(parts: Iterable[Differences]) -> Differences:
    first, *rest = parts
    shared = {pair for pair in first if all(pair in part for part in rest)}
    return {pair: max(part[pair] for part in (first, *rest)) for pair in shared}
