"""Rules: conditions over facts and events, actions, coupling."""

import pytest

from tests.topology.typed import rule, typed
from tocsin.topology.model import (
    ChangeFact,
    Flush,
    Invoke,
    Modify,
    Part,
    Publish,
    Retract,
    Switch,
    Webhook,
)
from tocsin.topology.sources import Changed, Held, When
from tocsin.topology.tree import Coupling, FactVerb, TriggerMode
from tocsin.topology.types import Kind


def test_facts_and_events() -> None:
    found = rule("""
        rule Confirm
        when  fact Equipment(state = "ACTIVE", area is not null) as e
              event Alarm(eqpt = e) as a
              not event Alarm(eqpt = $q, id != a.id, this after a) as b
              event Smoke(area = e.area) as s, s after [1 s, 5 s] a, b before [-5 s, *] s
        if    s.level > 3
        then  retract a;""")
    assert isinstance(found.source, When)
    assert found.source.conditions == (
        Held(0, event=False),
        Held(1, event=True),
        Held(2, event=True, negated=True),
        Held(3, event=True),
    )
    assert [term.to_list() for term in found.source.constraints] == [["related", "after", 3, 1, [1000, 5000]]]
    conditions = [[term.to_list() for term in c.conditions] for c in found.constituents]
    assert conditions[1] == [["eq", "string", ["field", 1, 1], ["field", 0, 0]]]
    assert conditions[2] == [
        ["ne", "string", ["field", 2, 0], ["field", 1, 0]],
        ["related", "after", 2, 1, []],
        ["related", "before", 2, 3, [-5000, None]],
    ]
    assert found.constituents[2].part is Part.ABSENT
    assert found.condition is not None


def test_a_change_is_an_event_with_the_attributes_of_the_fact() -> None:
    found = rule("""
        rule Activated
        when  event change Equipment(state = $old, id = $i) as e to (state != $old) as change
              event Alarm(eqpt = $i, id = change.id) as a, a before change
        then  modify e (area = a.id), publish Page (who = change.id);""")
    assert isinstance(found.source, When)
    assert found.source.conditions[0] == Changed(0, 1, 2)
    before, after, change, _ = found.constituents
    assert [c.event.kind for c in (before, after, change)] == [Kind.FACT, Kind.FACT, Kind.CHANGE]
    assert (before.part, after.role, change.role) == (Part.MEASURED, "e", "change")
    assert [term.to_list() for term in after.conditions] == [
        ["ne", "string", ["field", 1, 1], ["field", 0, 1]]
    ]
    modify, publish = found.actions
    assert isinstance(modify, Modify)
    assert (modify.constituent, [(index, term.to_list()) for index, term in modify.values]) == (
        1,
        [(2, ["field", 3, 0])],
    )
    assert isinstance(publish, Publish)
    assert [value.to_list() for value in publish.values] == [["field", 2, 0], ["const", "long", None]]


def test_every_action() -> None:
    found = typed("""
        event Busy = Smoke and Rain;
        define Fire from Smoke;
        rule All
        when  fact Equipment as e event Alarm(eqpt = e) as a
        then  publish Page (level = 3, who = a.id), assert Equipment (id = "x", state = "ONLINE"),
              update Equipment (state = e.state, id = a.eqpt, area = "north"),
              modify e (state = "OFFLINE"), retract e, retract a, call "ops.alarms:page",
              webhook "https://example.com/hook?x=1", activate All, deactivate Fire,
              flush Busy, flush Fire, flush all;
        """).rules[-1]
    publish, add, update, modify, *rest = found.actions
    assert isinstance(publish, Publish)
    assert [value.to_list() for value in publish.values] == [["field", 1, 0], ["const", "long", 3]]
    assert isinstance(add, ChangeFact)
    assert isinstance(update, ChangeFact)
    assert (add.verb, update.verb) == (FactVerb.ASSERT, FactVerb.UPDATE)
    assert [value.to_list() for value in update.values] == [
        ["field", 1, 1],
        ["field", 0, 1],
        ["const", "string", "north"],
    ]
    assert isinstance(modify, Modify)
    assert rest == [
        Retract(0),
        Retract(1),
        Invoke("ops.alarms", "page"),
        Webhook("https://example.com/hook?x=1"),
        Switch("All", on=True),
        Switch("Fire", on=False),
        Flush("Busy"),
        Flush("Fire"),
        Flush(None),
    ]


@pytest.mark.parametrize(
    ("text", "coupling"),
    [
        ('on Smoke do publish Page (who = "x")', Coupling.IMMEDIATE),
        ('on Smoke do call "a:b"', Coupling.DETACHED),
        ('on Sell do call "a:b" coupling dependent', Coupling.DEPENDENT),
        ('on Sell do publish Page (who = "x") coupling deferred', Coupling.DEFERRED),
        ('on commit Transaction do publish Page (who = "x") coupling deferred', Coupling.DEFERRED),
        ('on Sold do publish Page (who = "x") coupling deferred', Coupling.DEFERRED),
    ],
)
def test_coupling(text: str, coupling: Coupling) -> None:
    found = rule(f"define Sold from Big; define Big from Sell(price > 3); rule R {text};")
    assert found.coupling is coupling


def test_clauses_of_rules() -> None:
    found = rule('rule R on Smoke do call "a:b" priority -3 trigger previous 1 h inactive;')
    assert (found.priority, found.trigger, found.back_ms, found.active) == (
        -3,
        TriggerMode.PREVIOUS,
        3_600_000,
        False,
    )
    plain = rule('rule R on Smoke do call "a:b";')
    assert (plain.priority, plain.trigger, plain.back_ms, plain.active) == (0, TriggerMode.NOW, None, True)


def test_a_rule_on_a_single_event_may_say_its_context() -> None:
    found = rule('rule PageOps on Temp if value > 60 do call "ops:page" context recent;')
    assert found.condition is not None
    assert found.condition.to_list() == ["gt", "double", ["field", 0, 1], ["const", "double", 60.0]]
