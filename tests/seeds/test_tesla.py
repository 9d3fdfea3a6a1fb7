"""The worked examples of the TESLA text: four definitions of a fire, selection, consumption, parameters."""

import pytest

from tests.seeds.sensors import found, rain, sensed, smoke, temp

# --- the representative example: four ways to define a fire -------------------------------------------------


def test_fire_i_temperature_and_smoke_in_the_same_area_within_three_minutes() -> None:
    rule = """
    define Fire (area: string, value: double)
    from Smoke(area = $a) as s and last Temp(area = $a, value > 45) as t within 3 min from s
    where area = $a, value = t.value;
    """
    history = [
        temp(0, 50, "kitchen"),
        temp(0, 60, "hall"),
        temp(1, 44, "kitchen"),  # not higher than 45
        temp(2, 70, "attic"),  # no smoke there
        smoke(3, "kitchen"),  # the window includes its end
        smoke(3.1, "hall"),  # too late
        temp(4, 80, "hall"),  # after the smoke
    ]
    assert found(sensed(rule, history), "Fire") == [(3, 50)]


def test_fire_ii_temperature_and_no_rain_in_the_last_hour() -> None:
    rule = """
    define Fire (value: double)
    from Temp(area = $a, value > 45) as t and not Rain(area = $a) within 1 h from t
    where value = t.value;
    """
    history = [rain(0), temp(60, 50), temp(60.1, 51), rain(61, "b"), temp(62, 52), rain(63), temp(64, 53)]
    assert found(sensed(rule, history), "Fire") == [(60.1, 51), (62, 52)]


def test_fire_iii_smoke_and_an_average_temperature_above_45_in_the_last_three_minutes() -> None:
    rule = """
    define Fire (value: double)
    from Smoke(area = $a) as s
     and $m = avg(Temp(area = $a).value) within 3 min from s
     and $m > 45
    where value = $m;
    """
    history = [
        temp(0, 1),
        temp(1, 40),
        temp(2, 60),
        temp(2, 0, "b"),
        smoke(3.5),  # (40 + 60) / 2
        temp(4, 20),
        smoke(4.5),  # (60 + 20) / 2
        smoke(9),  # nothing was measured: the average of nothing is null, and null is not above 45
    ]
    assert found(sensed(rule, history), "Fire") == [(3.5, 50)]


RISING = """
define Rising (area: string, times: long, total: double, value: double, began: timestamp)
from Temp(area = $a) as t
where area = $a, times = 1, total = t.value, value = t.value, began = timeof(t);

define Rising (area: string, times: long, total: double, value: double, began: timestamp)
from Temp(area = $a, value = $v) as t and last Rising(area = $a, value < $v) as r within 3 min from t
where area = $a, times = r.times + 1, total = r.total + $v, value = $v, began = r.began
consuming r;
"""

FIRE_IV = {
    "recursion": RISING
    + """
    define Fire (value: double)
    from Smoke(area = $a) as s
     and last Rising(area = $a, times >= 10, timeof(s) - began <= 3 min) as r within 3 min from s
    where value = r.total / r.times;
    """,
    "repetition": """
    define Fire (value: double)
    from match every (Temp(area = $a) as t {10, while value > previous.value}
                      until Smoke(area = $a) as s within 3 min from t)
    where value = avg(t.value)
    unbounded;
    """,
}


@pytest.mark.parametrize("rule", FIRE_IV.values(), ids=FIRE_IV.keys())
def test_fire_iv_ten_increasing_temperatures_and_smoke_within_three_minutes(rule: str) -> None:
    ten = [temp(i / 5, 40 + i) for i in range(10)]  # 40, …, 49: their average is 44.5
    assert found(sensed(rule, [*ten, smoke(2)]), "Fire") == [(2, 44.5)]
    assert found(sensed(rule, [*ten, smoke(3)]), "Fire") == [(3, 44.5)]
    assert found(sensed(rule, [*ten, smoke(3.1)]), "Fire") == []
    assert found(sensed(rule, [*ten, smoke(2, "b")]), "Fire") == []
    assert found(sensed(rule, [*ten[:9], smoke(2)]), "Fire") == []
    assert found(sensed(rule, [*ten, temp(2, 61), smoke(2.5)]), "Fire") == [(2.5, 46)]


