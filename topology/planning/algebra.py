"""Event expressions: the order of their slots, and what their operators keep."""

from collections.abc import Iterator

from tocsin.topology.sources import (
    And,
    AnyOf,
    Aperiodic,
    Expression,
    Not,
    Periodic,
    Plus,
    Point,
    Seq,
    operands,
    own_constituents,
)
from tocsin.topology.tree import Modifier

STORING = (And, Seq, AnyOf, Aperiodic, Periodic, Not)
"""Operators that keep occurrences until others come; the rest pass them on, at once or after a while."""


def slots(node: Expression) -> Iterator[int]:
    """Yield the constituents of an expression in the order of its slots: its own tick comes last."""
    for operand in operands(node):
        yield from slots(operand)
    yield from reversed(own_constituents(node))


def accumulates(node: Expression) -> bool:
    """Tell whether an operator collects without end even where only the most recent initiator counts."""
    return isinstance(node, Aperiodic | Periodic) and node.star


def resets(node: Expression) -> bool:
    """Tell whether what a node finds begins where that below it ends, so that no bound reaches down."""
    return isinstance(node, Plus) or (isinstance(node, Point) and node.modifier is Modifier.END)
