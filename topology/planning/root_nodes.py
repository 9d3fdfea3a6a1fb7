"""Sources of rules to the nodes that definitions and rules subscribe to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tocsin.topology.model import Constituent, Rule
from tocsin.topology.nodes import (
    ChangeNode,
    JoinNode,
    MatchingNode,
    Operator,
    OperatorNode,
    PlanCondition,
    PlanStep,
)
from tocsin.topology.pattern_nodes import (
    PatternNode,
    PlanAggregate,
    PlanBound,
    PlanConstituent,
    PlanNegation,
    Terminator,
)
from tocsin.topology.planning.conditions import alone
from tocsin.topology.planning.leaf_nodes import leaf, rest, ties
from tocsin.topology.planning.operator_nodes import OperatorBuilder, number_parameters
from tocsin.topology.planning.stores import NodeStore
from tocsin.topology.programs import renumber_program
from tocsin.topology.sources import (
    Aggregated,
    Ahead,
    Backward,
    Between,
    Bounded,
    Changed,
    Expression,
    Filtered,
    Held,
    Leaf,
    Match,
    Negated,
    Pattern,
    Range,
    Selected,
    When,
    Within,
    constituents_of,
)
from tocsin.topology.terms import Term, constituents, join, renumber
from tocsin.topology.types import Kind


@dataclass(frozen=True, slots=True)
class Root:
    """The node a rule subscribes to, its constituents in the order of the slots, its equality parameters."""

    node: int
    slots: tuple[int, ...]
    parameters: tuple[str, ...] = ()

    @property
    def numbers(self) -> dict[int, int]:
        """The slot of each constituent."""
        return {constituent: slot for slot, constituent in enumerate(self.slots)}


def build_root(rule: Rule, store: NodeStore) -> Root:
    """Add the nodes of a rule's source, and return the topmost."""
    match rule.source:
        case Pattern() as pattern:
            return _pattern(pattern, rule, store)
        case Match() as match:
            return _match(match, rule, store)
        case When() as when:
            return _when(when, rule, store)
        case expression:
            return _expression(expression, rule, store)


# --- patterns -----------------------------------------------------------------------------------------------


def _pattern(pattern: Pattern, rule: Rule, store: NodeStore) -> Root:
    selected = [item for item in pattern.items if isinstance(item, Selected)]
    negated = [item for item in pattern.items if isinstance(item, Negated)]
    aggregated = [item for item in pattern.items if isinstance(item, Aggregated)]
    looked_up: list[Selected | Negated | Aggregated] = [*selected, *negated, *aggregated]
    order = (0, *(item.constituent for item in looked_up))
    slots = {constituent: slot for slot, constituent in enumerate(order)}
    all_of = rule.constituents
    leaves = {index: _leaf(all_of[index], store) for index in sorted(slots, key=_by_type(all_of, store))}
    where = [renumber(item.condition, slots) for item in pattern.items if isinstance(item, Filtered)]
    node = PatternNode(
        Terminator(leaves[0]),
        tuple(
            PlanConstituent(
                node=leaves[item.constituent],
                select=item.selection.value,
                within_ms=item.range.within_ms,
                anchor=slots[item.range.anchor],
                match=ties(all_of[item.constituent], slots),
                where=rest(all_of[item.constituent], slots),
                horizon_ms=all_of[item.constituent].horizon_ms,
                count=item.count,
            )
            for item in selected
        ),
        tuple(
            PlanBound(slots[item.constituent], item.range.within_ms, slots[item.range.anchor])
            for item in pattern.items
            if isinstance(item, Bounded)
        ),
        tuple(_negation(item, all_of[item.constituent], leaves, slots) for item in negated),
        tuple(_aggregate(item, all_of[item.constituent], leaves, slots) for item in aggregated),
        join("and", where) if where else None,
        tuple(sorted(slots[index] for index in rule.consuming)),
    )
    return Root(store.add(node), order)


def _leaf(constituent: Constituent, store: NodeStore) -> int:
    """Return the id of a constituent's leaf; of `begin E`, that of the point that is taken of it."""
    node = leaf(constituent, store)
    if constituent.point is None:
        return node
    modifier = ("modifier", constituent.point.value)
    return store.add(OperatorNode(Operator.MODIFIED, (node,), 1, (modifier,), horizon_ms=0))


def _negation(
    item: Negated, constituent: Constituent, leaves: dict[int, int], slots: dict[int, int]
) -> PlanNegation:
    return PlanNegation(
        node=leaves[constituent.index],
        range=_range(item.range, slots),
        match=ties(constituent, slots),
        where=rest(constituent, slots),
        horizon_ms=constituent.horizon_ms,
    )


def _aggregate(
    item: Aggregated, constituent: Constituent, leaves: dict[int, int], slots: dict[int, int]
) -> PlanAggregate:
    within = _range(item.range, slots)
    assert not isinstance(within, Ahead)
    return PlanAggregate(
        function=item.function,
        node=leaves[constituent.index],
        field=item.field,
        type=item.scalar,
        range=within,
        match=ties(constituent, slots),
        where=rest(constituent, slots),
        horizon_ms=constituent.horizon_ms,
        argument=item.argument,
        limit=item.limit,
    )