def test_fire_iv_a_lower_reading_begins_a_new_sequence() -> None:
    broken = [temp(i / 5, 40 + i) for i in range(5)] + [temp(1 + i / 5, 20 + i) for i in range(5)]
    assert found(sensed(FIRE_IV["recursion"], [*broken, smoke(2)]), "Fire") == []


# --- selection and consumption ------------------------------------------------------------------------------

HEAT_AND_SMOKE = [temp(1, 48), temp(2, 50), smoke(4)]


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        ("each", [48, 50]),
        ("last", [50]),
        ("first", [48]),
        ("2 last", [48, 50]),
        ("1 first", [48]),
        ("5 last", [48, 50]),
    ],
)
def test_which_temperatures_the_smoke_is_combined_with(selection: str, taken: list[float]) -> None:
    """Valid patterns (3/8): each-within selects both, last-within T(50) only."""
    rule = f"""
    define Fire (value: double)
    from Smoke() as s and {selection} Temp(value > 45) as t within 5 min from s
    where value = t.value;
    """
    assert found(sensed(rule, HEAT_AND_SMOKE), "Fire") == [(4, value) for value in taken]


def test_k_last_and_k_first_choose_among_what_fulfils_the_conditions() -> None:
    rule = """
    define Late (value: double)
    from Smoke() as s and 2 last Temp(value > 45) as t within 5 min from s where value = t.value;
    define Early (value: double)
    from Smoke() as s and 2 first Temp(value > 45) as t within 5 min from s where value = t.value;
    """
    history = [temp(0, 99), temp(1, 46), temp(2, 47), temp(3, 20), temp(4, 48), temp(5, 30), smoke(5.5)]
    detected = sensed(rule, history)
    assert found(detected, "Late") == [(5.5, 47), (5.5, 48)]
    assert found(detected, "Early") == [(5.5, 46), (5.5, 47)]


def test_last_of_two_at_the_same_time_is_the_one_that_stands_later_in_the_total_order() -> None:
    rule = """
    define Fire (value: double)
    from Smoke() as s and last Temp() as t before s
    where value = t.value unbounded;
    """
    assert found(sensed(rule, [temp(1, 48), temp(1, 50), smoke(2)]), "Fire") == [(2, 50)]
    assert found(sensed(rule, [temp(1, 48, "b"), temp(1, 50, "a"), smoke(2)]), "Fire") == [(2, 48)]


@pytest.mark.parametrize(
    ("selection", "consuming", "expected"),
    [
        ("each", "", [(4, 48), (4, 50), (4.5, 48), (4.5, 50)]),
        ("each", "consuming t", [(4, 48), (4, 50)]),
        ("last", "", [(4, 50), (4.5, 50)]),
        ("last", "consuming t", [(4, 50), (4.5, 48)]),
        ("first", "consuming t", [(4, 48), (4.5, 50)]),
        ("last", "consuming s", [(4, 50), (4.5, 50)]),
    ],
)
def test_what_a_second_smoke_is_combined_with(
    selection: str, consuming: str, expected: list[tuple[float, float]]
) -> None:
    """The event consumption problem: are the temperatures used by the first smoke there for the second?"""
    rule = f"""
    define Fire (value: double)
    from Smoke() as s and {selection} Temp(value > 45) as t within 5 min from s
    where value = t.value {consuming};
    """
    assert found(sensed(rule, [*HEAT_AND_SMOKE, smoke(4.5)]), "Fire") == expected


