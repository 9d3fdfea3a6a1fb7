"""Key analysis: which equal attributes let a rule be detected in one partition, and what must be re-keyed.

A rule is local if every constituent is tied to the others by the attribute its records are keyed by, or if it
keeps nothing. It needs a route if the ties are there but some records are keyed by something else, or lie in
fewer partitions than the others. All others are global. Rules that depend on each other in a cycle, or
through facts that rules change, share one fate.

A complex event is made again wherever it is read, from the events it is made of, so that it stands at its
place among them. Hence a rule over complex events is detected by a key only where all those events are there
by it.
"""

from collections.abc import Iterator, Mapping, Sequence

from tocsin.topology.model import ChangeFact, Compilation, Constituent, Part, Rule
from tocsin.topology.passes.openings import begins_alone
from tocsin.topology.plan import Placement
from tocsin.topology.planning.algebra import STORING
from tocsin.topology.planning.dependencies import units
from tocsin.topology.planning.digraphs import Classes
from tocsin.topology.planning.partitions import own_partitions
from tocsin.topology.sources import Changed, Expression, Filtered, Match, Pattern, Selected, When, operands
from tocsin.topology.terms import Apply, Const, Field, Scalar, Term, Valued, conjuncts, relocate
from tocsin.topology.tree import Selection
from tocsin.topology.types import Kind, Type

_NO_KEY = frozenset({Scalar.FLOAT, Scalar.DOUBLE, Scalar.BYTES})

Place = tuple[int, int]
"""A constituent and one of its fields, by index."""
Group = set[Place]
"""Places that hold one value."""
Reads = dict[str, int | None]
"""Types that come from topics, and the attribute by which each is read."""


def analyse_keys(compilation: Compilation) -> None:
    """Fill placement and keys of every rule, what it reads by them, and the key of what it defines."""
    made: dict[str, Reads | None] = {}
    for unit in units(compilation):
        own = {rule.output.name for rule in unit if rule.output is not None}
        # A type that is made of itself is keyed as its definitions find fit; then that must hold everywhere.
        carried = [_place(rule, open_types=own) for rule in unit]
        _key_outputs(unit, carried)
        if len(unit) > 1 or any(c.event.name in own for c in unit[0].constituents):
            _agree(unit, own)
        reads = _reads(unit, own, made, compilation.types)
        uneven = set() if reads is None else _uneven(reads, compilation)
        if reads is None or any(reads[name] is None for name in uneven):
            _globally(unit)
            reads = None
        elif uneven or any(key not in {None, compilation.types[name].key} for name, key in reads.items()):
            for rule in unit:
                rule.placement = Placement.ROUTE
        for rule in unit:
            rule.reads = reads or {}
        made |= dict.fromkeys(own, reads)


def _reads(
    unit: Sequence[Rule], own: set[str], made: dict[str, Reads | None], types: Mapping[str, Type]
) -> Reads | None:
    """Return the types that rules and what they are made of read, and by which attribute each, if by one.

    There is nothing to return where they are not all there in one partition.
    """
    found: Reads = {}
    for rule in unit:
        if rule.placement is Placement.GLOBAL:
            return None
        for constituent in rule.constituents:
            if constituent.event.kind is Kind.TIMER:
                continue
            key = rule.keys.get(constituent.index)
            for name in constituent.event.with_subtypes:
                if name in own:
                    continue
                read = made.get(name, {name: key})
                moved = name in made and key is not None and key != types[name].key
                if read is None or moved or not _merge(found, read):
                    return None
    return found


def _uneven(reads: Reads, compilation: Compilation) -> set[str]:
    """Return the types whose own topics have fewer partitions than others that are read with them."""
    at_home = own_partitions(reads, compilation)
    return {name for name, count in at_home.items() if count < max(at_home.values())}


def _merge(found: Reads, more: Reads) -> bool:
    """Add what is read; false where an event would have to be in two places."""
    for name, key in more.items():
        known = found.setdefault(name, key)
        if known is None:
            found[name] = key
        elif key not in {None, known}:
            return False
    return True


def _globally(unit: Sequence[Rule]) -> None:
    for rule in unit:
        rule.placement, rule.keys = Placement.GLOBAL, {}
    _key_outputs(unit, [set() for _ in unit])


