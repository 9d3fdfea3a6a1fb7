"""The plan of rules: the golden one of the fire example, and what each pass adds to it."""

import doctest
import json
from pathlib import Path
from typing import Any

import pytest

from tocsin.topology import Plan, compile_rules, compiler

EXAMPLE = Path(__file__).parents[2] / "examples" / "fire" / "fire.tocsin"
EVENTS = """
event Temp (area: string, value: double, count: int, at: timestamp, unit: string?) on "temps" key area;
event Smoke (area: string, level: long, limit: double) on "smoke" key area;
"""


def compiled(rules: str) -> Plan:
    return compile_rules(EVENTS + rules, app="test")


def nodes(plan: Plan, kind: str) -> list[dict[str, Any]]:
    return [node for node in plan.to_dict()["nodes"] if node["kind"] == kind]


def fire(conditions: str = "", tail: str = "", roles: str = "s t") -> Plan:
    s, t = roles.split()
    return compiled(f"""
        define Fire (area: string)
        from Smoke(area = $a) as {s} and last Temp(area = $a{conditions}) as {t} within 3 min from {s} {tail}
        where area = $a;""")


def source_filter(condition: str) -> Any:  # noqa: ANN401 (nested lists)
    plan = compiled(f"define Hot from Temp({condition});")
    return nodes(plan, "source")[0]["filter"]


def test_the_fire_example() -> None:
    plan = compile_rules(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE.name, app="fire")
    data = json.loads(plan.to_json())
    assert data == plan.to_dict()
    for node in data["nodes"]:
        assert len(node.pop("fingerprint")) == 16
    area = {"name": "area", "type": "string", "optional": False}
    value = {"name": "value", "type": "double", "optional": False}
    plain = {"kind": "event", "parent": None, "phases": [], "id": None, "start": None, "unit": None}
    clock = {"key": 0, "time": None, "lateness_ms": 1000, "idle_timeout_ms": 2000, **plain}
    source = {"kind": "source", "phase": None, "within_ms": None, "producers": []}
    assert data == {
        "format": 3,
        "app": "fire",
        "enums": [],
        "types": [
            {"name": "Temp", "origin": "input", "fields": [area, value], "topic": "temps", **clock},
            {"name": "Smoke", "origin": "input", "fields": [area], "topic": "smoke", **clock},
            {
                "name": "Fire",
                "origin": "defined",
                "fields": [area, value],
                "topic": "tocsin.fire.Fire",
                "key": 0,
                "time": None,
                "lateness_ms": 0,
                "idle_timeout_ms": 0,
                **plain,
            },
        ],
        "nodes": [
            {**source, "type": 0, "filter": ["gt", "double", ["field", 0, 1], ["const", "double", 45.0]]},
            {**source, "type": 1, "filter": None},
            {
                "kind": "pattern",
                "terminator": {"node": 1},
                "constituents": [
                    {
                        "node": 0,
                        "select": "last",
                        "count": 1,
                        "within_ms": 180000,
                        "from": 0,
                        "match": [{"field": 0, "equals": [0, 0]}],
                        "where": None,
                        "horizon_ms": 180000,
                    }
                ],
                "bounds": [],
                "negations": [],
                "aggregates": [],
                "where": None,
                "consuming": [],
                "contexts": [{"context": None, "disjoint": False, "subscribers": 1}],
            },
            {
                "kind": "define",
                "input": 2,
                "type": 2,
                "rule": "Fire",
                "order": 0,
                "version": 1,
                "context": None,
                "disjoint": False,
                "skip": None,
                "unbounded": False,
                "roles": ["s", "t"],
                "values": [["field", 0, 0], ["field", 1, 1]],
                "bindings": [{"name": "a", "type": "string", "value": ["field", 0, 0], "equality": True}],
                "condition": None,
                "rate": None,
            },
        ],
        "subtopologies": [
            {
                "name": "local",
                "kind": "local",
                "topics": ["smoke", "temps"],
                "nodes": [0, 1, 2, 3],
                "subscribers": [3],
                "forwards": [],
                "groups": [],
            }
        ],
    }


def test_helpers_of_the_plan() -> None:
    plan = compile_rules(EXAMPLE.read_text(encoding="utf-8"), app="fire")
    assert [event.name for event in plan.input_types] == ["Temp", "Smoke"]
    assert [event.name for event in plan.defined_types] == ["Fire"]
    assert plan.input_topics == ("smoke", "temps")
    assert plan.type_named("Fire") == plan.defined_types[0]
    assert plan.type_named("Water") is None
    assert [summary.to_dict() for summary in plan.summary()] == [
        {
            "name": "Fire",
            "kind": "local",
            "horizon_ms": 180000,
            "state": "keeps the last Temp for each area, for 3 min",
        }
    ]


