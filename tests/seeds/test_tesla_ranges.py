"""TESLA over ranges of time: timers, negation behind and ahead, aggregates."""

import doctest

import pytest

from tests.oracle import aggregates
from tests.oracle.history import Input, event
from tests.seeds.sensors import DAY, HOUR, MINUTE, found, rain, sensed, smoke, temp

# --- timers -------------------------------------------------------------------------------------------------


def test_timer_every_friday_at_nine() -> None:
    """Valid patterns (5/8): Timer(H = 9, M = 00, D = Friday). The second day of 1970 was a Friday."""
    rule = """
    define Report (number: long)
    from Timer(H = 9, M = 0, D = Friday) as f and $n = count(Temp()) within 1 day from f
    where number = $n;
    """
    nine = DAY + 9 * HOUR
    history = [
        temp(0, 20),
        temp((nine - DAY) / MINUTE, 21),
        temp(nine / MINUTE, 22),
        temp(nine / MINUTE + 1, 23),
    ]
    detected = sensed(rule, history, until=15 * DAY / MINUTE)
    reports = [(one.time, one.attributes["number"]) for one in detected.of("Report")]
    assert reports == [(nine, 2), (nine + 7 * DAY, 0)]


def test_a_timer_can_be_a_constituent_and_stands_after_the_events_of_its_time() -> None:
    rule = """
    define Early (value: double)
    from Temp() as t and last Timer(hour = 9, minute = 0) as nine within 10 min from t
    where value = t.value;
    """
    nine = 9 * 60
    history = [
        temp(nine - 1, 1),
        temp(nine, 2),
        temp(nine + 0.1, 3),
        temp(nine + 10, 4),
        temp(nine + 10.1, 5),
    ]
    assert found(sensed(rule, history), "Early", "value") == [(nine + 0.1, 3), (nine + 10, 4)]


# --- negation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rains", "fires"),
    [
        ([], True),
        ([rain(0.5)], True),  # before the temperature
        ([rain(2)], False),
        ([rain(5)], True),  # after the smoke
        ([rain(2, "b")], True),  # elsewhere
    ],
)
def test_negation_between_two_events(rains: list[Input], fires: bool) -> None:
    rule = """
    define Fire (value: double)
    from Smoke(area = $a) as s
     and each Temp(area = $a) as t within 5 min from s
     and not Rain(area = $a) between t and s
    where value = t.value;
    """
    assert bool(sensed(rule, [temp(1, 50), smoke(4), *rains]).of("Fire")) is fires


def test_negation_between_leaves_out_its_ends_but_not_what_stands_at_the_last_one() -> None:
    """The interval is [Time(a), Time(b)), as long ago: b is outside and what stands at a is inside."""
    rule = """
    define Alone (value: double)
    from Temp(value > 45) as a and each Temp(value > 45) as b within 5 min from a
     and not Temp() between b and a
    where value = a.value - b.value;
    define Twin (value: double)
    from Temp(value > 45) as a where value = a.value;
    define Lonely (value: double)
    from Temp(value > 45) as a and each Temp(value > 45) as b within 5 min from a
     and not Twin() between b and a
    where value = a.value - b.value;
    """
    detected = sensed(rule, [temp(1, 46), temp(2, 47), temp(3, 20), temp(4, 49)])
    assert found(detected, "Alone") == [(2, 1)]  # neither end is forbidden, though both are Temp
    assert found(detected, "Lonely") == []  # the Twin at the position of `a` is


def test_negation_within_a_time_from_one_event_includes_both_ends() -> None:
    rule = "define Dry from Temp(area = $a) as t and not Rain(area = $a) within 10 min from t;"
    assert [one.time / MINUTE for one in sensed(rule, [rain(0), temp(10, 1), temp(10.1, 1)]).of("Dry")] == [
        10.1
    ]
    before, after = [rain(20), temp(20, 1)], [temp(20, 1), event("Rain", t=20 * MINUTE + 1, area="a")]
    assert sensed(rule, before).of("Dry") == ()  # of one time, in the total order: topic rain before temps
    assert len(sensed(rule, after).of("Dry")) == 1


def test_negation_within_a_time_does_not_forbid_its_anchor_but_what_stands_with_it() -> None:
    rules = """
    define Single from Temp() as t and not Temp() within 10 min from t;
    define Echo from Temp() as t;
    define Silent from Temp() as t and not Echo() within 10 min from t;
    """
    detected = sensed(rules, [temp(0, 1), temp(5, 1), temp(20, 1)])
    assert found(detected, "Single") == [(0, None), (20, None)]
    assert found(detected, "Silent") == []


ABSENCE = """
define Unconfirmed (value: double)
from Temp(area = $a, value > 45) as t and not Smoke(area = $a) within 10 min after t
where value = t.value;
"""


def test_absence_ahead_is_decided_when_the_time_is_up() -> None:
    history = [temp(0, 50), temp(1, 60, "b"), smoke(5, "b"), temp(20, 70), smoke(30), temp(40, 80)]
    detected = sensed(ABSENCE, history, until=60)
    assert found(detected, "Unconfirmed") == [(10, 50), (50, 80)]  # smoke at 30 is still within 10 min of 20
    first = detected.of("Unconfirmed")[0]
    assert (first.start, first.end) == (0, 10 * MINUTE)
    assert first.position.timer == 1


