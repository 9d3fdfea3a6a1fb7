"""Difference constraints: how far moments lie apart, and what follows from that by shortest paths."""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Moment = TypeVar("Moment", bound=Hashable)
Reason = TypeVar("Reason")


@dataclass(frozen=True, slots=True)
class Limit(Generic[Moment, Reason]):
    """`later` lies at most `bound_ms` after `earlier` (before it, if that is negative), for some reason."""

    earlier: Moment
    later: Moment
    bound_ms: int
    reason: Reason


def bounds_to(target: Moment, limits: Iterable[Limit[Moment, Reason]]) -> dict[Moment, int]:
    """Return for each moment how long before the target it can be at most; what is missing has no bound.

    The limits must be possible together.
    """
    limits = tuple(limits)
    bounds = {target: 0}
    changed = True
    while changed:
        changed = False
        for limit in limits:
            if limit.later in bounds:
                found = bounds[limit.later] + limit.bound_ms
                if found < bounds.get(limit.earlier, found + 1):
                    bounds[limit.earlier] = found
                    changed = True
    return bounds


def contradiction(limits: Iterable[Limit[Moment, Reason]]) -> tuple[Reason, ...] | None:
    """Return the reasons of limits that cannot hold together, if there are such: of a negative cycle."""
    limits = tuple(limits)
    moments = {moment for limit in limits for moment in (limit.earlier, limit.later)}
    bounds = dict.fromkeys(moments, 0)
    through: dict[Moment, Limit[Moment, Reason]] = {}
    last: Limit[Moment, Reason] | None = None
    for _ in range(len(moments) + 1):
        last = None
        for limit in limits:
            found = bounds[limit.later] + limit.bound_ms
            if found < bounds[limit.earlier]:
                bounds[limit.earlier] = found
                through[limit.earlier] = limit
                last = limit
        if last is None:
            return None
    assert last is not None
    return tuple(dict.fromkeys(limit.reason for limit in _cycle(last, through)))


def _cycle(
    last: Limit[Moment, Reason], through: dict[Moment, Limit[Moment, Reason]]
) -> Iterator[Limit[Moment, Reason]]:
    """Follow the improvements to the cycle they came from, and once around it."""
    moment = last.earlier
    for _ in through:
        moment = through[moment].later
    start = moment
    while True:
        yield through[moment]
        moment = through[moment].later
        if moment == start:
            return
