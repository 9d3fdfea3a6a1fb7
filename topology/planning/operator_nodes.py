"""Event expressions to operator nodes; each condition goes to the lowest node that has all it reads."""

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.topology.model import Rule
from tocsin.topology.nodes import Operator, OperatorNode, Parameters
from tocsin.topology.planning.algebra import STORING, resets
from tocsin.topology.planning.conditions import decides
from tocsin.topology.planning.leaf_nodes import leaf
from tocsin.topology.planning.stores import NodeStore
from tocsin.topology.sources import (
    And,
    AnyOf,
    Aperiodic,
    Expression,
    Leaf,
    Not,
    Or,
    Periodic,
    Plus,
    Point,
    Seq,
    Within,
    operands,
    own_constituents,
)
from tocsin.topology.terms import Term, Valued, constituents, join, parts, renumber

_OPERATORS = {
    Or: Operator.OR,
    And: Operator.AND,
    Seq: Operator.SEQ,
    AnyOf: Operator.ANY,
    Aperiodic: Operator.APERIODIC,
    Periodic: Operator.PERIODIC,
    Not: Operator.NOT,
    Plus: Operator.PLUS,
    Point: Operator.MODIFIED,
}

Details = tuple[tuple[str, int | str | bool], ...]


@dataclass(frozen=True, slots=True)
class Built:
    """The node of an expression, its constituents in the order of slots, and what it could not decide.

    What waits is a condition each, with the constituent whose condition it is.
    """

    node: int
    slots: tuple[int, ...]
    parameters: tuple[str, ...] = ()
    waiting: tuple[tuple[int, Term], ...] = ()


def number_parameters(rule: Rule, slots: Sequence[int]) -> tuple[tuple[str, ...], Parameters]:
    """Return the equality parameters found in some slots, and their places, in the order of these."""
    number = {constituent: slot for slot, constituent in enumerate(slots)}
    places: dict[str, list[tuple[int, int]]] = {}
    for constituent, slot in number.items():
        for name, field in rule.constituents[constituent].equalities.items():
            places.setdefault(name, []).append((slot, field))
    ordered = sorted((tuple(sorted(found)), name) for name, found in places.items())
    return tuple(name for _, name in ordered), tuple(found for found, _ in ordered)


class OperatorBuilder:
    """Builds the nodes of one rule's expression."""

    def __init__(self, rule: Rule, store: NodeStore) -> None:
        self._rule = rule
        self._store = store

    def build(self, node: Expression, within_ms: int | None = None) -> Built:
        """Return the node of an expression under the smallest of the bounds around it."""
        match node:
            case Leaf(constituent):
                return self._leaf(constituent, None)
            case Within(operand, own_ms):
                if isinstance(operand, Leaf):
                    return self._leaf(operand.constituent, own_ms)
                return self.build(operand, own_ms if within_ms is None else min(own_ms, within_ms))
            case _:
                return self._operator(node, within_ms)

    def _leaf(self, constituent: int, within_ms: int | None) -> Built:
        own = self._rule.constituents[constituent]
        open_ = (condition for condition in own.conditions if not decides(own, condition))
        waiting = tuple((constituent, condition) for condition in open_)
        return Built(leaf(own, self._store, within_ms), (constituent,), tuple(own.equalities), waiting)

    def _operator(self, node: Expression, within_ms: int | None) -> Built:
        below_ms = None if resets(node) else within_ms
        built = [self.build(operand, below_ms) for operand in operands(node)]
        if isinstance(node, Periodic) and node.sample is not None:
            built.append(self._leaf(node.sample[0], None))
        ticks = own_constituents(node)[:1]
        slots = (*(slot for part in built for slot in part.slots), *ticks)
        number = {constituent: slot for slot, constituent in enumerate(slots)}
        names, parameters = number_parameters(self._rule, slots)
        here: list[tuple[int, Term]] = []
        waiting: list[tuple[int, Term]] = []
        for own, condition in (pair for part in built for pair in part.waiting):
            known = constituents(condition) <= number.keys() and _parameters(condition) <= set(names)
            (here if known else waiting).append((own, condition))
        numbers = {name: position for position, name in enumerate(names)}
        where = [renumber(condition, number, numbers) for _, condition in here]
        sample = node.sample if isinstance(node, Periodic) else None
        added = self._store.add(
            OperatorNode(
                operator=_OPERATORS[type(node)],
                inputs=tuple(part.node for part in built),
                slots=len(slots),
                details=_details(node),
                sample=None if sample is None else (number[sample[0]], sample[1]),
                parameters=parameters,
                apart=tuple(place for place, name in enumerate(names) if name.startswith("[")),
                where=join("and", where) if where else None,
                of=tuple(number[own] for own, _ in here),
                within_ms=within_ms,
                horizon_ms=_horizon(node, within_ms),
            )
        )
        return Built(added, slots, names, tuple(waiting))


def _parameters(condition: Term) -> set[str]:
    return {part.name for part in parts(condition) if isinstance(part, Valued)}


def _horizon(node: Expression, within_ms: int | None) -> int | None:
    match node:
        case Plus():
            return node.delay_ms
        case _ if isinstance(node, STORING):
            return within_ms
        case _:
            return 0


def _details(node: Expression) -> Details:
    match node:
        case AnyOf():
            return (("count", node.count), ("star", node.star))
        case Aperiodic():
            return (("star", node.star),)
        case Periodic():
            return (("star", node.star), ("every_ms", node.every_ms))
        case Plus():
            return (("delay_ms", node.delay_ms),)
        case Point():
            return (("modifier", node.modifier.value),)
        case _:
            return ()
