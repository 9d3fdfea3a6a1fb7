"""Event expressions as a tree of nodes, and what the nodes hand on: sets of constituents (Snoop §2.2).

`grow` turns the tree of a source into nodes: every node knows the smallest of the `within` around it and the
conditions between its operands that it has to look at.
"""

from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, combinations, count
from typing import Any

from tests.oracle.history import Occurrence, Position, Value, composite, in_order, place
from tests.oracle.named import is_constituent
from tests.oracle.valuations import Leaf, leaves_of
from tests.oracle.values import Scope, holds, mentions
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import Constituent, Modifier

Path = tuple[int, ...]
"""The way from the root to a node: the number of the operand at each step."""


@dataclass(eq=False)
class Node:
    """A node of an expression: an operator, or a leaf. Each stands for itself.

    `bound_ms` is the smallest `within` around it that counts from where it begins.
    """

    expr: tree.EventExpr
    path: Path
    number: int
    definition: int
    operands: tuple["Node", ...] = ()
    bound_ms: int | None = None
    leaf: Leaf | None = None
    collect: Leaf | None = None
    conditions: list[tuple["Node", tree.Expr]] = field(default_factory=list)
    """The conditions for which this is the lowest node that knows all they speak of, each with its leaf."""

    @property
    def role(self) -> str:
        """The role of the constituent that this node itself makes: a leaf's occurrence, a timer."""
        if self.leaf:
            return self.leaf.role
        name = getattr(self.expr, "alias", None)
        return name.text if name else ""

    def below(self) -> Iterator["Node"]:
        """This node and all nodes under it, the leftmost first."""
        yield from chain.from_iterable(operand.below() for operand in self.operands)
        yield self

    @cached_property
    def names(self) -> frozenset[str]:
        """The roles and parameters that an occurrence of this node may bind."""
        named = {node.role for node in self.below() if node.role}
        bound = {f"${name}" for node in self.below() if node.leaf for name in node.leaf.bindings}
        return frozenset(named | bound)


@dataclass(frozen=True)
class Part:
    """An occurrence of a node: the set of its constituents, each with the node it came in by.

    What the seed writes as <e1, e2>.
    """

    constituents: tuple[tuple[Node, Occurrence], ...]
    position: Position
    initiated: Position
    start: int
    end: int
    parameters: Mapping[str, Value] = field(default_factory=dict, compare=False)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((frozenset(self.constituents), self.position))

    @cached_property
    def occurrences(self) -> frozenset[Occurrence]:
        """The set of §2.2: which events it is made of, whatever their roles."""
        return frozenset(occurrence for _, occurrence in self.constituents)

    @cached_property
    def label(self) -> Hashable:
        """Its identity within its expression: which event plays which role."""
        return frozenset((node.role, occurrence.label) for node, occurrence in self.constituents)

    @property
    def length_ms(self) -> int:
        return self.end - self.start

    @cached_property
    def order(self) -> tuple[Any, ...]:
        """Simultaneous ones: by initiator, places of the constituents, role by role, and interval."""
        constituents = [[place(player) for player in players] for players in self.roles().values()]
        return self.position, self.initiated, constituents, self.start, self.end

    def roles(self) -> dict[str, tuple[Occurrence, ...]]:
        """The constituents by role; the roles as they are written, and each in order."""
        found: dict[str, set[Occurrence]] = {}
        for node, occurrence in sorted(self.constituents, key=lambda pair: pair[0].number):
            found.setdefault(node.role, set()).add(occurrence)
        return {role: in_order(players) for role, players in found.items()}

    def occurrence(self, name: str) -> Occurrence:
        """The occurrence that this is of an event with that name."""
        return composite(
            name, self.roles(), self.position, start=self.start, end=self.end, initiated=self.initiated
        )


def single(node: Node, occurrence: Occurrence) -> Part:
    """A leaf's occurrence."""
    assert node.leaf is not None
    return Part(
        ((node, occurrence),),
        occurrence.position,
        occurrence.initiated,
        occurrence.start,
        occurrence.end,
        node.leaf.parameters(occurrence),
    )


def union(parts: Iterable[Part]) -> Part:
    """⊎ for one element of each: the union of the constituents. It stands where the last of them stands."""
    parts = sorted(parts, key=lambda part: part.order)
    constituents = dict.fromkeys(chain.from_iterable(part.constituents for part in parts))
    last = parts[-1].position
    return Part(
        tuple(sorted(constituents, key=lambda pair: pair[1].position)),
        last,
        min(part.initiated for part in parts),
        min(part.start for part in parts),
        max(part.end for part in parts),
        {name: value for part in parts for name, value in part.parameters.items()},
    )


def same(one: Part, other: Part) -> bool:
    """Whether two are one occurrence: made of the same events."""
    return one.occurrences == other.occurrences


def modified(modifier: Modifier, part: Part) -> Part:
    """`begin E`, `end E`: the same occurrence, of which only the point of its start or end is taken."""
    if modifier is Modifier.BEGIN:
        return replace(part, end=part.start)
    return replace(part, start=part.end, initiated=part.position)


