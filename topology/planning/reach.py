"""What lies below a node of the plan."""

from collections.abc import Sequence

from tocsin.topology.plan import (
    DefineNode,
    JoinNode,
    MatchingNode,
    Node,
    OperatorNode,
    PatternNode,
    RuleNode,
)


def inputs(node: Node) -> tuple[int, ...]:
    """Return the nodes that a node reads directly."""
    match node:
        case DefineNode() | RuleNode():
            return (node.input,)
        case OperatorNode() | PatternNode() | MatchingNode() | JoinNode():
            return node.inputs
        case _:
            return ()


def below(root: int, nodes: Sequence[Node]) -> set[int]:
    """Return a node and all that it rests on."""
    found, waiting = {root}, [root]
    while waiting:
        new = set(inputs(nodes[waiting.pop()])) - found
        found |= new
        waiting += new
    return found
