"""Rules: conditions over facts and events, actions, and how the two are coupled."""

from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.topology.errors import Span
from tocsin.topology.tree.base import NOWHERE, Name
from tocsin.topology.tree.events import Modified, Occurrence
from tocsin.topology.tree.expressions import Duration, Expr


@dataclass(frozen=True, slots=True)
class Assignment:
    """`value = t.value` in a `where` clause or an action."""

    attribute: Name
    value: Expr
    span: Span = field(default=NOWHERE, compare=False)


# --- conditions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FactCondition:
    """`fact Equipment(state = "ACTIVE") as e`; negated, `not fact …`: there is no such fact."""

    occurrence: Occurrence
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class EventCondition:
    """`event Alarm(eqpt = e.id) as a`; negated, `not event …`: there is no such event."""

    occurrence: Occurrence | Modified
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ChangeCondition:
    """`event change Equipment(state = "ONLINE") as e to (state = "ACTIVE") as act`.

    `fact` names the fact, in its new state; `alias` the event.
    """

    type: Name
    before: tuple[Expr, ...]
    after: tuple[Expr, ...]
    fact: Name | None = None
    alias: Name | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """`c after [1 s, 5 s] a` behind a comma."""

    expr: Expr
    span: Span = field(default=NOWHERE, compare=False)


WhenItem = FactCondition | EventCondition | ChangeCondition | Constraint


@dataclass(frozen=True, slots=True)
class When:
    """`when …`: facts and events that hold together."""

    items: tuple[WhenItem, ...]
    span: Span = field(default=NOWHERE, compare=False)


# --- actions ------------------------------------------------------------------------------------------------


class FactVerb(StrEnum):
    """What happens to a fact of a type: `update` replaces the one with the same key, or adds it."""

    ASSERT = "assert"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class Publish:
    """`publish Page (who = "ops")`: raise an event."""

    event: Name
    assignments: tuple[Assignment, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class ChangeFact:
    """`assert ConfirmedAlarm (alarm = a.id)`, `update Equipment (id = a.eqpt, state = "ACTIVE")`."""

    verb: FactVerb
    fact: Name
    assignments: tuple[Assignment, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Modify:
    """`modify e (state = "OFFLINE")`: change some attributes of a fact that was matched."""

    role: Name
    assignments: tuple[Assignment, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Retract:
    """`retract a`: take a matched fact, or a matched event, out of working memory."""

    role: Name
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Invoke:
    """`call "ops:page"`: a registered function."""

    target: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Webhook:
    """`webhook "https://example.com/hook"`."""

    url: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Switch:
    """`activate R`, `deactivate R`."""

    rule: Name
    on: bool
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Flush:
    """`flush E`: forget what was stored for one event, or `flush all`."""

    event: Name | None
    span: Span = field(default=NOWHERE, compare=False)


Action = Publish | ChangeFact | Modify | Retract | Invoke | Webhook | Switch | Flush


class Coupling(StrEnum):
    """When a rule's condition and action run, seen from the event that triggers them."""

    IMMEDIATE = "immediate"
    DEFERRED = "deferred"
    DETACHED = "detached"
    DEPENDENT = "dependent"


class TriggerMode(StrEnum):
    """From when on constituents count: from the activation, or from before it."""

    NOW = "now"
    PREVIOUS = "previous"


@dataclass(frozen=True, slots=True)
class Trigger:
    """`trigger previous 1 day`; an unbounded rule must say how far back."""

    mode: TriggerMode
    back: Duration | None = None
    span: Span = field(default=NOWHERE, compare=False)
