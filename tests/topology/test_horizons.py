"""Horizons: how long each constituent is kept, proved from windows, chains of constraints, and contexts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.topology.planned import compiled, messages, node, nodes
from tocsin.topology.planning.differences import Limit, bounds_to, contradiction

S, MIN, H, DAY = 1000, 60_000, 3_600_000, 86_400_000


def pattern_horizons(items: str, clauses: str = "") -> list[int | None]:
    pattern = node(compiled(f"define D from Smoke(area = $a) as s {items} {clauses};"), "pattern")
    parts = pattern["constituents"] + pattern["negations"] + pattern["aggregates"]
    return [part["horizon_ms"] for part in parts]


def join_horizons(conditions: str, clauses: str = "") -> list[int | None]:
    join = node(compiled(f'rule R when {conditions} then call "a:b" {clauses};'), "join")
    return [condition["horizon_ms"] for condition in join["conditions"]]


def step_horizons(match: str, clauses: str = "") -> list[int | None]:
    found = node(compiled(f"define D from match {match} {clauses};"), "match")
    return [step["horizon_ms"] for step in found["steps"]]


# --- patterns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("and last Temp(area = $a) as t within 3 min from s", [3 * MIN]),
        (
            """and each Temp(area = $a) as t within 3 min from s
               and each Rain(area = $a) as r within 30 s from t""",
            [3 * MIN, 3 * MIN + 30 * S],
        ),
        (  # a further bound shortens the way, also for what lies behind it
            """and each Temp(area = $a) as t within 3 min from s
               and each Rain(area = $a) as r within 10 min from t
               and each Rain(area = $a) as q within 1 min from r
               and r within 5 min from s""",
            [3 * MIN, 5 * MIN, 6 * MIN],
        ),
        (  # and for what lies before it: r is before t
            """and each Temp(area = $a) as t within 10 min from s
               and each Rain(area = $a) as r within 10 min from t
               and r within 4 min from s""",
            [4 * MIN, 4 * MIN],
        ),
        (  # what is asked of the first one that was found does not make a later one the first
            """and first Temp(area = $a) as t within 10 min from s
               and each Rain(area = $a) as r within 10 min from t
               and t within 4 min from s""",
            [10 * MIN, 14 * MIN],
        ),
        ("and not Rain(area = $a) within 1 h from s", [H]),
        (
            """and last Temp(area = $a) as t within 3 min from s
               and not Rain(area = $a) between t and s""",
            [3 * MIN, 3 * MIN],
        ),
        (
            """and last Temp(area = $a) as t within 3 min from s
               and $m = avg(Rain(area = $a).mm) within 1 h from t""",
            [3 * MIN, H + 3 * MIN],
        ),
        ("and not Rain(area = $a) within 1 h after s", [0]),
        ("and each Temp(area = $a, this before [0 s, 2 min] s) as t before s", [2 * MIN]),
        ("and each Temp(area = $a, timeof(s) - timeof(t) <= 20 s) as t before s", [20 * S]),
        ("and each Temp(area = $a, timeof(t) + 20 s > timeof(s)) as t before s", [20 * S - 1]),
    ],
)
def test_patterns(items: str, expected: list[int | None]) -> None:
    assert pattern_horizons(items) == expected


def test_absence_bounds_nothing_that_is_there() -> None:
    rules = """define D from Smoke(area = $a) as s
      and each Temp(area = $a) as t before s
      and not Rain(area = $a, this after [0 s, 1 min] t) within 1 min from s;"""
    assert messages(rules) == [
        "nothing bounds how long before `s` it may lie, so every Temp would be kept forever"
    ]


def test_the_file_may_say_that_it_is_meant() -> None:
    assert pattern_horizons("and each Temp(area = $a) as t before s", "unbounded") == [None]
    assert compiled(
        "define D from Smoke(area = $a) as s and each Temp(area = $a) as t before s unbounded;"
    ).summary()[0].to_dict() == {
        "name": "D",
        "kind": "local",
        "horizon_ms": None,
        "state": "keeps every Temp, forever",
    }


def test_a_number_bounds_the_last_ones_of_all() -> None:
    plan = compiled("""
        define D from Smoke as s and 2 last Temp as t before s;
        define E (m: double?) from Smoke as s and $m = avg(3 last Temp.value) before s where m = $m;
        """)
    assert plan.summary()[0].state == "keeps the last 2 Temp, forever"


@pytest.mark.parametrize(
    "rule",
    [
        "from Smoke(area = $a) as s and last Temp(area = $a) as t before s",  # one for each area
        "from Smoke as s and last Temp(value > s.level) as t before s",  # any may be the one
        "from Smoke as s and last Temp as t before s consuming t",  # then the one before counts
        "from Smoke as s and first Temp as t before s",
        "from Smoke as s and each Temp as t before s",
        "from Smoke as s and last Rain as r within 1 h from s and last Temp as t before r",
    ],
)
def test_a_number_bounds_nothing_else(rule: str) -> None:
    assert len(messages(f"define D {rule};")) == 1


@pytest.mark.parametrize(
    "item",
    [
        "$n = count(Rain) between t and s",
        "$n = avg(3 last Rain.mm) between t and s",
        "not Rain between t and s",
        "not Rain within 5 s from t",
        "each Rain as r within 5 s from t",
        "each Rain as r within 5 s from t and each Rain as q within 5 s from r",  # said once
    ],
)
def test_what_hangs_on_the_last_one_of_all_has_no_bound(item: str) -> None:
    rule = f"define D from Smoke as s and last Temp as t before s and {item}"
    assert messages(f"{rule};") == [
        "nothing bounds how long ago `t` may be, so every Rain would be kept forever"
    ]
    assert messages(f"{rule} unbounded;") == []


# --- facts and events ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ("event Alarm as a", [0]),
        ("event Alarm as a event Confirm as c, c after [1 s, 5 s] a", [5 * S, 0]),
        ("event Alarm as a event Confirm as c, a before [1 s, 5 s] c", [5 * S, 0]),
        ("event Alarm as a event Confirm as c, c after [-2 s, 5 s] a", [5 * S, 2 * S]),
        (  # through a chain
            """event Alarm as a event Confirm as c event Rain as r,
               c after [1 s, 5 s] a, r after [0 s, 1 min] c""",
            [65 * S, MIN, 0],
        ),
        (  # the shorter of two ways
            """event Alarm as a event Confirm as c event Rain as r,
               c after [1 s, 5 s] a, r after [0 s, 1 min] c, r after [0 s, 20 s] a""",
            [20 * S, 19 * S, 0],
        ),
        ("event Alarm as a event Confirm as c, c after [0 s, 5 s] a or c after [0 s, 9 s] a", [9 * S, 0]),
        ("event Alarm as a event Confirm as c, not c after [5 s, *] a, c after a", [5 * S - 1, 0]),
        ("event Alarm as a event Confirm as c, c coincides [3 s] a", [3 * S, 3 * S]),
        ("fact Equipment as e event Alarm(eqpt = e.id) as a", [None, 0]),
        ("event Alarm as a not event Confirm as c, c before [0 s, 1 min] a", [0, MIN]),
        ("event Stay as x event Alarm as a, a metby [1 s] x", [S, S]),
        ("event Stay as x event Alarm as a, a after [0 s, 1 s] x", [S, 0]),
    ],
)
def test_joins(conditions: str, expected: list[int | None]) -> None:
    assert join_horizons(conditions) == expected


def test_the_length_of_an_interval_counts() -> None:
    during = "event Stay as x event Alarm as a, a during [0 s, 1 min, 0 s, 1 h] x"
    assert join_horizons(during) == [0, H]
    # From the start of an interval to a point behind it is not bounded by how far apart their starts are.
    apart = 'rule R when event Stay as x event Stay as y, y starts [1 s] x then call "a:b";'
    assert len(messages(apart)) == 1
    # A complex event is as long as what it is made of.
    plan = compiled("""
        define Fire from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 min from s;
        rule R when event Fire as f event Alarm as a, a coincides [1 s, *] f then call "a:b";
        """)
    assert [c["horizon_ms"] for c in node(plan, "join")["conditions"]] == [S, 3 * MIN + S]


# --- expressions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "Smoke ; Temp",
        "(Smoke and Temp) ; Rain",
        "any(2, Smoke, Temp, Rain)",
        "not(Rain)[Smoke, Temp]",
        "aperiodic(Smoke, Temp, Rain)",
        "periodic(Smoke, 10 min, Rain)",
    ],
)
def test_the_recent_context_needs_no_bound_without_parameters(expression: str) -> None:
    assert messages(f"define D from {expression};") == []
    for context in ("chronicle", "continuous", "cumulative", "unrestricted"):
        assert len(messages(f"define D from {expression} context {context};")) == 1
        assert messages(f"define D from {expression} within 1 h context {context};") == []
        assert messages(f"define D from {expression} context {context} unbounded;") == []


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("Smoke(area = $a) ; Temp(area = $a)", 1),
        ("aperiodic*(Smoke, Temp, Rain)", 1),
        ("periodic*(Smoke, 1 h, Rain)", 1),
        ("(Smoke ; Temp within 1 h) and Rain", 0),
        ("(Smoke(area = $a) ; Temp(area = $a) within 1 h) or Rain(area = $a)", 0),
        ("(Smoke(area = $a) ; Temp(area = $a) within 1 h) and Rain(area = $a)", 1),
        ("Smoke(area = $a) or Temp(area = $a)", 0),
        ("Smoke + 10 min", 0),
    ],
)
def test_what_needs_a_bound_in_the_recent_context(expression: str, wrong: int) -> None:
    assert len(messages(f"define D from {expression};")) == wrong


def test_the_smallest_of_the_bounds_around_a_node_counts() -> None:
    plan = compiled("define D from ((((Smoke ; Temp) within 1 day) and Rain) within 1 h) or (Temp + 5 min);")
    assert [
        (n["within_ms"], n["horizon_ms"]) for kind in ("seq", "and", "plus", "or") for n in nodes(plan, kind)
    ] == [
        (H, H),
        (H, H),
        (None, 5 * MIN),
        (None, 0),
    ]


def test_a_bound_does_not_reach_below_what_begins_anew() -> None:
    for again in ("(Smoke(area = $a) ; Temp(area = $a)) + 10 s", "end (Smoke(area = $a) ; Temp(area = $a))"):
        assert messages(f"define D from ({again} ; Rain(area = $a)) within 5 s;") == [
            "nothing bounds how long `Smoke` is kept for what is to follow it, one for each value of `$a`"
        ]
    plan = compiled("define D from ((Smoke ; Temp) + 10 s ; Rain) within 5 s;")
    assert [(n["within_ms"], n["horizon_ms"]) for n in nodes(plan, "seq")] == [(None, None), (5 * S, 5 * S)]
    assert plan.summary()[0].horizon_ms is None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(((Smoke ; Temp) within 3 s) + 10 s ; Rain) within 5 s", 18 * S),
        ("(end ((Smoke ; Temp) within 3 s) ; Rain) within 5 s", 8 * S),
        ("(((Smoke ; Temp) within 3 s) ; Rain) within 5 s", 5 * S),
        ("(begin ((Smoke ; Temp) within 3 s) ; Rain) within 5 s", 5 * S),
        ("(Smoke + 10 s + 20 s ; Rain) within 5 s", 35 * S),
    ],
)
def test_the_horizon_of_a_rule_adds_up_where_something_begins_anew(expression: str, expected: int) -> None:
    plan = compiled(f"""
        define D from {expression};
        rule R when event D as d event Alarm as a, a coincides [1 s, *] d then call "a:b";
        """)
    assert plan.summary()[0].horizon_ms == expected
    assert node(plan, "join")["conditions"][1]["horizon_ms"] == expected + S


# --- matches ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("every Smoke as s", [0]),
        ("every (Smoke as s then Temp as t within 5 min)", [5 * MIN, 0]),
        ("every Smoke as s then (Temp as t within 5 min)", [5 * MIN, 0]),
        ("every Smoke as s then Temp as t within 5 min from s", [5 * MIN, 0]),
        ("every Smoke as s then (Temp as t within 5 min) then (Rain as r within 1 h)", [H + 5 * MIN, H, 0]),
        ("every (Smoke as s and Temp as t within 5 min)", [5 * MIN, 5 * MIN]),
        ("every (Smoke as s and not Temp as t)", [0, 0]),
        ("every Smoke as s then not Temp as t for 10 min", [10 * MIN, 0]),
        ("every Smoke as s then wait 10 min as w", [10 * MIN, 0]),
        ("every (Temp as t {3} within 1 h)", [H]),
        ("every Smoke as s then ((Temp as t {1,} until Rain as r) within 1 h)", [H, H, 0]),
    ],
)
def test_matches(match: str, expected: list[int | None]) -> None:
    assert step_horizons(match) == expected


@pytest.mark.parametrize(
    "match",
    [
        "every Smoke as s then Temp as t",
        "every (Smoke as s and Temp as t)",
        "every (Temp as t {3})",
        "every Temp as t {1,} until Rain as r",
        "every (Temp as t {1,} until Rain as r within 1 h from t)",
        "every (Smoke as s within 1 h) then Temp as t",
        "every ((Rain as r or Temp as q) then Smoke as s then Temp as t within 1 h from s)",
    ],
)
def test_matches_without_a_bound(match: str) -> None:
    assert len(messages(f"define D from match {match};")) == 1
    assert None in step_horizons(match, "unbounded")


@pytest.mark.parametrize(
    ("match", "growing"),
    [
        ("every each Smoke as s", True),
        ("every every Smoke as s", True),
        ("every (Smoke as s | Rain as r)", True),
        ("every ((every Smoke as s) then (Temp as t within 1 h))", True),
        ("every (Smoke as s {2,3} within 1 h)", True),
        ("every (Smoke as s {2 each} within 1 h)", True),
        ("every (each Smoke as s and Rain as r within 1 h)", True),
        ("each Smoke as s then every each Temp as t within 1 h from s", True),
        ("every Smoke as s", False),
        ("every (Smoke as s or Rain as r)", False),
        ("every (next Smoke as s {3} within 1 h)", False),
        ("every ((Smoke as s {2,3 each} until Rain as r) within 1 h)", False),
        ("each Smoke as s then (each Temp as t within 1 h)", False),
        ("every Smoke as s then (each Temp as t within 1 h)", False),
    ],
)
def test_matches_that_multiply(match: str, *, growing: bool) -> None:
    expected = (
        "`every` starts this again each time it comes true, but it can come true several times: "
        "more and more of them would run"
    )
    assert messages(f"define D from match {match};") == [expected] * growing
    assert messages(f"define D from match {match} unbounded;") == []


# --- shortest paths -----------------------------------------------------------------------------------------

MOMENTS = 5
LIMITS = st.lists(
    st.builds(
        Limit,
        st.integers(0, MOMENTS - 1),
        st.integers(0, MOMENTS - 1),
        st.integers(-5, 10),
        st.integers(),
    ),
    max_size=12,
)


@given(LIMITS)
def test_limits_contradict_each_other_or_can_be_fulfilled(limits: list[Limit[int, int]]) -> None:
    reasons = contradiction(limits)
    if reasons is not None:
        assert contradiction([limit for limit in limits if limit.reason in reasons]) is not None
        return
    # All limits from 0 on, as far as they reach, are fulfilled by the bounds themselves.
    bounds = bounds_to(0, limits)
    for limit in limits:
        if limit.later in bounds:
            assert bounds[limit.earlier] <= bounds[limit.later] + limit.bound_ms
    # And each is reached: no smaller bound holds for all times.
    assert (
        contradiction([*limits, *(Limit(0, moment, -bound, None) for moment, bound in bounds.items())])
        is None
    )
