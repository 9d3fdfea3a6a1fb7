"""Subscribers of the event graph: definitions, which make complex events of what nodes find, and rules.

They give the slots of a node their roles, and bind the context it is used in.
"""

from dataclasses import dataclass
from typing import Any

from tocsin.topology.nodes import to_list
from tocsin.topology.terms import Scalar, Term

Dict = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Binding:
    """A parameter and where its value comes from; those of `equality` tell apart what is evaluated alone."""

    name: str
    type: Scalar
    value: Term
    equality: bool = False

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "name": self.name,
            "type": self.type.value,
            "value": self.value.to_list(),
            "equality": self.equality,
        }


@dataclass(frozen=True, slots=True)
class PlanRate:
    """At most so many for each binding of the equality parameters, per duration or ever."""

    count: int
    per_ms: int | None

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {"count": self.count, "per_ms": self.per_ms}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscriber:
    """What definitions and rules have in common.

    `order` is the place among the definitions and rules of the file, which decides between what is
    simultaneous. `unbounded` is what the file says, not what was found. `skip` says at which event the search
    goes on behind an occurrence: which one, of which role.
    """

    input: int
    rule: str
    order: int
    roles: tuple[str, ...]
    bindings: tuple[Binding, ...] = ()
    condition: Term | None = None
    rate: PlanRate | None = None
    context: str | None = None
    disjoint: bool = False
    skip: tuple[str, str | None] | None = None
    unbounded: bool = False
    fingerprint: str = ""
    version: int = 1

    def shared_dict(self) -> Dict:
        """Return what the JSON forms have in common."""
        return {
            "input": self.input,
            "rule": self.rule,
            "order": self.order,
            "version": self.version,
            "context": self.context,
            "disjoint": self.disjoint,
            "skip": None if self.skip is None else {"to": self.skip[0], "role": self.skip[1]},
            "unbounded": self.unbounded,
            "roles": list(self.roles),
            "bindings": [binding.to_dict() for binding in self.bindings],
            "condition": to_list(self.condition),
            "rate": None if self.rate is None else self.rate.to_dict(),
            "fingerprint": self.fingerprint,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineNode(Subscriber):
    """The complex events made of the occurrences of a node."""

    type: int
    values: tuple[Term, ...]

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        values = [value.to_list() for value in self.values]
        return {"kind": "define", "type": self.type, "values": values, **self.shared_dict()}


@dataclass(frozen=True, slots=True)
class PlanAction:
    """Something a rule does: with a type, with what a slot holds, or with something outside."""

    do: str
    type: int | None = None
    slot: int | None = None
    target: str | None = None
    values: tuple[tuple[int, Term], ...] = ()

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        given: Dict = {"do": self.do}
        for name in ("type", "slot", "target"):
            if getattr(self, name) is not None:
                given[name] = getattr(self, name)
        if self.values:
            given["values"] = [[field, value.to_list()] for field, value in self.values]
        return given


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleNode(Subscriber):
    """What is done when a node finds something."""

    actions: tuple[PlanAction, ...]
    coupling: str
    priority: int
    trigger: str
    back_ms: int | None
    active: bool

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        return {
            "kind": "rule",
            "actions": [action.to_dict() for action in self.actions],
            "coupling": self.coupling,
            "priority": self.priority,
            "trigger": {"mode": self.trigger, "back_ms": self.back_ms},
            "active": self.active,
            **self.shared_dict(),
        }
