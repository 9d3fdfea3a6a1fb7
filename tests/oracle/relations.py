"""Allen's thirteen relations between two occurrences, and the temporal constraints of RETE with events.

Every relation says how far apart the ends of two intervals [start, end] are, in milliseconds; a point has
start = end. Seven are written out, the other six are the same seen from the other side.

    after, before           [m], [m, M]    from the end of the earlier one to the start of the later one
    meets, metby            [t]            tolerance of the point where they meet
    overlaps, overlappedby  [M], [m, M]    the length of what they share
    starts, startedby       [t]            tolerance of the common start
    during, includes        [M], [m, M]    the distances of the starts and of the ends
                            [m, M, n, N]   of the starts (m, M), of the ends (n, N)
    finishes, finishedby    [t]            tolerance of the common end
    coincides               [t], [t, u]    tolerance of the starts (t) and of the ends (u)

Bounds are included, and None (`*`) is infinite.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from tocsin.topology import tree
from tocsin.topology.tree import RelationOp

INVERSES = {
    RelationOp.BEFORE: RelationOp.AFTER,
    RelationOp.METBY: RelationOp.MEETS,
    RelationOp.OVERLAPPEDBY: RelationOp.OVERLAPS,
    RelationOp.STARTEDBY: RelationOp.STARTS,
    RelationOp.INCLUDES: RelationOp.DURING,
    RelationOp.FINISHEDBY: RelationOp.FINISHES,
}

Bounds = Sequence[int | None]
"""What stands in brackets, in milliseconds."""


class Interval(Protocol):
    """What has a place in time."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


class Point(Enum):
    """An end of one of the two intervals."""

    LEFT_START = auto()
    LEFT_END = auto()
    RIGHT_START = auto()
    RIGHT_END = auto()

    def of(self, left: Interval, right: Interval) -> int:
        side = left if self in (Point.LEFT_START, Point.LEFT_END) else right
        return side.start if self in (Point.LEFT_START, Point.RIGHT_START) else side.end

    @property
    def mirrored(self) -> "Point":
        return MIRRORED[self]


MIRRORED = {
    Point.LEFT_START: Point.RIGHT_START,
    Point.LEFT_END: Point.RIGHT_END,
    Point.RIGHT_START: Point.LEFT_START,
    Point.RIGHT_END: Point.LEFT_END,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """`low ≤ later − earlier ≤ high`; the limits may be infinite."""

    later: Point
    earlier: Point
    low: float
    high: float

    def holds(self, left: Interval, right: Interval) -> bool:
        return self.low <= self.later.of(left, right) - self.earlier.of(left, right) <= self.high


def holds(relation: tree.Relation, left: Interval, right: Interval) -> bool:
    """Whether `left` stands in the relation to `right`."""
    return all(difference.holds(left, right) for difference in differences(relation))


def differences(relation: tree.Relation) -> list[Difference]:
    """What the relation says, all of which must hold."""
    bounds = [bound if bound is None else bound.ms for bound in relation.bounds]
    if relation.op not in INVERSES:
        return SAID[relation.op](bounds)
    return [
        Difference(said.later.mirrored, said.earlier.mirrored, said.low, said.high)
        for said in SAID[INVERSES[relation.op]](bounds)
    ]


def _distance(bounds: Bounds) -> tuple[float, float]:
    """`after[m, M]` of RETE with events, §4.2: d2 − d1 ∈ [m, M]. One bound is m; without any, at least 1 ms.

    Bounds in the wrong order are read in the right one, as in Drools.
    """
    if not bounds:
        return 1, math.inf
    low = -math.inf if bounds[0] is None else bounds[0]
    high = math.inf if len(bounds) == 1 or bounds[1] is None else bounds[1]
    return min(low, high), max(low, high)


def _limits(bounds: Bounds) -> tuple[float, float]:
    """`[m, M]`, or `[M]` with m = 1 ms, which is what "strictly" means in whole milliseconds."""
    low, high = (1, *bounds) if len(bounds) == 1 else bounds or (1, None)
    return -math.inf if low is None else low, math.inf if high is None else high


def _same(one: Point, other: Point, bounds: Bounds) -> Difference:
    """The same instant, up to a tolerance `[t]`."""
    tolerance = 0 if not bounds else math.inf if bounds[0] is None else bounds[0]
    return Difference(one, other, -tolerance, tolerance)


def _strictly(earlier: Point, later: Point) -> Difference:
    return Difference(later, earlier, 1, math.inf)


SAID: dict[RelationOp, Callable[[Bounds], list[Difference]]] = {
    RelationOp.AFTER: lambda bounds: [
        Difference(Point.LEFT_START, Point.RIGHT_END, *_distance(bounds)),
    ],
    RelationOp.MEETS: lambda bounds: [
        _same(Point.LEFT_END, Point.RIGHT_START, bounds),
    ],
    RelationOp.OVERLAPS: lambda bounds: [
        _strictly(Point.LEFT_START, Point.RIGHT_START),
        _strictly(Point.RIGHT_START, Point.LEFT_END),
        _strictly(Point.LEFT_END, Point.RIGHT_END),
        Difference(Point.LEFT_END, Point.RIGHT_START, *_limits(bounds)),
    ],
    RelationOp.STARTS: lambda bounds: [
        _same(Point.LEFT_START, Point.RIGHT_START, bounds),
        _strictly(Point.LEFT_END, Point.RIGHT_END),
    ],
    RelationOp.DURING: lambda bounds: [
        Difference(Point.LEFT_START, Point.RIGHT_START, *_limits(bounds[:2])),
        Difference(Point.RIGHT_END, Point.LEFT_END, *_limits(bounds[2:] or bounds)),
    ],
    RelationOp.FINISHES: lambda bounds: [
        _strictly(Point.RIGHT_START, Point.LEFT_START),
        _same(Point.LEFT_END, Point.RIGHT_END, bounds),
    ],
    RelationOp.COINCIDES: lambda bounds: [
        _same(Point.LEFT_START, Point.RIGHT_START, bounds[:1]),
        _same(Point.LEFT_END, Point.RIGHT_END, bounds[1:] or bounds),
    ],
}
"""The seven relations, as what each says of the four points."""