def fits(node: Node, parts: Mapping[int, Part]) -> bool:
    """Whether the conditions between exactly these operands hold, given an occurrence of each."""
    return hold_together(node, {frozenset(parts)}, parts.values())


def all_fit(node: Node, parts: Mapping[int, Part]) -> bool:
    """Whether all conditions among these operands hold, given an occurrence of each."""
    among = {frozenset(some) for n in range(2, len(parts) + 1) for some in combinations(parts, n)}
    return hold_together(node, among, parts.values())


def hold_together(node: Node, operands: Container[frozenset[int]], parts: Iterable[Part]) -> bool:
    """Whether the conditions between such operands hold in the union of the parts."""
    relevant = [pair for pair in node.conditions if spoken_of(node, *pair) in operands]
    if not relevant:
        return True
    whole = union(parts)
    scope = Scope(roles=whole.roles(), parameters=whole.parameters)
    return all(
        holds(condition, scope.of(occurrence))
        for leaf, condition in relevant
        for place, occurrence in whole.constituents
        if place is leaf
    )


def spoken_of(node: Node, leaf: Node, condition: tree.Expr) -> frozenset[int]:
    """The operands of a node that a condition of one of its leaves has to do with."""
    return frozenset(
        i
        for i, operand in enumerate(node.operands)
        if leaf in operand.below() or mentions(condition) & operand.names
    )


# --- growing ------------------------------------------------------------------------------------------------


def grow(expr: tree.EventExpr, world: World, definition: int) -> Node:
    """The nodes of an expression."""
    several = list(taken_several_times(expr))
    leaves = (
        replace(leaf, several=any(leaf.expr is one for one in several))
        for leaf in leaves_of(leaf_exprs(expr), world)
    )
    root = build(expr, (), None, leaves, count(), definition)
    place_conditions(root)
    return root


def leaf_exprs(expr: tree.EventExpr) -> Iterator[Constituent]:
    """The leaves in the order of `build`."""
    if is_constituent(expr):
        yield expr
        return
    for operand in expr.operands:
        yield from leaf_exprs(operand)
    if isinstance(expr, tree.Periodic) and expr.collect:
        yield expr.collect.occurrence


def taken_several_times(expr: tree.EventExpr) -> Iterator[tree.EventExpr]:
    """The leaves of which one occurrence takes several: of ANY(m, E*), and what A* and P* collect."""
    match expr:
        case tree.AnyOf(star=True):
            yield from leaf_exprs(expr)
        case tree.Aperiodic(star=True, middle=middle):
            yield from leaf_exprs(middle)
        case tree.Periodic(collect=tree.Collected(occurrence=occurrence)):
            yield occurrence
    for operand in expr.operands:
        yield from taken_several_times(operand)


def build(
    expr: tree.EventExpr,
    path: Path,
    bound_ms: int | None,
    leaves: Iterator[Leaf],
    numbers: Iterator[int],
    definition: int,
) -> Node:
    """The node of an expression, and those under it. `within` leaves its mark, but makes no node."""
    if isinstance(expr, tree.Within):
        bound_ms = expr.duration.ms if bound_ms is None else min(bound_ms, expr.duration.ms)
        return build(expr.operand, path, bound_ms, leaves, numbers, definition)
    number = next(numbers)
    if is_constituent(expr):
        return Node(expr, path, number, definition, leaf=next(leaves))
    below_ms = None if begins_anew(expr) else bound_ms
    operands = tuple(
        build(operand, (*path, i), below_ms, leaves, numbers, definition)
        for i, operand in enumerate(expr.operands)
    )
    collect = next(leaves) if isinstance(expr, tree.Periodic) and expr.collect else None
    return Node(expr, path, number, definition, operands, bound_ms, collect=collect)


def begins_anew(expr: tree.EventExpr) -> bool:
    """`E + d`, `end E`: it begins where E ends, so a bound around it says nothing about how long E takes."""
    end = isinstance(expr, tree.Modified) and expr.modifier is Modifier.END
    return end or isinstance(expr, tree.Plus)


def place_conditions(root: Node) -> None:
    """Give each condition that speaks of other constituents to the lowest node that knows all of them."""
    for leaf in root.below():
        for condition in leaf.leaf.others_conditions if leaf.leaf else ():
            spoken = mentions(condition) & root.names
            knowing = [node for node in root.below() if leaf in node.below() and spoken <= node.names]
            knowing[0].conditions.append((leaf, condition))


def leaves(root: Node) -> list[Leaf]:
    """Everything that is read from the history."""
    found = [(node.leaf, node.collect) for node in root.below()]
    return [leaf for pair in found for leaf in pair if leaf]


def in_time(node: Node, parts: Sequence[Part]) -> list[Part]:
    """Those that are not longer than the `within` around the node."""
    return [part for part in parts if node.bound_ms is None or part.length_ms <= node.bound_ms]


def are_there(node: Node, parts: Sequence[Part]) -> bool:
    """Whether none started so long before the last of them that the `within` around the node has let it go.

    So it is in every context. It tells something only where the last is `begin E`: the occurrence ends before
    the position where it stands.
    """
    last = max(part.position for part in parts)
    known = (part.position == last or part.start >= last.time - (node.bound_ms or 0) for part in parts)
    return node.bound_ms is None or all(known)
