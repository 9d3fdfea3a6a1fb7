"""Key analysis: which equal attributes let a rule be detected in one partition, and what must be re-keyed.

A rule is local if every constituent is tied to the others by the attribute its records are keyed by, or if it
keeps nothing. It needs a route if the ties are there but some records are keyed by something else. All others
are global. Rules that depend on each other in a cycle, or through facts that rules change, share one fate.
"""

from collections.abc import Iterator, Sequence

from tocsin.topology.model import ChangeFact, Compilation, Constituent, Rule
from tocsin.topology.plan import Placement
from tocsin.topology.planning.algebra import STORING
from tocsin.topology.planning.dependencies import units
from tocsin.topology.planning.digraphs import Classes
from tocsin.topology.sources import Changed, Expression, Filtered, Match, Pattern, When, operands
from tocsin.topology.terms import Apply, Field, Scalar, Term, Valued, conjuncts, relocate
from tocsin.topology.types import Kind, Type

_NO_KEY = frozenset({Scalar.FLOAT, Scalar.DOUBLE, Scalar.BYTES})

Place = tuple[int, int]
"""A constituent and one of its fields, by index."""


def analyse_keys(compilation: Compilation) -> None:
    """Fill placement and keys of every rule, and the key of what it defines."""
    for unit in units(compilation):
        own = {rule.output.name for rule in unit if rule.output is not None}
        # A type that is made of itself is keyed as its definitions find fit; then that must hold everywhere.
        carried = [_place(rule, open_types=own) for rule in unit]
        _key_outputs(unit, carried)
        if len(unit) > 1 or any(c.event.name in own for c in unit[0].constituents):
            _agree(unit, own)


def _place(rule: Rule, open_types: set[str]) -> set[Place]:
    """Fill placement and keys of a rule; return the places whose value is that of the key."""
    judged = [c for c in rule.constituents if c.event.kind is not Kind.TIMER]
    timed = any(c.timer is not None for c in rule.constituents)
    alone = len(judged) == 1 and not timed
    classes = _equalities(rule)
    if judged and not timed and _keeps_nothing(rule):
        index, key = judged[0].index, judged[0].event.key
        rule.placement, rule.keys = Placement.LOCAL, {index: key} if alone and key is not None else {}
        return _equal(classes, (index, key)) if alone else set()
    joined = len(judged) > 1 or not isinstance(rule.source, Pattern | When)
    candidates = list(_candidates(rule, classes, judged)) if judged and joined else []
    if not candidates:
        rule.placement, rule.keys = Placement.GLOBAL, {}
        return set()
    best = max(candidates, key=lambda keys: sum(_keyed(c, keys, open_types) for c in judged))
    local = all(_keyed(constituent, best, open_types) for constituent in judged)
    rule.placement = Placement.LOCAL if local else Placement.ROUTE
    rule.keys = best
    return _equal(classes, (judged[0].index, best[judged[0].index]))


def _agree(unit: Sequence[Rule], own: set[str]) -> None:
    """Let rules that depend on each other run together: by one key if they have it, else in one place."""
    fields: dict[str, int] = {}
    agreed = True
    for rule in unit:
        agreed = agreed and rule.placement is not Placement.GLOBAL and _changes_at_home(rule)
        for index, key in rule.keys.items():
            event = rule.constituents[index].event
            same = fields.setdefault(event.name, key) == key
            made_here = event.name in own and event.key != key
            agreed = agreed and same and not made_here
    if agreed:
        routed = any(rule.placement is Placement.ROUTE for rule in unit)
        for rule in unit:
            rule.placement = Placement.ROUTE if routed else Placement.LOCAL
        return
    for rule in unit:
        rule.placement, rule.keys = Placement.GLOBAL, {}
    _key_outputs(unit, [set() for _ in unit])


def _keeps_nothing(rule: Rule) -> bool:
    if rule.rate is not None or rule.disjoint:
        return False
    match rule.source:
        case Pattern(items):
            return all(isinstance(item, Filtered) for item in items)
        case Match() | When():
            return False
        case expression:
            return _passes_on(expression)


def _passes_on(node: Expression) -> bool:
    return not isinstance(node, STORING) and all(map(_passes_on, operands(node)))


