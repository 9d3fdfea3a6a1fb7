"""An engine is made of a plan it understands, or not at all."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tocsin._engine import Engine

from .history import Record, Task, as_json, engine_of, rules

FIRE = """
event Temp (area: string, value: double) on "temps" key area;
event Smoke (area: string, level: double) on "smoke" key area;
define Fire (area: string, value: double)
from   Smoke(area = $a) as s and last Temp(area = $a, value > s.level) as t within 3 min from s
where  area = $a, value = t.value;
"""
TO = {"Fire": ("fires", b"", 1)}

Plan = dict[str, Any]


@pytest.fixture
def plan() -> Plan:
    return rules(FIRE).to_dict()


def pattern(plan: Plan) -> Plan:
    return next(node for node in plan["nodes"] if node["kind"] == "pattern")


def define(plan: Plan) -> Plan:
    return next(node for node in plan["nodes"] if node["kind"] == "define")


def test_the_topics_are_those_of_the_subtopology(plan: Plan) -> None:
    assert engine_of(plan).topics == ["smoke", "temps"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", "5", '{"format": 3}', '{"format": "2"}', '{"format": -1}']
)
def test_what_is_no_plan(text: str) -> None:
    with pytest.raises(ValueError, match="not a plan"):
        Engine(text, "local", 0, TO)


def test_a_plan_of_another_format(plan: Plan) -> None:
    with pytest.raises(ValueError, match="the plan has format 4, this engine understands format 3: upgrade"):
        Engine(json.dumps({**plan, "format": 4}), "local", 0, TO)


def test_a_subtopology_that_is_not_there(plan: Plan) -> None:
    with pytest.raises(ValueError, match="no sub-topology `global`"):
        Engine(json.dumps(plan), "global", 0, TO)


def test_a_destination_that_is_not_given(plan: Plan) -> None:
    with pytest.raises(ValueError, match="no destination was given for complex event Fire"):
        Engine(json.dumps(plan), "local", 0, {})


Change = Callable[[Plan], object]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: p["types"][0].update(key=2), "a key, id, time or start attribute is out of range"),
        (lambda p: p["types"][0].update(lateness_ms=-1), "a lateness is out of range"),
        (
            lambda p: p["types"][0]["fields"].extend([p["types"][0]["fields"][0]] * 5000),
            "the number of a type's attributes is out of range",
        ),
        (lambda p: p["nodes"][0].update(type=9), "a source's type is out of range"),
        (
            lambda p: p["nodes"][0].update(filter=["pow", "double"]),
            "an expression this engine does not understand",
        ),
        (
            lambda p: p["nodes"][0].update(filter=["field", 1, 0]),
            "an expression this engine does not understand",
        ),
        (
            lambda p: p["nodes"][0].update(filter=["field", 0, 9]),
            "an expression this engine does not understand",
        ),
        (lambda p: p["nodes"][0].update(filter=["const", "long", 1.5]), "an expression this engine does not"),
        (lambda p: pattern(p)["terminator"].update(node=2), "a node's inputs is out of range"),
        (
            lambda p: pattern(p)["constituents"][0].update({"from": 1}),
            "`from` of a constituent is out of range",
        ),
        (lambda p: pattern(p)["constituents"][0].update(within_ms=-1), "a window is out of range"),
        (lambda p: pattern(p)["constituents"][0].update(horizon_ms=-20), "a window is out of range"),
        (lambda p: define(p).update(rate={"count": 1, "per_ms": -20}), "a window is out of range"),
        (lambda p: p["nodes"][0].update(filter=["in", "boolean"]), "an expression this engine does not"),
        (lambda p: p["types"][0].update(parent="Smoke"), "what a type extends is out of range"),
        (
            lambda p: pattern(p)["constituents"][0]["match"][0].update(equals=[1, 0]),
            "a match is out of range",
        ),
        (lambda p: pattern(p)["constituents"][0]["match"][0].update(field=9), "a match is out of range"),
        (
            lambda p: pattern(p)["constituents"].extend(pattern(p)["constituents"] * 300),
            "a node's inputs is out of",
        ),
        (lambda p: pattern(p).update(fingerprint="no hex"), "`no hex` is no fingerprint"),
        (lambda p: define(p).update(input=0), "a define's roles is out of range"),
        (lambda p: define(p).update(type=9), "a define's type does not exist"),
        (lambda p: define(p).update(values=[]), "the number of a define's values is out of range"),
        (lambda p: define(p).update(fingerprint="abc"), "`abc` is no fingerprint"),
        (lambda p: p["subtopologies"][0]["nodes"].append(9), "a node of a sub-topology is out of range"),
        (lambda p: p["subtopologies"][0]["nodes"].remove(0), "a node reads another sub-topology"),
        (lambda p: p["subtopologies"][0]["nodes"].remove(2), "a node reads another sub-topology"),
        (lambda p: define(p)["roles"].pop(), "a define's roles is out of range"),
        (lambda p: p["nodes"][0].pop("type"), "not a plan: missing field `type`"),
    ],
)
def test_a_plan_that_contradicts_itself(plan: Plan, change: Change, message: str) -> None:
    change(plan)
    with pytest.raises(ValueError, match=message):
        engine_of(plan)


def test_a_condition_may_not_look_ahead(plan: Plan) -> None:
    first = pattern(plan)["constituents"][0]
    second = {**first, "where": None, "match": []}
    define(plan)["roles"].append("u")
    first["where"] = ["eq", "double", ["field", 2, 1], ["field", 1, 1]]
    pattern(plan)["constituents"].append(second)
    with pytest.raises(ValueError, match="an expression this engine does not understand"):
        engine_of(plan)


def test_an_expression_that_is_too_deep(plan: Plan) -> None:
    plan["nodes"][0]["filter"] = "deep"
    nested = '["not", "boolean", ' * 10_000 + '["const", "boolean", true]' + "]" * 10_000
    with pytest.raises(ValueError, match="recursion limit exceeded"):
        Engine(json.dumps(plan).replace('"deep"', nested), "local", 0, TO)


ALGEBRA = """
event A (k: string) on "a" key k;
event B (k: string) on "b" key k;
"""


def operator(plan: Plan, kind: str) -> int:
    return next(index for index, node in enumerate(plan["nodes"]) if node["kind"] == kind)


def test_an_operator_whose_time_is_negative() -> None:
    plan = rules(ALGEBRA + "define R from (A(k = $k) ; B(k = $k)) within 1 s;").to_dict()
    plan["nodes"][operator(plan, "seq")]["within_ms"] = -20
    with pytest.raises(ValueError, match="a window is out of range"):
        engine_of(plan)


def test_more_occurrences_than_there_can_be() -> None:
    text = "define R from any(2, A(k = $k)*) within 1 s context unrestricted;"
    plan = rules(ALGEBRA + text).to_dict()
    plan["nodes"][operator(plan, "any")]["count"] = 10**13
    task = Task(plan)
    task.feed("a", [Record(0, 1, b"k", as_json({"k": "k"}))])
    task.finish()
    assert not task.outputs


def test_a_plan_that_is_very_deep() -> None:
    plan = rules(ALGEBRA + "define R from begin A(k = $k) as a;").to_dict()
    lowest = operator(plan, "modified")
    below, modified, above = plan["nodes"][:lowest], plan["nodes"][lowest], plan["nodes"][lowest + 1 :]
    chain = [
        {**modified, "inputs": [lowest + depth - 1], "fingerprint": f"{depth:016x}"}
        for depth in range(1, 200_000)
    ]
    for node in above:
        node["input"] = lowest + len(chain)
    plan["nodes"] = [*below, modified, *chain, *above]
    Engine.check(json.dumps(plan))
