"""Event expressions: the operators of the event algebra, their leaves numbered in textual order."""

from dataclasses import replace

from tocsin.topology import sources
from tocsin.topology.model import Compilation, Constituent, Part, Rule
from tocsin.topology.passes.conditions import shared_parameters, type_conditions
from tocsin.topology.passes.leaves import add_leaf, add_point, check_role
from tocsin.topology.passes.roles import mark_roles
from tocsin.topology.scopes import Scope
from tocsin.topology.tree import (
    And,
    AnyOf,
    Aperiodic,
    Collected,
    Context,
    Define,
    Duration,
    EventExpr,
    Modified,
    Modifier,
    Name,
    Not,
    Occurrence,
    Or,
    Periodic,
    Plus,
    Seq,
    Timer,
    Within,
)
from tocsin.topology.types import PHASES, Attribute

Roles = tuple[Constituent, ...]
_Built = tuple[sources.Expression, Roles]
"""A typed part of an expression, and the constituents that can be named behind it."""


def type_expressions(compilation: Compilation) -> None:
    """Fill constituents, parameters and source of every rule with an event expression."""
    for rule in compilation.rules:
        if isinstance(rule.written, EventExpr):
            with compilation.judging(rule):
                _type(rule, rule.written, compilation)
    for name, expr in compilation.unused.items():
        _type(Rule(Define(Name(name), (), expr)), expr, compilation)


def _type(rule: Rule, expr: EventExpr, compilation: Compilation) -> None:
    detection = rule.declaration.detection
    rule.context = detection.context if detection is not None and detection.context else Context.RECENT
    typing = _ExpressionTyping(rule, expr, compilation)
    rule.source, _ = typing.build(expr, (), Part.TAKEN)
    mark_roles(rule.source, rule)


