"""The plan: plain data that the engine runs and the workers read; ARCHITECTURE.md describes its JSON form."""

import json
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from tocsin.topology.event_types import EventType, Origin, PlanField, plan_enum
from tocsin.topology.nodes import (
    ChangeNode,
    FactNode,
    JoinNode,
    Match,
    MatchingNode,
    Operator,
    OperatorNode,
    SourceNode,
    Subscription,
    TimerNode,
)
from tocsin.topology.pattern_nodes import PatternNode
from tocsin.topology.subscribers import DefineNode, RuleNode
from tocsin.topology.summaries import RuleSummary, Summaries
from tocsin.topology.types import Enumeration, Kind

__all__ = [
    "FORMAT",
    "ChangeNode",
    "DefineNode",
    "EventType",
    "FactNode",
    "Forward",
    "Group",
    "JoinNode",
    "Leaf",
    "Match",
    "MatchingNode",
    "Node",
    "Operator",
    "OperatorNode",
    "Origin",
    "PatternNode",
    "Placement",
    "Plan",
    "PlanField",
    "RuleNode",
    "RuleSummary",
    "SourceNode",
    "Subscription",
    "Subtopology",
    "TimerNode",
]

FORMAT = 3

Dict = dict[str, Any]
Leaf = SourceNode | TimerNode | FactNode | ChangeNode
Node = Leaf | OperatorNode | PatternNode | MatchingNode | JoinNode | DefineNode | RuleNode


class Placement(StrEnum):
    """Where nodes run: before detection, in the partition of a key, or in one place for all."""

    ROUTE = "route"
    LOCAL = "local"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class Forward:
    """What some leaves let pass, sent on once: by the value of a field, or to where global rules run."""

    type: int
    nodes: tuple[int, ...]
    key: int | None
    topic: str

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"type": self.type, "nodes": list(self.nodes), "key": self.key, "topic": self.topic}


@dataclass(frozen=True, slots=True)
class Group:
    """Subscribers that run in one partition, and all nodes they rest on."""

    subscribers: tuple[int, ...]
    nodes: tuple[int, ...]

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"subscribers": list(self.subscribers), "nodes": list(self.nodes)}


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Nodes that run in one task, the topics they read, and what they send on to other sub-topologies.

    `subscribers` are the definitions and rules that belong here; other definitions among the nodes only make
    what these read. `groups` are the subscribers of a global one by the partition they run in; those that
    have to do with each other are in one.
    """

    name: str
    kind: Placement
    topics: tuple[str, ...]
    nodes: tuple[int, ...]
    subscribers: tuple[int, ...] = ()
    forwards: tuple[Forward, ...] = ()
    groups: tuple[Group, ...] = ()

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "topics": list(self.topics),
            "nodes": list(self.nodes),
            "subscribers": list(self.subscribers),
            "forwards": [forward.to_dict() for forward in self.forwards],
            "groups": [group.to_dict() for group in self.groups],
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled rule file.

    Its `warnings` say what in it may surprise, its `text` is what was compiled; neither is in its JSON form.
    """

    app: str
    types: tuple[EventType, ...]
    nodes: tuple[Node, ...]
    subtopologies: tuple[Subtopology, ...]
    enums: tuple[Enumeration, ...] = ()
    format: int = FORMAT
    warnings: tuple[str, ...] = field(default=(), compare=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def input_types(self) -> tuple[EventType, ...]:
        """The declared events."""
        return tuple(t for t in self.types if t.origin is Origin.INPUT and t.kind is not Kind.FACT)

    @property
    def taken_types(self) -> tuple[EventType, ...]:
        """The complex events of other applications that some rule reads."""
        read = self.input_topics
        return tuple(t for t in self.types if t.application is not None and t.topic in read)

    @property
    def takes_from(self) -> tuple[str, ...]:
        """The applications whose complex events some rule reads, sorted."""
        return tuple(sorted({t.application for t in self.taken_types if t.application is not None}))

    @property
    def defined_types(self) -> tuple[EventType, ...]:
        """The complex events."""
        return tuple(t for t in self.types if t.origin is Origin.DEFINED)

    @property
    def fact_types(self) -> tuple[EventType, ...]:
        """The facts."""
        return tuple(t for t in self.types if t.kind is Kind.FACT)

    @property
    def input_topics(self) -> tuple[str, ...]:
        """The users' own topics that some rule reads, sorted."""
        read = {topic for sub in self.subtopologies for topic in sub.topics}
        return tuple(sorted(read & {t.topic for t in self.types if t.origin is Origin.INPUT}))

    def undivided(self) -> "Plan":
        """Return the same rules in one task, which reads every input: what tests and replays run."""
        nodes = tuple(range(len(self.nodes)))
        subscribers = tuple(n for n in nodes if isinstance(self.nodes[n], DefineNode | RuleNode))
        whole = Subtopology("undivided", Placement.LOCAL, self.input_topics, nodes, subscribers)
        return replace(self, subtopologies=(whole,))

    def behind(self, subtopology: Subtopology) -> tuple[str, ...]:
        """Return the topics whose events are sent on to a sub-topology."""
        forwards = [forward for sub in self.subtopologies for forward in sub.forwards]
        sent = {self.types[f.type].topic for f in forwards if f.topic in subtopology.topics}
        return tuple(sorted(sent))

    def type_named(self, name: str) -> EventType | None:
        """Return the event type of that name, if there is one."""
        return next((t for t in self.types if t.name == name), None)

    def summary(self) -> tuple[RuleSummary, ...]:
        """Return what each definition and rule will cost, in the order of the file."""
        return Summaries(self.types, self.nodes, self.subtopologies).all()

    def to_dict(self) -> Dict:
        """Return the JSON form as plain Python data."""
        return {
            "format": self.format,
            "app": self.app,
            "enums": [plan_enum(enum) for enum in self.enums],
            "types": [event_type.to_dict() for event_type in self.types],
            "nodes": [node.to_dict() for node in self.nodes],
            "subtopologies": [subtopology.to_dict() for subtopology in self.subtopologies],
        }

    def to_json(self) -> str:
        """Return what the engine takes; equal plans give equal text."""
        return json.dumps(self.to_dict(), separators=(",", ":"))
