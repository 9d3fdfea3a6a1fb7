"""Matches: structure, what each step can see, repeats."""

import pytest

from tests.topology.typed import holding, rule
from tocsin.topology import RuleErrors
from tocsin.topology.model import Part
from tocsin.topology.sources import (
    Absent,
    All,
    Alternatives,
    AtMost,
    Denied,
    Every,
    InTime,
    Match,
    MatchNode,
    OneOf,
    Repeat,
    Step,
    Taking,
    Then,
    Wait,
    While,
)
from tocsin.topology.tree import SkipTo, Take

A, B, C = Step(0), Step(1), Step(2)


def match(text: str) -> MatchNode:
    source = rule(f"define X from match {text};").source
    assert isinstance(source, Match)
    return source.root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Smoke then Rain then Temp", Then(Then(A, B), C)),
        ("Smoke and Rain and not Temp", All((A, B, Denied(C)))),
        ("Smoke or Rain", OneOf((A, B))),
        ("Smoke | Rain", Alternatives((A, B))),
        ("every each Smoke then next Rain", Then(Every(Taking(Take.EACH, A)), Taking(Take.NEXT, B))),
        ("Smoke{2,5}", Repeat(A, 2, 5)),
        ("Smoke{2, each} until Rain", Repeat(A, 2, None, Take.EACH, until=B)),
        ("Smoke within 5 min", InTime(A, 300_000)),
        ("Smoke as s then Rain within 5 min from s", Then(A, InTime(B, 300_000, 0))),
        (
            "Smoke as s then Rain then Temp within 1 s from s",
            Then(Then(A, InTime(B, 1000, 0)), InTime(C, 1000, 0)),
        ),
        ("Rain then (Smoke as s then Temp) within 1 s from s", Then(A, Then(B, InTime(C, 1000, 1)))),
        ("every (Smoke as s then Rain) within 1 s from s", Every(Then(A, InTime(B, 1000, 0)))),
        (
            "(each Smoke as s then Rain) | Temp within 1 s from s",
            Alternatives((Then(Taking(Take.EACH, A), InTime(B, 1000, 0)), C)),
        ),
        ("(Smoke as s then Rain) or Temp as s within 1 s from s", OneOf((Then(A, InTime(B, 1000, 0)), C))),
        ("Smoke as s and Rain within 1 s from s", InTime(All((A, B)), 1000, 0)),
        ("Smoke as s{2} within 1 s from s", InTime(Repeat(A, 2, 2), 1000, 0)),
        ("Smoke at most 3", AtMost(A, 3)),
        ("Smoke then wait 5 min as w", Then(A, Wait(300_000, 1))),
        ("Smoke as s then not Rain for 1 s from s", Then(A, Absent(B, 1000, 0))),
    ],
)
def test_structure(text: str, expected: MatchNode) -> None:
    assert match(text) == expected


def test_conditions_of_a_while_see_what_was_taken() -> None:
    node = match("(Smoke as s and Temp as t) while t.value > s.level")
    assert isinstance(node, While)
    assert node.condition.to_list() == ["gt", "double", ["field", 1, 1], ["cast", "double", ["field", 0, 1]]]


@pytest.mark.parametrize(
    "text",
    [
        "Smoke as s then Temp(value > s.level)",
        "(Smoke as s then Rain) then (Rain or Temp(value > s.level))",
        "(Smoke as s then Temp(value > s.level) as t){3}",
        "Smoke as s then Rain{1,} until Temp(value > s.level)",
        "Smoke as s then not Temp(value > s.level) for 1 min",
        "not (Smoke as s then Temp(value > s.level)) for 1 min",
    ],
)
def test_a_step_sees_what_was_taken_before(text: str) -> None:
    conditions = [
        term.to_list() for c in rule(f"define X from match {text};").constituents for term in c.conditions
    ]
    assert len(conditions) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Smoke as s and Temp(value > s.level)",
        "Smoke as s or Temp(value > s.level)",
        "Smoke as s | Temp(value > s.level)",
        "Smoke as s {1,} until Temp(value > s.level)",
        "Temp(value > s.level) then Smoke as s",
    ],
)
def test_a_step_does_not_see_what_may_come_later(text: str) -> None:
    with pytest.raises(RuleErrors, match="`s` need not be there yet"):
        rule(f"define X from match {text};")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Smoke as a {3}", {"a": "+"}),
        ("Smoke as a {0,3}", {"a": "*"}),
        ("Smoke as a {0,1}", {"a": "?"}),
        ("Smoke as a {1}", {"a": "1"}),
        ("(Smoke as a then Rain as b {0,}){2}", {"a": "+", "b": "*"}),
        ("Smoke as a {2,} until Rain as b", {"a": "+", "b": "1"}),
        ("(Smoke as a or Rain as b) then Temp as c", {"a": "?", "b": "?", "c": "1"}),
        ("(Smoke as a | Rain as b)", {"a": "?", "b": "?"}),
        ("Smoke as a and not Rain as b", {"a": "1"}),
        ("every Smoke as a then wait 1 s as b", {"a": "1", "b": "1"}),
    ],
)
def test_what_roles_hold(text: str, expected: dict[str, str]) -> None:
    assert holding(rule(f"define X from match {text};")) == expected


