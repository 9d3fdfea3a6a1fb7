"""Lingering: what a match has to remember for each value of its parameters, for ever.

A match is started for all values at once, and what a value has needs no memory of its own until an event
has it. From there on its course differs from that of a value not seen yet; where it comes back to it, what
is kept for the value is forgotten. These are the places where it may never come back.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from tocsin.topology.planning.lifetimes import Bound, lifetime, plus
from tocsin.topology.sources import (
    Absent,
    All,
    Alternatives,
    AtMost,
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
    While,
    constituents_of,
    operands,
)
from tocsin.topology.tree import Take


class Why(Enum):
    """Why a value is never like one not seen yet again."""

    ENDED = "it has come true or failed, and is not started again"
    CLOCK = "it is started again with a clock of its own"
    PHASE = "it is started again elsewhere in what goes on for all values"
    STUCK = "it was begun, and need not end"


@dataclass(frozen=True, slots=True)
class Lingering:
    """A constituent of the part that lingers, and why it does."""

    constituent: int
    why: Why


def lingering(root: MatchNode, tied: Collection[int]) -> Lingering | None:
    """Return what lingers of a match; `tied` are the constituents that have a value of its parameters."""
    return _course(root, frozenset(tied), Take.FIRST)


def partial(root: MatchNode, mentions: Mapping[int, Collection[str]], parameters: int) -> int | None:
    """Return a constituent that is looked for while nothing has a value, and has one for some parameters."""
    untied = frozenset(index for index, names in mentions.items() if not names)
    some = (index for index in _awaited(root, untied) if 0 < len(mentions[index]) < parameters)
    return next(some, None)


def _course(node: MatchNode, tied: frozenset[int], take: Take) -> Lingering | None:  # noqa: PLR0911 (one case a kind)
    """Return what lingers of a part that was started for all values at once."""
    if not _depends(node, tied):
        return None
    match node:
        case Step() if take is Take.EACH:
            return None
        case Taking(own, operand):
            return _course(operand, tied, own)
        case Then(left, right):
            first = _course(left, tied, take)
            if first is not None or lifetime(right).life is not None:
                return first
            return _course(right, tied, Take.FIRST)
        case OneOf(parts) | Alternatives(parts) | All(parts):
            return next(filter(None, (_course(part, tied, take) for part in parts)), None)
        case InTime(operand):
            return _course(operand, tied, take)
        case Every(operand):
            return _restarted(operand, tied)
        case _:
            return Lingering(next(constituents_of(node)), Why.ENDED)


def _restarted(node: MatchNode, tied: frozenset[int]) -> Lingering | None:
    """Return what lingers of a part that is started again each time it comes true or fails."""
    if _at_once(node):
        return None
    started = list(_started(node))
    if any(isinstance(part, Wait) or _counts(part) for part in started):
        return Lingering(next(constituents_of(node)), Why.CLOCK)
    for part in started:
        if isinstance(part, Step) and part.constituent not in tied:
            return Lingering(part.constituent, Why.PHASE)
    return None if _life_once_begun(node) is not None else Lingering(next(constituents_of(node)), Why.STUCK)


def _depends(node: MatchNode, tied: frozenset[int]) -> bool:
    """Tell whether a part sees events of single values; `next` does, whatever it takes."""
    return (
        (isinstance(node, Step) and node.constituent in tied)
        or (isinstance(node, Taking | Repeat) and node.take is Take.NEXT)
        or any(_depends(operand, tied) for operand in operands(node))
    )


def _counts(node: MatchNode) -> bool:
    """Tell whether a part counts time from its start."""
    return isinstance(node, InTime | Absent) and node.since is None


def _at_once(node: MatchNode) -> bool:
    """Tell whether a part comes true or fails with the first event it sees."""
    match node:
        case Step():
            return True
        case OneOf(parts):
            return all(map(_at_once, parts))
        case All(parts):
            asked = sum(not isinstance(part, Denied) for part in parts)
            return asked == 1 and all(map(_at_once, parts))
        case Taking() | While() | AtMost() | Denied() | Repeat(low=1, high=1, until=None):
            return _at_once(node.operand)
        case _:
            return False


def _life_once_begun(node: MatchNode) -> Bound:
    """Return how long a part goes on after the first event it sees; None is without bound."""
    if _at_once(node):
        return 0
    match node:
        case Then(left, right):
            return plus(_life_once_begun(left), lifetime(right).life)
        case Taking() | While() | AtMost():
            return _life_once_begun(node.operand)
        case All(parts) if all(_at_once(part) for part in parts if isinstance(part, Denied)):
            asked = [part for part in parts if not isinstance(part, Denied)]
            return _life_once_begun(asked[0]) if len(asked) == 1 else lifetime(node).life
        case _:
            return lifetime(node).life


def _started(node: MatchNode) -> Iterator[MatchNode]:
    """Yield a part and all that is started where it is."""
    yield node
    parts = operands(node)
    for part in parts[:1] if isinstance(node, Then) and not _passes(node.left, frozenset()) else parts:
        yield from _started(part)


def _awaited(node: MatchNode, seen: frozenset[int]) -> Iterator[int]:
    """Yield the constituents that are looked for where only those `seen` have come, and time has passed."""
    if isinstance(node, Step):
        yield node.constituent
    parts = operands(node)
    for part in parts[:1] if isinstance(node, Then) and not _passes(node.left, seen, timed=True) else parts:
        yield from _awaited(part, seen)


def _passes(node: MatchNode, seen: frozenset[int], *, timed: bool = False) -> bool:  # noqa: PLR0911 (one case a kind)
    """Tell whether a part can come true with nothing but what is `seen`, and with time if it is `timed`."""
    match node:
        case Step(constituent):
            return constituent in seen
        case Wait() | Absent():
            return timed
        case Denied():
            return True
        case Then() | All():
            return all(_passes(part, seen, timed=timed) for part in operands(node))
        case OneOf(parts) | Alternatives(parts):
            return any(_passes(part, seen, timed=timed) for part in parts)
        case Repeat(until=until):
            collected = node.low == 0 or _passes(node.operand, seen, timed=timed)
            return collected and (until is None or _passes(until, seen, timed=timed))
        case _:
            return _passes(node.operand, seen, timed=timed)