class _ExpressionTyping:
    """The typing of one event expression."""

    def __init__(self, rule: Rule, expr: EventExpr, compilation: Compilation) -> None:
        self._rule = rule
        self._compilation = compilation
        occurrences = _occurrences(expr)
        self._shared = shared_parameters(occurrences)
        self._roles = frozenset(occurrence.role for occurrence in occurrences)

    def build(self, expr: EventExpr, known: Roles, part: Part) -> _Built:  # noqa: PLR0911 (one case a kind)
        """Return the typed expression and what can be named behind it, besides what was known before."""
        match expr:
            case Occurrence() | Timer():
                return self._leaf(expr, known, part)
            case Modified():
                return self._modified(expr, known, part)
            case Or() | And() | Seq():
                left, first = self.build(expr.left, known, part)
                right, second = self.build(expr.right, (*known, *first), part)
                return _pair(expr, left, right), (*first, *second)
            case AnyOf():
                return self._any(expr, known, part)
            case Aperiodic():
                return self._aperiodic(expr, known, part)
            case Periodic():
                return self._periodic(expr, known, part)
            case Not():
                opening, opened = self.build(expr.first, known, part)
                absent, _ = self.build(expr.absent, (*known, *opened), Part.ABSENT)
                closing, closed = self.build(expr.last, (*known, *opened), part)
                return sources.Not(absent, opening, closing), (*opened, *closed)
            case Plus():
                operand, inner = self.build(expr.operand, known, part)
                self._check_time(expr.delay)
                tick = self._tick(expr.alias, "plus", part, expr)
                return sources.Plus(operand, expr.delay.ms, tick.index), (*inner, tick)
            case Within():
                operand, inner = self.build(expr.operand, known, part)
                return sources.Within(operand, expr.duration.ms), inner
            case _:
                raise TypeError(expr)

    # --- leaves ---------------------------------------------------------------------------------------------

    def _leaf(self, written: Occurrence | Modified | Timer, known: Roles, part: Part) -> _Built:
        occurrence = written.operand if isinstance(written, Modified) else written
        assert isinstance(occurrence, Occurrence | Timer)
        free = occurrence.alias is None or check_role(occurrence.alias, self._rule, self._compilation)
        constituent = add_leaf(written, part, self._rule, self._compilation)
        constituent.sound = constituent.sound and free
        self._type_conditions(constituent, known)
        return sources.Leaf(constituent.index), (constituent,)

    def _type_conditions(self, constituent: Constituent, known: Roles) -> None:
        if constituent.occurrence is None:
            return
        others = self._roles - {c.role for c in known}
        scope = Scope(self._compilation, self._rule, known, constituent, others=others, aggregating=False)
        type_conditions(constituent, constituent.occurrence.conditions, scope, self._shared)

    def _modified(self, expr: Modified, known: Roles, part: Part) -> _Built:
        operand = expr.operand
        if isinstance(operand, Occurrence):
            type_ = self._compilation.types.get(operand.event.text)
            leaf, roles = self._leaf(expr, known, part)
            phased = type_ is not None and type_.kind in PHASES
            roles[0].point = None
            return (leaf if phased else sources.Point(expr.modifier, leaf)), roles
        if expr.modifier not in {Modifier.BEGIN, Modifier.END}:
            message = f"`{expr.modifier}` is said of a unit of work, not of an expression"
            self._compilation.report.error(message, expr.span, f"like `{expr.modifier} Transaction`")
        node, roles = self.build(operand, known, part)
        return sources.Point(expr.modifier, node), roles

    def _tick(
        self, alias: Name | None, word: str, part: Part, expr: EventExpr, sample: Attribute | None = None
    ) -> Constituent:
        if alias is not None:
            check_role(alias, self._rule, self._compilation)
        tick = add_point(alias, word, part, self._rule, sample)
        tick.span = expr.span
        return tick

    # --- operators ------------------------------------------------------------------------------------------

    def _any(self, expr: AnyOf, known: Roles, part: Part) -> _Built:
        nodes: list[sources.Expression] = []
        roles: Roles = ()
        for choice in expr.choices:
            node, inner = self.build(choice, (*known, *roles), part)
            nodes.append(node)
            roles = (*roles, *inner)
        return sources.AnyOf(expr.count, tuple(nodes), expr.star), roles

    def _aperiodic(self, expr: Aperiodic, known: Roles, part: Part) -> _Built:
        first, opened = self.build(expr.first, known, part)
        middle, inner = self.build(expr.middle, (*known, *opened), part)
        seen = (*known, *opened, *inner) if expr.star else (*known, *opened)
        # What closes a plain one is no part of it.
        last, closed = self.build(expr.last, seen, part if expr.star else Part.ABSENT)
        roles = (*opened, *inner, *closed) if expr.star else (*opened, *inner)
        return sources.Aperiodic(first, middle, last, expr.star), roles

    def _periodic(self, expr: Periodic, known: Roles, part: Part) -> _Built:
        self._check_time(expr.every)
        first, opened = self.build(expr.first, known, part)
        place, sample = (None, None)
        if expr.collect is not None:
            place, sample = self._sample(expr.collect, (*known, *opened))
        tick = self._tick(expr.alias, "periodic", part, expr, sample)
        last, closed = self.build(expr.last, (*known, *opened), part if expr.star else Part.ABSENT)
        roles = (*opened, tick, *closed) if expr.star else (*opened, tick)
        node = sources.Periodic(first, expr.every.ms, last, tick.index, expr.star, place)
        return node, roles

    def _sample(self, collect: Collected, known: Roles) -> tuple[tuple[int, int] | None, Attribute | None]:
        """Return where a tick finds what it samples, and the attribute that it has from there."""
        constituent = add_leaf(collect.occurrence, Part.MEASURED, self._rule, self._compilation)
        self._type_conditions(constituent, known)
        scope = Scope(self._compilation, self._rule, (), constituent)
        index = scope.index(constituent, collect.attribute)
        if index is None:
            return None, None
        # There need not have been such an event yet.
        attribute = replace(constituent.event.attributes[index], optional=True)
        return (constituent.index, index), attribute

    def _check_time(self, duration: Duration) -> None:
        if duration.ms <= 0:
            self._compilation.report.error("this time must be longer than 0", duration.span)


def _pair(expr: Or | And | Seq, left: sources.Expression, right: sources.Expression) -> sources.Expression:
    match expr:
        case Or():
            return sources.Or(left, right)
        case And():
            return sources.And(left, right)
        case Seq():
            return sources.Seq(left, right)


def _occurrences(expr: EventExpr) -> list[Occurrence]:
    """Return the occurrences of an expression, what ticks sample included.

    What is taken several times is there twice, for so its parameters tie it to itself.
    """
    match expr:
        case Occurrence():
            return [expr]
        case AnyOf(star=True):
            return 2 * _occurrences(expr.choices[0])
        case Aperiodic(star=True):
            return [*_occurrences(expr.first), *2 * _occurrences(expr.middle), *_occurrences(expr.last)]
        case Periodic(collect=Collected(occurrence=sampled)):
            times = 2 if expr.star else 1
            return [*_occurrences(expr.first), *times * [sampled], *_occurrences(expr.last)]
        case _:
            return [occurrence for operand in expr.operands for occurrence in _occurrences(operand)]
