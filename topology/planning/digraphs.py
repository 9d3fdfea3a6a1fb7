"""Directed graphs: components that depend on each other, shortest cycles, and what belongs together."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(
    nodes: Iterable[Node], dependencies: Callable[[Node], Iterable[Node]]
) -> list[tuple[Node, ...]]:
    """Return the strongly connected components, each behind those it depends on, else in the given order.

    Tarjan's algorithm, without recursion: hierarchies of definitions may be long.
    """
    order: dict[Node, int] = {}
    low: dict[Node, int] = {}
    stack: dict[Node, None] = {}
    found: list[tuple[Node, ...]] = []
    for start in nodes:
        if start in order:
            continue
        order[start] = low[start] = len(order)
        stack[start] = None
        path = [(start, iter(tuple(dependencies(start))))]
        while path:
            node, rest = path[-1]
            for other in rest:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack[other] = None
                    path.append((other, iter(tuple(dependencies(other)))))
                    break
                if other in stack:
                    low[node] = min(low[node], order[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == order[node]:
                    members = [stack.popitem()[0]]
                    while members[-1] != node:
                        members.append(stack.popitem()[0])
                    found.append(tuple(sorted(members, key=order.__getitem__)))
    return found


def shortest_cycle(start: Node, successors: Callable[[Node], Iterable[Node]]) -> tuple[Node, ...] | None:
    """Return the nodes of a shortest way from a node back to itself, without the return."""
    before: dict[Node, Node] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in successors(node):
            if other == start:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return tuple(reversed(way))
            if other not in before:
                before[other] = node
                queue.append(other)
    return None


class Classes(Generic[Node]):
    """Disjoint sets: what was joined belongs together."""

    def __init__(self) -> None:
        self._parents: dict[Node, Node] = {}

    def find(self, node: Node) -> Node:
        """Return the representative of a node's set."""
        root = self._parents.setdefault(node, node)
        while self._parents[root] != root:
            root = self._parents[root]
        while self._parents[node] != root:
            self._parents[node], node = root, self._parents[node]
        return root

    def join(self, left: Node, right: Node) -> None:
        """Put two nodes into one set, of which the left one's representative stays that."""
        self._parents[self.find(right)] = self.find(left)

    def of(self, node: Node) -> list[Node]:
        """Return all nodes of a node's set."""
        root = self.find(node)
        return [other for other in self._parents if self.find(other) == root]

    def sets(self) -> list[list[Node]]:
        """Return the sets, in the order of their first members."""
        found: dict[Node, list[Node]] = {}
        for node in self._parents:
            found.setdefault(self.find(node), []).append(node)
        return list(found.values())
