"""Snoop: event expressions over a whole history, in the unrestricted context as §2.2.1 defines it.

`[H]` is `Unrestricted.history`; its cases carry the numbers of the definitions. The other contexts are in
`contexts.py`. Readings of what is printed:

2  AND pairs every e1 with every e2 that is not the same occurrence, whichever comes first.
3  ANY takes its m occurrences from m different operands, and no occurrence twice.
5  A leaves out E3 as printed; the formula of §2.1.2 has it: no e3 strictly between.
6  P ends with the first e3 behind e1, also where it is not known yet whether one will come.
7  NOT: e2 must be another occurrence than e1 and e3, which stand in the closed interval themselves.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

from tests.oracle import contexts, temporal
from tests.oracle.history import Found, Position, Value
from tests.oracle.snoop_parts import (
    Node,
    Part,
    all_fit,
    are_there,
    fits,
    grow,
    in_time,
    leaves,
    modified,
    same,
    single,
    union,
)
from tests.oracle.valuations import Valuation, valuations
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import Context


def detect(definition: tree.Define | tree.Rule, world: World) -> Iterator[Found]:
    """Every occurrence of a definition's expression in its context; recent is the default (§4.1).

    Each has a value for every equality parameter: A* that has collected nothing occurs for none of the values
    that only its middle has.
    """
    root = grown(definition, world)
    detection = definition.detection or tree.Detection()
    for valuation in valuations(leaves(root)):
        if detection.context is Context.UNRESTRICTED:
            found = Unrestricted(root, valuation, world, detection.disjoint).history(root)
        else:
            context = detection.context or Context.RECENT
            found = contexts.detect(context, root, valuation, world, disjoint=detection.disjoint)
        for part in found:
            if any(name not in part.parameters for name, _ in valuation.values):
                continue
            yield Found(part.occurrence(definition.name.text), part.parameters, valuation.values)


def grown(definition: tree.Define | tree.Rule, world: World) -> Node:
    """The nodes of a definition's expression."""
    source = definition.source if isinstance(definition, tree.Define) else definition.trigger
    assert isinstance(source, tree.EventExpr)
    return grow(source, world, world.order(definition))


