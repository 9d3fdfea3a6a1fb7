"""The shared event graph: what means the same is one node; names and contexts belong to subscribers."""

from typing import Any

import pytest

from tests.topology.planned import compiled, node, nodes
from tocsin.topology import Plan, compile_rules


def kinds(plan: Plan) -> list[str]:
    return [found["kind"] for found in plan.to_dict()["nodes"]]


def test_equal_patterns_are_one() -> None:
    plan = compiled("""
        define One (area: string)
        from Smoke(area = $a) as s
          and last Temp(area = $a, value > 45) as t within 3 min from s where area = $a;
        define Two (value: double)
        from Smoke(area = $b) as x
          and last Temp(value > 45.0, area = $b) as y within 180 s from x where value = y.value;
        """)
    assert kinds(plan) == ["source", "source", "pattern", "define", "define"]
    assert [found["roles"] for found in nodes(plan, "define")] == [["s", "t"], ["x", "y"]]
    assert node(plan, "pattern")["contexts"] == [{"context": None, "disjoint": False, "subscribers": 2}]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Temp(value > 3)", "Temp(3 < value)"),
        ('Temp(value > 3, area = "a")', 'Temp("a" = area, value > 3, value > 3)'),
        ('Temp(value > 3 or area = "a")', 'Temp(area = "a" or 3 < value)'),
        ('Temp(not (value > 3 and area != "a"))', 'Temp(not ("a" != area and 3.0 < value))'),
        (
            "Smoke as s and last Temp(value > s.level, area = s.area, at = s.level) as t within 1 h from s",
            "Smoke as s and last Temp(s.level = at, s.area = area, s.level < value) as t within 1 h from s",
        ),
        (
            "Smoke(area = $a) as s ; Temp(area = $a, value > s.level, at != s.level) as t within 1 h",
            "Smoke(area = $b) as s ; Temp(s.level != at, s.level < value, $b = area) as t within 1 h",
        ),
        (
            "match every (Smoke as s then Temp(value > s.level, at != s.level) as t within 1 h)",
            "match every (Smoke as s then Temp(s.level != at, s.level < value) as t within 1 h)",
        ),
    ],
)
def test_the_order_of_conditions_and_operands_does_not_matter(one: str, other: str) -> None:
    plan = compiled(f"define One from {one}; define Two from {other};")
    first, second = nodes(plan, "define")
    assert first["input"] == second["input"]


@pytest.mark.parametrize(
    "other",
    [
        "from Smoke(area = $a) as s and last Temp(area = $a) as t within 4 min from s",
        "from Smoke(area = $a) as s and each Temp(area = $a) as t within 3 min from s",
        "from Smoke(area = $a) as s and 2 last Temp(area = $a) as t within 3 min from s",
        "from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 min from s consuming t",
        "from Smoke as s and last Temp as t within 3 min from s",
    ],
)
def test_different_patterns_are_not(other: str) -> None:
    plan = compiled(f"""
        define One from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 min from s;
        define Two {other};
        """)
    assert kinds(plan).count("pattern") == 2


def test_one_graph_serves_several_contexts() -> None:
    plan = compiled("""
        event Busy = (Smoke and Temp) within 1 h;
        define A from Busy context chronicle;
        define B from Smoke and Temp within 1 h;
        define C from (Smoke and Temp ; Rain) within 1 h context chronicle disjoint;
        rule D on (Smoke as s and Temp as t) within 1 h do call "a:b" context chronicle;
        """)
    assert sorted(kinds(plan)) == sorted(
        ["source", "source", "source", "and", "seq", "define", "define", "define", "rule"]
    )
    assert node(plan, "and")["contexts"] == [
        {"context": "chronicle", "disjoint": False, "subscribers": 3},
        {"context": "recent", "disjoint": False, "subscribers": 1},
    ]
    assert node(plan, "seq")["contexts"] == [{"context": "chronicle", "disjoint": True, "subscribers": 1}]


def test_the_bound_around_it_is_part_of_a_node() -> None:
    plan = compiled("""
        define A from (Smoke and Temp) within 1 h;
        define B from ((Smoke and Temp) ; Rain) within 2 h;
        """)
    assert [found["within_ms"] for found in nodes(plan, "and")] == [3_600_000, 7_200_000]


def test_an_equality_parameter_of_the_whole_is_part_of_its_nodes() -> None:
    plan = compiled("""
        define A from ((Smoke(area = $a) and Temp) ; Rain(area = $a)) within 1 h;
        define B from ((Smoke(area = $a) and Temp) ; Rain) within 1 h;
        define C from ((Smoke(area = $x) and Temp) ; Rain(area = $x)) within 1 h;
        """)
    assert [found["parameters"] for found in nodes(plan, "and")] == [[[[0, 0]]], []]
    assert [found["parameters"] for found in nodes(plan, "seq")] == [[[[0, 0], [2, 0]]], []]


def condition(plan: Plan, kind: str) -> Any:  # noqa: ANN401 (nested lists)
    return node(plan, kind)["where"]


def test_a_condition_stands_at_the_lowest_node_that_can_decide_it() -> None:
    plan = compiled("""
        define A from ((Smoke(area = $a) as s and Temp(area = $a, value > s.level) as t)
                       ; Rain(area = $a, mm > t.value, mm > 3) as r) within 1 h;""")
    assert condition(plan, "and") == [
        "gt",
        "double",
        ["field", 1, 1],
        ["cast", "double", ["field", 0, 1]],
    ]
    assert condition(plan, "seq") == ["gt", "double", ["field", 2, 1], ["field", 1, 1]]
    rain = next(found for found in nodes(plan, "source") if found["type"] == 2)
    assert rain["filter"] == ["gt", "double", ["field", 0, 1], ["const", "double", 3.0]]


