"""Matches: what is looked for forward, each part seeing what was taken before it was started."""

from tocsin.topology import sources
from tocsin.topology.elaborate import truth
from tocsin.topology.model import Compilation, Constituent, Part, Rule
from tocsin.topology.passes.conditions import shared_parameters, type_conditions
from tocsin.topology.passes.leaves import add_leaf, add_point
from tocsin.topology.passes.limits import place_limits
from tocsin.topology.printer import print_ms
from tocsin.topology.scopes import Scope
from tocsin.topology.terms import Const, Scalar, Term
from tocsin.topology.tree import (
    Absent,
    All,
    Alternatives,
    AtMost,
    Denied,
    Every,
    Expr,
    InTime,
    Match,
    MatchExpr,
    Modified,
    Name,
    Occurrence,
    OneOfMatches,
    Repeat,
    Step,
    Taking,
    Then,
    Wait,
    While,
)

Roles = tuple[Constituent, ...]
_Built = tuple[sources.MatchNode, Roles]
"""A typed part of a match, and the constituents that can be named behind it."""

_FALSE = Const(Scalar.BOOLEAN, value=False)
"""Stands for a condition that was reported."""


def type_matches(compilation: Compilation) -> None:
    """Fill constituents, parameters and source of every rule with a match."""
    for rule in compilation.rules:
        if isinstance(rule.written, Match):
            with compilation.judging(rule):
                _refuse_first_time_only(rule.written.expr, compilation)
                expr = place_limits(rule.written.expr)
                root, _ = _MatchTyping(rule, expr, compilation).build(expr, ())
                rule.source = sources.Match(root)


def _refuse_first_time_only(expr: MatchExpr, compilation: Compilation) -> None:
    """Report `every M within d` at the root: nothing would be detected after the first d of all."""
    while isinstance(expr, AtMost | While):
        expr = expr.operand
    if isinstance(expr, InTime) and expr.since is None and isinstance(expr.operand, Every):
        length = print_ms(expr.duration.ms)
        compilation.report.error(
            f"nothing could be detected later than {length} after the start of the rules",
            expr.duration.span,
            f"put the limit inside, from the first event: `every (A as a then … within {length} from a)`",
        )


