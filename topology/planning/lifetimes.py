"""Lifetimes in matches: how long what a step has taken is kept, and how long a part can go on.

A part that was started ends after its life; what it has taken is kept until it ends or has passed it on, and
whatever it is passed on to holds it for its own life. None is without bound.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tocsin.topology.sources import (
    Absent,
    All,
    Alternatives,
    Denied,
    Every,
    InTime,
    MatchNode,
    OneOf,
    Repeat,
    Step,
    Taking,
    Then,
    Wait,
    constituents_of,
    operands,
)
from tocsin.topology.tree import Take

Bound = int | None


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a part goes on from its start, and how long each constituent it takes is kept."""

    life: Bound
    kept: Mapping[int, Bound]


def lifetime(node: MatchNode) -> Lifetime:  # noqa: PLR0911 (one case a kind)
    """Return the lifetime of a part of a match."""
    match node:
        case Step(constituent):
            return Lifetime(None, {constituent: 0})
        case Wait():
            return Lifetime(node.delay_ms, {node.tick: 0})
        case Then(left, right):
            first, second = lifetime(left), lifetime(right)
            held = {slot: plus(bound, second.life) for slot, bound in first.kept.items()}
            return Lifetime(plus(first.life, second.life), _merged(held, second.kept))
        case OneOf(parts) | Alternatives(parts):
            lives = [lifetime(part) for part in parts]
            return Lifetime(_longest(*(each.life for each in lives)), _merged(*(each.kept for each in lives)))
        case All(parts):
            return _all(parts)
        case Repeat():
            return _repeat(node)
        case InTime() | Absent():
            return _limited(node)
        case Every() | Denied():
            return Lifetime(None, lifetime(node.operand).kept)
        case _:
            return lifetime(node.operand)


def multiplying(node: MatchNode) -> Iterator[Every]:
    """Yield where a part is started again though it goes on, so that more and more of them run."""
    if isinstance(node, Every) and _comes_again(node.operand, each=False):
        yield node
    for operand in operands(node):
        yield from multiplying(operand)


def _comes_again(node: MatchNode, *, each: bool) -> bool:  # noqa: PLR0911 (one case a kind)
    """Tell whether a part can come true more than once; `each` is how its first step takes events."""
    match node:
        case Step():
            return each
        case Every():
            return True
        case Wait() | Absent() | Denied():
            return False
        case Taking(take, operand):
            return _comes_again(operand, each=take is Take.EACH)
        case Then(left, right):
            return _comes_again(left, each=each) or _comes_again(right, each=False)
        case Alternatives(parts) if len(parts) > 1:
            return True
        case OneOf(parts) | All(parts) | Alternatives(parts):
            return any(_comes_again(part, each=each) for part in parts)
        case Repeat(until=until) if until is not None:
            return _comes_again(until, each=False)
        case Repeat(operand=operand, low=low, high=high, take=take):
            later = high != 1 and _comes_again(operand, each=take is Take.EACH)
            return low != high or later or _comes_again(operand, each=each)
        case _:
            return _comes_again(node.operand, each=each)


def _all(parts: tuple[MatchNode, ...]) -> Lifetime:
    denied = [lifetime(part) for part in parts if isinstance(part, Denied)]
    asked = [lifetime(part) for part in parts if not isinstance(part, Denied)]
    life = _longest(*(part.life for part in asked)) if asked else None
    kept = _merged(*(part.kept for part in asked))
    if len(asked) > 1:  # what one part has found waits for the others
        kept = dict.fromkeys(kept, life)
    return Lifetime(life, _merged(kept, *(part.kept for part in denied)))


def _repeat(node: Repeat) -> Lifetime:
    inner = lifetime(node.operand)
    if node.until is not None:
        until = lifetime(node.until)
        return Lifetime(until.life, _merged(dict.fromkeys(inner.kept, until.life), until.kept))
    waiting = 0 if node.high == 1 else _times(inner.life, None if node.high is None else node.high - 1)
    kept = {slot: plus(bound, waiting) for slot, bound in inner.kept.items()}
    return Lifetime(plus(inner.life, waiting), kept)


def _limited(node: InTime | Absent) -> Lifetime:
    inner = lifetime(node.operand)
    own = set(constituents_of(node.operand))
    if node.since not in own:
        within = dict.fromkeys(inner.kept, node.within_ms)
        return Lifetime(_least(inner.life, node.within_ms), _capped(inner.kept, within))
    # The time counts from a constituent of its own: what was taken before that one is not bounded by it.
    first = _opening(node.operand)
    within = dict.fromkeys(inner.kept, node.within_ms) if node.since in first else {}
    return Lifetime(inner.life, _capped(inner.kept, within))


def _opening(node: MatchNode) -> frozenset[int]:
    """Return the constituent that a part takes first, whatever happens; none if there is a choice."""
    match node:
        case Step(constituent):
            return frozenset({constituent})
        case Then(left, _):
            return _opening(left)
        case OneOf() | Alternatives() | All() | Wait() | Absent() | Denied():
            return frozenset()
        case Repeat(low=low, until=until) if low == 0 or until is not None:
            # What is collected until something else comes is not given up in time, only not passed on then.
            return frozenset()
        case _:
            return _opening(node.operand)


def plus(left: Bound, right: Bound) -> Bound:
    """Return how long one goes on behind the other."""
    return None if left is None or right is None else left + right


def _times(bound: Bound, count: int | None) -> Bound:
    return None if bound is None or count is None else bound * count


def _least(bound: Bound, limit_ms: int) -> int:
    return limit_ms if bound is None else min(bound, limit_ms)


def _longest(*bounds: Bound) -> Bound:
    known = [bound for bound in bounds if bound is not None]
    return max(known, default=0) if len(known) == len(bounds) else None


def _merged(*parts: Mapping[int, Bound]) -> dict[int, Bound]:
    merged: dict[int, Bound] = {}
    for part in parts:
        for slot, bound in part.items():
            merged[slot] = _longest(merged.get(slot, 0), bound)
    return merged


def _capped(kept: Mapping[int, Bound], limits: Mapping[int, int]) -> dict[int, Bound]:
    return {slot: _least(bound, limits[slot]) if slot in limits else bound for slot, bound in kept.items()}
