"""Named events put in: `event Busy = end Sell and begin SetPrice;` means its expression wherever it is used.

The context is bound by the rule that uses it, not by the event (Snoop §4.1), so there is nothing else to know
about it. Where it stands for one constituent, conditions, alias and number of the use are added to its own.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeGuard

from tocsin.topology import tree

Named = Mapping[str, tree.EventExpr]


def without_named(program: tree.Program) -> tree.Program:
    """The program with every named event replaced by its expression."""
    named = {d.name.text: d.expr for d in program.declarations if isinstance(d, tree.Named)}
    kept = tuple(d for d in program.declarations if not isinstance(d, tree.Named))
    return replace(program, declarations=put_in(named, kept))


def put_in(named: Named, node: Any) -> Any:  # noqa: ANN401 (any part of a tree)
    """A part of a tree with the named events in it replaced."""
    if isinstance(node, tuple):
        return tuple(put_in(named, part) for part in node)
    if isinstance(node, tree.Occurrence):
        if node.event.text not in named:
            return node
        return used(put_in(named, named[node.event.text]), node)
    if not isinstance(node, PARTS):
        return node
    changed = {f.name: put_in(named, getattr(node, f.name)) for f in fields(node)}
    if isinstance(node, tree.Pattern) and not is_constituent(changed["terminator"]):
        assert not node.items
        return changed["terminator"]
    return replace(node, **changed)


def used(inner: tree.EventExpr, use: tree.Occurrence) -> tree.EventExpr:
    """An expression as it is meant where it is used."""
    if isinstance(inner, tree.Occurrence):
        conditions = (*inner.conditions, *use.conditions)
        group = inner.group if use.group is None else use.group
        return replace(inner, conditions=conditions, alias=use.alias or inner.alias, group=group)
    if isinstance(inner, tree.Modified) and isinstance(inner.operand, tree.Occurrence):
        return replace(inner, operand=used(inner.operand, use))
    if isinstance(inner, tree.Timer | tree.Plus | tree.Periodic):
        return replace(inner, alias=use.alias or inner.alias)
    return inner


def is_constituent(expr: tree.EventExpr) -> TypeGuard[tree.Constituent]:
    """Whether it is one event: an occurrence, a phase of one, or a timer."""
    phase = isinstance(expr, tree.Modified) and isinstance(expr.operand, tree.Occurrence)
    return phase or isinstance(expr, tree.Occurrence | tree.Timer)


PARTS = (
    tree.Define
    | tree.Rule
    | tree.Pattern
    | tree.Selected
    | tree.Negated
    | tree.Aggregated
    | tree.EventExpr
    | tree.Collected
    | tree.Match
    | tree.MatchExpr
    | tree.When
    | tree.EventCondition
)
"""What a named event can be inside of."""
