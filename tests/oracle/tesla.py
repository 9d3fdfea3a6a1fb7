"""TESLA's patterns: its TRIO formulas, quantified over a whole history.

An occurrence stands for its label. The words of the formulas, and what they are here:

    Occurs(T, l)                 `Rule.occurs`: of type T, with attVal(l, n) op value for every condition
    Past(Occurs(T, l), …)        `past(l, now)`: l stands before now
    WithinP(Occurs(B, l), …, x)  `within_p(l, l0, x)`: l is past for l0, and by no more than x
    Time(l)                      l.time, and where the text orders by time, l.position, which leaves no ties
    lab(r, {l0, …, lm})          the label of a composite: the rule, and the set of (role, label)
    Consumed(r, l)               `Rule.consumed`

The text mixes instants with distances into the past; what is meant is said where it matters.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tests.oracle.aggregates import aggregate
from tests.oracle.history import Found, Occurrence, Position, Value, composite, due, in_order, place
from tests.oracle.valuations import Leaf, equality_parameters, groups_differ
from tests.oracle.values import Scope, holds
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import Selection

NEVER = Position(2**63)
"""After everything."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The constituents chosen so far in their roles, l0 first, what they bound, and where it is decided.

    `ended` is where the first event stands that must not follow.
    """

    constituents: tuple[tuple[str, Occurrence], ...]
    parameters: Mapping[str, Value]
    position: Position
    ended: Position = NEVER

    @property
    def terminator(self) -> Occurrence:
        return self.constituents[0][1]

    @property
    def roles(self) -> Mapping[str, tuple[Occurrence, ...]]:
        """Unnamed timers share a role; every other one has one player."""
        names = dict.fromkeys(role for role, _ in self.constituents)
        return {name: tuple(event for role, event in self.constituents if role == name) for name in names}

    @property
    def scope(self) -> Scope:
        return Scope(roles=self.roles, parameters=self.parameters)

    def player(self, role: tree.Name) -> Occurrence:
        return self.roles[role.text][0]


def detect(definition: tree.Define | tree.Rule, world: World) -> list[Found]:
    """Semantics of rules (3/3): Alw ∀ l1, …, lm (Occurs(CE, lab(r, {l1, …, lm})) ↔ Pattern).

    What is consumed depends on what the rule gave before, so this goes through the positions in their order.
    """
    rule = Rule(definition, world)
    decided: list[Choice] = []
    undecided: list[Choice] = []

    def decide(choices: Iterable[Choice]) -> None:
        for choice in sorted(choices, key=lambda choice: choice.position):
            undecided.remove(choice)
            if not any(rule.consumed(event, choice.position, decided) for _, event in choice.constituents):
                decided.append(choice)

    for terminator in rule.terminators():
        now = terminator.position
        decide([choice for choice in undecided if choice.position < now])
        undecided += rule.choices(terminator, decided)
    decide([choice for choice in undecided if choice.position.time <= world.until])
    found = [rule.found(choice) for choice in decided]
    assert_uniqueness_of_selection(found)
    return found


def assert_uniqueness_of_selection(found: Sequence[Found]) -> None:
    """The theorem of that name: a set of events (here: in their roles) is selected by a rule only once."""
    assert len({one.occurrence.label for one in found}) == len(found)


# --- Past and WithinP ---------------------------------------------------------------------------------------


def past(event: Occurrence, now: Occurrence) -> bool:
    """Past(Occurs(…, event), t) for some t > 0, said at `now`."""
    return event.position < now.position


def recent(event: Occurrence, now: Occurrence, x: tree.Duration | None) -> bool:
    """Not longer than x before `now`; a window includes its ends."""
    return x is None or now.time - x.ms <= event.time


def within_p(event: Occurrence, anchor: Occurrence, x: tree.Duration | None) -> bool:
    """WithinP(Occurs(…, event), Time(anchor), x): ∃ t (Time(anchor) ≤ t ≤ Time(anchor) + x ∧ Past(…, t)).

    Time(anchor) is read as how long ago that was, so any constituent can be the anchor.
    """
    return past(event, anchor) and recent(event, anchor, x)


def forbidden(event: Occurrence, span: tree.Between | tree.Backward | tree.Ahead, choice: Choice) -> bool:
    """Valid patterns (5/8): whether a negation speaks of `event`; the ends themselves are not meant.

    between b and a: t ∈ [Time(a), Time(b)), how long ago: after b and up to a. Within x from a: t ∈
    [Time(a), Time(a) + x], closed as all windows are. Within x after a: the same ahead.
    """
    match span:
        case tree.Between(first=first, last=last):
            b, a = choice.player(first), choice.player(last)
            return past(b, event) and not past(a, event) and event not in (a, b)
        case tree.Backward(anchor=anchor, within=x):
            a = choice.player(anchor)
            return not past(a, event) and recent(event, a, x) and event != a
        case tree.Ahead(anchor=anchor, within=x):
            a = choice.player(anchor)
            return past(a, event) and recent(a, event, x)


def collected(event: Occurrence, span: tree.Between | tree.Backward, choice: Choice) -> bool:
    """Aggregates (7/8): whether `event` is in the Set: from A to B, or from x before A to A, both closed."""
    match span:
        case tree.Between(first=first, last=last):
            return not past(event, choice.player(first)) and not past(choice.player(last), event)
        case tree.Backward(anchor=anchor, within=x):
            return not past(choice.player(anchor), event) and recent(event, choice.player(anchor), x)


# --- a rule -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """The r of the formulas: a definition whose source is a pattern, in a world."""

    definition: tree.Define | tree.Rule
    world: World

    @cached_property
    def pattern(self) -> tree.Pattern:
        definition = self.definition
        source = definition.source if isinstance(definition, tree.Define) else definition.trigger
        assert isinstance(source, tree.Pattern)
        return source

    @cached_property
    def leaves(self) -> list[Leaf]:
        """The constituents as they are written, those that are negated or aggregated among them."""
        with_events = tree.Selected | tree.Negated | tree.Aggregated
        others = [item.occurrence for item in self.pattern.items if isinstance(item, with_events)]
        return [Leaf(expr, self.world) for expr in [self.pattern.terminator, *others]]

    @cached_property
    def history(self) -> Mapping[tree.Constituent, tuple[Occurrence, ...]]:
        """What occurred of each, in the order of labels that the text assumes."""
        return {leaf.expr: in_order(self.world.leaf(leaf.expr)) for leaf in self.leaves}

    def occurs(
        self, constituent: tree.Constituent, scope: Scope
    ) -> Iterator[tuple[Occurrence, Mapping[str, Value]]]:
        """Valid patterns (1/8): Occurs(SE, l) ∧ attVal(l, Att) op Val for every condition, in order.

        Parameterization (4/8): an equality gives a value to a parameter that has none yet, so each comes with
        the parameters as they are when it is chosen.
        """
        leaf = next(leaf for leaf in self.leaves if leaf.expr is constituent)
        conditions = leaf.conditions
        for event in self.history[constituent]:
            parameters = {**leaf.parameters(event), **scope.parameters}
            own = Scope(event, scope.roles, parameters, scope.previous)
            if all(holds(condition, own) for condition in conditions) and groups_differ(parameters):
                yield event, parameters

    def terminators(self) -> Iterator[Occurrence]:
        """What can be l0."""
        return (event for event, _ in self.occurs(self.pattern.terminator, Scope()))

    def choices(self, terminator: Occurrence, decided: Sequence[Choice]) -> list[Choice]:
        """Pattern, for one l0: every choice of the other constituents for which all items hold.

        Items are read in the order in which they are written.
        """
        leaf = self.leaves[0]
        choices = [Choice(((leaf.role, terminator),), leaf.parameters(terminator), terminator.position)]
        for item in self.pattern.items:
            choices = [longer for choice in choices for longer in self.extended(choice, item, decided)]
        # Of what must not follow, nothing counts that stands behind the point in time where it is decided.
        return [choice for choice in choices if choice.position < choice.ended]

    def extended(self, choice: Choice, item: tree.PatternItem, decided: Sequence[Choice]) -> Iterator[Choice]:
        """The ways in which a choice goes on with an item: none, where the item does not hold."""
        match item:
            case tree.Selected():
                yield from self.selected(item, choice, decided)
            case tree.Bounded(role=role, within=x, anchor=anchor):
                if within_p(choice.player(role), choice.player(anchor), x):
                    yield choice
            case tree.Negated():
                occurring = self.occurs(item.occurrence, choice.scope)
                found = [event.position for event, _ in occurring if forbidden(event, item.range, choice)]
                if isinstance(item.range, tree.Ahead):
                    yield self.settled(item, item.range, replace(choice, ended=min([choice.ended, *found])))
                elif not found:
                    yield choice
            case tree.Aggregated(parameter=parameter):
                value = self.aggregated(item, choice)
                yield replace(choice, parameters={**choice.parameters, parameter.text: value})
            case tree.Condition(expr=expr):
                if holds(expr, choice.scope):
                    yield choice

    def selected(self, item: tree.Selected, choice: Choice, decided: Sequence[Choice]) -> Iterator[Choice]:
        """Valid patterns (2/8): each-, last- and first-within, from any constituent chosen before.

        What they choose among fulfils all conditions and is not consumed.
        """
        anchor, now = choice.player(item.anchor), choice.terminator.position
        candidates = {
            event: parameters
            for event, parameters in self.occurs(item.occurrence, choice.scope)
            if within_p(event, anchor, item.within) and not self.consumed(event, now, decided)
        }
        role = Leaf(item.occurrence, self.world).role
        for event in selection(item, list(candidates)):
            constituents = (*choice.constituents, (role, event))
            yield replace(choice, constituents=constituents, parameters=candidates[event])

    def settled(self, item: tree.Negated, span: tree.Ahead, choice: Choice) -> Choice:
        """Absence ahead is decided when its time is up: at a timer, or at l0 if that stands later."""
        anchor = choice.player(span.anchor)
        number = next(i for i, other in enumerate(self.pattern.items) if other is item)
        rank = self.world.order(self.definition)
        up = due(anchor.time + span.within.ms, rank, number, anchor.position)
        return replace(choice, position=max(choice.position, up))

    def aggregated(self, item: tree.Aggregated, choice: Choice) -> Value:
        """Aggregates (7/8): Fun(Set), x ∈ Set ↔ ∃ l (x = ⟨l, attVal(l, Val)⟩ ∧ WithinP(Occurs(X, l), …))."""
        occurring = self.occurs(item.occurrence, choice.scope)
        events = [event for event, _ in occurring if collected(event, item.range, choice)]
        taken = events if item.limit is None else events[-item.limit :]
        name = item.attribute
        values = taken if name is None else [event.attributes.get(name.text) for event in taken]
        return aggregate(item.function.text, values, item.argument)

    # --- consumption ----------------------------------------------------------------------------------------

    def consumed(self, event: Occurrence, now: Position, decided: Iterable[Choice]) -> bool:
        """Event consumption (6/8): Consumed(r, l) ↔ ∃ t > 0 Past(Occurs(e, lab(r, S)), t) ∧ l ∈ S.

        Of S only the roles that the `consuming` clause names; each rule has a list of its own.
        """
        earlier = [choice for choice in decided if choice.position < now]
        return any(event == choice.player(role) for choice in earlier for role in self.definition.consuming)

    def found(self, choice: Choice) -> Found:
        """Occurs(CE, lab(r, {l0, …, lm})), at the position of the choice."""
        occurrence = composite(self.definition.name.text, choice.roles, choice.position)
        tied = [name for name in equality_parameters(self.leaves) if name in choice.parameters]
        return Found(occurrence, choice.parameters, tuple((name, choice.parameters[name]) for name in tied))


def selection(item: tree.Selected, candidates: Sequence[Occurrence]) -> list[Occurrence]:
    """Which of the candidates are taken.

    each:  all of them.
    last:  those for which ¬∃ l2 after it, at a later time or at the same one with a greater label: of k last,
           there are fewer than k such l2.
    first: the same before it.
    """
    places = {one: place(one) for one in candidates}
    match item.selection:
        case Selection.EACH:
            return list(candidates)
        case Selection.LAST:
            return [l1 for l1 in candidates if sum(places[l1] < places[l2] for l2 in candidates) < item.count]
        case Selection.FIRST:
            return [l1 for l1 in candidates if sum(places[l2] < places[l1] for l2 in candidates) < item.count]