def test_absence_does_not_occur_before_the_time_is_up() -> None:
    assert sensed(ABSENCE, [temp(0, 50)], until=9.9).of("Unconfirmed") == ()
    assert len(sensed(ABSENCE, [temp(0, 50)], until=10).of("Unconfirmed")) == 1


def test_of_several_absences_the_latest_decides() -> None:
    rule = """
    define Nothing from Temp() as t
     and not Smoke() within 5 min after t
     and not Rain() within 10 min after t;
    """
    assert found(sensed(rule, [temp(0, 1)], until=20), "Nothing") == [(10, None)]
    assert found(sensed(rule, [temp(0, 1), smoke(7)], until=20), "Nothing") == [(10, None)]
    assert found(sensed(rule, [temp(0, 1), rain(7)], until=20), "Nothing") == []


def test_absence_after_an_earlier_constituent_may_be_over_when_the_terminator_comes() -> None:
    rule = """
    define Dry
    from Smoke() as s and last Temp() as t within 30 min from s and not Rain() within 5 min after t;
    """
    assert found(sensed(rule, [temp(0, 1), rain(6), smoke(20)]), "Dry") == [(20, None)]
    assert found(sensed(rule, [temp(0, 1), smoke(2)], until=9), "Dry") == [(5, None)]
    assert found(sensed(rule, [temp(0, 1), smoke(2), rain(3)], until=9), "Dry") == []


def test_what_waits_for_an_absence_is_there_until_it_is_consumed() -> None:
    """Both smokes wait with the same temperature; the first whose time is up consumes it."""
    rule = """
    define Fire (value: double)
    from Smoke() as s and last Temp() as t within 5 min from s and not Rain() within 10 min after s
    where value = t.value consuming t;
    """
    assert found(sensed(rule, [temp(0, 50), smoke(1), smoke(2)], until=30), "Fire") == [(11, 50)]


# --- aggregates ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("count(Temp())", 5),
        ("sum(Temp().value)", 150),
        ("avg(Temp().value)", 30),
        ("min(Temp().value)", 20),
        ("max(Temp().value)", 40),
        ("stddev(Temp().value)", 8.94427190999916),
        ("distinct(Temp().value)", 3),
        ("first(Temp().value)", 40),
        ("last(Temp().value)", 20),
        ("percentile(Temp().value, 50)", 30),
        ("percentile(Temp().value, 95)", 40),
        ("percentile(Temp().value, 0)", 20),
        ("avg(2 last Temp().value)", 20),
        ("count(Temp(value > 25))", 3),
        ("sum(Temp(area = $a).value)", 130),
    ],
)
def test_aggregates_over_the_last_minutes(call: str, value: float) -> None:
    """Values 40, 40, 30, 20, 20: equal ones of different events all count, the Set is of label and value."""
    rule = f"""
    define Summary (value: double?)
    from Smoke(area = $a) as s and $v = {call} within 5 min from s
    where value = $v;
    """
    history = [
        temp(0, 99),
        *(temp(i, v) for i, v in enumerate([40, 40, 30, 20], 2)),
        temp(6, 20, "b"),
        smoke(7),
    ]
    assert found(sensed(rule, history), "Summary") == [(7, pytest.approx(value))]


@pytest.mark.parametrize(
    ("call", "value"), [("count(Temp())", 0), ("sum(Temp().value)", 0), ("max(Temp().value)", None)]
)
def test_aggregates_of_nothing(call: str, value: float | None) -> None:
    rule = f"""
    define Summary (value: double?)
    from Smoke() as s and $v = {call} within 5 min from s where value = $v;
    """
    assert found(sensed(rule, [smoke(7)]), "Summary") == [(7, value)]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("count(Reading())", 3),
        ("count(Reading().value)", 2),
        ("avg(Reading().value)", 15),
        ("first(Reading().value)", 10),
        ("sum(2 last Reading().value)", 20),
    ],
)
def test_aggregates_leave_nulls_out(call: str, value: float) -> None:
    rules = f"""
    event Reading (value: double?) on "readings";
    define Summary (value: double?) from Smoke() as s and $v = {call} within 5 min from s where value = $v;
    """
    history = [event("Reading", t=t * MINUTE, value=v) for t, v in enumerate([10.0, None, 20.0])]
    assert found(sensed(rules, [*history, smoke(3)]), "Summary") == [(3, value)]


def test_the_examples_of_the_aggregate_functions() -> None:
    assert doctest.testmod(aggregates) == doctest.TestResults(failed=0, attempted=2)


def test_aggregates_between_two_events_include_them() -> None:
    """Valid patterns (7/8), with the length of the window that was meant: from A to B, both included."""
    rule = """
    define Summary (value: double?)
    from Temp(value > 90) as b and last Temp(value < 10) as a within 10 min from b
     and $v = avg(Temp().value) between a and b
    where value = $v;
    """
    history = [temp(0, 50), temp(1, 5), temp(2, 40), temp(3, 95), temp(4, 60)]
    assert found(sensed(rule, history), "Summary") == [(3, pytest.approx(140 / 3))]
