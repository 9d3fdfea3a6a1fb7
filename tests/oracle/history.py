"""Histories: occurrences, and the total order in which they stand.

    event("Temp", t=1000, area="a", value=50.0)    an input event, as its producer sent it
    event("E1", t=1, label="e1¹")                  with a label of its own, for tests that speak of it

A world (`world.py`) turns input events into occurrences: it knows the declarations, and so topic, key, own id
and time attribute. What detectors find is an `Occurrence` too, in a `Found` with the parameters it bound.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Value = Any
"""A value of an attribute: boolean, number, string, bytes, a tuple of them, or None, which is null."""


@dataclass(frozen=True, order=True, slots=True)
class Position:
    """A place in the total order: the time, events before timers, and a tie-break.

    The tie of an event is (topic, key, sequence number); that of a timer is (place of its definition in the
    file, place of its node in there, position of its initiator).
    """

    time: int
    timer: int = 0
    tie: tuple[Any, ...] = ()


BEGINNING = Position(-(2**63))
"""Before everything."""


def due(time: int, definition: int, node: int, initiator: Position = BEGINNING) -> Position:
    """Where a timer stands: after every event of its time, and among timers as its tie says."""
    return Position(time, 1, (definition, node, initiator))


@dataclass(frozen=True, slots=True, eq=False)
class Occurrence:
    """Something that occurred. Two with the same label are one.

    `position` is that of the terminator and `initiated` that of the initiator; they differ for a composite
    only. `start` and `end` are the interval in milliseconds. `roles` holds the constituents by the role they
    play, each in the order of positions; an unnamed timer plays the role "". `rank` is the place in the file
    of the definition it comes from: simultaneous occurrences stand in that order. `round` counts the actions
    of rules that led to it at its own position: 0 for what occurs by itself. `place` is what `place()` says
    of it, once that is final.
    """

    type: str
    position: Position
    start: int
    end: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    roles: Mapping[str, tuple["Occurrence", ...]] = field(default_factory=dict)
    label: Hashable = ""
    initiated: Position = BEGINNING
    rank: int = 0
    round: int = 0
    place: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Occurrence) and self.label == other.label

    def __hash__(self) -> int:
        return hash(self.label)

    def __repr__(self) -> str:
        return f"{self.type}:{self.label}@{self.position.time}"

    @property
    def time(self) -> int:
        """The time of occurrence, t_occ."""
        return self.position.time

    @property
    def constituents(self) -> frozenset["Occurrence"]:
        """What it is made of, as the set that §2.2 of Snoop represents it by: roles forgotten, each once."""
        return frozenset(constituent for players in self.roles.values() for constituent in players)


def timer(position: Position, label: Hashable) -> Occurrence:
    """A point in time, as a constituent."""
    return Occurrence("Timer", position, position.time, position.time, label=label, initiated=position)


@dataclass(frozen=True, slots=True)
class Found:
    """What a detector found for a source: the occurrence, and the parameters its constituents bound.

    `valuation` is that of the source's equality parameters, for what is counted per valuation.
    """

    occurrence: Occurrence
    parameters: Mapping[str, Value] = field(default_factory=dict)
    valuation: tuple[tuple[str, Value], ...] = ()


def composite(
    name: str,
    roles: Mapping[str, Iterable[Occurrence]],
    position: Position | None = None,
    *,
    start: int | None = None,
    end: int | None = None,
    initiated: Position | None = None,
) -> Occurrence:
    """The occurrence of `name` with these constituents.

    Unless said otherwise it stands where its last constituent stands, was initiated where its first one was,
    and spans the time from the earliest start to its position. The label is TESLA's: an injective function of
    the name and the (role, label) pairs.
    """
    ordered = {role: in_order(players) for role, players in roles.items()}
    constituents = [constituent for players in ordered.values() for constituent in players]
    position = position or max(constituent.position for constituent in constituents)
    return Occurrence(
        name,
        position,
        min((c.start for c in constituents), default=position.time) if start is None else start,
        position.time if end is None else end,
        roles=MappingProxyType(ordered),
        label=(name, frozenset((role, c.label) for role, players in ordered.items() for c in players)),
        initiated=initiated or min((c.initiated for c in constituents), default=position),
        round=max((c.round for c in constituents if c.position == position), default=0),
    )


def in_order(occurrences: Iterable[Occurrence]) -> tuple[Occurrence, ...]:
    """In the total order; simultaneous ones by the places of their definitions, initiators, constituents."""
    return tuple(sorted(occurrences, key=place))


def place(occurrence: Occurrence) -> tuple[Any, ...]:
    """What decides the order of occurrences; TESLA's "assuming ordering" of labels.

    Constituents are compared role by role, and among simultaneous ones by what they are made of themselves.
    """
    return occurrence.place or (
        occurrence.position,
        occurrence.rank,
        occurrence.initiated,
        tuple(tuple(map(place, players)) for players in occurrence.roles.values()),
    )


@dataclass(frozen=True, slots=True)
class Input:
    """An input event as its producer sent it: `t` is the time of the record."""

    type: str
    t: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    label: str | None = None


def event(kind: str, /, t: int, label: str | None = None, **attributes: Value) -> Input:
    """An input event; of an operation or a unit of work give its `phase` and `call` or `id` too."""
    return Input(kind, t, attributes, label)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one fact: from `position` on it has this state; None: it is no more.

    `key` tells the facts of one type apart: the value of the key attribute, or anything unique. `round` is 0
    for what comes from outside, and otherwise one more than that of the rule's occurrence that caused it.
    """

    type: str
    key: Hashable
    position: Position
    state: Mapping[str, Value] | None
    round: int = 0


def fact(kind: str, /, t: int, key: Hashable = None, **state: Value) -> Change:
    """A fact that holds from time `t` on, before every event of that time: `fact("Equipment", t=0, id="e1")`.

    `key` is needed only where the declaration of the fact names no key attribute; see `World`.
    """
    return Change(kind, key, Position(t, -1), dict(state))


def retraction(kind: str, /, t: int, key: Hashable) -> Change:
    """The fact with this key is no more from time `t` on."""
    return Change(kind, key, Position(t, -1), None)