def _candidates(
    rule: Rule, classes: Classes[Place], judged: Sequence[Constituent]
) -> Iterator[dict[int, int]]:
    """Yield the ways to partition all constituents by attributes that are always equal."""
    for places in map(set, classes.sets()):
        keys: dict[int, int] = {}
        for index, field in places:
            event = rule.constituents[index].event
            if event.attributes[field].scalar not in _NO_KEY and (index not in keys or event.key == field):
                keys[index] = field
        if all(constituent.index in keys for constituent in judged) and _told_apart(rule, places):
            found = {constituent.index: keys[constituent.index] for constituent in judged}
            if _once(found, judged):
                yield found


def _once(keys: dict[int, int], judged: Sequence[Constituent]) -> bool:
    """Tell whether an event goes to one partition only, whatever part it plays."""
    by: dict[str, int] = {}
    return all(
        by.setdefault(name, keys[constituent.index]) == keys[constituent.index]
        for constituent in judged
        for name in constituent.event.with_subtypes
    )


def _told_apart(rule: Rule, places: set[Place]) -> bool:
    """Tell whether a rule is evaluated for each value of the places on its own.

    Patterns and joins combine whatever fits; only what they count and hold disjoint asks for it.
    """
    if isinstance(rule.source, Pattern | When) and rule.rate is None and not rule.disjoint:
        return True
    return any(
        (place.constituent, place.field) in places
        for parameter in rule.equality_parameters()
        for place in parameter.places
    )


def _keyed(constituent: Constituent, keys: dict[int, int], open_types: set[str]) -> bool:
    return constituent.event.name in open_types or constituent.event.key == keys[constituent.index]


# --- what is always equal -----------------------------------------------------------------------------------


def _equal(classes: Classes[Place], place: tuple[int, int | None]) -> set[Place]:
    """Return the places whose value always equals that of one place."""
    index, field = place
    return set() if field is None else set(classes.of((index, field)))


def _equalities(rule: Rule) -> Classes[Place]:
    classes: Classes[Place] = Classes()
    for constituent in rule.constituents:
        for match in constituent.match:
            classes.join(match.equals, (constituent.index, match.field))
        own = () if constituent.filter is None else (relocate(constituent.filter, constituent.index),)
        _join_fields(own, classes)
    match rule.source:
        case When(conditions, constraints):
            for change in (condition for condition in conditions if isinstance(condition, Changed)):
                _join_states(change, rule.constituents[change.event].event, classes)
            _join_fields(constraints, classes)
        case Pattern(items):
            _join_fields([item.condition for item in items if isinstance(item, Filtered)], classes)
        case _:
            for parameter in rule.equality_parameters():
                first = parameter.places[0]
                for place in parameter.places:
                    classes.join((first.constituent, first.field), (place.constituent, place.field))
    return classes


def _join_fields(conditions: Sequence[Term], classes: Classes[Place]) -> None:
    for part in (part for condition in conditions for part in conjuncts(condition)):
        match part:
            case Apply(op="eq", args=(Field() as left, Field() as right)):
                classes.join((left.constituent, left.field), (right.constituent, right.field))


def _join_states(change: Changed, fact: Type, classes: Classes[Place]) -> None:
    """Join the keys of a fact's two states and of the event: they are of one fact."""
    if fact.key is not None:
        classes.join((change.before, fact.key), (change.after, fact.key))
        classes.join((change.before, fact.key), (change.event, fact.key))


# --- what carries the key on --------------------------------------------------------------------------------


def _key_outputs(unit: Sequence[Rule], carried: Sequence[set[Place]]) -> None:
    """Find the attribute that carries the key in all definitions of a complex event."""
    carriers: dict[str, list[int]] = {}
    for rule, places in zip(unit, carried, strict=True):
        if rule.output is not None:
            own = [i for i, value in enumerate(rule.values) if _among(value, places, rule)]
            before = carriers.get(rule.output.name, own)
            carriers[rule.output.name] = [index for index in before if index in own]
            rule.output.key = next(iter(carriers[rule.output.name]), None)


def _among(value: Term, places: set[Place], rule: Rule) -> bool:
    match value:
        case Field(constituent=constituent, field=field):
            return (constituent, field) in places
        case Valued(name=name):
            return any((place.constituent, place.field) in places for place in rule.parameters[name].places)
        case _:
            return False


def _changes_at_home(rule: Rule) -> bool:
    """Tell whether the facts a rule asserts belong to the partition it runs in."""
    if not rule.keys:
        return not any(isinstance(action, ChangeFact) for action in rule.actions)
    index, field = next(iter(rule.keys.items()))
    equal = _equal(_equalities(rule), (index, field))
    return all(
        action.fact.key is not None and _among(action.values[action.fact.key], equal, rule)
        for action in rule.actions
        if isinstance(action, ChangeFact)
    )
