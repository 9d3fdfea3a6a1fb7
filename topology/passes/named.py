"""Named expressions: `event Busy = …;` is put in where its name stands, as if it were written there."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, TypeGuard, TypeVar, cast

from tocsin.topology.model import Compilation
from tocsin.topology.parsing.cursor import MAX_CONSTITUENTS, MAX_NESTING
from tocsin.topology.tree import (
    Aggregated,
    Constituent,
    EventCondition,
    EventExpr,
    Match,
    MatchExpr,
    Modified,
    Named,
    Negated,
    Occurrence,
    Pattern,
    Periodic,
    Plus,
    Selected,
    Source,
    Step,
    Timer,
    When,
)

_MAX_HEIGHT = MAX_NESTING + MAX_CONSTITUENTS
"""As long a chain as there can be constituents is not nested."""

Tree = TypeVar("Tree", EventExpr, MatchExpr)


def expand_named(compilation: Compilation) -> None:
    """Fill what every rule detects with named expressions put in; those that need themselves are mistakes."""
    if not compilation.named:
        return
    _refuse_cycles(compilation)
    expansion = _Expansion(compilation)
    for rule in compilation.rules:
        rule.written = expansion.of_source(rule.written)
    for named in list(compilation.named.values()):
        if named.name.text not in expansion.used:
            compilation.unused[named.name.text] = expansion.of_expression(named.expr)


# --- cycles -------------------------------------------------------------------------------------------------


def _refuse_cycles(compilation: Compilation) -> None:
    """Report each cycle once, and take the expressions in it out."""
    uses = {name: _names(named.expr) & compilation.named.keys() for name, named in compilation.named.items()}
    done: set[str] = set()
    for start in list(compilation.named):
        cycle = _cycle(start, uses, done)
        if cycle:
            name = compilation.named[cycle[0]].name
            message = f"the expression `{name}` needs itself: {' uses '.join([*cycle, cycle[0]])}"
            hint = "what builds on its own earlier occurrences is a `define`"
            compilation.report.error(message, name.span, hint)
            compilation.doubtful.update(cycle)
    for refused in compilation.doubtful & compilation.named.keys():
        del compilation.named[refused]


def _cycle(start: str, uses: dict[str, set[str]], done: set[str]) -> list[str]:
    """Return a cycle that can be reached from a name by ways not walked before."""
    path: list[str] = []
    pending = [(start, False)]
    while pending:
        name, left = pending.pop()
        if left:
            path.pop()
            done.add(name)
        elif name in path:
            done.update(path)
            return path[path.index(name) :]
        elif name not in done:
            path.append(name)
            pending.append((name, True))
            pending += [(used, False) for used in sorted(uses[name])]
    return []


def _names(expr: EventExpr) -> set[str]:
    own = {expr.event.text} if isinstance(expr, Occurrence) else set()
    return own.union(*(_names(operand) for operand in expr.operands))


# --- expansion ----------------------------------------------------------------------------------------------


class _Expansion:
    """Puts named expressions in."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self._named = compilation.named
        self._sizes: dict[str, tuple[int, int]] = {}
        self._with_roles: set[str] = set()
        self.used: set[str] = set()

    def of_source(self, source: Source | When) -> Source | When:
        """Return a source without named expressions."""
        self._with_roles = set()
        match source:
            case EventExpr():
                return self.of_expression(source)
            case Pattern(items=()):
                whole = self.of_expression(source.terminator)
                return replace(source, terminator=whole) if _is_constituent(whole) else whole
            case Pattern():
                items = (
                    replace(item, occurrence=self._constituent(item.occurrence))
                    if isinstance(item, Selected | Negated | Aggregated)
                    else item
                    for item in source.items
                )
                return replace(source, terminator=self._constituent(source.terminator), items=tuple(items))
            case Match():
                return replace(source, expr=self._of_match(source.expr))
            case When():
                conditions = (
                    replace(item, occurrence=cast("Occurrence", self._constituent(item.occurrence)))
                    if isinstance(item, EventCondition)
                    else item
                    for item in source.items
                )
                return replace(source, items=tuple(conditions))

    def of_expression(self, expr: EventExpr) -> EventExpr:
        """Return an event expression without named ones, if that is not too large."""
        self.used |= _names(expr) & self._named.keys()
        count, height = self._size(expr)
        if count > MAX_CONSTITUENTS or height > _MAX_HEIGHT:
            self._compilation.report.error(
                "this is too large when the named expressions are put in",
                expr.span,
                f"at most {MAX_CONSTITUENTS} constituents; use `define` for parts of it",
            )
            self._compilation.doubtful |= self._named.keys()
            self.used |= self._named.keys()
            return expr
        return self._expanded(expr)

    def _size(self, expr: EventExpr) -> tuple[int, int]:
        """Return the number of constituents and the height that an expression will have."""
        if isinstance(expr, Occurrence) and expr.event.text in self._named:
            name = expr.event.text
            if name not in self._sizes:
                self._sizes[name] = self._size(self._named[name].expr)
            return self._sizes[name]
        sizes = [self._size(operand) for operand in expr.operands]
        own = 1 if not sizes or isinstance(expr, Periodic | Plus) else 0
        return own + sum(count for count, _ in sizes), 1 + max((height for _, height in sizes), default=0)

    def _expanded(self, expr: EventExpr) -> EventExpr:
        if not isinstance(expr, Occurrence):
            return _rebuilt(expr, EventExpr, self._expanded)
        named = self._named.get(expr.event.text)
        if named is None:
            return expr
        self.used.add(named.name.text)
        inner = self._expanded(named.expr)
        return self._specialised(self._once(inner, expr, named), expr, named)

    def _once(self, inner: EventExpr, use: Occurrence, named: Named) -> EventExpr:
        """Return an expression, without its roles where it is used for the second time in a source."""
        roles = _aliases(inner)
        if _is_constituent(inner) or not roles:
            return inner
        if named.name.text not in self._with_roles:
            self._with_roles.add(named.name.text)
            return inner
        self._compilation.report.error(
            f"`{named.name}` is used twice here, so that two constituents would be called `{roles[0]}`",
            use.span,
            f"leave the names out of `event {named.name} = …`, or make an event of it with `define`",
        )
        return _without_aliases(inner)

    def _specialised(self, inner: EventExpr, use: Occurrence, named: Named) -> EventExpr:
        """Return an expression with the conditions and the alias that stand where it is used."""
        if isinstance(inner, Occurrence):
            conditions = (*inner.conditions, *use.conditions)
            alias, group = use.alias or inner.alias, use.group or inner.group
            return replace(inner, conditions=conditions, alias=alias, group=group)
        if isinstance(inner, Modified) and isinstance(inner.operand, Occurrence):
            return replace(inner, operand=self._specialised(inner.operand, use, named))
        if isinstance(inner, Timer | Plus | Periodic) and not use.conditions and use.group is None:
            return replace(inner, alias=use.alias or inner.alias)
        if use.conditions or use.alias or use.group is not None:
            what = "conditions" if use.conditions else "a name" if use.alias else "a number"
            self._compilation.report.error(
                f"`{named.name}` stands for several events, so it cannot have {what} of its own here",
                use.span,
                f"write it where it belongs, in `event {named.name} = …`",
            )
        return inner

    def _of_match(self, expr: MatchExpr) -> MatchExpr:
        if isinstance(expr, Step):
            return replace(expr, occurrence=cast("Occurrence", self._constituent(expr.occurrence)))
        return _rebuilt(expr, MatchExpr, self._of_match)

    def _constituent(self, written: Constituent) -> Constituent:
        """Return a constituent where only a single event can stand."""
        expr = self.of_expression(written)
        if _is_constituent(expr):
            return expr
        names = sorted(_names(written))
        self._compilation.report.error(
            f"`{names[0]}` stands for several events, but a single one is needed here",
            written.span,
            f"make an event of it: `define {names[0]} from …`",
        )
        self._compilation.doubtful.update(names)
        return written


def _aliases(expr: EventExpr) -> list[str]:
    """Return the names given inside an expression."""
    alias = getattr(expr, "alias", None)
    return [*([alias.text] if alias else []), *(name for part in expr.operands for name in _aliases(part))]


def _without_aliases(expr: EventExpr) -> EventExpr:
    rebuilt = _rebuilt(expr, EventExpr, _without_aliases)
    return (
        replace(rebuilt, alias=None) if isinstance(rebuilt, Occurrence | Timer | Plus | Periodic) else rebuilt
    )


def _is_constituent(expr: EventExpr) -> TypeGuard[Constituent]:
    inner = expr.operand if isinstance(expr, Modified) else expr
    return isinstance(inner, Occurrence) or isinstance(expr, Timer)


def _rebuilt(node: Tree, kind: type[Tree], change: Callable[[Tree], Tree]) -> Tree:
    """Return a node with its direct parts changed."""
    changed: dict[str, Any] = {}
    for field in fields(node):
        value = getattr(node, field.name)
        if isinstance(value, kind):
            changed[field.name] = change(value)
        elif isinstance(value, tuple) and any(isinstance(part, kind) for part in value):
            changed[field.name] = tuple(change(part) for part in value)
    return replace(node, **changed)
