"""Declared types: what the events, facts and enums of a rule file are."""

from dataclasses import dataclass
from enum import StrEnum

from tocsin.topology.terms import Scalar
from tocsin.topology.tree import Modifier


class Kind(StrEnum):
    """What a type stands for."""

    EVENT = "event"
    OPERATION = "operation"
    UNIT = "unit"
    DEFINED = "defined"
    FACT = "fact"
    TIMER = "timer"
    """Points in time: of a timer, a tick, a wait."""
    CHANGE = "change"
    """The event of a fact that changes; its attributes are the fact's."""


CALL, UNIT_ID, PHASE = "call", "id", "phase"

IMPLICIT = {Kind.OPERATION: (CALL, PHASE), Kind.UNIT: (UNIT_ID, PHASE)}
"""The attributes that a kind of event has without saying so; all are strings."""

PHASES = {
    Kind.OPERATION: (Modifier.BEGIN, Modifier.END),
    Kind.UNIT: (Modifier.BEGIN, Modifier.PRECOMMIT, Modifier.COMMIT, Modifier.ABORT),
}

DEFAULT_PHASE = {Kind.OPERATION: Modifier.END, Kind.UNIT: Modifier.COMMIT}
"""Which phase the plain name means."""


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enum: its symbols are written as strings."""

    name: str
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of a type; of an enum it is a string that is one of the symbols."""

    name: str
    scalar: Scalar
    optional: bool = False
    many: bool = False
    enum: Enumeration | None = None

    @property
    def type_text(self) -> str:
        """The type as it is declared."""
        name = self.enum.name if self.enum else self.scalar.value
        return f"{name}{'[]' * self.many}{'?' * self.optional}"

    @property
    def described(self) -> str:
        """The type with its article, for messages."""
        name = self.enum.name if self.enum else self.scalar.value
        if self.many:
            return f"a list of {name}"
        return f"a {name}" if self.enum else self.scalar.described


@dataclass(frozen=True, slots=True)
class Membership:
    """To which unit of work an event belongs: the unit's name and the attribute that holds its id."""

    unit: str
    by: int


@dataclass(eq=False)
class Type:
    """A declared or defined type; `key`, `id`, `time` and `start` are indexes of attributes.

    The attributes of the parent come first, in its order, so that an index is good for every subtype.
    `subtypes` holds the type itself and all that extend it. The topic of `explicit` events belongs to the
    application; those of another `application` are its complex events. One that `ignores_nulls` passes over
    records without a value.
    """

    name: str
    kind: Kind
    attributes: tuple[Attribute, ...] = ()
    topic: str = ""
    key: int | None = None
    id: int | None = None
    time: int | None = None
    start: int | None = None
    lateness_ms: int = 0
    idle_timeout_ms: int = 0
    unit: Membership | None = None
    parent: str | None = None
    subtypes: tuple[str, ...] = ()
    explicit: bool = False
    application: str | None = None
    ignores_nulls: bool = False

    def index_of(self, attribute: str) -> int | None:
        """Return the index of an attribute, if the type has it."""
        return next((i for i, own in enumerate(self.attributes) if own.name == attribute), None)

    @property
    def with_subtypes(self) -> tuple[str, ...]:
        """The names of the type and of all that extend it."""
        return self.subtypes or (self.name,)

    @property
    def identity(self) -> int | None:
        """The attribute that stands for the whole: its id, or else its key."""
        return self.id if self.id is not None else self.key

    @property
    def described(self) -> str:
        """Kind and name, for messages."""
        word = {Kind.DEFINED: "event", Kind.CHANGE: "fact"}.get(self.kind, self.kind.value)
        return f"{word} {self.name}"