def _range(given: Range, slots: dict[int, int]) -> Range:
    match given:
        case Between(first, last):
            return Between(slots[first], slots[last])
        case Backward(within_ms, anchor):
            return Backward(within_ms, slots[anchor])
        case Ahead(within_ms, anchor):
            return Ahead(within_ms, slots[anchor])


def _by_type(all_of: list[Constituent], store: NodeStore) -> Callable[[int], int]:
    """Order leaves as their types are declared, timers first."""

    def order(index: int) -> int:
        return -1 if all_of[index].timer is not None else store.type_number(all_of[index].event.name)

    return order


# --- expressions and matches --------------------------------------------------------------------------------


def _expression(expression: Expression, rule: Rule, store: NodeStore) -> Root:
    built = OperatorBuilder(rule, store).build(expression)
    assert not built.waiting
    if isinstance(expression, Within) and isinstance(expression.operand, Leaf):
        return Root(store.add(PatternNode(Terminator(built.node))), built.slots)
    return Root(built.node, built.slots, built.parameters)


def _match(match: Match, rule: Rule, store: NodeStore) -> Root:
    order = tuple(dict.fromkeys(constituents_of(match.root)))
    names, parameters = number_parameters(rule, order)
    slots = {constituent: slot for slot, constituent in enumerate(order)}
    numbers = {name: number for number, name in enumerate(names)}
    steps: list[PlanStep] = []
    stream: set[int] = set()
    for constituent in (rule.constituents[index] for index in order):
        own = None if constituent.where is None else renumber(constituent.where, slots, numbers)
        # A wait is a point in time that the match makes itself.
        made = constituent.event.kind is Kind.TIMER
        steps.append(PlanStep(None if made else leaf(constituent, store), own, constituent.horizon_ms))
        if not made:
            stream |= {store.type_number(name) for name in constituent.event.with_subtypes}
    program = renumber_program(match.root, slots, numbers)
    node = MatchingNode(tuple(steps), program, tuple(sorted(stream)), parameters)
    return Root(store.add(node), order, names)


# --- facts and events ---------------------------------------------------------------------------------------


def _when(when: When, rule: Rule, store: NodeStore) -> Root:
    asked = [condition for condition in when.conditions if not _is_negated(condition)]
    ordered = [*asked, *(condition for condition in when.conditions if _is_negated(condition))]
    order = tuple(index for condition in ordered for index in _constituents(condition))
    slots = {constituent: slot for slot, constituent in enumerate(order)}
    constraints = _allot(when.constraints, ordered)
    conditions = tuple(
        _condition(condition, rule, store, slots, constraints[number])
        for number, condition in enumerate(ordered)
    )
    return Root(store.add(JoinNode(conditions, len(order))), order)


def _condition(
    condition: Held | Changed, rule: Rule, store: NodeStore, slots: dict[int, int], constraints: list[Term]
) -> PlanCondition:
    all_of = rule.constituents
    if isinstance(condition, Held):
        held = all_of[condition.constituent]
        further = [*([] if held.where is None else [held.where]), *constraints]
        return PlanCondition(
            node=leaf(held, store),
            slot=slots[held.index],
            negated=condition.negated,
            match=ties(held, slots),
            where=_joined(further, slots),
            horizon_ms=held.horizon_ms if condition.event else None,
        )
    states = [all_of[index] for index in _constituents(condition)]
    before, after, event = states
    further = [c for state in states for c in state.conditions if not alone(c, state.index)]
    number = store.type_number(event.event.name)
    return PlanCondition(
        node=store.add(ChangeNode(number, before.filter, after.filter, event.filter)),
        slot=slots[before.index],
        negated=False,
        match=(),
        where=_joined([*further, *constraints], slots),
        horizon_ms=event.horizon_ms,
    )


def _constituents(condition: Held | Changed) -> tuple[int, ...]:
    if isinstance(condition, Held):
        return (condition.constituent,)
    return (condition.before, condition.after, condition.event)


def _is_negated(condition: Held | Changed) -> bool:
    return isinstance(condition, Held) and condition.negated


def _allot(constraints: Sequence[Term], ordered: Sequence[Held | Changed]) -> list[list[Term]]:
    """Give each constraint to the last condition it is about."""
    place = {index: n for n, condition in enumerate(ordered) for index in _constituents(condition)}
    allotted: list[list[Term]] = [[] for _ in ordered]
    for constraint in constraints:
        allotted[max((place[index] for index in constituents(constraint)), default=0)].append(constraint)
    return allotted


def _joined(terms: Sequence[Term], slots: dict[int, int]) -> Term | None:
    return join("and", [renumber(term, slots) for term in terms]) if terms else None