@dataclass(frozen=True)
class Unrestricted:
    """§2.2.1, for one valuation of the equality parameters."""

    root: Node
    valuation: Valuation
    world: World
    disjoint: bool = False

    def history(self, node: Node) -> list[Part]:
        """E[H]: the occurrences of an expression, in order, each once."""
        cases: Mapping[type[tree.EventExpr], Callable[[Node], Iterable[Part]]] = {
            tree.Or: self.or_,
            tree.And: self.and_,
            tree.AnyOf: self.any_,
            tree.Seq: self.seq,
            tree.Aperiodic: self.aperiodic,
            tree.Periodic: self.periodic,
            tree.Not: self.not_,
            tree.Plus: self.plus,
            tree.Modified: self.modifier,
        }
        found = self.primitive(node) if node.leaf else cases[type(node.expr)](node)
        parts = sorted(dict.fromkeys(in_time(node, list(found))), key=lambda part: part.order)
        if self.disjoint and node is contexts.root_operator(self.root):
            parts = contexts.disjoint(parts)
        return parts

    def operands(self, node: Node) -> list[list[Part]]:
        return [self.history(operand) for operand in node.operands]

    def primitive(self, node: Node) -> Iterator[Part]:
        """E_j[H] = { {e_j} | {e_j} ∈ H }."""
        assert node.leaf is not None
        return (single(node, occurrence) for occurrence in self.valuation.candidates(node.leaf))

    def modifier(self, node: Node) -> Iterator[Part]:
        """`begin E`, `end E` (§2.1)."""
        assert isinstance(node.expr, tree.Modified)
        return (modified(node.expr.modifier, part) for part in self.history(node.operands[0]))

    def or_(self, node: Node) -> Iterator[Part]:
        """1. { e | e ∈ E1[H] or e ∈ E2[H] }."""
        left, right = self.operands(node)
        yield from left
        yield from right

    def and_(self, node: Node) -> Iterator[Part]:
        """2. { {ei, ej} ∈ E1[H] ⊎ E2[H] or ∈ E2[H] ⊎ E1[H] | t(ei) ≤ t(ej) }."""
        return (
            union([e1, e2])
            for e1, e2 in product(*self.operands(node))
            if not same(e1, e2) and are_there(node, [e1, e2]) and fits(node, {0: e1, 1: e2})
        )

    def any_(self, node: Node) -> Iterator[Part]:
        """3. m occurrences of m distinct events, in any order; ANY(m, E*): m distinct occurrences of E."""
        assert isinstance(node.expr, tree.AnyOf)
        m = node.expr.count
        operands = self.operands(node)
        if node.expr.star:
            chosen_ones = combinations(operands[0], m)
            yield from (union(chosen) for chosen in chosen_ones if are_there(node, chosen))
            return
        for places in combinations(range(len(operands)), m):
            for chosen in product(*(operands[place] for place in places)):
                distinct = not any(same(one, other) for one, other in combinations(chosen, 2))
                if (
                    distinct
                    and are_there(node, chosen)
                    and all_fit(node, dict(zip(places, chosen, strict=True)))
                ):
                    yield union(chosen)

    def seq(self, node: Node) -> Iterator[Part]:
        """4. { {ei, ej} ∈ E1[H] ⊎ E2[H] | t(ei) < t(ej) }."""
        return (
            union([e1, e2])
            for e1, e2 in product(*self.operands(node))
            if e1.position < e2.position and are_there(node, [e1, e2]) and fits(node, {0: e1, 1: e2})
        )

    def aperiodic(self, node: Node) -> Iterator[Part]:
        assert isinstance(node.expr, tree.Aperiodic)
        return self.aperiodic_star(node) if node.expr.star else self.aperiodic_each(node)

    def aperiodic_each(self, node: Node) -> Iterator[Part]:
        """5. { {ei, ej} | t(ei) < t(ej) }, and no e3 with t(ei) < t(e3) < t(ej) (§2.1.2)."""
        first, middle, last = self.operands(node)
        return (
            union([e1, e2])
            for e1, e2 in product(first, middle)
            if e1.position < e2.position
            and are_there(node, [e1, e2])
            and fits(node, {0: e1, 1: e2})
            and not any(e1.position < e3.position < e2.position and fits(node, {0: e1, 2: e3}) for e3 in last)
        )

    def aperiodic_star(self, node: Node) -> Iterator[Part]:
        """8. { {ei, ℘(E2, t(ei), t(ek)), ek} | t(ei) < t(ek) }, the interval being (ei, ek]."""
        first, middle, last = self.operands(node)
        for e1, e3 in product(first, last):
            if e1.position < e3.position and are_there(node, [e1, e3]) and fits(node, {0: e1, 2: e3}):
                between = [
                    e2
                    for e2 in middle
                    if e1.position < e2.position <= e3.position and all_fit(node, {0: e1, 1: e2, 2: e3})
                ]
                yield union([e1, *between, e3])

    def periodic(self, node: Node) -> Iterator[Part]:
        assert isinstance(node.expr, tree.Periodic)
        return self.periodic_star(node) if node.expr.star else self.periodic_each(node)

    def periodic_each(self, node: Node) -> Iterator[Part]:
        """6. { {ei, tj} | tj = t(ei) + j × t, j > 0 }, up to the first e3 behind ei."""
        first, last = self.operands(node)
        for e1 in first:
            for tick in temporal.ticks(node, e1, self.valuation, self.world.until):
                if are_there(node, [e1, tick]) and not any(
                    e1.position < e3.position < tick.position and fits(node, {0: e1, 1: e3}) for e3 in last
                ):
                    yield union([e1, tick])

    def periodic_star(self, node: Node) -> Iterator[Part]:
        """9. { {ei, ℘(t, t(ei), t(ek)), ek} | t(ei) < t(ek) }; ℘ returns the points in time."""
        first, last = self.operands(node)
        for e1 in first:
            ticks = list(temporal.ticks(node, e1, self.valuation, self.world.until))
            for e3 in last:
                there = e1.position < e3.position and are_there(node, [e1, e3])
                if there and fits(node, {0: e1, 1: e3}):
                    yield union([e1, *(tick for tick in ticks if tick.position < e3.position), e3])

    def not_(self, node: Node) -> Iterator[Part]:
        """7. { {ei, ek} ∈ E1[H] ⊎ E3[H] | ℘(E2, t(ei), t(ek)) = ∅ }."""
        first, absent, last = self.operands(node)
        for e1, e3 in product(first, last):
            if e1.position < e3.position and are_there(node, [e1, e3]) and fits(node, {0: e1, 2: e3}):
                inside = [
                    e2
                    for e2 in absent
                    if e1.position <= e2.position <= e3.position
                    and not same(e2, e1)
                    and not same(e2, e3)
                    and all_fit(node, {0: e1, 1: e2, 2: e3})
                ]
                if not inside:
                    yield union([e1, e3])

    def plus(self, node: Node) -> Iterator[Part]:
        """§2.1.1: event + [timestring], that long after each occurrence, as far as time goes."""
        found = (temporal.later(node, part) for part in self.history(node.operands[0]))
        return (part for part in found if part.position.time <= self.world.until)


def stored(
    definition: tree.Define | tree.Rule, world: World, at: Position
) -> Mapping[tuple[tuple[str, Value], ...], contexts.Stored]:
    """What is stored once everything up to a position was handled, by valuation: the lists of every operator.

    The unrestricted context must keep every occurrence of every operand.
    """
    root = grown(definition, world)
    detection = definition.detection or tree.Detection()
    found: dict[tuple[tuple[str, Value], ...], contexts.Stored] = {}
    for valuation in valuations(leaves(root)):
        if detection.context is Context.UNRESTRICTED:
            oracle = Unrestricted(root, valuation, world)
            found[valuation.values] = {
                node.path: tuple(tuple(e for e in o if e.position <= at) for o in oracle.operands(node))
                for node in root.below()
                if node.operands
            }
        else:
            context = detection.context or Context.RECENT
            found[valuation.values] = contexts.stored(
                context, root, valuation, world, at, disjoint=detection.disjoint
            )
    return found