def test_each_rule_has_a_list_of_what_it_consumed() -> None:
    rules = "".join(
        f"""
        define {name} (value: double)
        from Smoke() as s and last Temp(value > 45) as t within 5 min from s
        where value = t.value {consuming};
        """
        for name, consuming in [("Fire", "consuming t"), ("Blaze", "consuming t"), ("Watch", "")]
    )
    detected = sensed(rules, [*HEAT_AND_SMOKE, smoke(4.5)])
    assert found(detected, "Fire") == found(detected, "Blaze") == [(4, 50), (4.5, 48)]
    assert found(detected, "Watch") == [(4, 50), (4.5, 50)]


def test_what_is_consumed_is_still_there_for_all_that_occurs_at_the_same_position() -> None:
    """Consumed(r, l) asks for t > 0: only later positions find the temperature used."""
    rule = """
    define Fire (value: double)
    from Smoke() as s and each Rain() as r within 5 min from s and last Temp() as t within 5 min from s
    where value = t.value consuming t;
    """
    assert found(sensed(rule, [temp(0, 50), rain(1), rain(2), smoke(3), smoke(4)]), "Fire") == [
        (3, 50),
        (3, 50),
    ]


def test_aggregates_see_what_is_consumed() -> None:
    rule = """
    define Fire (value: double)
    from Smoke() as s and last Temp() as t within 9 min from s and $n = count(Temp()) within 9 min from s
    where value = $n consuming t;
    """
    assert found(sensed(rule, [temp(1, 48), temp(2, 50), smoke(5), smoke(6)]), "Fire") == [(5, 2), (6, 2)]


def test_negations_see_what_is_consumed() -> None:
    """The second smoke has the first rain and temperature left; the rain after them, though used, is seen."""
    rule = """
    define Dry
    from Smoke() as s and last Temp() as t within 9 min from s and last Rain() as r within 9 min from t
     and not Rain() between t and s
    consuming t, r;
    """
    history = [rain(0), temp(0.5, 50), rain(1), temp(2, 50), smoke(3), smoke(4)]
    assert found(sensed(rule, history), "Dry") == [(3, None)]


def test_one_event_may_play_two_roles_and_two_events_may_swap_theirs() -> None:
    """The formulas quantify over labels freely; lab takes each with its role."""
    rule = """
    define Pair (value: double)
    from Smoke() as s and each Temp() as t within 5 min from s and each Temp() as u within 5 min from s
    where value = 10 * t.value + u.value;
    """
    assert sorted(found(sensed(rule, [temp(1, 1), temp(2, 2), smoke(3)]), "Pair")) == [
        (3, 11),
        (3, 12),
        (3, 21),
        (3, 22),
    ]


def test_what_an_if_rejects_is_consumed_all_the_same() -> None:
    rule = """
    define Fire (value: double)
    from Smoke() as s and last Temp(value > 45) as t within 5 min from s
    if t.value < 50 where value = t.value consuming t;
    """
    assert found(sensed(rule, [*HEAT_AND_SMOKE, smoke(4.5)]), "Fire") == [(4.5, 48)]


# --- parameters ---------------------------------------------------------------------------------------------


def test_parameterization_as_printed() -> None:
    """Valid patterns (4/8): $x ensures that the two events carry the same area."""
    rule = """
    define Fire (value: double)
    from  Smoke(area = $x)
      and each Temp(value > 45 and area = $x) within 5 min from Smoke
    where value = Temp.value;
    """
    history = [temp(0, 46, "a"), temp(1, 47, "b"), temp(2, 48, "a"), temp(3, 40, "a"), smoke(4, "a")]
    assert found(sensed(rule, history), "Fire") == [(4, 46), (4, 48)]


def test_parameters_tie_any_constituents_and_stand_in_comparisons() -> None:
    rule = """
    define Spread (value: double)
    from Smoke(area = $a) as s
     and last Temp(area != $a, value = $v) as t within 5 min from s
     and last Temp(area = $a, value > $v) as u within 5 min from t
    where value = u.value - $v;
    """
    history = [temp(0, 40, "a"), temp(1, 60, "a"), temp(2, 45, "a"), temp(3, 50, "b"), smoke(4, "a")]
    assert found(sensed(rule, history), "Spread") == [(4, 10)]
