"""What rules do: `assert`, `update`, `modify` and `retract` change working memory, `publish` raises an event.

The actions of one moment run one after the other: by priority, then by the place of the rule in the file,
then by the order of what fired it. Conditions with events see what they changed at later positions;
conditions on facts alone, and changes of facts, at the same position one round later.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tests.oracle.history import Change, Found, Occurrence, Value, place
from tests.oracle.rete_facts import State, moment_of
from tests.oracle.run import Effects, converted, scope_of
from tests.oracle.values import evaluate
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import FactVerb

Fired = tuple[tree.Rule, Found]

Memory = dict[tuple[str, Hashable], Mapping[str, Value] | None]
"""Working memory: facts by type and key, None when retracted; and retracted events, by type and label."""


def effects(world: World, fired: Sequence[Fired]) -> Effects:
    """What the actions of all firings do, one after the other."""
    given = [change for change in world.changes if change.round == 0]
    memory: Memory = {}
    changes: list[Change] = []
    published: dict[str, list[Occurrence]] = {}
    turns = sorted(fired, key=lambda one: turn(world, *one))
    for number_of_turn, (rule, found) in enumerate(turns):
        firing = Firing(world, rule, found, number_of_turn)
        while given and moment_of(given[0]) <= (firing.position, firing.round):
            change = given.pop(0)
            memory[change.type, change.key] = change.state
        for number, action in enumerate(rule.actions):
            for change in firing.changes(number, action, memory):
                memory[change.type, change.key] = change.state
                changes.append(change)
            if isinstance(action, tree.Publish) and (event := firing.published(number, action)) is not None:
                published.setdefault(event.type, []).append(event)
    return Effects(tuple(changes), {name: tuple(events) for name, events in published.items()})


def turn(world: World, rule: tree.Rule, found: Found) -> tuple[Any, ...]:
    """What decides the order in which actions run."""
    occurrence = found.occurrence
    order = world.order(rule)
    return occurrence.position, occurrence.round, -priority(world, rule), order, place(occurrence)


def priority(world: World, rule: tree.Rule) -> int:
    """The number, or that of the class: the first class is 1. A rule that says nothing has 0."""
    if isinstance(rule.priority, tree.Name):
        declared = [d for d in world.program.declarations if isinstance(d, tree.Priorities)]
        classes = [name.text for d in declared for name in d.names]
        return classes.index(rule.priority.text) + 1
    return rule.priority or 0


class Firing:
    """One occurrence of a rule."""

    def __init__(self, world: World, rule: tree.Rule, found: Found, turn: int) -> None:
        self.world = world
        self.turn = turn
        self.label = found.occurrence.label
        self.position = found.occurrence.position
        self.round = found.occurrence.round
        self.roles = found.occurrence.roles
        self.rank = world.order(rule)
        self.scope = scope_of(rule, found)

    def changes(self, number: int, action: tree.Action, memory: Memory) -> Iterator[Change]:
        """§4.1: what an action changes."""
        match action:
            case tree.ChangeFact(verb=verb, fact=name, assignments=assignments):
                fact = self.world.facts[name.text]
                state = self.state(fact, self.assigned(assignments))
                if state is not None:
                    yield from self.added(number, fact, verb, state, memory)
            case tree.Modify(role=role, assignments=assignments):
                yield from self.modified(self.roles[role.text][-1], self.assigned(assignments), memory)
            case tree.Retract(role=role):
                player = self.roles[role.text][-1]
                yield self.change(
                    player.type, player.key if isinstance(player, State) else player.label, None
                )

    def added(
        self, number: int, fact: tree.Fact, verb: FactVerb, state: Mapping[str, Value], memory: Memory
    ) -> Iterator[Change]:
        """`assert` leaves what is there, `update` replaces it; without a key, equal values are one fact."""
        name = fact.name.text
        key = state[fact.key.text] if fact.key else (self.label, number)
        current = memory.get((name, key))
        same = [held for (kind, _), held in memory.items() if kind == name and held == state]
        if not same and (current is None or verb is FactVerb.UPDATE):
            yield self.change(name, key, state)

    def modified(self, player: Occurrence, values: Mapping[str, Value], memory: Memory) -> Iterator[Change]:
        """Changes the fact as it is now; one that is no longer there stays away."""
        assert isinstance(player, State)
        fact = self.world.facts[player.type]
        current = memory.get((player.type, player.key))
        state = None if current is None else self.state(fact, {**current, **values})
        if state is not None and state != current:
            yield self.change(player.type, player.key, state)

    def published(self, number: int, action: tree.Publish) -> Occurrence | None:
        """An event at the position of the firing; those of one rule stand in the order in which it fired."""
        name = action.event.text
        declarations = [
            self.world.declared[a] for a in self.world.ancestors(name) if a in self.world.declared
        ]
        attributes = [attribute for declaration in declarations for attribute in declaration.attributes]
        values = checked(attributes, self.assigned(action.assignments))
        if values is None:
            return None
        return Occurrence(
            name,
            self.position,
            self.position.time,
            self.position.time,
            MappingProxyType(values),
            self.roles,
            label=(name, number, self.label),
            initiated=self.position,
            rank=self.rank,
            round=self.round + 1,
            place=(self.position, self.rank, self.turn, number),
        )

    def assigned(self, assignments: Sequence[tree.Assignment]) -> dict[str, Value]:
        return {a.attribute.text: evaluate(a.value, self.scope) for a in assignments}

    def state(self, fact: tree.Fact, values: Mapping[str, Value]) -> Mapping[str, Value] | None:
        return checked(fact.attributes, values)

    def change(self, name: str, key: Hashable, state: Mapping[str, Value] | None) -> Change:
        return Change(name, key, self.position, state, self.round + 1)


def checked(attributes: Sequence[tree.Attribute], values: Mapping[str, Value]) -> dict[str, Value] | None:
    """The values as they are declared; None, where one that must have a value would be null."""
    given = {a.name.text: converted(a, values.get(a.name.text)) for a in attributes}
    missing = any(given[a.name.text] is None and not a.optional for a in attributes)
    return None if missing else given
