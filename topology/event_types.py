"""Event types as the plan has them: what is declared, what is defined, and facts."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tocsin.topology.terms import Scalar
from tocsin.topology.types import PHASES, Enumeration, Kind, Type

Dict = dict[str, Any]


class Origin(StrEnum):
    """Where occurrences of a type come from."""

    INPUT = "input"
    DEFINED = "defined"


@dataclass(frozen=True, slots=True)
class PlanField:
    """An attribute of an event type; a string may be of an enumeration, `many` makes it a list."""

    name: str
    type: Scalar
    optional: bool = False
    enum: Enumeration | None = None
    many: bool = False

    @property
    def kind(self) -> str:
        """The type as it is declared."""
        return f"{self.enum.name if self.enum else self.type}{'[]' * self.many}"

    @property
    def described(self) -> str:
        """The attribute as it is declared."""
        return f"{self.name}: {self.kind}{'?' * self.optional}"

    def to_dict(self) -> Dict:
        """Return the JSON form."""
        given: Dict = {"name": self.name, "type": self.type.value, "optional": self.optional}
        if self.enum is not None:
            given["enum"] = self.enum.name
        if self.many:
            given["many"] = True
        return given


@dataclass(frozen=True, slots=True)
class EventType:
    """A declared or defined event, or a fact.

    `key`, `time`, `id`, `start` and `unit_by` are indexes of fields. `parent` names the type of which each
    occurrence is one, too, `unit` the unit of work it belongs to. `remember_ms` says how long ids are known:
    a second record with one is the same event; None is for ever. `application` is another one that detects
    it: then its ids are the identities. `ignores_nulls` passes over records without a value.
    """

    name: str
    origin: Origin
    fields: tuple[PlanField, ...]
    topic: str
    key: int | None = None
    time: int | None = None
    lateness_ms: int = 0
    idle_timeout_ms: int = 0
    kind: Kind = Kind.EVENT
    parent: str | None = None
    phases: tuple[str, ...] = ()
    id: int | None = None
    remember_ms: int | None = None
    start: int | None = None
    unit: str | None = None
    unit_by: int | None = None
    application: str | None = None
    ignores_nulls: bool = False

    @property
    def signature(self) -> str:
        """Name and attributes, as text."""
        return f"{self.name}({', '.join(field.described for field in self.fields)})"

    @property
    def has_ids(self) -> bool:
        """Whether two records may be one event."""
        return self.id is not None or self.application is not None

    @property
    def published_as(self) -> str:
        """What the application that detects the event calls it: the last part of its topic's name."""
        return self.topic.removeprefix(f"tocsin.{self.application}.")

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
            "kind": self.kind.value,
            "parent": self.parent,
            "phases": list(self.phases),
            "id": self.id,
            **({"remember_ms": self.remember_ms} if self.has_ids else {}),
            "start": self.start,
            "unit": None if self.unit is None else {"type": self.unit, "by": self.unit_by},
            **({} if self.application is None else {"application": self.application}),
            **({"nulls": "ignore"} if self.ignores_nulls else {}),
        }


def plan_type(declared: Type, remember_ms: int | None = None) -> EventType:
    """Return the plan's form of a type whose ids are remembered for so long."""
    return EventType(
        name=declared.name,
        origin=Origin.DEFINED if declared.kind is Kind.DEFINED else Origin.INPUT,
        fields=tuple(
            PlanField(own.name, own.scalar, own.optional, own.enum, own.many) for own in declared.attributes
        ),
        topic=declared.topic,
        key=declared.key,
        time=declared.time,
        lateness_ms=declared.lateness_ms,
        idle_timeout_ms=declared.idle_timeout_ms,
        kind=Kind.EVENT if declared.kind is Kind.DEFINED else declared.kind,
        parent=declared.parent,
        phases=tuple(phase.value for phase in PHASES.get(declared.kind, ())),
        id=declared.id,
        remember_ms=remember_ms,
        start=declared.start,
        unit=None if declared.unit is None else declared.unit.unit,
        unit_by=None if declared.unit is None else declared.unit.by,
        application=declared.application,
        ignores_nulls=declared.ignores_nulls,
    )


def plan_enum(enum: Enumeration) -> Dict:
    """Return the JSON form of an enumeration."""
    return {"name": enum.name, "symbols": list(enum.symbols)}
