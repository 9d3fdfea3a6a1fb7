"""Which rules depend on which: by events they define or publish, facts they change, and activation."""

from collections.abc import Iterator

from tocsin.topology.model import (
    ChangeFact,
    Compilation,
    Modify,
    Publish,
    Retract,
    Rule,
    Switch,
)
from tocsin.topology.planning.digraphs import Classes, components
from tocsin.topology.types import Kind

_FACTS = {Kind.FACT, Kind.CHANGE}


def units(compilation: Compilation) -> list[list[Rule]]:
    """Return the rules in units that must run together, each unit behind those it depends on.

    Rules belong together if they depend on each other in a cycle, if they define the same type, or if one
    uses facts that another one changes.
    """
    rules = compilation.rules
    classes: Classes[int] = Classes()
    first: dict[str, int] = {}
    for number, rule in enumerate(rules):
        classes.find(number)
        if rule.output is not None:
            classes.join(first.setdefault(rule.output.name, number), number)
    _join_by_facts(rules, classes)
    makers = _makers(compilation)
    members: dict[int, list[int]] = {}
    for number in range(len(rules)):
        members.setdefault(classes.find(number), []).append(number)

    def needs(root: int) -> Iterator[int]:
        for number in members[root]:
            for other in _needs(rules[number], makers):
                if classes.find(other) != root:
                    yield classes.find(other)

    found = components(members, needs)
    return [
        [rules[number] for number in sorted(n for root in roots for n in members[root])] for roots in found
    ]


def _join_by_facts(rules: list[Rule], classes: Classes[int]) -> None:
    writers: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        for name in set(changed_facts(rule)):
            writers.setdefault(name, []).append(number)
    for first, *others in writers.values():
        for other in others:
            classes.join(first, other)
    for number, rule in enumerate(rules):
        for name in {c.event.name for c in rule.constituents if c.event.kind in _FACTS} & writers.keys():
            classes.join(writers[name][0], number)


def changed_facts(rule: Rule) -> Iterator[str]:
    """Yield the names of the facts that a rule changes."""
    for action in rule.actions:
        match action:
            case ChangeFact():
                yield action.fact.name
            case Modify(constituent=index) | Retract(constituent=index):
                event = rule.constituents[index].event
                if event.kind in _FACTS:
                    yield event.name
            case _:
                pass


def _makers(compilation: Compilation) -> dict[str, list[int]]:
    """Return the rules that make each type of event, also by making one of its subtypes."""
    makers: dict[str, list[int]] = {}
    for number, rule in enumerate(compilation.rules):
        made = [action.event.name for action in rule.actions if isinstance(action, Publish)]
        if rule.output is not None:
            made.append(rule.output.name)
        for name in made:
            parent: str | None = name
            while parent is not None:
                makers.setdefault(parent, []).append(number)
                parent = compilation.types[parent].parent
        for action in rule.actions:
            if isinstance(action, Switch):
                makers.setdefault(f"rule {action.rule}", []).append(number)
    return makers


def _needs(rule: Rule, makers: dict[str, list[int]]) -> Iterator[int]:
    for constituent in rule.constituents:
        yield from makers.get(constituent.event.name, ())
    yield from makers.get(f"rule {rule.name}", ())
