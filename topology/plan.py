"""The plan: plain data that the engine runs and the workers read; ARCHITECTURE.md describes its JSON form."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, cast

from tocsin.topology.printer import print_ms
from tocsin.topology.terms import Scalar, Term

FORMAT = 1

Dict = dict[str, Any]


class Origin(StrEnum):
    """Where occurrences of a type come from."""

    INPUT = "input"
    DEFINED = "defined"


@dataclass(frozen=True, slots=True)
class PlanField:
    """An attribute of an event type."""

    name: str
    type: Scalar
    optional: bool = False

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"name": self.name, "type": self.type.value, "optional": self.optional}


@dataclass(frozen=True, slots=True)
class EventType:
    """A declared or defined event; `key` and `time` are indexes of fields."""

    name: str
    origin: Origin
    fields: tuple[PlanField, ...]
    topic: str
    key: int | None = None
    time: int | None = None
    lateness_ms: int = 0
    idle_timeout_ms: int = 0

    @property
    def signature(self) -> str:
        """Name and attributes, as text."""
        attributes = (f"{field.name}: {field.type}{'?' * field.optional}" for field in self.fields)
        return f"{self.name}({', '.join(attributes)})"

    def index_of(self, attribute: str) -> int | None:
        """Return the index of an attribute, if the type has it."""
        return next((i for i, field in enumerate(self.fields) if field.name == attribute), None)

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "name": self.name,
            "origin": self.origin.value,
            "fields": [field.to_dict() for field in self.fields],
            "topic": self.topic,
            "key": self.key,
            "time": self.time,
            "lateness_ms": self.lateness_ms,
            "idle_timeout_ms": self.idle_timeout_ms,
        }


@dataclass(frozen=True, slots=True)
class SourceNode:
    """The occurrences of one event type that pass a filter."""

    type: int
    filter: Term | None
    fingerprint: str

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "source",
            "type": self.type,
            "filter": _to_list(self.filter),
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Match:
    """An own field that equals a field of an earlier constituent."""

    field: int
    equals: tuple[int, int]

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"field": self.field, "equals": list(self.equals)}


@dataclass(frozen=True, slots=True)
class Terminator:
    """The constituent that completes a pattern; its index is 0."""

    node: int
    role: str

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"node": self.node, "role": self.role}


@dataclass(frozen=True, slots=True)
class PlanConstituent:
    """A constituent before the terminator; `anchor` is the constituent its bound counts from."""

    node: int
    role: str
    select: str
    within_ms: int
    anchor: int
    match: tuple[Match, ...]
    where: Term | None
    horizon_ms: int

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "node": self.node,
            "role": self.role,
            "select": self.select,
            "within_ms": self.within_ms,
            "from": self.anchor,
            "match": [match.to_dict() for match in self.match],
            "where": _to_list(self.where),
            "horizon_ms": self.horizon_ms,
        }


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A terminator and its constituents."""

    terminator: Terminator
    constituents: tuple[PlanConstituent, ...]
    fingerprint: str

    @property
    def horizon_ms(self) -> int:
        """How long before its terminator an occurrence can begin."""
        return max((constituent.horizon_ms for constituent in self.constituents), default=0)

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "pattern",
            "terminator": self.terminator.to_dict(),
            "constituents": [constituent.to_dict() for constituent in self.constituents],
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Binding:
    """A parameter and where its value comes from."""

    name: str
    type: Scalar
    value: Term

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"name": self.name, "type": self.type.value, "value": self.value.to_list()}


@dataclass(frozen=True, slots=True)
class DefineNode:
    """The complex events made of the occurrences of a pattern."""

    input: int
    type: int
    rule: str
    values: tuple[Term, ...]
    bindings: tuple[Binding, ...]
    fingerprint: str
    version: int = 1
    context: str | None = None

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "define",
            "input": self.input,
            "type": self.type,
            "rule": self.rule,
            "version": self.version,
            "context": self.context,
            "values": [value.to_list() for value in self.values],
            "bindings": [binding.to_dict() for binding in self.bindings],
            "fingerprint": self.fingerprint,
        }


Node = SourceNode | PatternNode | DefineNode


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Nodes that run in one task, and the topics they read."""

    name: str
    kind: Literal["local", "global"]
    topics: tuple[str, ...]
    nodes: tuple[int, ...]

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"name": self.name, "kind": self.kind, "topics": list(self.topics), "nodes": list(self.nodes)}


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """What a rule will cost: where it runs, how far back it looks, what it keeps."""

    name: str
    kind: Literal["local", "global"]
    horizon_ms: int
    state: str

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"name": self.name, "kind": self.kind, "horizon_ms": self.horizon_ms, "state": self.state}


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled rule file."""

    app: str
    types: tuple[EventType, ...]
    nodes: tuple[Node, ...]
    subtopologies: tuple[Subtopology, ...]
    format: int = FORMAT

    @property
    def input_types(self) -> tuple[EventType, ...]:
        """The declared events."""
        return tuple(t for t in self.types if t.origin is Origin.INPUT)

    @property
    def defined_types(self) -> tuple[EventType, ...]:
        """The complex events."""
        return tuple(t for t in self.types if t.origin is Origin.DEFINED)

    @property
    def input_topics(self) -> tuple[str, ...]:
        """The topics that some rule reads, sorted."""
        return tuple(sorted({topic for sub in self.subtopologies for topic in sub.topics}))

    def type_named(self, name: str) -> EventType | None:
        """Return the event type of that name, if there is one."""
        return next((t for t in self.types if t.name == name), None)

    def summary(self) -> tuple[RuleSummary, ...]:
        """Return what each rule will cost, in the order of the file."""
        return tuple(self._summarise(i, n) for i, n in enumerate(self.nodes) if isinstance(n, DefineNode))

    def to_dict(self) -> Dict:
        """Return the JSON form as plain Python data."""
        return {
            "format": self.format,
            "app": self.app,
            "types": [event_type.to_dict() for event_type in self.types],
            "nodes": [node.to_dict() for node in self.nodes],
            "subtopologies": [subtopology.to_dict() for subtopology in self.subtopologies],
        }

    def to_json(self) -> str:
        """Return what the engine takes; equal plans give equal text."""
        return json.dumps(self.to_dict(), separators=(",", ":"))

    def _summarise(self, index: int, define: DefineNode) -> RuleSummary:
        pattern = cast("PatternNode", self.nodes[define.input])
        kind = next(sub.kind for sub in self.subtopologies if index in sub.nodes)
        kept = [self._kept(constituent) for constituent in pattern.constituents]
        state = f"keeps {' and '.join(kept)}" if kept else "keeps nothing: every occurrence stands alone"
        return RuleSummary(define.rule, kind, pattern.horizon_ms, state)

    def _kept(self, constituent: PlanConstituent) -> str:
        event = self.types[cast("SourceNode", self.nodes[constituent.node]).type]
        span = print_ms(constituent.horizon_ms)
        # Older ones can be forgotten only if the choice depends on equalities and the terminator alone.
        if constituent.where is not None or constituent.anchor != 0:
            return f"every {event.name} of the last {span}"
        by = ", ".join(event.fields[match.field].name for match in constituent.match)
        return f"the last {event.name}{f' for each {by}' if by else ''}, for {span}"


def _to_list(term: Term | None) -> list[object] | None:
    return None if term is None else term.to_list()