def _place(rule: Rule, open_types: set[str]) -> Group:
    """Fill placement and keys of a rule; return the places whose value is that of the key."""
    judged = [c for c in rule.constituents if c.event.kind is not Kind.TIMER]
    timed = any(c.timer is not None for c in rule.constituents)
    alone = len(judged) == 1 and not timed
    groups = _groups(rule)
    if judged and not timed and _keeps_nothing(rule):
        own = {judged[0].index: judged[0].event.key} if alone and judged[0].event.key is not None else {}
        rule.placement, rule.keys = Placement.LOCAL, own
        return _holding(groups, own)
    candidates = list(_candidates(rule, groups, judged)) if judged else []
    if not candidates:
        rule.placement, rule.keys = Placement.GLOBAL, {}
        return set()
    best = max(candidates, key=lambda keys: sum(_keyed(c, keys, open_types) for c in judged))
    local = all(_keyed(constituent, best, open_types) for constituent in judged)
    rule.placement = Placement.LOCAL if local else Placement.ROUTE
    rule.keys = best
    return _holding(groups, best)


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
    _globally(unit)


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
    rule: Rule, groups: Sequence[Group], judged: Sequence[Constituent]
) -> Iterator[dict[int, int]]:
    """Yield the ways to partition all constituents by attributes that are always equal."""
    for group in groups:
        keys: dict[int, int] = {}
        for index, field in sorted(group):
            event = rule.constituents[index].event
            if event.attributes[field].scalar not in _NO_KEY and (index not in keys or event.key == field):
                keys[index] = field
        if all(constituent.index in keys for constituent in judged):
            found = {constituent.index: keys[constituent.index] for constituent in judged}
            if _chosen_inside(rule, group) and _told_apart(rule, group, found) and _once(found, judged):
                yield found


def _once(keys: dict[int, int], judged: Sequence[Constituent]) -> bool:
    """Tell whether an event goes to one partition only, whatever part it plays."""
    by: dict[str, int] = {}
    return all(
        by.setdefault(name, keys[constituent.index]) == keys[constituent.index]
        for constituent in judged
        for name in constituent.event.with_subtypes
    )


def _chosen_inside(rule: Rule, group: Group) -> bool:
    """Tell whether the last or first one is chosen among those of the group, not tied to it afterwards."""
    if not isinstance(rule.source, Pattern):
        return True
    chosen = (item for item in rule.source.items if isinstance(item, Selected))
    constituents = (rule.constituents[i.constituent] for i in chosen if i.selection is not Selection.EACH)
    fixed = {place for place, _ in _constants(rule)} & group
    return all(
        any(match.equals in group and (chosen.index, match.field) in group for match in chosen.match)
        or any(index == chosen.index for index, _ in fixed)
        for chosen in constituents
    )


def _told_apart(rule: Rule, group: Group, keys: dict[int, int]) -> bool:
    """Tell whether a rule is evaluated for each value of a group on its own, or whether there is only one.

    Patterns and joins combine whatever fits; only what they count and hold disjoint asks for it.
    """
    if isinstance(rule.source, Pattern | When) and rule.rate is None and not rule.disjoint:
        return True
    bound = (p.places[0] for p in rule.equality_parameters() if p.places)
    fixed = {place for place, _ in _constants(rule)}
    if any((place.constituent, place.field) in group for place in bound):
        return True
    # What begins with the time alone would begin in every partition.
    return fixed >= keys.items() and not _begins_alone(rule)


def _begins_alone(rule: Rule) -> bool:
    timed = any(constituent.timer is not None for constituent in rule.constituents)
    return timed or (isinstance(rule.source, Match) and begins_alone(rule.source.root))


def _keyed(constituent: Constituent, keys: dict[int, int], open_types: set[str]) -> bool:
    return constituent.event.name in open_types or constituent.event.key == keys[constituent.index]


# --- what is always equal -----------------------------------------------------------------------------------


def _holding(groups: Sequence[Group], keys: dict[int, int]) -> Group:
    """Return the places whose value always equals that of the keys."""
    own = set(keys.items())
    return next((group for group in groups if own and own <= group), own)


def _groups(rule: Rule) -> list[Group]:
    """Return the sets of places that hold one value in every occurrence.

    In patterns and joins equalities chain; what is absent or only measured joins what it is tied to, but
    makes no two sets one: where there is none of it, they differ. In expressions and matches each equality
    parameter is on its own, for the same reason: not all constituents need be there.
    """
    match rule.source:
        case Pattern() | When():
            classes: Classes[Place] = Classes()
            beside = _beside(rule)
            for constituent in rule.constituents:
                if constituent.index not in beside and constituent.event.key is not None:
                    classes.find((constituent.index, constituent.event.key))
            equations = list(_equations(rule))
            for left, right in equations:
                if beside.isdisjoint({left[0], right[0]}):
                    classes.join(left, right)
            groups = [set(places) for places in classes.sets()]
        case _:
            beside = {constituent.index for constituent in rule.constituents}
            equations = list(_own_equations(rule))
            groups = [
                {(place.constituent, place.field) for place in parameter.places}
                for parameter in rule.equality_parameters()
            ]
            groups += _fixed(rule)
    for group in groups:
        _attach(group, equations, beside)
    return groups


