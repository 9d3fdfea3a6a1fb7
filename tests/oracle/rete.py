"""RETE with events: rules over facts and events, by what their text says a match is.

    when  fact Equipment(state = "ACTIVE") as e  event Alarm(eqpt = e.id) as a  …  then …

Every combination of facts and events that fulfils all conditions and constraints; no network and no memory.
What rules do, which facts hold when, and until when an event can matter stand beside this: `rete_actions`,
`rete_facts`, `rete_expiry`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from tests.oracle.history import Found, Occurrence, Position, Value, composite
from tests.oracle.rete_actions import effects
from tests.oracle.rete_facts import Moment, State, moment_of, states, transitions
from tests.oracle.valuations import Leaf, equality_parameters
from tests.oracle.values import Scope, holds, mentions
from tests.oracle.world import World
from tocsin.topology import tree

__all__ = ["detect", "effects"]

Test = tuple[tree.Expr, Occurrence | None]
"""A condition, and the fact or event whose condition it is."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Facts and events that could match together.

    `facts` and `events` are those of fact and of event conditions; a change brings an event, and names a fact
    without a condition on it. `open` are the tests that speak of what is still to come.
    """

    players: Mapping[str, Occurrence]
    parameters: Mapping[str, Value]
    facts: tuple[State, ...] = ()
    events: tuple[Occurrence, ...] = ()
    open: tuple[Test, ...] = ()

    def scope(self, own: Occurrence | None = None) -> Scope:
        """What names mean; in a constraint, a bare attribute is one of the only player."""
        if own is None and len(self.players) == 1:
            own = next(iter(self.players.values()))
        return Scope(own, {role: (player,) for role, player in self.players.items()}, self.parameters)

    def joined(self, other: "Combination") -> "Combination":
        """Both; what is said first gives a parameter its value."""
        return Combination(
            {**self.players, **other.players},
            {**other.parameters, **self.parameters},
            self.facts + other.facts,
            self.events + other.events,
            self.open + other.open,
        )

    def tested(self) -> "Combination | None":
        """Without the tests that can be decided by now; None, if one of them fails."""
        known = {*self.players, *(f"${name}" for name in self.parameters)}
        decidable = [test for test in self.open if mentions(test[0]) <= known]
        if not all(holds(expr, self.scope(own)) for expr, own in decidable):
            return None
        if not decidable:
            return self
        return replace(self, open=tuple(test for test in self.open if test not in decidable))


def detect(definition: tree.Rule, world: World) -> list[Found]:
    """Every firing of a rule: of a combination with events once, at the latest of them.

    One without events fires whenever it becomes true.
    """
    rule = Rule(definition, world)
    found: list[Found] = []
    for combination in rule.combinations():
        if combination.events:
            if rule.visible(combination):
                found.append(rule.fired(combination))
        else:
            found += [rule.fired_at(moment, combination) for moment in rule.becoming_true(combination)]
    return found


@dataclass(frozen=True)
class Rule:
    """A `when` rule in a world."""

    definition: tree.Rule
    world: World

    @cached_property
    def items(self) -> tuple[tree.WhenItem, ...]:
        assert isinstance(self.definition.trigger, tree.When)
        return self.definition.trigger.items

    @cached_property
    def negated(self) -> list[tree.FactCondition | tree.EventCondition]:
        conditions = tree.FactCondition | tree.EventCondition
        return [item for item in self.items if isinstance(item, conditions) and item.negated]

    def constraints(self, negated: str | None = None) -> tuple[Test, ...]:
        """The constraints; those that speak of a negated event or fact belong to that negation."""
        exprs = [item.expr for item in self.items if isinstance(item, tree.Constraint)]
        absent = {self.leaves[id(item.occurrence)].role for item in self.negated}
        if negated is None:
            return tuple((expr, None) for expr in exprs if not mentions(expr) & absent)
        return tuple((expr, None) for expr in exprs if negated in mentions(expr))

    # --- positive conditions --------------------------------------------------------------------------------

    def combinations(self) -> list[Combination]:
        """§3: all facts and all events that fulfil the conditions, and the constraints between them."""
        combinations = [Combination({}, {}, open=self.constraints())]
        for item in self.items:
            if isinstance(item, tree.Constraint) or (item in self.negated):
                continue
            candidates = list(self.candidates(item))
            joined = [one.joined(other).tested() for one in combinations for other in candidates]
            combinations = [one for one in joined if one is not None]
        return [one for one in combinations if all(holds(expr, one.scope(own)) for expr, own in one.open)]

    def candidates(
        self, item: tree.FactCondition | tree.EventCondition | tree.ChangeCondition
    ) -> Iterator[Combination]:
        """What could fulfil one condition."""
        match item:
            case tree.FactCondition(occurrence=occurrence):
                for state in states(self.world, occurrence.event.text):
                    yield replace(self.candidate(self.leaves[id(occurrence)], state), facts=(state,))
            case tree.EventCondition(occurrence=expr):
                for event in self.world.leaf(expr):
                    yield replace(self.candidate(self.leaves[id(expr)], event), events=(event,))
            case tree.ChangeCondition(type=name):
                fact = item.fact or name
                before = Leaf(tree.Occurrence(name, item.before, fact), self.world)
                after = Leaf(tree.Occurrence(name, item.after, fact), self.world)
                for old, new, change in transitions(self.world, name.text):
                    named = {item.alias.text: change} if item.alias else {change.type: change}
                    states_ = self.candidate(before, old).joined(self.candidate(after, new))
                    yield states_.joined(Combination(named, {}, events=(change,)))

    @cached_property
    def leaves(self) -> Mapping[int, Leaf]:
        """The leaf of each condition, by the identity of what is written."""
        conditions = tree.FactCondition | tree.EventCondition
        exprs = [item.occurrence for item in self.items if isinstance(item, conditions)]
        return {id(expr): Leaf(expr, self.world) for expr in exprs}

    def candidate(self, leaf: Leaf, player: Occurrence) -> Combination:
        tests = tuple((condition, player) for condition in leaf.conditions)
        return Combination({leaf.role: player}, leaf.parameters(player), open=tests)

    # --- with events ----------------------------------------------------------------------------------------

    def visible(self, combination: Combination) -> bool:
        """The principle of §4.5, for facts and for the absence of facts; and nothing is retracted by then."""
        positions = [event.position for event in combination.events]
        first, last = min(positions), max(positions)
        return (
            all(fact.holds_throughout(first, last) for fact in combination.facts)
            and all(self.in_memory(event, last) for event in combination.events)
            and not any(
                self.present(item, state, combination)
                for item in self.negated
                if isinstance(item, tree.FactCondition)
                for state in states(self.world, item.occurrence.event.text)
                if state.holds_sometime(first, last)
            )
            and not self.forbidden(combination, last)
        )

    def in_memory(self, event: Occurrence, at: Position) -> bool:
        """§5.2: whether no rule has retracted the event at an earlier position."""
        return all(at <= change.position for change in self.world.history(event.type, event.label))

    def forbidden(self, combination: Combination, last: Position) -> bool:
        """Whether a negated event occurred at or before the position of the firing."""
        return any(
            self.present(item, event, combination)
            for item in self.negated
            if isinstance(item, tree.EventCondition)
            for event in self.world.leaf(item.occurrence)
            if event.position <= last and self.in_memory(event, last)
        )

    def present(
        self, item: tree.FactCondition | tree.EventCondition, player: Occurrence, combination: Combination
    ) -> bool:
        """Whether a fact or event is one that a negated condition, with the constraints on it, denies."""
        leaf = self.leaves[id(item.occurrence)]
        joined = combination.joined(self.candidate(leaf, player))
        tests = (*joined.open, *self.constraints(leaf.role))
        return all(holds(expr, joined.scope(own)) for expr, own in tests)

    # --- without events -------------------------------------------------------------------------------------

    def becoming_true(self, combination: Combination) -> Iterator[Moment]:
        """The moments after which the facts, and none that is denied, hold together, and before which not."""
        moments = sorted({moment_of(change) for change in self.world.changes})
        true = [False, *(self.true_after(moment, combination) for moment in moments)]
        for moment, (before, after) in zip(moments, pairwise(true), strict=True):
            if after and not before:
                yield moment

    def true_after(self, moment: Moment, combination: Combination) -> bool:
        return (
            all(fact.holds_after(moment) for fact in combination.facts)
            and not any(
                self.present(item, state, combination)
                for item in self.negated
                if isinstance(item, tree.FactCondition)
                for state in states(self.world, item.occurrence.event.text)
                if state.holds_after(moment)
            )
            and not self.forbidden(combination, moment[0])
        )

    # --- firings --------------------------------------------------------------------------------------------

    def fired(self, combination: Combination) -> Found:
        """At the latest event; its interval is that of the events."""
        roles = {role: (player,) for role, player in combination.players.items()}
        occurrence = composite(
            self.definition.name.text,
            roles,
            max(event.position for event in combination.events),
            start=min(event.start for event in combination.events),
            initiated=min(event.initiated for event in combination.events),
        )
        return Found(occurrence, combination.parameters, self.valuation(combination))

    def fired_at(self, moment: Moment, combination: Combination) -> Found:
        """At a change of facts; the same facts can come to match again."""
        position, number = moment
        roles = {role: (player,) for role, player in combination.players.items()}
        occurrence = composite(
            self.definition.name.text, roles, position, start=position.time, initiated=position
        )
        occurrence = replace(occurrence, label=(occurrence.label, moment), round=number)
        return Found(occurrence, combination.parameters, self.valuation(combination))

    def valuation(self, combination: Combination) -> tuple[tuple[str, Value], ...]:
        tied = [name for name in self.tied if name in combination.parameters]
        return tuple((name, combination.parameters[name]) for name in tied)

    @cached_property
    def tied(self) -> list[str]:
        return equality_parameters(self.leaves.values())
