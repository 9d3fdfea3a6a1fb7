"""The store of a plan's nodes: those of equal meaning have one id."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tocsin.topology import fingerprints
from tocsin.topology.event_types import EventType
from tocsin.topology.plan import Node, SourceNode

_ASIDE = frozenset({"fingerprint", "contexts", "producers"})
"""What a node says that is not its own meaning."""


class NodeStore:
    """Nodes in the order they were added, found again by their meaning."""

    def __init__(self, types: Sequence[EventType]) -> None:
        self.nodes: list[Node] = []
        self.types = types
        self._numbers = {event.name: number for number, event in enumerate(types)}
        self._ids: dict[Node, int] = {}

    def type_number(self, name: str) -> int:
        """Return the index of a type."""
        return self._numbers[name]

    def add(self, node: Node) -> int:
        """Return the id of a node, added if none has its meaning.

        What it refers to was found by meaning already, so nodes that mean the same are equal.
        """
        known = self._ids.get(node)
        if known is None:
            known = self._ids[node] = len(self.nodes)
            meaning = json.dumps(self._meaning(node), separators=(",", ":"), sort_keys=True)
            self.nodes.append(replace(node, fingerprint=fingerprints.of_text(meaning)))
        return known

    def append(self, node: Node) -> int:
        """Return the id of a node that shares nothing and has its fingerprint already."""
        self.nodes.append(node)
        return len(self.nodes) - 1

    def _meaning(self, node: Node) -> Any:  # noqa: ANN401 (plain data)
        """Return what a node means: fingerprints stand for other nodes, topics and attributes for types."""
        data = {
            name: self._plain(name, value) for name, value in node.to_dict().items() if name not in _ASIDE
        }
        if isinstance(node, SourceNode):
            data["topic"] = self.types[node.type].topic
        return data

    def _plain(self, name: str, value: Any) -> Any:  # noqa: ANN401, PLR0911 (plain data, one case a kind)
        match name:
            case "node":
                return None if value is None else self.nodes[value].fingerprint
            case "inputs":
                return [self.nodes[one].fingerprint for one in value]
            case "type" if isinstance(value, int):
                return self.types[value].signature
            case "stream":
                return [self.types[one].signature for one in value]
            case "terminator":
                return self._mapped(value)
            case "constituents" | "negations" | "aggregates" | "steps" | "conditions":
                return [self._mapped(part) for part in value]
            case _:
                return value

    def _mapped(self, part: dict[str, Any]) -> dict[str, Any]:
        return {name: self._plain(name, value) if name == "node" else value for name, value in part.items()}
