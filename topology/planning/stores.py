"""The store of a plan's nodes: those of equal meaning have one id."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tocsin.topology import fingerprints
from tocsin.topology.event_types import EventType
from tocsin.topology.plan import JoinNode, MatchingNode, Node, OperatorNode, PatternNode, SourceNode
from tocsin.topology.planning.canonical import canonical, canonical_pairs

_ASIDE = frozenset({"fingerprint", "contexts", "producers"})
"""What a node says that is not its own meaning."""
_Remembering = OperatorNode | PatternNode | MatchingNode | JoinNode
"""Nodes that keep what they have seen."""


class NodeStore:
    """Nodes in the order they were added, found again by their meaning.

    `owner` is the rule whose nodes are added, if what they remember must be its alone.
    """

    def __init__(self, types: Sequence[EventType]) -> None:
        self.nodes: list[Node] = []
        self.types = types
        self._numbers = {event.name: number for number, event in enumerate(types)}
        self._declared = {event.name: _declared(event) for event in types}
        self._subtypes = self._extending()
        self._ids: dict[str, int] = {}
        self.owner: str | None = None

    def type_number(self, name: str) -> int:
        """Return the index of a type."""
        return self._numbers[name]

    def add(self, node: Node) -> int:
        """Return the id of a node, added if none has its meaning."""
        meaning = json.dumps(self._meaning(node), separators=(",", ":"), sort_keys=True)
        known = self._ids.get(meaning)
        if known is None:
            known = self._ids[meaning] = len(self.nodes)
            self.nodes.append(replace(node, fingerprint=fingerprints.of_text(meaning)))
        return known

    def append(self, node: Node) -> int:
        """Return the id of a node that shares nothing and has its fingerprint already."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _meaning(self, node: Node) -> dict[str, Any]:
        """Return what a node means: fingerprints stand for other nodes, topics and attributes for types."""
        given = node.to_dict()
        data = {
            name: canonical(self._plain(name, value)) for name, value in given.items() if name not in _ASIDE
        }
        if isinstance(node, OperatorNode):
            data["where"] = canonical_pairs(given["where"], given["of"])
            del data["of"]
        if isinstance(node, _Remembering) and self.owner is not None:
            data["owner"] = self.owner
        if isinstance(node, SourceNode):
            data["topic"] = self.types[node.type].topic
            data["subtypes"] = self._subtypes.get(self.types[node.type].name, [])
        return data

    def _extending(self) -> dict[str, list[list[Any]]]:
        """Return the types whose occurrences are occurrences of a type, too, without itself, by name."""
        found: dict[str, list[list[Any]]] = defaultdict(list)
        for event in sorted(self.types, key=lambda event: event.name):
            parent = event.parent
            while parent is not None:
                found[parent].append(self._declared[event.name])
                parent = self.types[self._numbers[parent]].parent
        return found

    def _plain(self, name: str, value: Any) -> Any:  # noqa: ANN401, PLR0911 (plain data, one case a kind)
        match name:
            case "node":
                return None if value is None else self.nodes[value].fingerprint
            case "inputs":
                return [self.nodes[one].fingerprint for one in value]
            case "type" if isinstance(value, int):
                return self._declared[self.types[value].name]
            case "stream":
                return [self._declared[self.types[one].name] for one in value]
            case "terminator":
                return self._mapped(value)
            case "constituents" | "negations" | "aggregates" | "steps" | "conditions":
                return [self._mapped(part) for part in value]
            case _:
                return value

    def _mapped(self, part: dict[str, Any]) -> dict[str, Any]:
        return {name: self._plain(name, value) if name == "node" else value for name, value in part.items()}


def _declared(event: EventType) -> list[Any]:
    """Return what is declared of a type that tells what its occurrences are, and when."""
    return [event.signature, event.time, event.start, event.id]