def test_a_file_without_rules_has_an_empty_graph() -> None:
    plan = compiled("")
    assert (plan.nodes, plan.subtopologies, plan.input_topics) == ((), (), ())


def test_clauses_and_their_defaults() -> None:
    plan = compile_rules(
        """
        event A (k: long, at: timestamp) idle 5 s time at lateness 250 ms key k on "a";
        event B (k: boolean) on "b";
        """,
        app="test",
    )
    first, second = plan.to_dict()["types"]
    assert {name: first[name] for name in ("key", "time", "lateness_ms", "idle_timeout_ms")} == {
        "key": 0,
        "time": 1,
        "lateness_ms": 250,
        "idle_timeout_ms": 5000,
    }
    assert (second["key"], second["lateness_ms"], second["idle_timeout_ms"]) == (None, 0, 2000)


COUNT, VALUE, AT, AREA = ["field", 0, 2], ["field", 0, 1], ["field", 0, 3], ["field", 0, 0]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("value > 45", ["gt", "double", VALUE, ["const", "double", 45.0]]),
        ("count > 45", ["gt", "long", COUNT, ["const", "long", 45]]),
        ("count > 4.5", ["gt", "double", ["cast", "double", COUNT], ["const", "double", 4.5]]),
        ("count < value", ["lt", "double", ["cast", "double", COUNT], VALUE]),
        ("count = -9223372036854775808", ["eq", "long", COUNT, ["const", "long", -(2**63)]]),
        ("-count != 3", ["ne", "long", ["neg", "long", COUNT], ["const", "long", 3]]),
        (
            "count * 2 + 1 > value",
            [
                "gt",
                "double",
                [
                    "cast",
                    "double",
                    ["add", "long", ["mul", "long", COUNT, ["const", "long", 2]], ["const", "long", 1]],
                ],
                VALUE,
            ],
        ),
        ("at - 3 s >= 0", ["ge", "long", ["sub", "long", AT, ["const", "long", 3000]], ["const", "long", 0]]),
        ('area = "a\\u00e9\\n"', ["eq", "string", AREA, ["const", "string", "a\u00e9\n"]]),
        ("not (unit = area)", ["not", "boolean", ["eq", "string", ["field", 0, 4], AREA]]),
        (
            "count = 1 or count = 2 or true",
            [
                "or",
                "boolean",
                ["eq", "long", COUNT, ["const", "long", 1]],
                ["or", "boolean", ["eq", "long", COUNT, ["const", "long", 2]], ["const", "boolean", True]],
            ],
        ),
    ],
)
def test_expressions_are_typed_and_widened(condition: str, expected: list[object]) -> None:
    assert source_filter(condition) == expected


def test_long_alternatives_stay_shallow() -> None:
    def depth(expression: object) -> int:
        return 1 + max(map(depth, expression)) if isinstance(expression, list) else 0

    condition = " or ".join(f"count = {n}" for n in range(1000))
    assert depth(source_filter(condition)) == 12


def test_conditions_go_where_they_can_be_decided() -> None:
    plan = fire(
        ", value > 45 and t.count = 1, s.level = count, value > s.limit, value = s.limit, s.level > 2"
    )
    temp, smoke = nodes(plan, "source")
    constituent = nodes(plan, "pattern")[0]["constituents"][0]
    assert temp["filter"] == [
        "and",
        "boolean",
        ["gt", "double", ["field", 0, 1], ["const", "double", 45.0]],
        ["eq", "long", ["field", 0, 2], ["const", "long", 1]],
    ]
    assert smoke["filter"] is None
    assert constituent["match"] == [{"field": 0, "equals": [0, 0]}, {"field": 2, "equals": [0, 1]}]
    assert constituent["where"] == [
        "and",
        "boolean",
        ["gt", "double", ["field", 1, 1], ["field", 0, 2]],
        [
            "and",
            "boolean",
            ["eq", "double", ["field", 1, 1], ["field", 0, 2]],
            ["gt", "long", ["field", 0, 1], ["const", "long", 2]],
        ],
    ]
    assert plan.summary()[0].state == "keeps every Temp of the last 3 min"


