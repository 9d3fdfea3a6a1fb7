"""The worked examples of RETE with events: AlarmConfirmation, AlarmCancelled, AlarmOnActivation."""

import pytest

from tests.oracle.history import Change, retraction
from tests.seeds.alarms import (
    CANCELLED,
    CONFIRMATION,
    ON_ACTIVATION,
    TICK,
    alarm,
    cancellation,
    confirmation,
    equipment,
    fired,
    supervised,
)

# --- §3 and §4.1: AlarmConfirmation -------------------------------------------------------------------------


def test_an_alarm_on_active_equipment_is_confirmed_within_five_ticks() -> None:
    history = [alarm(10, "a1"), alarm(12, "a2"), confirmation(14, "a2", "c2")]
    detected = supervised(CONFIRMATION, history)
    assert fired(detected, "AlarmConfirmation", "e", "a", "c") == [("pump", "a2", "c2")]
    assert detected.facts("ConfirmedAlarm") == [{"alarm": "a2", "confirmation": "c2"}]
    (firing,) = detected.of("AlarmConfirmation")
    assert (firing.start, firing.end) == (12 * TICK, 14 * TICK)  # facts have no place in time


@pytest.mark.parametrize(("tick", "confirmed"), [(10, False), (11, True), (15, True), (15.001, False)])
def test_the_bounds_of_a_temporal_constraint_are_included(tick: float, confirmed: bool) -> None:
    history = [alarm(10, "a"), confirmation(tick, "a")]
    assert bool(supervised(CONFIRMATION, history).of("AlarmConfirmation")) is confirmed


def test_all_combinations_match() -> None:
    history = [alarm(10, "a", "pump"), confirmation(11, "a", "c1"), confirmation(12, "a", "c2")]
    facts = [equipment(0, "ACTIVE"), equipment(0, "ACTIVE", "valve"), equipment(0, "ONLINE", "fan")]
    detected = supervised(CONFIRMATION, [*history, alarm(13, "f", "fan"), confirmation(14, "f")], facts)
    assert fired(detected, "AlarmConfirmation", "a", "c") == [("a", "c1"), ("a", "c2")]
    assert detected.facts("ConfirmedAlarm") == [{"alarm": "a", "confirmation": "c1"}]  # asserted once


# --- §4.5: matching facts with events -----------------------------------------------------------------------

ALARM_3 = [alarm(30, "Alarm3"), confirmation(33, "Alarm3")]


@pytest.mark.parametrize(
    "rules", [CONFIRMATION, CONFIRMATION + CANCELLED], ids=["alone", "with AlarmCancelled"]
)
def test_equipment_that_becomes_active_after_the_alarm_does_not_match(rules: str) -> None:
    """Alarm3 at 30 on on-line equipment, active at 32: no match, whatever other rules keep the alarm for."""
    facts = [equipment(0, "ONLINE"), equipment(32, "ACTIVE")]
    assert supervised(rules, ALARM_3, facts).of("AlarmConfirmation") == ()


@pytest.mark.parametrize(
    "rules", [CONFIRMATION, CONFIRMATION + CANCELLED], ids=["alone", "with AlarmCancelled"]
)
@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ([], True),
        ([equipment(32, "ONLINE")], False),
        ([equipment(32, "ONLINE"), equipment(32.5, "ACTIVE")], False),  # not in that very state
        ([equipment(32, "ACTIVE")], True),  # the same state
        ([retraction("Equipment", t=32 * TICK, key="pump")], False),
        ([equipment(33.001, "ONLINE")], True),  # after the last event
    ],
)
def test_equipment_must_stay_active_until_the_confirmation(
    rules: str, changes: list[Change], matches: bool
) -> None:
    """The second part of the principle: until the last event condition has been satisfied."""
    facts = [equipment(0, "ACTIVE"), *changes]
    assert bool(supervised(rules, ALARM_3, facts).of("AlarmConfirmation")) is matches


def test_a_cancelled_alarm_is_not_confirmed_afterwards() -> None:
    history = [alarm(30, "a"), cancellation(32, "a"), confirmation(33, "a")]
    both = supervised(CONFIRMATION + CANCELLED, history)
    assert fired(both, "AlarmCancelled", "a", "c") == [("a", "x")]
    assert both.of("AlarmConfirmation") == ()
    assert len(supervised(CONFIRMATION, history).of("AlarmConfirmation")) == 1


def test_a_cancellation_after_the_confirmation_changes_nothing_that_was_done() -> None:
    both = supervised(
        CONFIRMATION + CANCELLED, [alarm(30, "a"), confirmation(32, "a"), cancellation(33, "a")]
    )
    assert fired(both, "AlarmConfirmation", "a", "c") == [("a", "c")]
    assert fired(both, "AlarmCancelled", "a", "c") == [("a", "x")]


