"""Patterns: items, anchors, parameters, aggregates, and what conditions prove to be there."""

import pytest

from tests.topology.typed import rule
from tocsin.topology import RuleErrors
from tocsin.topology.model import Part
from tocsin.topology.sources import (
    Aggregated,
    Ahead,
    Backward,
    Between,
    Bounded,
    Filtered,
    Negated,
    Pattern,
    Selected,
)
from tocsin.topology.terms import Scalar
from tocsin.topology.tree import Modifier, Selection


def test_every_kind_of_item() -> None:
    found = rule("""
        define Fire
        from   Smoke($a) as s
          and  2 each Temp($a) as t within 3 min from s
          and  first Rain($a) as r before t
          and  r within 5 min from s
          and  not Rain($a) between r and s
          and  not Rain($a) within 1 h from s
          and  not Rain($a) within 10 min after s
          and  $m = avg(3 last Temp($a).value) between t and s
          and  $m > 45
        unbounded;""")
    assert isinstance(found.source, Pattern)
    selected, first, bounded, between, back, ahead, aggregate, condition = found.source.items
    assert selected == Selected(1, Selection.EACH, Backward(180_000, 0), 2)
    assert first == Selected(2, Selection.FIRST, Backward(None, 1))
    assert bounded == Bounded(2, Backward(300_000, 0))
    assert between == Negated(3, Between(2, 0))
    assert back == Negated(4, Backward(3_600_000, 0))
    assert ahead == Negated(5, Ahead(600_000, 0))
    assert aggregate == Aggregated(0, "m", "avg", 6, 1, Between(1, 0), Scalar.DOUBLE, None, 3)
    assert isinstance(condition, Filtered)
    assert condition.condition.to_list() == ["gt", "double", ["aggregate", 0], ["const", "double", 45.0]]
    parts = [c.part for c in found.constituents]
    assert parts == [Part.TAKEN] * 3 + [Part.ABSENT] * 3 + [Part.MEASURED]
    assert found.unbounded


def test_the_first_mention_of_a_parameter_binds_and_the_others_tie() -> None:
    found = rule("""
        define Fire
        from Smoke($a, level = $n) as s
         and last Temp(n = $n, value > $n, $a) as t within 3 min from s
         and not Rain(area = $a) between t and s;""")
    conditions = [[term.to_list() for term in c.conditions] for c in found.constituents]
    assert conditions == [
        [],
        [
            ["eq", "long", ["field", 1, 2], ["field", 0, 1]],
            ["gt", "double", ["field", 1, 1], ["cast", "double", ["field", 0, 1]]],
            ["eq", "string", ["field", 1, 0], ["field", 0, 0]],
        ],
        [["eq", "string", ["field", 2, 0], ["field", 0, 0]]],
    ]
    places = {name: [(p.constituent, p.field) for p in q.places] for name, q in found.parameters.items()}
    assert places == {"a": [(0, 0), (1, 0), (2, 0)], "n": [(0, 1), (1, 2)]}
    assert [parameter.name for parameter in found.equality_parameters()] == ["a", "n"]


def test_a_parameter_of_what_must_not_occur_is_its_own() -> None:
    found = rule("define Dry from Smoke as s and not Temp(value = $v, n > $v) within 1 h from s;")
    assert found.parameters == {}
    assert [term.to_list()[0] for term in found.constituents[1].conditions] == ["eq", "gt"]


def test_phases_and_timers_are_constituents() -> None:
    found = rule("""
        define Late
        from Timer(hour = 9) as t
         and last begin Sell as b within 1 day from t
         and last Sell as e within 1 day from t
         and last commit Transaction as c within 1 day from t;""")
    assert [c.phase for c in found.constituents] == [None, Modifier.BEGIN, Modifier.END, Modifier.COMMIT]
    assert found.constituents[0].timer is not None
    begin = found.constituents[1].conditions
    assert [term.to_list() for term in begin] == [
        ["eq", "string", ["field", 1, 1], ["const", "string", "begin"]]
    ]


