"""Relative temporal events (Snoop §2.1.1) and the ticks of the periodic operators (§2.1.2, P and P*).

A point in time stands after every event of its time. It belongs to the occurrence it is counted from, its
initiator: each initiator has a clock of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tests.oracle.history import Occurrence, Position, Value, due
from tests.oracle.snoop_parts import Node, Part
from tests.oracle.valuations import Valuation
from tocsin.topology import tree


def ticks(node: Node, initiator: Part, valuation: Valuation, until: int) -> Iterator[Part]:
    """The ticks of P(E1, [TI], E3) for one e1, as far as time goes."""
    return (tick(node, initiator, valuation, at) for at in tick_positions(node, initiator, until))


def tick(node: Node, initiator: Part, valuation: Valuation, position: Position) -> Part:
    """A tick, with the parameter it collects."""
    return point(node, initiator, position, collected(node, valuation, position))


def tick_positions(node: Node, initiator: Part, until: int) -> Iterator[Position]:
    """t_occ(e1) + i × TI for i = 1, 2 and so on."""
    assert isinstance(node.expr, tree.Periodic)
    every = node.expr.every.ms
    for time in range(initiator.position.time + every, until + 1, every):
        yield due(time, node.definition, node.number, initiator.position)


def collected(node: Node, valuation: Valuation, before: Position) -> Mapping[str, Value]:
    """[TI]Arg of §2.1.2: the parameter for each tick, what the last such event before it carried."""
    assert isinstance(node.expr, tree.Periodic)
    if node.expr.collect is None or node.collect is None:
        return {}
    attribute = node.expr.collect.attribute.text
    earlier = [o for o in valuation.candidates(node.collect) if o.position < before]
    return {attribute: earlier[-1].attributes.get(attribute) if earlier else None}


def later(node: Node, initiator: Part) -> Part:
    """E + [d]: a point in time, which keeps the constituents of E as its parameters."""
    assert isinstance(node.expr, tree.Plus)
    time = initiator.position.time + node.expr.delay.ms
    there = point(node, initiator, due(time, node.definition, node.number, initiator.position), {})
    return replace(
        there,
        constituents=(*initiator.constituents, *there.constituents),
        parameters=initiator.parameters,
    )


def point(node: Node, initiator: Part, position: Position, attributes: Mapping[str, Value]) -> Part:
    """A point in time that a node makes."""
    label = ("Timer", node.definition, node.number, initiator.label, position.time)
    occurrence = Occurrence(
        "Timer",
        position,
        position.time,
        position.time,
        attributes=attributes,
        label=label,
        initiated=position,
    )
    return Part(((node, occurrence),), position, position, position.time, position.time)
