"""Expiry dates of RETE with events, §4.4, and the relations they follow from."""

import math
from itertools import combinations, product

import pytest

from tests.oracle.history import event
from tests.oracle.relations import Interval, holds
from tests.oracle.rete_expiry import expiry
from tests.oracle.run import detect
from tests.seeds.alarms import (
    CANCELLED,
    CONFIRMATION,
    TICK,
    alarm,
    at,
    confirmation,
    supervised,
    when,
)
from tocsin.topology import tree
from tocsin.topology.tree import RelationOp

# --- §4.4: expiry -------------------------------------------------------------------------------------------


def test_an_alarm_at_10_is_of_no_use_after_15() -> None:
    assert expiry(when(CONFIRMATION), {"a": at(10)}) == 15 * TICK


def test_a_confirmation_never_needs_to_be_stored() -> None:
    """It only matches alarms that occurred beforehand: its expiry date is past when it arrives."""
    assert expiry(when(CONFIRMATION), {"c": at(10)}) == 9 * TICK


def test_an_alarm_at_30_is_kept_until_34_for_its_cancellation() -> None:
    assert expiry(when(CANCELLED), {"a": at(30)}) == 34 * TICK


@pytest.mark.parametrize(
    ("constraint", "known", "date"),
    [
        ("c after [-10 s, 10 s] a", {"a": at(20)}, 30),
        ("c after [-10 s, 10 s] a", {"c": at(20)}, 30),
        ("c after [1 s, *] a", {"a": at(20)}, math.inf),
        ("c after a", {"c": at(20)}, 19.999),
        ("c after [*, 5 s] a", {"a": at(20)}, 25),
        ("c before [2 s, 8 s] a", {"c": at(20)}, 28),
        ("c after [1 s, 2 s] a or c after [6 s, 7 s] a", {"a": at(20)}, 27),
        ("c after [1 s, 9 s] a and c after [3 s, 4 s] a", {"a": at(20)}, 24),
        ("not c after [5 s, *] a", {"a": at(20)}, 24.999),
        ("c after [1 s, 5 s] a", {"a": at(20), "c": at(22)}, -math.inf),  # nothing is missing
        ("c after [1 s, 5 s] a and c before [1 s, 5 s] a", {"a": at(20)}, -math.inf),  # nothing can match
    ],
)
def test_expiry_follows_from_the_bounds(constraint: str, known: dict[str, Interval], date: float) -> None:
    rule = f"rule R when event Alarm() as a event Confirmation() as c, {constraint} then retract a unbounded;"
    assert expiry(when(rule), known) == date * TICK


def test_expiry_goes_along_chains_of_constraints() -> None:
    rule = """
    rule R when event Alarm() as a
                event Confirmation() as c, c after [1 s, 5 s] a
                event Cancellation() as x, x after [2 s, 3 s] c
    then retract a;
    """
    assert expiry(when(rule), {"a": at(10)}) == 18 * TICK
    assert expiry(when(rule), {"c": at(10)}) == 13 * TICK
    assert expiry(when(rule), {"a": at(10), "c": at(12)}) == 15 * TICK
    assert expiry(when(rule), {"x": at(10)}) == 8 * TICK
    assert expiry(when(rule), {"a": at(10), "c": at(20)}) == -math.inf  # too far apart for any match
    contradiction = rule.replace("then", ", x before c then")
    assert expiry(when(contradiction), {"a": at(10)}) == -math.inf


def test_expiry_of_what_takes_time_and_of_what_is_denied() -> None:
    rule = """
    rule R when event Alarm() as a
                event Confirmation() as c, c after [1 s, 5 s] a
                not event Cancellation() as x, x after [0 s, 2 s] a
    then retract a;
    """
    assert expiry(when(rule), {"a": at(10)}) == 15 * TICK
    assert expiry(when(rule), {"a": at(8, 10)}, {"a": 2 * TICK, "c": 3 * TICK}) == 18 * TICK
    assert expiry(when(rule), {"x": at(10)}) == 15 * TICK


def test_without_a_constraint_both_bounds_are_infinite() -> None:
    """§4.2: events between which nothing is said can occur in any order."""
    rule = "rule R when event Alarm() as a event Confirmation(alarm = a) as c then retract a unbounded;"
    assert expiry(when(rule), {"a": at(10)}) == math.inf
    history = [confirmation(1, "a", "c1"), alarm(10, "a"), confirmation(1_000, "a", "c2")]
    one, other = supervised(
        rule.replace("retract a", 'assert ConfirmedAlarm(alarm = a, confirmation = "")'), history
    ).of("R")
    assert (one.time, other.time) == (10 * TICK, 1_000 * TICK)


# --- beyond the text: Allen's relations between occurrences -------------------------------------------------


def test_exactly_one_of_the_thirteen_relations_holds_between_two_intervals() -> None:
    intervals = [at(start, end) for start, end in combinations(range(6), 2)]
    for left, right in product(intervals, repeat=2):
        relations = [tree.Relation(op, tree.Name("l"), tree.Name("r")) for op in RelationOp]
        assert sum(holds(relation, left, right) for relation in relations) == 1


def test_relations_compare_the_intervals_of_composite_occurrences() -> None:
    rules = """
    event Job (id: string, began: timestamp) on "jobs" id id start began;
    event On () on "on"; event Off () on "off";
    define Shift from Off() as off and last On() as on within 1 h from off;
    rule Done when event Shift() as s  event Job(this during s) as j then publish Report(job = j);
    event Report (job: string);
    """
    history = [
        event("On", t=10),
        event("Off", t=50),
        event("Job", t=20, id="early", began=5),
        event("Job", t=40, id="inside", began=11),
        event("Job", t=51, id="late", began=12),
    ]
    detected = detect(rules, history)
    assert [(one.time, one.attributes["job"]) for one in detected.of("Report")] == [(50, "inside")]
