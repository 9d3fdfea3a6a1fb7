"""A supervisor of equipment that is off-line, on-line or active: the example of RETE with events.

A clock tick of the text is a second here.
"""

from collections.abc import Iterable, Sequence
from types import SimpleNamespace

from tests.oracle.history import Change, Input, Value, event, fact
from tests.oracle.relations import Interval
from tests.oracle.run import Detected, detect, parse
from tocsin.topology import tree

TICK = 1_000

SUPERVISOR = """
enum State { OFFLINE, ONLINE, ACTIVE };
fact  Equipment      (id: string, state: State) key id;
fact  ConfirmedAlarm (alarm: string, confirmation: string) key alarm;
event Alarm        (id: string, eqpt: string)  on "alarms"        key eqpt  id id;
event Confirmation (id: string, alarm: string) on "confirmations" key alarm id id;
event Cancellation (id: string, alarm: string) on "cancellations" key alarm id id;
"""

CONFIRMATION = """
rule AlarmConfirmation
when fact  Equipment(state = "ACTIVE") as e
     event Alarm(eqpt = e) as a
     event Confirmation(alarm = a, this after [1 s, 5 s] a) as c
then assert ConfirmedAlarm(alarm = a, confirmation = c);
"""

CANCELLED = """
rule AlarmCancelled
when event Alarm() as a
     event Cancellation(alarm = a, this after [1 s, 4 s] a) as c
then retract a;
"""

ON_ACTIVATION = """
rule AlarmOnActivation
when event change Equipment(state = "ONLINE") as e to (state = "ACTIVE") as act
     event Alarm(eqpt = e, this after [0 s, 2 s] act)
then modify e (state = "OFFLINE");
"""


def alarm(t: float, name: str, eqpt: str = "pump") -> Input:
    """An alarm, `t` ticks after the beginning."""
    return event("Alarm", t=round(t * TICK), id=name, eqpt=eqpt)


def confirmation(t: float, of: str, name: str = "c") -> Input:
    return event("Confirmation", t=round(t * TICK), id=name, alarm=of)


def cancellation(t: float, of: str, name: str = "x") -> Input:
    return event("Cancellation", t=round(t * TICK), id=name, alarm=of)


def equipment(t: float, state: str, name: str = "pump") -> Change:
    return fact("Equipment", t=round(t * TICK), id=name, state=state)


def supervised(
    rules: str, events: Sequence[Input], facts: Iterable[Change] = (equipment(0, "ACTIVE"),)
) -> Detected:
    return detect(SUPERVISOR + rules, events, facts=facts)


def fired(detected: Detected, rule: str, *roles: str) -> list[tuple[Value, ...]]:
    """For each firing, in order, the ids of what plays the roles."""
    return [tuple(one.roles[role][0].attributes["id"] for role in roles) for one in detected.of(rule)]


def when(rules: str) -> tree.When:
    """The conditions of the last rule."""
    rule = parse(SUPERVISOR + rules).declarations[-1]
    assert isinstance(rule, tree.Rule)
    assert isinstance(rule.trigger, tree.When)
    return rule.trigger


def at(start: float, end: float | None = None) -> Interval:
    """An event at a tick, or from one to another."""
    return SimpleNamespace(start=round(start * TICK), end=round((start if end is None else end) * TICK))
