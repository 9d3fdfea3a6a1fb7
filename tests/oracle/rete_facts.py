"""Facts over time: their states, from when until when each holds, and the events of their changes.

RETE with events, §4.5: "for each event it divides the world of facts into their states before the event was
asserted, and their states after". So a state holds in the half-open range (since, until]: what changes at a
position is seen by the events of later ones.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from tests.oracle.history import Change, Occurrence, Position, Value
from tests.oracle.world import World

Moment = tuple[Position, int]
"""A position, and at that position a round: the actions of one round are what the next one reacts to."""

NEVER: Moment = (Position(2**63), 0)


@dataclass(frozen=True, slots=True, eq=False)
class State(Occurrence):
    """A fact in one of its states, "the collection of the values of its attributes"."""

    key: Hashable = None
    until: Moment = NEVER

    @property
    def since(self) -> Moment:
        return self.position, self.round

    def holds_throughout(self, first: Position, last: Position) -> bool:
        """The principle of §4.5: as soon as the first event condition is satisfied, until the last one is."""
        return self.position < first and last <= self.until[0]

    def holds_sometime(self, first: Position, last: Position) -> bool:
        """What the principle forbids for a negated condition."""
        return self.position < last and first <= self.until[0]

    def holds_after(self, moment: Moment) -> bool:
        """Whether the fact has this state when all changes of that moment are made."""
        return self.since <= moment < self.until


def states(world: World, name: str) -> list[State]:
    """All states that the facts of a type ever had; simultaneous ones stand in the order of their values."""
    found = [state for key in world.keys(name) for state in states_of(world, name, key)]
    return sorted(found, key=lambda state: values_of(world, state))


def values_of(world: World, state: State) -> list[tuple[bool, Value]]:
    """The values in the order of the declaration, to compare facts by; null comes first."""
    values = [state.attributes.get(a.name.text) for a in world.facts[state.type].attributes]
    return [(value is not None, value) for value in values]


def states_of(world: World, name: str, key: Hashable) -> Iterator[State]:
    """The states of one fact: those that outlive their moment; the same values are the same state."""
    changes: list[Change] = []
    for change in world.history(name, key):
        if changes and moment_of(changes[-1]) == moment_of(change):
            changes.pop()
        if change.state != (changes[-1].state if changes else None):
            changes.append(change)
    for number, change in enumerate(changes):
        if change.state is not None:
            time = change.position.time
            yield State(
                name,
                change.position,
                time,
                time,
                MappingProxyType(dict(change.state)),
                label=("fact", name, key, change.position, change.round),
                initiated=change.position,
                round=change.round,
                key=key,
                until=moment_of(changes[number + 1]) if number + 1 < len(changes) else NEVER,
            )


def moment_of(change: Change) -> Moment:
    return change.position, change.round


def transitions(world: World, name: str) -> Iterator[tuple[State, State, Occurrence]]:
    """§5.1, `event change … to`: each time a fact goes from one state to the next, and the event this is.

    The event carries what the fact carries in its new state.
    """
    pairs = [pair for key in world.keys(name) for pair in pairwise(states_of(world, name, key))]
    for before, after in sorted(
        pairs, key=lambda pair: (values_of(world, pair[1]), values_of(world, pair[0]))
    ):
        if before.until == after.since:
            yield (
                before,
                after,
                Occurrence(
                    f"change {name}",
                    after.position,
                    after.start,
                    after.end,
                    after.attributes,
                    label=("change", after.label),
                    initiated=after.position,
                    round=after.round,
                ),
            )