def test_a_role_of_several_steps_collects() -> None:
    found = rule("""
        define X (n: long, top: double)
        from match Temp as x then Temp as x where n = count(x), top = max(x.value);""")
    assert [value.to_list() for value in found.values] == [
        ["collect", "count", [[0, None], [1, None]], None],
        ["collect", "max", [[0, 1], [1, 1]], None],
    ]
    assert not found.values[1].optional


def test_a_repeated_step_can_be_compared_with_the_one_before() -> None:
    node = match("Temp as t {10 while value > previous.value and n = t.n}")
    assert isinstance(node, Repeat)
    assert node.condition is not None
    assert node.condition.to_list() == [
        "and",
        "boolean",
        ["gt", "double", ["field", 0, 1], ["previous", 0, 1]],
        ["eq", "long", ["field", 0, 2], ["field", 0, 2]],
    ]


def test_a_repeat_of_several_steps_compares_its_first_with_the_last_of_the_one_before() -> None:
    node = match("(Temp as t then Smoke as s){2 while value > previous.level}")
    assert isinstance(node, Repeat)
    assert node.condition is not None
    assert node.condition.to_list() == [
        "gt",
        "double",
        ["field", 0, 1],
        ["cast", "double", ["previous", 1, 1]],
    ]


def test_a_repeated_step_can_use_what_was_taken_before() -> None:
    found = rule("define X from match Temp(sum(t.value) + value < 5) as t {2,};")
    assert [term.to_list() for term in found.constituents[0].conditions] == [
        [
            "lt",
            "double",
            ["add", "double", ["collect", "sum", [[0, 1]], None], ["field", 0, 1]],
            ["const", "double", 5.0],
        ]
    ]


def test_a_parameter_of_a_repeated_step_has_one_value() -> None:
    found = rule("define X (area: string) from match Temp($a) as t {3} where area = $a;")
    assert found.constituents[0].equalities == {"a": 0}
    assert found.values[0].to_list() == ["parameter", "a"]
    assert [parameter.name for parameter in found.equality_parameters()] == ["a"]


def test_what_is_denied_is_not_taken() -> None:
    found = rule(
        "define X from match (Smoke($a) and not (Rain($a) then Temp($a))) then not Temp($a) for 1 s;"
    )
    assert [c.part for c in found.constituents] == [Part.TAKEN, Part.ABSENT, Part.ABSENT, Part.ABSENT]


def test_matches_can_be_disjoint_or_skip() -> None:
    assert rule("define X from match Smoke disjoint;").disjoint
    skip = rule("define X from match Smoke as s {2} skip to last s;").skip
    assert skip is not None
    assert skip.to is SkipTo.LAST


@pytest.mark.parametrize(
    "text",
    [
        "(wait 1 s or Smoke($a)) then Rain($a)",
        "not Smoke($a) for 1 s then Rain($a)",
        "Smoke($a){0,1} then wait 1 s then Rain($a)",
        "every (not Rain($a) then wait 1 s) then Smoke($a)",
    ],
)
def test_a_match_for_each_value_begins_with_an_event(text: str) -> None:
    with pytest.raises(RuleErrors, match="can begin without an event"):
        rule(f"define X from match {text};")
    assert rule(f"define X from match {text.replace('($a)', '')};").equality_parameters() == []


@pytest.mark.parametrize(
    "text",
    [
        "Rain | (Smoke($a) then Smoke($a))",
        "Smoke($a){0,2}",
        "Smoke($a){0,2} until Smoke($a)",
        "Rain and not (Smoke($a) then Smoke($a))",
    ],
)
def test_a_match_comes_true_with_a_value_of_what_ties_its_steps(text: str) -> None:
    with pytest.raises(RuleErrors, match="can occur with nothing in it that has"):
        rule(f"define X from match {text} unbounded;")


def test_what_ends_a_repeat_may_have_the_value() -> None:
    assert rule("define X from match Smoke($a){0,} until Smoke($a) unbounded;").equality_parameters()


def test_what_ends_a_repeat_is_no_part_of_what_is_repeated() -> None:
    assert rule("define X from match Smoke{1,} until Rain($a) unbounded;").equality_parameters() == []
    assert rule("define X from match Smoke($a){1,} until Rain unbounded;").equality_parameters()
