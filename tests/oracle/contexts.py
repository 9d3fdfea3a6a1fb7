"""Snoop in a parameter context: the event graph of Appendix A, activated by each position of the history.

"Primitive event occurrences are injected at the leaves and flow upwards" (§2.3.2). The leaves have no
storage; each operator node has a list for each of its children, and the procedure of the context
(`contexts_*.py`).
"""

from collections.abc import Iterable, Iterator, Mapping

from tests.oracle.contexts_chronicle import Chronicle
from tests.oracle.contexts_continuous import Continuous
from tests.oracle.contexts_cumulative import Cumulative
from tests.oracle.contexts_node import Operator
from tests.oracle.contexts_recent import Recent
from tests.oracle.history import BEGINNING, Position
from tests.oracle.snoop_parts import Node, Part, Path, single
from tests.oracle.valuations import Valuation
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import Context

OPERATORS: Mapping[Context, type[Operator]] = {
    Context.RECENT: Recent,
    Context.CHRONICLE: Chronicle,
    Context.CONTINUOUS: Continuous,
    Context.CUMULATIVE: Cumulative,
}

Stored = Mapping[Path, tuple[tuple[Part, ...], ...]]
"""What each operator node holds: the lists of its children, by the way from the root to the node."""


def detect(context: Context, root: Node, valuation: Valuation, world: World, *, disjoint: bool) -> list[Part]:
    """The occurrences of an expression in a context, in order."""
    graph = Graph(context, root, valuation, world, disjoint=disjoint)
    return [part for position in graph.positions() for part in graph.activate(position)]


def stored(
    context: Context, root: Node, valuation: Valuation, world: World, at: Position, *, disjoint: bool
) -> Stored:
    """What is stored when everything up to a position has been handled."""
    graph = Graph(context, root, valuation, world, disjoint=disjoint)
    for position in graph.positions():
        if position > at:
            break
        graph.activate(position)
    return {node.path: tuple(map(tuple, operator.lists)) for node, operator in graph.operators.items()}


class Graph:
    """The event graph of one expression, in one context, for one valuation of its equality parameters."""

    def __init__(
        self, context: Context, root: Node, valuation: Valuation, world: World, *, disjoint: bool
    ) -> None:
        self.root = root
        self.leaves = {
            node: [single(node, occurrence) for occurrence in valuation.candidates(node.leaf)]
            for node in root.below()
            if node.leaf
        }
        self.operators = {
            node: OPERATORS[context](node, valuation, world.until) for node in root.below() if not node.leaf
        }
        if disjoint and root_operator(root) in self.operators:
            self.operators[root_operator(root)].disjoint = True

    def positions(self) -> Iterator[Position]:
        """The positions at which something occurs, in order; timers come to be on the way."""
        events = sorted({part.position for parts in self.leaves.values() for part in parts})
        now = BEGINNING
        while True:
            timers = (operator.next_timer(now) for operator in self.operators.values())
            ahead = [*(p for p in events if p > now), *(p for p in timers if p)]
            if not ahead:
                return
            now = min(ahead)
            yield now

    def activate(self, position: Position) -> list[Part]:
        """Everything that occurs at a position, from the leaves up; what the root passes on."""
        return self.signalled(self.root, position)

    def signalled(self, node: Node, position: Position) -> list[Part]:
        if node.leaf:
            return [part for part in self.leaves[node] if part.position == position]
        operands = [self.signalled(operand, position) for operand in node.operands]
        return self.operators[node].activate(position, operands)


def root_operator(root: Node) -> Node:
    """The node that `disjoint` is about: the root, below modifiers."""
    modifier = isinstance(root.expr, tree.Modified) and not root.leaf
    return root_operator(root.operands[0]) if modifier else root


def disjoint(parts: Iterable[Part]) -> list[Part]:
    """§2.3.1: "the t_occ of the initiator is greater than the t_occ of the terminator of the … preceding"."""
    passed: list[Part] = []
    for part in parts:
        if not passed or part.initiated > passed[-1].position:
            passed.append(part)
    return passed
