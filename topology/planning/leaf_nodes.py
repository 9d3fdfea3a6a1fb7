"""Constituents to leaves of the event graph: sources, timers, facts."""

from collections.abc import Sequence

from tocsin.topology.model import Constituent
from tocsin.topology.nodes import FactNode, Match, SourceNode, TimerNode
from tocsin.topology.planning.stores import NodeStore
from tocsin.topology.terms import Term, renumber
from tocsin.topology.tree import TimeField, Timer
from tocsin.topology.types import Kind

_SMALLEST = {
    TimeField.MONTH: 1,
    TimeField.DAY: 1,
    TimeField.HOUR: 0,
    TimeField.MINUTE: 0,
    TimeField.SECOND: 0,
}
_DEFAULT_ZONE = "UTC"


def leaf(constituent: Constituent, store: NodeStore, within_ms: int | None = None) -> int:
    """Return the id of a constituent's leaf."""
    if constituent.timer is not None:
        return store.add(_timer(constituent.timer))
    number = store.type_number(constituent.event.name)
    if constituent.event.kind is Kind.FACT:
        return store.add(FactNode(number, constituent.filter))
    phase = None if constituent.phase is None else constituent.phase.value
    bound_ms = within_ms if _lasts(constituent, store) else None
    return store.add(SourceNode(number, constituent.filter, phase=phase, within_ms=bound_ms))


def _lasts(constituent: Constituent, store: NodeStore) -> bool:
    """Tell whether an event may be longer than a moment."""
    event = constituent.event
    intervals = (store.types[store.type_number(name)].start is not None for name in event.with_subtypes)
    return event.kind is Kind.DEFINED or any(intervals)


def ties(constituent: Constituent, slots: dict[int, int]) -> tuple[Match, ...]:
    """Return the equalities of a constituent with earlier ones, by slots."""
    return tuple(Match(m.field, (slots[m.equals[0]], m.equals[1])) for m in constituent.match)


def rest(constituent: Constituent, slots: dict[int, int]) -> Term | None:
    """Return the other conditions of a constituent, by slots."""
    return None if constituent.where is None else renumber(constituent.where, slots)


def _timer(timer: Timer) -> TimerNode:
    """Fill in the fields that are not given: finer ones with their smallest value, the rest with any."""
    given = {value.field: value.value for value in timer.fields}
    order = [field for field in TimeField if field is not TimeField.WEEKDAY]
    # A weekday is a day.
    at_least = [TimeField.DAY] if TimeField.WEEKDAY in given else []
    finest = max((order.index(field) for field in (*given, *at_least) if field in order), default=0)
    pattern = tuple(
        (field, given.get(field, _SMALLEST.get(field) if _is_finer(field, order, finest) else None))
        for field in TimeField
    )
    return TimerNode(pattern, timer.zone or _DEFAULT_ZONE)


def _is_finer(field: TimeField, order: Sequence[TimeField], finest: int) -> bool:
    return field in order and order.index(field) > finest