class _MatchTyping:
    """The typing of one match."""

    def __init__(self, rule: Rule, expr: MatchExpr, compilation: Compilation) -> None:
        self._rule = rule
        self._compilation = compilation
        occurrences = _occurrences(expr)
        self._shared = shared_parameters(occurrences)
        self._roles = frozenset(occurrence.role for occurrence in occurrences)
        self._repeats = 0
        self._denials = 0

    def build(self, expr: MatchExpr, known: Roles) -> _Built:  # noqa: C901, PLR0911, PLR0912 (one case a kind)
        """Return the typed match and what can be named behind it, besides what was known before."""
        match expr:
            case Step():
                return self._step(expr, known)
            case Taking():
                operand, roles = self.build(expr.operand, known)
                return sources.Taking(expr.take, operand), roles
            case Repeat():
                return self._repeat(expr, known)
            case Then():
                left, first = self.build(expr.left, known)
                right, second = self.build(expr.right, (*known, *first))
                return sources.Then(left, right), (*first, *second)
            case All():
                parts, roles = self._parts(expr.parts, known, exclusive=False)
                return sources.All(parts), roles
            case OneOfMatches():
                parts, roles = self._parts(expr.parts, known, exclusive=True)
                return sources.OneOf(parts), roles
            case Alternatives():
                parts, roles = self._parts(expr.parts, known, exclusive=True)
                return sources.Alternatives(parts), roles
            case Denied():
                return sources.Denied(self._denied(expr.operand, known)), ()
            case Every():
                operand, roles = self.build(expr.operand, known)
                return sources.Every(operand), roles
            case InTime():
                operand, roles = self.build(expr.operand, known)
                since = self._since(expr.since, (*known, *roles))
                return sources.InTime(operand, expr.duration.ms, since), roles
            case AtMost():
                operand, roles = self.build(expr.operand, known)
                return sources.AtMost(operand, expr.count), roles
            case While():
                operand, roles = self.build(expr.operand, known)
                condition = self._condition(expr.condition, self._scope((*known, *roles)))
                return sources.While(operand, condition), roles
            case Wait():
                tick = add_point(expr.alias, "wait", self._part, self._rule)
                tick.span = expr.span
                return sources.Wait(expr.duration.ms, tick.index), (tick,)
            case Absent():
                since = self._since(expr.since, known)
                return sources.Absent(self._denied(expr.operand, known), expr.duration.ms, since), ()
            case _:
                raise TypeError(expr)

    @property
    def _part(self) -> Part:
        return Part.ABSENT if self._denials else Part.TAKEN

    def _step(self, step: Step, known: Roles) -> _Built:
        constituent = add_leaf(step.occurrence, self._part, self._rule, self._compilation)
        if constituent.occurrence is not None:
            scope = self._scope(known, constituent)
            type_conditions(constituent, constituent.occurrence.conditions, scope, self._shared)
        return sources.Step(constituent.index), (constituent,)

    def _denied(self, operand: MatchExpr, known: Roles) -> sources.MatchNode:
        self._denials += 1
        node, _ = self.build(operand, known)
        self._denials -= 1
        return node

    def _parts(
        self, parts: tuple[MatchExpr, ...], known: Roles, *, exclusive: bool
    ) -> tuple[tuple[sources.MatchNode, ...], Roles]:
        """Build parts that are started together, so that none of them sees another."""
        built = [self.build(part, known) for part in parts]
        roles = tuple(constituent for _, inner in built for constituent in inner)
        for constituent in roles if exclusive else ():
            constituent.optional = True
        return tuple(node for node, _ in built), roles

    def _since(self, name: Name | None, known: Roles) -> int | None:
        """Return the constituent that a time is counted from: of a role that collects, its first event."""
        players = () if name is None else self._scope(known).all_of(name)
        if name is not None and len(players) > 1 and players[0].optional:
            self._scope(known).report_several(name, f"`{name}`")
        return players[0].index if players else None

    # --- repeats --------------------------------------------------------------------------------------------

    def _repeat(self, expr: Repeat, known: Roles) -> _Built:
        self._repeats += 1
        operand, roles = self.build(expr.operand, known)
        self._repeats -= 1
        condition = None if expr.condition is None else self._between(expr.condition, operand, known)
        for constituent in roles:
            constituent.several = constituent.several or expr.high is None or expr.high > 1
            constituent.optional = constituent.optional or expr.low == 0
        until: sources.MatchNode | None = None
        if expr.until is not None:
            until, ending = self.build(expr.until, known)
            roles = (*roles, *ending)
        return sources.Repeat(operand, expr.low, expr.high, expr.take, condition, until), roles

    def _between(self, expr: Expr, operand: sources.MatchNode, known: Roles) -> Term:
        """Return the condition between an element and the one before."""
        first, last = _edge(operand, 0), _edge(operand, -1)
        if first is None or last is None:
            self._compilation.report.error(
                "it is not clear which event of this repeat is compared with the one before",
                expr.span,
                "compare in the conditions of the events, with the names given by `as`",
            )
            return _FALSE
        own, previous = self._rule.constituents[first], self._rule.constituents[last]
        scope = self._scope(known, own, previous=previous, repeated=True)
        return self._condition(expr, scope)

    def _condition(self, expr: Expr, scope: Scope) -> Term:
        return truth(expr, scope) or _FALSE

    def _scope(
        self,
        known: Roles,
        own: Constituent | None = None,
        *,
        previous: Constituent | None = None,
        repeated: bool = False,
    ) -> Scope:
        return Scope(
            self._compilation,
            self._rule,
            known,
            own,
            previous,
            self._roles - {c.role for c in known},
            repeated or self._repeats > 0,
        )


def _occurrences(expr: MatchExpr) -> list[Occurrence]:
    """Return the occurrences of a match; what is repeated is there twice, for so its parameters tie it.

    What ends a repeat is not repeated itself.
    """
    found: list[Occurrence] = []
    if isinstance(expr, Step):
        written = expr.occurrence
        occurrence = written.operand if isinstance(written, Modified) else written
        assert isinstance(occurrence, Occurrence)
        found.append(occurrence)
    for operand in expr.operands:
        found += _occurrences(operand)
    if isinstance(expr, Repeat) and expr.high != 1:
        found += _occurrences(expr.operand)
    return found


def _edge(node: sources.MatchNode, end: int) -> int | None:
    """Return the constituent that a match begins (0) or ends (-1) with, if that is always the same."""
    match node:
        case sources.Step():
            return node.constituent
        case sources.Then():
            return _edge((node.left, node.right)[end], end)
        case sources.Taking() | sources.InTime() | sources.AtMost() | sources.While():
            return _edge(node.operand, end)
        case sources.Repeat(until=None) if node.low > 0:
            return _edge(node.operand, end)
        case _:
            return None