def test_what_a_rule_changes_is_seen_at_later_positions() -> None:
    """The first alarm takes the equipment off-line, so the second does not match it any more."""
    rule = """
    rule Trip
    when fact Equipment(state = "ACTIVE") as e  event Alarm(eqpt = e) as a
    then modify e (state = "OFFLINE");
    """
    detected = supervised(rule, [alarm(1, "a1"), alarm(2, "a2")])
    assert fired(detected, "Trip", "a") == [("a1",)]
    assert detected.facts("Equipment") == [{"id": "pump", "state": "OFFLINE"}]


# --- §4.2: constraints --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tick", "matches"), [(0, True), (5, True), (10, True), (15, True), (20, True), (20.5, False)]
)
def test_partial_order(tick: float, matches: bool) -> None:
    """`?this after[-10,10] ?a`: in any order, but not more than 10 ticks apart."""
    rule = """
    rule Near when event Alarm() as a  event Confirmation(this after [-10 s, 10 s] a) as c
    then assert ConfirmedAlarm(alarm = a, confirmation = c);
    """
    detected = supervised(rule, [alarm(10, "a"), confirmation(tick, "a")])
    assert bool(detected.of("Near")) is matches
    assert all(one.time == max(10, tick) * TICK for one in detected.of("Near"))


@pytest.mark.parametrize(
    ("constraint", "ticks"),
    [
        ("c after [1 s, 2 s] a or c before [1 s, 2 s] a", [8, 9, 11, 12]),
        ("c after [*, 2 s] a and not c after [-1 s, 1 s] a", [7, 8, 12]),
        ("not (c after a or c before a)", [10]),
        ("timeof(c) - timeof(a) > 2 s", [13]),
        ("c coincides [1 s] a", [9, 10, 11]),
    ],
)
def test_constraints_are_combined_by_and_or_and_not(constraint: str, ticks: list[int]) -> None:
    rule = f"""
    rule R when event Alarm() as a  event Confirmation() as c, {constraint}
    then assert ConfirmedAlarm(alarm = a, confirmation = c) unbounded;
    """
    history = [alarm(10, "a"), *(confirmation(tick, "a", str(tick)) for tick in range(7, 14))]
    assert sorted(int(c) for (c,) in fired(supervised(rule, history), "R", "c")) == ticks


# --- §5.1: changes as events --------------------------------------------------------------------------------


@pytest.mark.parametrize(("tick", "matches"), [(19, False), (20, True), (22, True), (22.5, False)])
def test_an_alarm_within_two_ticks_after_activation(tick: float, matches: bool) -> None:
    facts = [equipment(0, "ONLINE"), equipment(20, "ACTIVE")]
    detected = supervised(ON_ACTIVATION, [alarm(tick, "a")], facts)
    assert bool(detected.of("AlarmOnActivation")) is matches
    assert detected.facts("Equipment") == [{"id": "pump", "state": "OFFLINE" if matches else "ACTIVE"}]


@pytest.mark.parametrize(
    "facts",
    [
        [equipment(0, "OFFLINE"), equipment(20, "ACTIVE")],  # from another state
        [equipment(0, "ONLINE"), equipment(20, "OFFLINE")],  # to another state
        [equipment(20, "ACTIVE")],  # from none
        [equipment(0, "ONLINE"), retraction("Equipment", t=10 * TICK, key="pump"), equipment(20, "ACTIVE")],
        [equipment(0, "ACTIVE"), equipment(20, "ACTIVE")],  # no change at all
    ],
)
def test_what_is_not_that_change_of_state(facts: list[Change]) -> None:
    assert supervised(ON_ACTIVATION, [alarm(21, "a")], facts).of("AlarmOnActivation") == ()


def test_a_change_names_its_fact_without_asking_it_to_stay_so() -> None:
    facts = [equipment(0, "ONLINE"), equipment(20, "ACTIVE"), equipment(21, "ONLINE")]
    detected = supervised(ON_ACTIVATION, [alarm(22, "a")], facts)
    assert len(detected.of("AlarmOnActivation")) == 1
    assert detected.facts("Equipment") == [{"id": "pump", "state": "OFFLINE"}]


def test_a_change_made_by_a_rule_is_an_event_too() -> None:
    """The alarm takes the equipment off-line; that change, at the same position, is noted one round later."""
    rules = (
        ON_ACTIVATION
        + """
    rule Note
    when event change Equipment(state = "ACTIVE") as e to (state = "OFFLINE") as off
    then assert ConfirmedAlarm(alarm = e, confirmation = "off");
    """
    )
    detected = supervised(rules, [alarm(21, "a")], [equipment(0, "ONLINE"), equipment(20, "ACTIVE")])
    (note,) = detected.of("Note")
    (trip,) = detected.of("AlarmOnActivation")
    assert (note.position, note.round) == (trip.position, 1)
    assert detected.facts("ConfirmedAlarm") == [{"alarm": "pump", "confirmation": "off"}]