def test_a_parameter_used_twice_in_one_constituent_is_a_filter() -> None:
    plan = compiled("define Same from Temp(area = $x, unit = $x);")
    assert nodes(plan, "source")[0]["filter"] == ["eq", "string", ["field", 0, 4], ["field", 0, 0]]


def test_the_order_of_conditions_in_a_constituent_does_not_matter_to_its_parameters() -> None:
    plan = compiled("define Big from Temp(value > $n, $n = count);")
    assert nodes(plan, "source")[0]["filter"] == [
        "gt",
        "double",
        ["field", 0, 1],
        ["cast", "double", ["field", 0, 2]],
    ]
    binding = {"name": "n", "type": "int", "value": ["field", 0, 2], "equality": False}
    assert nodes(plan, "define")[0]["bindings"] == [binding]


def test_chains_add_up_to_horizons() -> None:
    plan = compiled("""
        define Chain (n: long)
        from Smoke(area = $a)
          and last Temp(area = $a, count = $n) as t within 3 min from Smoke
          and last Temp(area = $a, count = $n) as u within 30 s from t
          and last Smoke(area = t.area) as v within 1 day from Smoke
        where n = u.count;""")
    pattern = nodes(plan, "pattern")[0]
    parts = [(c["from"], c["within_ms"], c["horizon_ms"]) for c in pattern["constituents"]]
    assert parts == [(0, 180_000, 180_000), (1, 30_000, 210_000), (0, 86_400_000, 86_400_000)]
    assert nodes(plan, "define")[0]["roles"] == ["Smoke", "t", "u", "v"]
    assert pattern["constituents"][1]["match"] == [
        {"field": 0, "equals": [0, 0]},
        {"field": 2, "equals": [1, 2]},
    ]
    assert plan.summary()[0].state == (
        "keeps the last Temp for each area, for 3 min and every Temp of the last 210 s "
        "and the last Smoke for each area, for 1 day"
    )


def test_the_key_of_a_complex_event() -> None:
    plan = compiled("""
        define Tied (n: int, where_it_was: string)
        from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 min from s
        where where_it_was = t.area, n = t.count;
        define Free (n: int) from Temp as t where n = t.count;
        """)
    assert [event.key for event in plan.defined_types] == [1, None]


def test_values_are_widened_to_their_attributes() -> None:
    plan = compiled("""
        define Wide (a: double, b: long, c: double, d: float, e: long, f: string?, g: boolean)
        from Temp as t
        where a = t.count, b = t.count, c = 3, d = 1, e = t.at - t.at, f = t.unit, g = t.value > 1 and true;
        """)
    assert nodes(plan, "define")[0]["values"] == [
        ["cast", "double", COUNT],
        COUNT,
        ["const", "double", 3.0],
        ["const", "double", 1.0],
        ["sub", "long", AT, AT],
        ["field", 0, 4],
        ["and", "boolean", ["gt", "double", VALUE, ["const", "double", 1.0]], ["const", "boolean", True]],
    ]


def fingerprints(plan: Plan) -> dict[str, list[str]]:
    return {kind: [n["fingerprint"] for n in nodes(plan, kind)] for kind in ("source", "pattern", "define")}


def test_fingerprints_do_not_depend_on_layout() -> None:
    spread = compiled("""
        define Fire ( area : string ) -- the same
        from Smoke( (area) = $a ) as s
         and last Temp(area=$a) as t
             within 180 s from Smoke where area = ($a) ;""")
    assert fingerprints(spread) == fingerprints(fire())


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        (fire(", value > 45"), {"source", "pattern", "define"}),
        (fire(tail="and last Temp(area = $a) as u within 1 s from s"), {"pattern", "define"}),
        (fire(roles="s u"), {"define"}),
    ],
    ids=["filter", "constituent", "role"],
)
def test_fingerprints_change_with_the_meaning(changed: Plan, kinds: set[str]) -> None:
    before, after = fingerprints(fire()), fingerprints(changed)
    assert {kind for kind in before if before[kind] != after[kind]} == kinds


def test_state_is_not_kept_when_an_event_changes_its_attributes() -> None:
    narrow = EVENTS.replace("count: int, ", "")
    rule = "define Fire from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 min from s;"
    before = fingerprints(compile_rules(EVENTS + rule, app="test"))
    after = fingerprints(compile_rules(narrow + rule, app="test"))
    assert before["define"] == after["define"]
    assert before["pattern"] != after["pattern"]


def test_the_examples_in_docstrings() -> None:
    assert doctest.testmod(compiler) == doctest.TestResults(failed=0, attempted=3)