def _attach(group: Group, equations: Sequence[tuple[Place, Place]], beside: set[int]) -> None:
    """Add the places of what stands beside that equal one of a group."""
    grown = True
    while grown:
        found = {
            own
            for pair in equations
            for own, other in (pair, pair[::-1])
            if own[0] in beside and other in group and (other[0] not in beside or other[0] == own[0])
        }
        grown = not found <= group
        group |= found


def _beside(rule: Rule) -> set[int]:
    """Return the constituents that are no part of what is found."""
    if isinstance(rule.source, When):
        held = (c for c in rule.source.conditions if not isinstance(c, Changed))
        return {condition.constituent for condition in held if condition.negated}
    return {constituent.index for constituent in rule.constituents if constituent.part is not Part.TAKEN}


def _equations(rule: Rule) -> Iterator[tuple[Place, Place]]:
    """Yield the places that a pattern or join holds equal, also by fixing them to one value."""
    for constituent in rule.constituents:
        for match in constituent.match:
            yield match.equals, (constituent.index, match.field)
    yield from _own_equations(rule)
    first: dict[Const, Place] = {}
    certain = (found for found in _constants(rule) if found[0][0] not in _beside(rule))
    for place, value in (*certain, *_constants(rule)):
        yield first.setdefault(value, place), place
    match rule.source:
        case When(conditions, constraints):
            for change in (condition for condition in conditions if isinstance(condition, Changed)):
                yield from _states(change, rule.constituents[change.event].event)
            yield from _equal_fields(constraints)
        case Pattern(items):
            yield from _equal_fields([item.condition for item in items if isinstance(item, Filtered)])


def _own_equations(rule: Rule) -> Iterator[tuple[Place, Place]]:
    for constituent in rule.constituents:
        if constituent.filter is not None:
            yield from _equal_fields([relocate(constituent.filter, constituent.index)])


def _equal_fields(conditions: Sequence[Term]) -> Iterator[tuple[Place, Place]]:
    for part in (part for condition in conditions for part in conjuncts(condition)):
        match part:
            case Apply(op="eq", args=(Field() as left, Field() as right)):
                yield (left.constituent, left.field), (right.constituent, right.field)


def _constants(rule: Rule) -> Iterator[tuple[Place, Const]]:
    """Yield the places that filters fix to one value, and that value."""
    for constituent in rule.constituents:
        for part in () if constituent.filter is None else conjuncts(constituent.filter):
            match part:
                case (
                    Apply(op="eq", args=(Field() as field, Const() as value))
                    | Apply(op="eq", args=(Const() as value, Field() as field))
                ):
                    yield (constituent.index, field.field), Const(value.scalar.wide, value.value)


def _fixed(rule: Rule) -> list[Group]:
    found: dict[Const, Group] = {}
    for place, value in _constants(rule):
        found.setdefault(value, set()).add(place)
    return list(found.values())


def _states(change: Changed, fact: Type) -> Iterator[tuple[Place, Place]]:
    """Yield that a fact's two states and the event have one key: they are of one fact."""
    if fact.key is not None:
        yield (change.before, fact.key), (change.after, fact.key)
        yield (change.before, fact.key), (change.event, fact.key)


# --- what carries the key on --------------------------------------------------------------------------------


def _key_outputs(unit: Sequence[Rule], carried: Sequence[Group]) -> None:
    """Find the attribute that carries the key in all definitions of a complex event."""
    carriers: dict[str, list[int]] = {}
    for rule, places in zip(unit, carried, strict=True):
        if rule.output is not None:
            own = [i for i, value in enumerate(rule.values) if _among(value, places, rule)]
            before = carriers.get(rule.output.name, own)
            carriers[rule.output.name] = [index for index in before if index in own]
            rule.output.key = next(iter(carriers[rule.output.name]), None)


def _among(value: Term, places: Group, rule: Rule) -> bool:
    match value:
        case Field(constituent=constituent, field=field):
            return (constituent, field) in places
        case Valued(name=name):
            return any((place.constituent, place.field) in places for place in rule.parameters[name].places)
        case _:
            return False


def _changes_at_home(rule: Rule) -> bool:
    """Tell whether the facts a rule asserts belong to the partition it runs in."""
    home = _holding(_groups(rule), rule.keys)
    return all(
        action.fact.key is not None and _among(action.values[action.fact.key], home, rule)
        for action in rule.actions
        if isinstance(action, ChangeFact)
    )
