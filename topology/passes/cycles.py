"""Cycles: a definition may use what it defines at earlier positions, but not at its own."""

from collections.abc import Iterator
from typing import NamedTuple

from tocsin.topology.errors import Span
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.planning.digraphs import components, shortest_cycle
from tocsin.topology.planning.soundness import sound_rules
from tocsin.topology.sources import (
    Absent,
    Aggregated,
    Ahead,
    All,
    Alternatives,
    And,
    AnyOf,
    Aperiodic,
    Between,
    Changed,
    Denied,
    Expression,
    Item,
    Leaf,
    Match,
    MatchNode,
    Negated,
    Not,
    OneOf,
    Or,
    Pattern,
    Periodic,
    Plus,
    Repeat,
    Seq,
    Step,
    Then,
    Wait,
    When,
)
from tocsin.topology.types import Kind


class Use(NamedTuple):
    """A constituent that may lie at the position of the occurrence, and whether it must not be there."""

    constituent: int
    denied: bool = False


class _Edge(NamedTuple):
    """A definition that uses another one at the same position: where, and whether it denies it."""

    to: str
    span: Span
    denied: bool


def refuse_cycles(compilation: Compilation) -> None:
    """Report definitions that need or deny themselves at one position."""
    edges: dict[str, list[_Edge]] = {}
    for rule in sound_rules(compilation):
        if rule.output is not None:
            edges.setdefault(rule.output.name, []).extend(_edges(rule))
    for component in components(edges, lambda name: [edge.to for edge in edges[name] if edge.to in edges]):
        members = set(component)

        def inside(name: str, members: set[str] = members) -> list[str]:
            return [edge.to for edge in edges[name] if edge.to in members]

        cycle = shortest_cycle(component[0], inside)
        if cycle is not None:
            _report(cycle, edges, compilation)


def _edges(rule: Rule) -> Iterator[_Edge]:
    for use in uses(rule):
        constituent = rule.constituents[use.constituent]
        if constituent.event.kind is Kind.DEFINED:
            yield _Edge(constituent.event.name, constituent.span, use.denied)


def _report(cycle: tuple[str, ...], edges: dict[str, list[_Edge]], compilation: Compilation) -> None:
    steps = [
        next(edge for edge in edges[name] if edge.to == following)
        for name, following in zip(cycle, (*cycle[1:], cycle[0]), strict=True)
    ]
    verb = "denies" if any(step.denied for step in steps) else "needs"
    way = " → ".join((*cycle, cycle[0]))
    compilation.report.error(
        f"`{cycle[0]}` {verb} itself at the same position: {way}",
        steps[0].span,
        "a definition can only use what it defined strictly before, "
        f"like `last {steps[0].to}(…) as before within … from …`",
    )


def uses(rule: Rule) -> Iterator[Use]:
    """Yield the constituents of a rule that may lie at the position of its occurrence."""
    match rule.source:
        case Pattern(items):
            yield Use(0)
            for item in items:
                yield from _item(item)
        case Match(root):
            yield from _last(root)
        case When(conditions):
            for condition in conditions:
                if not isinstance(condition, Changed):
                    yield Use(condition.constituent, condition.negated)
        case expression:
            yield from _terminating(expression)


def _item(item: Item) -> Iterator[Use]:
    """Yield what an item looks for up to the position of the terminator itself, or behind it."""
    match item:
        case Negated() | Aggregated():
            match item.range:
                case Between(last=last):
                    reaches = last == 0
                case Ahead():
                    reaches = True
                case backward:
                    reaches = backward.anchor == 0
            if reaches:
                yield Use(item.constituent, isinstance(item, Negated))
        case _:
            return


def _terminating(node: Expression) -> Iterator[Use]:  # noqa: C901 (one case a kind)
    """Yield the constituents of an expression that may lie where an occurrence of it lies."""
    match node:
        case Leaf(constituent):
            yield Use(constituent)
        case Or(left, right) | And(left, right):
            yield from _terminating(left)
            yield from _terminating(right)
        case Seq():
            yield from _terminating(node.right)
        case AnyOf():
            for choice in node.choices:
                yield from _terminating(choice)
        case Aperiodic():
            yield from _terminating(node.middle)
            if node.star:
                yield from _terminating(node.last)
        case Periodic():
            yield from _terminating(node.last)
        case Not():
            yield from _terminating(node.last)
            for use in _terminating(node.absent):
                yield Use(use.constituent, denied=True)
        case Plus():
            return
        case _:
            yield from _terminating(node.operand)


def _last(node: MatchNode) -> Iterator[Use]:
    """Yield the constituents of a match that may be the last it takes, or that end it."""
    match node:
        case Step(constituent):
            yield Use(constituent)
        case Wait():
            return
        case Then(left, right):
            yield from _last(right)
            if _may_be_empty(right):
                yield from _last(left)
        case OneOf(parts) | All(parts) | Alternatives(parts):
            for part in parts:
                yield from _last(part)
        case Absent(operand) | Denied(operand):
            yield from (Use(use.constituent, denied=True) for use in _last(operand))
        case Repeat(operand=operand, until=until):
            yield from _last(operand)
            if until is not None:
                yield from _last(until)
        case _:
            yield from _last(node.operand)


def _may_be_empty(node: MatchNode) -> bool:  # noqa: PLR0911 (one case a kind)
    match node:
        case Step() | Wait() | Absent():
            return False
        case Denied():
            return True
        case Then(left, right):
            return _may_be_empty(left) and _may_be_empty(right)
        case OneOf(parts) | Alternatives(parts):
            return any(map(_may_be_empty, parts))
        case All(parts):
            return all(map(_may_be_empty, parts))
        case Repeat(low=low, operand=operand):
            return low == 0 or _may_be_empty(operand)
        case _:
            return _may_be_empty(node.operand)