def test_an_equality_of_two_roles_is_a_condition_of_their_node() -> None:
    plan = compiled("define A from Smoke as s ; Temp(area = s.area) as t within 1 h;")
    assert node(plan, "seq")["parameters"] == []
    assert condition(plan, "seq") == ["eq", "string", ["field", 1, 0], ["field", 0, 0]]


def test_matches_and_joins_are_shared_too() -> None:
    match = "from match every (Smoke(area = $a) as {0} then Temp(area = $a) as {1} within 5 min from {0})"
    when = "when event Alarm as {0} event Confirm(alarm = {0}.id) as {1}, {1} after [0 s, 1 h] {0}"
    plan = compiled(f"""
        define A {match.format("s", "t")};
        define B {match.format("x", "y").replace("$a", "$z")};
        rule C {when.format("a", "c")} then call "a:b";
        rule D {when.format("x", "y")} then call "a:c";
        """)
    assert kinds(plan).count("match") == 1
    assert kinds(plan).count("join") == 1


def test_nodes_only_refer_to_earlier_ones() -> None:
    plan = compiled("""
        define Last from Middle ; First within 1 h;
        define Middle (area: string) from First(area = $a) and last Temp(area = $a) within 1 h from First
        where area = $a;
        define First (area: string) from Smoke(area = $a) where area = $a;
        """)
    found = plan.to_dict()["nodes"]
    assert [one["rule"] for one in found if one["kind"] == "define"] == ["First", "Middle", "Last"]
    assert [rule.name for rule in plan.summary()] == ["Last", "Middle", "First"]
    for number, one in enumerate(found):
        assert all(other < number for other in one.get("producers", []))
        assert all(other < number for other in one.get("inputs", []))


def test_a_recursive_source_refers_back() -> None:
    plan = compiled("""
        define Rep (n: long) from Temp as t and last Rep as r within 1 min from t where n = r.n + 1;
        define Rep (n: long) from Smoke where n = 0;
        """)
    found = plan.to_dict()["nodes"]
    (source,) = [one for one in found if one.get("producers")]
    assert [found[producer]["order"] for producer in source["producers"]] == [0, 1]
    assert found.index(source) < min(source["producers"])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("from Smoke ; Temp within 1 h", "from (Smoke ; Temp) within 60 min", True),
        ("from Smoke ; Temp within 1 h", "from Smoke ; Temp within 1 h -- the same", True),
        ("from Smoke ; Temp within 1 h", "from Smoke ; Temp within 2 h", False),
        ("from Smoke ; Temp within 1 h", "from Smoke ; Temp within 1 h context chronicle", False),
        ("from Smoke ; Temp within 1 h", "from Smoke ; Temp within 1 h context recent", True),
        (
            "from Smoke ; Temp within 1 h disjoint",
            "from Smoke ; Temp within 1 h context recent disjoint",
            True,
        ),
        ("from Smoke ; Temp within 1 h", "from Smoke ; Temp within 1 h disjoint", False),
        ("from Smoke ; Temp within 1 h", "from Smoke ; Temp within 1 h unbounded", True),
        (
            "from Smoke as s and last Temp as t within 1 h from s",
            "from Smoke as s and last Temp as t within 1 h from Smoke",
            True,
        ),
        ("from Busy", "from Smoke and Temp", True),
        ('from Temp(area = "a  b")', 'from Temp(area = "a b")', False),
    ],
)
def test_fingerprints_of_definitions(one: str, other: str, *, same: bool) -> None:
    named = "event Busy = Smoke and Temp;"
    prints = [node(compiled(f"{named} define D {text}\n;"), "define")["fingerprint"] for text in (one, other)]
    assert (prints[0] == prints[1]) is same


PLAIN = 'event E (a: string, t: timestamp) on "e" key a;'


@pytest.mark.parametrize(
    "changed",
    [
        'event E (a: string, t: timestamp) on "e" key a time t;',
        'event E (a: string, t: timestamp) on "e" key a start t;',
        'event E (a: string, t: timestamp) on "e" key a id a;',
        'event E (a: string, t: timestamp) on "other" key a;',
        f'{PLAIN} event F extends E (n: long) on "f";',
        f'{PLAIN} event F extends E on "f"; event G extends F on "g";',
    ],
)
def test_fingerprints_of_nodes_follow_the_declaration(changed: str) -> None:
    sources = [
        node(compile_rules(f"{declared} define D from E;", app="test"), "source")["fingerprint"]
        for declared in (PLAIN, changed)
    ]
    assert sources[0] != sources[1]


def test_a_type_that_extends_another_event_changes_nothing() -> None:
    other = f'{PLAIN} event O (n: long) on "o"; event P extends O on "p";'
    plans = [compile_rules(f"{declared} define D from E;", app="test") for declared in (PLAIN, other)]
    assert node(plans[0], "source")["fingerprint"] == node(plans[1], "source")["fingerprint"]


@pytest.mark.parametrize(
    "switched",
    [
        'rule Two on Smoke ; Temp within 1 h do call "a:c" inactive;',
        'rule Two on Smoke ; Temp within 1 h do call "a:c" trigger previous;',
        'rule Two on Smoke ; Temp within 1 h do call "a:c"; rule Off on Page do deactivate Two;',
    ],
)
def test_rules_that_are_not_always_active_remember_alone(switched: str) -> None:
    plan = compiled(f'rule One on Smoke ; Temp within 1 h do call "a:b"; {switched}')
    one, two = nodes(plan, "seq")
    assert one["inputs"] == two["inputs"]
    assert one["fingerprint"] != two["fingerprint"]
    same = compiled('rule One on Smoke ; Temp within 1 h do call "a:b";')
    assert node(same, "seq")["fingerprint"] == one["fingerprint"]