def test_a_point_can_be_taken_of_any_event() -> None:
    found = rule("define A from end Smoke as s and last begin Temp as t within 1 h from s;")
    assert [(c.phase, c.point) for c in found.constituents] == [(None, Modifier.END), (None, Modifier.BEGIN)]


def test_what_must_not_occur_takes_no_name_from_what_is_taken() -> None:
    found = rule("""
        define A
        from Smoke as s
         and not Rain within 1 h from s
         and last Rain within 2 h from s
         and $n = count(Rain) between Rain and s;""")
    assert [c.role for c in found.constituents] == ["s", "Rain", "Rain", "Rain"]
    assert isinstance(found.source, Pattern)
    aggregate = found.source.items[2]
    assert isinstance(aggregate, Aggregated)
    assert aggregate.range == Between(2, 0)


def test_numbers_of_grouped_events_tie_executions() -> None:
    found = rule("""
        define Nested
        from Sell[1] as a
         and last Sell[2] as b within 1 h from a
         and last begin Sell[1] as c within 1 h from a;""")
    ties = [[term.to_list() for term in c.conditions[1:]] for c in found.constituents]
    assert ties == [
        [],
        [["ne", "string", ["field", 1, 0], ["field", 0, 0]]],
        [["eq", "string", ["field", 2, 0], ["field", 0, 0]]],
    ]


@pytest.mark.parametrize(
    ("aggregate", "declared"),
    [
        ("count(Temp)", "long"),
        ("count(Temp.note)", "long"),
        ("distinct(Temp.area)", "long"),
        ("sum(Temp.n)", "long"),
        ("sum(Temp.value)", "double"),
        ("avg(Temp.n)", "double?"),
        ("stddev(Temp.value)", "double?"),
        ("min(Temp.n)", "int?"),
        ("max(Temp.at)", "timestamp?"),
        ("max(Temp.area)", "string?"),
        ("first(Temp.note)", "string?"),
        ("last(Temp.value)", "double?"),
        ("percentile(Temp.n, 95)", "int?"),
    ],
)
def test_types_of_aggregates(aggregate: str, declared: str) -> None:
    text = "define A (m: {}) from Smoke as s and $m = {} within 1 h from s where m = $m;"
    assert rule(text.format(declared, aggregate)).values[0].to_list() == ["aggregate", 0]
    if declared.endswith("?"):
        with pytest.raises(RuleErrors, match="may be absent"):
            rule(text.format(declared[:-1], aggregate))


@pytest.mark.parametrize(
    "condition",
    ["$m > 45", "$m is not null", "not ($m is null)", "($m + 1 > 3 and $m < 7)", "$m in (1.5, 2)"],
)
def test_a_condition_proves_that_there_is_a_value(condition: str) -> None:
    text = (
        "define A (m: double) from Smoke as s and $m = avg(Temp.value) within 1 h from s and {} where m = $m;"
    )
    assert not rule(text.format(condition)).values[0].optional


@pytest.mark.parametrize("condition", ["$m is null", "($m > 3 or $m < 2)", "not $m > 3"])
def test_other_conditions_prove_nothing(condition: str) -> None:
    text = (
        "define A (m: double) from Smoke as s and $m = avg(Temp.value) within 1 h from s and {} where m = $m;"
    )
    with pytest.raises(RuleErrors, match=r"`\$m` may be absent"):
        rule(text.format(condition))


def test_an_optional_attribute_that_is_compared_is_there() -> None:
    found = rule('define A (note: string) from Temp(note != "x") as t where note = t.note;')
    assert not found.values[0].optional
    found = rule('define A (note: string) from Temp as t if t.note = "x" where note = t.note;')
    assert not found.values[0].optional


def test_a_single_constituent_needs_no_name() -> None:
    found = rule(
        "define A (value: double, area: string) from Temp if value > 3 where value = value, area = area;"
    )
    assert [value.to_list() for value in found.values] == [["field", 0, 1], ["field", 0, 0]]


def test_consuming() -> None:
    found = rule("define A from Smoke($a) as s and last Temp($a) as t within 1 h from s consuming t, s;")
    assert found.consuming == (1, 0)
