"""Roles of event expressions: which of them can hold several occurrences at once, and which none."""

from collections import Counter
from dataclasses import dataclass, replace

from tocsin.topology import sources
from tocsin.topology.model import Rule
from tocsin.topology.tree import Context


@dataclass(frozen=True, slots=True)
class _Hold:
    """What the roles below a node can hold."""

    several: bool = False
    optional: bool = False


def mark_roles(root: sources.Expression, rule: Rule) -> None:
    """Mark the constituents of an expression.

    A type that stands several times without a name of its own is one role, which collects.
    """
    _mark(root, _Hold(), rule)
    taken = [c for c in rule.taken() if c.occurrence is not None]
    counts = Counter(c.role for c in taken)
    for constituent in taken:
        constituent.several = constituent.several or counts[constituent.role] > 1


def _mark(node: sources.Expression, hold: _Hold, rule: Rule) -> None:
    own = (
        replace(hold, several=True, optional=True)
        if isinstance(node, sources.Periodic) and node.star
        else hold
    )
    for index in sources.own_constituents(node):
        rule.constituents[index].several = own.several
        rule.constituents[index].optional = own.optional
    for operand, below in _below(node, hold, cumulative=rule.context is Context.CUMULATIVE):
        _mark(operand, below, rule)


def _below(  # noqa: C901, PLR0911 (one case a kind)
    node: sources.Expression, hold: _Hold, *, cumulative: bool
) -> list[tuple[sources.Expression, _Hold]]:
    """Return the operands and what the roles of each can hold.

    In the cumulative context, what waits for something else accumulates; but an interval is opened by the
    first that comes, and further ones do not count.
    """
    waiting = replace(hold, several=hold.several or cumulative)
    match node:
        case sources.Leaf():
            return []
        case sources.Or():
            either = replace(hold, optional=True)
            return [(node.left, either), (node.right, either)]
        case sources.And():
            return [(node.left, waiting), (node.right, waiting)]
        case sources.Seq():
            return [(node.left, waiting), (node.right, hold)]
        case sources.AnyOf(star=True):
            return [
                (choice, replace(waiting, several=waiting.several or node.count > 1))
                for choice in node.choices
            ]
        case sources.AnyOf():
            some = replace(waiting, optional=hold.optional or node.count < len(node.choices))
            return [(choice, some) for choice in node.choices]
        case sources.Aperiodic():
            inner = _Hold(several=True, optional=True) if node.star else hold
            return [(node.first, hold), (node.middle, inner), (node.last, hold)]
        case sources.Periodic():
            return [(node.first, hold), (node.last, hold)]
        case sources.Not():
            return [(node.first, hold), (node.absent, hold), (node.last, hold)]
        case sources.Point() | sources.Plus() | sources.Within():
            return [(node.operand, hold)]
