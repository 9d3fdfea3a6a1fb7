"""Key analysis: whether equal parameters tie all constituents of a rule to the key of one partition."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from tocsin.topology.model import Compilation, Constituent, Rule
from tocsin.topology.terms import Apply, Field, conjuncts

Place = tuple[int, int]
"""A constituent and one of its fields, by index."""


class Key(NamedTuple):
    """The key of a constituent."""

    constituent: Constituent
    field: int

    @property
    def place(self) -> Place:
        """Where its value is."""
        return self.constituent.index, self.field

    @property
    def name(self) -> str:
        """The attribute."""
        return self.constituent.event.fields[self.field].name


def analyse_keys(compilation: Compilation) -> None:
    """Check that every rule is local, and find the attribute of its complex event that carries the key."""
    for rule in compilation.rules:
        doubtful = compilation.doubtful | compilation.unkeyed
        judged = [c for c in rule.constituents if c.sound and c.event.name not in doubtful]
        keys = {c: Key(c, c.event.key) for c in judged if c.event.key is not None}
        for constituent in judged:
            if constituent not in keys:
                _report_unkeyed(constituent, compilation)
        first = keys.get(rule.constituents[0])
        if first is None:
            continue
        tied = _tied(rule, first.place)
        for key in keys.values():
            if key.place not in tied:
                _report_untied(key, first, rule, compilation)
        rule.output = replace(rule.output, key=_carrier(rule, tied))
        compilation.types[rule.output.name] = rule.output


def _report_unkeyed(constituent: Constituent, compilation: Compilation) -> None:
    name = constituent.occurrence.event
    compilation.report.error(
        f"event {name} has no key, so a rule cannot use it",
        name.span,
        f"name the attribute its records are keyed by in its declaration: `event {name} (…) key …`",
    )


def _tied(rule: Rule, start: Place) -> frozenset[Place]:
    """Return the fields that always have the same value as the starting one."""
    equalities = [pair for constituent in rule.constituents for pair in _equalities(constituent)]
    tied = {start}
    grown = True
    while grown:
        reached = {place for pair in equalities if tied & set(pair) for place in pair}
        grown = not reached <= tied
        tied |= reached
    return frozenset(tied)


def _equalities(constituent: Constituent) -> Iterator[tuple[Place, Place]]:
    for match in constituent.match:
        yield (constituent.index, match.field), match.equals
    for condition in conjuncts(constituent.filter) if constituent.filter else ():
        match condition:
            case Apply(op="eq", args=(Field() as left, Field() as right)):
                yield (constituent.index, left.field), (constituent.index, right.field)


def _carrier(rule: Rule, tied: frozenset[Place]) -> int | None:
    places = (_place(value) if isinstance(value, Field) else None for value in rule.values)
    return next((index for index, place in enumerate(places) if place in tied), None)


def _report_untied(key: Key, first: Key, rule: Rule, compilation: Compilation) -> None:
    own, terminator = key.constituent, first.constituent
    parameters = [f"${name}" for name, field in rule.parameters.items() if _place(field) == first.place]
    value = parameters[0] if parameters else f"{terminator.role}.{first.name}"
    compilation.report.error(
        f"`{own.role}` is not tied to `{terminator.role}` by its key: "
        f"nothing makes `{key.name}` of {own.event.name} equal to `{first.name}` of {terminator.event.name}",
        own.occurrence.span,
        f"add the condition `{key.name} = {value}`",
    )


def _place(field: Field) -> Place:
    return field.constituent, field.field
