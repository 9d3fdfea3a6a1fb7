"""Nodes of the event graph, as the plan has them; ARCHITECTURE.md describes their JSON form.

A node's occurrences have numbered slots, which expressions refer to: those of its inputs one behind the
other, then its own. A node says nothing about names and contexts: those belong to the definitions and rules
on top of it.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tocsin.topology.programs import program_to_dict
from tocsin.topology.sources import MatchNode, Repeat, Taking, operands
from tocsin.topology.terms import Term
from tocsin.topology.tree import Take, TimeField

Dict = dict[str, Any]
Place = tuple[int, int]
"""A slot and one of its fields, by index."""
Parameters = tuple[tuple[Place, ...], ...]
"""Equality parameters: for each, the places that hold its value."""


# --- leaves -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceNode:
    """The occurrences of one event type that pass a filter.

    `producers` are the definitions that make a defined type; where it is made of itself, some come later.
    """

    type: int
    filter: Term | None
    fingerprint: str = ""
    phase: str | None = None
    within_ms: int | None = None
    producers: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """How many slots an occurrence has."""
        return 1

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "source",
            "type": self.type,
            "filter": to_list(self.filter),
            "phase": self.phase,
            "within_ms": self.within_ms,
            "producers": list(self.producers),
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class TimerNode:
    """The points in time that match, to the second; None matches any value."""

    pattern: tuple[tuple[TimeField, int | None], ...]
    zone: str
    fingerprint: str = ""

    @property
    def slots(self) -> int:
        """How many slots an occurrence has."""
        return 1

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "timer",
            "pattern": {field.value: value for field, value in self.pattern},
            "zone": self.zone,
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class FactNode:
    """The facts of one type that pass a filter."""

    type: int
    filter: Term | None
    fingerprint: str = ""

    @property
    def slots(self) -> int:
        """How many slots a fact has."""
        return 1

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "fact",
            "type": self.type,
            "filter": to_list(self.filter),
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class ChangeNode:
    """The changes of a fact from one state to another; slots: the old state, the new one, the event."""

    type: int
    before: Term | None
    after: Term | None
    event: Term | None
    fingerprint: str = ""

    @property
    def slots(self) -> int:
        """How many slots an occurrence has."""
        return 3

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "change",
            "type": self.type,
            "before": to_list(self.before),
            "after": to_list(self.after),
            "event": to_list(self.event),
            "fingerprint": self.fingerprint,
        }


# --- what is detected ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subscription:
    """How many definitions and rules use a node in one way."""

    context: str | None
    disjoint: bool
    subscribers: int

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"context": self.context, "disjoint": self.disjoint, "subscribers": self.subscribers}


class Operator(StrEnum):
    """The operators of the event algebra."""

    OR = "or"
    AND = "and"
    SEQ = "seq"
    ANY = "any"
    APERIODIC = "aperiodic"
    PERIODIC = "periodic"
    NOT = "not"
    PLUS = "plus"
    MODIFIED = "modified"


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator of the event algebra; what its context is, the subscriber says.

    `within_ms` is the smallest of the bounds around it, and all that it stores is gone after that time;
    `horizon_ms` says how long anything is stored, if time bounds it. `details` are what only its kind has.
    `of` has for each condition that `where` joins the slot of the constituent whose condition it is. The
    `parameters` that are numbers of grouped events are kept `apart`: no two of them have one value.
    """

    operator: Operator
    inputs: tuple[int, ...]
    slots: int
    details: tuple[tuple[str, int | str | bool], ...] = ()
    sample: tuple[int, int] | None = None
    parameters: Parameters = ()
    apart: tuple[int, ...] = ()
    where: Term | None = None
    of: tuple[int, ...] = ()
    within_ms: int | None = None
    horizon_ms: int | None = None
    fingerprint: str = ""
    contexts: tuple[Subscription, ...] = ()

    @property
    def resets(self) -> bool:
        """Whether its occurrences begin where those of its input end, so that no bound reaches these."""
        return self.operator is Operator.PLUS or ("modifier", "end") in self.details

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        sample = {} if self.sample is None else {"sample": list(self.sample)}
        return {
            "kind": self.operator.value,
            "inputs": list(self.inputs),
            "slots": self.slots,
            **dict(self.details),
            **sample,
            "parameters": _parameters(self.parameters),
            "apart": list(self.apart),
            "where": to_list(self.where),
            "of": list(self.of),
            "within_ms": self.within_ms,
            "horizon_ms": self.horizon_ms,
            "contexts": [use.to_dict() for use in self.contexts],
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class PlanStep:
    """An event a match asks for; without a node it is a point in time the match makes itself."""

    node: int | None
    where: Term | None
    horizon_ms: int | None

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"node": self.node, "where": to_list(self.where), "horizon_ms": self.horizon_ms}


def _takes_next(node: MatchNode) -> bool:
    own = isinstance(node, Taking | Repeat) and node.take is Take.NEXT
    return own or any(map(_takes_next, operands(node)))


@dataclass(frozen=True, slots=True)
class MatchingNode:
    """A program that is looked for forward.

    `stream` are the types whose every event it sees, where it `takes_next`.
    """

    steps: tuple[PlanStep, ...]
    program: MatchNode
    stream: tuple[int, ...]
    parameters: Parameters = ()
    fingerprint: str = ""
    contexts: tuple[Subscription, ...] = ()

    @property
    def slots(self) -> int:
        """How many slots an occurrence has."""
        return len(self.steps)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The nodes it reads."""
        return tuple(step.node for step in self.steps if step.node is not None)

    @property
    def takes_next(self) -> bool:
        """Whether some step takes the next event of the stream, whatever it is."""
        return _takes_next(self.program)

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "match",
            "steps": [step.to_dict() for step in self.steps],
            "program": program_to_dict(self.program),
            "stream": list(self.stream),
            "parameters": _parameters(self.parameters),
            "contexts": [use.to_dict() for use in self.contexts],
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True)
class Match:
    """An own field that equals a field of an earlier constituent."""

    field: int
    equals: Place

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"field": self.field, "equals": list(self.equals)}


@dataclass(frozen=True, slots=True)
class PlanCondition:
    """A fact, an event or a change in a join; `slot` is its first slot there."""

    node: int
    slot: int
    negated: bool
    match: tuple[Match, ...]
    where: Term | None
    horizon_ms: int | None

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "node": self.node,
            "slot": self.slot,
            "negated": self.negated,
            "match": [match.to_dict() for match in self.match],
            "where": to_list(self.where),
            "horizon_ms": self.horizon_ms,
        }


@dataclass(frozen=True, slots=True)
class JoinNode:
    """Facts and events that hold together, the negated ones last; each is joined to those before it."""

    conditions: tuple[PlanCondition, ...]
    slots: int
    fingerprint: str = ""
    contexts: tuple[Subscription, ...] = ()

    @property
    def inputs(self) -> tuple[int, ...]:
        """The nodes it reads."""
        return tuple(condition.node for condition in self.conditions)

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "join",
            "conditions": [condition.to_dict() for condition in self.conditions],
            "slots": self.slots,
            "contexts": [use.to_dict() for use in self.contexts],
            "fingerprint": self.fingerprint,
        }


def to_list(term: Term | None) -> list[object] | None:
    """Return the JSON form of an expression that may be missing."""
    return None if term is None else term.to_list()


def _parameters(parameters: Parameters) -> list[list[list[int]]]:
    return [[list(place) for place in places] for places in parameters]
