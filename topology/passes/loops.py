"""Loops: rules whose actions set them off again at the same position, with nothing that could end it.

Where a condition may end it, it is for the running rules to find out: they stop after so many rounds.
"""

from collections.abc import Iterator, Sequence

from tocsin.topology.model import (
    ChangeFact,
    Compilation,
    Constituent,
    Modify,
    Publish,
    Retract,
    Rule,
    Switch,
)
from tocsin.topology.passes.cycles import uses
from tocsin.topology.planning.algebra import STORING
from tocsin.topology.planning.digraphs import components, shortest_cycle
from tocsin.topology.planning.soundness import sound_rules
from tocsin.topology.sources import (
    Aggregated,
    Changed,
    Expression,
    Match,
    Pattern,
    Selected,
    When,
    operands,
)
from tocsin.topology.terms import Apply, Term, parts
from tocsin.topology.tree import Context, FactVerb
from tocsin.topology.types import Kind

_KEEPING = frozenset({None, Context.RECENT, Context.UNRESTRICTED})
"""The contexts in which what was used may be used again."""


def refuse_loops(compilation: Compilation) -> None:
    """Report rules that set themselves off at one position, and no condition on the way."""
    rules = [rule for rule in sound_rules(compilation) if not _may_end(rule)]
    set_off: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        for name in _triggers(rule):
            set_off.setdefault(name, []).append(number)

    def successors(number: int) -> list[int]:
        made = _made(rules[number], compilation)
        return list(dict.fromkeys(other for name in made for other in set_off.get(name, ())))

    for component in components(range(len(rules)), successors):
        acting = next((number for number in component if rules[number].actions), None)
        cycle = None if acting is None else shortest_cycle(acting, successors)
        if cycle is not None:
            _report([rules[number] for number in cycle], compilation)


def _report(cycle: Sequence[Rule], compilation: Compilation) -> None:
    first = cycle[0]
    way = " → ".join(rule.name for rule in (*cycle, first))
    compilation.report.error(
        f"`{first.name}` sets itself off at the same position, without end: {way}",
        first.declaration.name.span,
        "say when it ends: by a condition on what sets it off, by `if …`, or by `at most …`",
    )


def _may_end(rule: Rule) -> bool:
    """Tell whether anything about a rule may keep it from being set off again and again."""
    ends = any(
        isinstance(action, Retract) or action == Switch(rule.name, on=False) for action in rule.actions
    )
    limited = rule.condition is not None or rule.rate is not None or rule.disjoint or rule.consuming
    if ends or limited or any(constituent.conditions for constituent in rule.constituents):
        return True
    match rule.source:
        case Pattern(items):
            return not all(isinstance(item, Selected | Aggregated) for item in items)
        case When(conditions, constraints):
            held = (condition for condition in conditions if not isinstance(condition, Changed))
            return bool(constraints) or any(condition.negated for condition in held)
        case Match():
            return True
        case expression:
            return rule.context not in _KEEPING and _stores(expression)


def _stores(node: Expression) -> bool:
    return isinstance(node, STORING) or any(map(_stores, operands(node)))


def _triggers(rule: Rule) -> Iterator[str]:
    """Yield what sets a rule off: events by their names, facts as such and by their changes."""
    constituents = rule.constituents
    match rule.source:
        case Pattern():
            yield constituents[0].event.name
        case When(conditions):
            events = any(isinstance(condition, Changed) or condition.event for condition in conditions)
            for condition in conditions:
                if isinstance(condition, Changed):
                    yield _change(constituents[condition.event])
                elif condition.event or not events:
                    yield constituents[condition.constituent].event.name
        case _:
            yield from (constituents[use.constituent].event.name for use in uses(rule) if not use.denied)


def _made(rule: Rule, compilation: Compilation) -> Iterator[str]:
    """Yield what a rule sets other rules off by.

    To assert what is there already changes nothing, nor does giving a fact the values it has: only what is
    computed anew each time goes on.
    """
    if rule.output is not None:
        yield rule.output.name
    for action in rule.actions:
        match action:
            case Publish(event):
                parent: str | None = event.name
                while parent is not None:
                    yield parent
                    parent = compilation.types[parent].parent
            case ChangeFact(FactVerb.UPDATE, fact, values) if _computes(values):
                yield from (fact.name, f"change {fact.name}")
            case Modify(index, pairs) if _computes([value for _, value in pairs]):
                yield from (rule.constituents[index].event.name, _change(rule.constituents[index]))
            case _:
                pass


def _change(constituent: Constituent) -> str:
    assert constituent.event.kind in {Kind.FACT, Kind.CHANGE}
    return f"change {constituent.event.name}"


def _computes(values: Sequence[Term]) -> bool:
    return any(isinstance(part, Apply) and part.op != "cast" for value in values for part in parts(value))
