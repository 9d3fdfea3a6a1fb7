"""TESLA's patterns as nodes of the plan: a terminator and what it asks of the past, and of the time ahead."""

from dataclasses import dataclass
from typing import Any

from tocsin.topology.nodes import Match, Subscription, to_list
from tocsin.topology.sources import Ahead, Backward, Between, Range
from tocsin.topology.terms import Scalar, Term

Dict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Terminator:
    """The constituent that completes a pattern; its slot is 0."""

    node: int

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"node": self.node}


@dataclass(frozen=True, slots=True)
class PlanConstituent:
    """A constituent before the terminator; `anchor` is the constituent its bound counts from."""

    node: int
    select: str
    within_ms: int | None
    anchor: int
    match: tuple[Match, ...]
    where: Term | None
    horizon_ms: int | None
    count: int = 1

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "node": self.node,
            "select": self.select,
            "count": self.count,
            "within_ms": self.within_ms,
            "from": self.anchor,
            "match": [match.to_dict() for match in self.match],
            "where": to_list(self.where),
            "horizon_ms": self.horizon_ms,
        }


@dataclass(frozen=True, slots=True)
class PlanBound:
    """One more bound for a constituent: a filter on what was selected."""

    constituent: int
    within_ms: int | None
    anchor: int

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"constituent": self.constituent, "within_ms": self.within_ms, "from": self.anchor}


@dataclass(frozen=True, slots=True)
class PlanNegation:
    """What must not occur in a range; its slot follows those of the constituents."""

    node: int
    range: Range
    match: tuple[Match, ...]
    where: Term | None
    horizon_ms: int | None

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "node": self.node,
            "range": _range(self.range),
            "match": [match.to_dict() for match in self.match],
            "where": to_list(self.where),
            "horizon_ms": self.horizon_ms,
        }


@dataclass(frozen=True, slots=True)
class PlanAggregate:
    """A function over what occurs in a range; its slot follows those of the negations."""

    function: str
    node: int
    field: int | None
    type: Scalar
    range: Between | Backward
    match: tuple[Match, ...]
    where: Term | None
    horizon_ms: int | None
    argument: float | None = None
    limit: int | None = None

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "function": self.function,
            "node": self.node,
            "field": self.field,
            "type": self.type.value,
            "argument": self.argument,
            "limit": self.limit,
            "range": _range(self.range),
            "match": [match.to_dict() for match in self.match],
            "where": to_list(self.where),
            "horizon_ms": self.horizon_ms,
        }


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A terminator, what is selected of the past, and what must hold of the selection."""

    terminator: Terminator
    constituents: tuple[PlanConstituent, ...] = ()
    bounds: tuple[PlanBound, ...] = ()
    negations: tuple[PlanNegation, ...] = ()
    aggregates: tuple[PlanAggregate, ...] = ()
    where: Term | None = None
    consuming: tuple[int, ...] = ()
    fingerprint: str = ""
    contexts: tuple[Subscription, ...] = ()

    @property
    def parts(self) -> tuple[PlanConstituent | PlanNegation | PlanAggregate, ...]:
        """What is looked up for a terminator, in the order of the slots."""
        return (*self.constituents, *self.negations, *self.aggregates)

    @property
    def slots(self) -> int:
        """How many slots an occurrence has."""
        return 1 + len(self.parts)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The nodes it reads, in the order of the slots."""
        return (self.terminator.node, *(part.node for part in self.parts))

    @property
    def ahead_ms(self) -> int:
        """How long an occurrence waits for what must not follow."""
        return max((n.range.within_ms for n in self.negations if isinstance(n.range, Ahead)), default=0)

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "pattern",
            "terminator": self.terminator.to_dict(),
            "constituents": [constituent.to_dict() for constituent in self.constituents],
            "bounds": [bound.to_dict() for bound in self.bounds],
            "negations": [negation.to_dict() for negation in self.negations],
            "aggregates": [aggregate.to_dict() for aggregate in self.aggregates],
            "where": to_list(self.where),
            "consuming": list(self.consuming),
            "contexts": [use.to_dict() for use in self.contexts],
            "fingerprint": self.fingerprint,
        }


def _range(given: Range) -> Dict:
    match given:
        case Between(first, last):
            return {"kind": "between", "first": first, "last": last}
        case Backward(within_ms, anchor):
            return {"kind": "back", "within_ms": within_ms, "from": anchor}
        case Ahead(within_ms, anchor):
            return {"kind": "ahead", "within_ms": within_ms, "from": anchor}
