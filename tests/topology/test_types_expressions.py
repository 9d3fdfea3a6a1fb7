"""Event expressions: structure, roles, equality parameters, named expressions."""

import pytest

from tests.topology.typed import holding, rule, typed
from tocsin.topology import RuleErrors
from tocsin.topology.model import Part
from tocsin.topology.sources import (
    And,
    AnyOf,
    Aperiodic,
    Expression,
    Leaf,
    Not,
    Or,
    Periodic,
    Plus,
    Point,
    Seq,
    Within,
    constituents_of,
)
from tocsin.topology.tree import Context, Modifier

A, B, C = Leaf(0), Leaf(1), Leaf(2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Smoke or Rain", Or(A, B)),
        ("Smoke and Rain ; Temp", Seq(And(A, B), C)),
        ("Smoke ; Rain within 5 min", Within(Seq(A, B), 300_000)),
        ("any(2, Smoke, Rain, Temp)", AnyOf(2, (A, B, C))),
        ("any(3, Smoke*)", AnyOf(3, (A,), star=True)),
        ("aperiodic(Smoke, Rain, Temp)", Aperiodic(A, B, C)),
        ("aperiodic*(Smoke, Rain, Temp)", Aperiodic(A, B, C, star=True)),
        ("periodic(Smoke, 10 min, Rain)", Periodic(A, 600_000, C, 1)),
        ("periodic*(Smoke, 10 min collect Temp.value, Rain)", Periodic(A, 600_000, Leaf(3), 2, True, (1, 1))),
        ("not (Rain)[Smoke, Temp]", Not(B, A, C)),
        ("Smoke + 15 min", Plus(A, 900_000, 1)),
        ("begin (Smoke ; Rain)", Point(Modifier.BEGIN, Seq(A, B))),
        ("end Smoke ; begin Sell", Seq(Point(Modifier.END, A), B)),
        ("Timer(hour = 9) ; Smoke", Seq(A, B)),
    ],
)
def test_operators(text: str, expected: Expression) -> None:
    found = rule(f"define X from {text};")
    assert found.source == expected
    assert found.context is Context.RECENT
    assert sorted(constituents_of(expected)) == [c.index for c in found.constituents]


def test_what_closes_or_must_not_occur_is_not_taken() -> None:
    for text in (
        "aperiodic(Smoke, Temp, Rain as r)",
        "periodic(Smoke, 1 s, Rain as r)",
        "not (Rain as r)[Smoke, Temp]",
    ):
        parts = {c.role: c.part for c in rule(f"define X from {text};").constituents}
        assert parts["r"] is Part.ABSENT
    starred = rule("define X (area: string) from aperiodic*(Smoke, Temp, Rain as r) where area = r.area;")
    assert starred.constituents[2].part is Part.TAKEN


ROLES = {
    "Smoke as a or Rain as b": ("??", "??"),
    "Smoke as a and Rain as b": ("11", "++"),
    "Smoke as a ; Rain as b": ("11", "+1"),
    "Smoke as a ; Rain as b ; Temp as c": ("111", "++1"),
    "Smoke as a ; (Rain as b and Temp as c)": ("111", "+++"),
    "any(2, Smoke as a, Rain as b)": ("11", "++"),
    "any(1, Smoke as a, Rain as b)": ("??", "**"),
    "any(3, Smoke as a*)": ("+", "+"),
    "any(1, Smoke as a*)": ("1", "+"),
    "aperiodic(Smoke as a, Rain as b, Temp)": ("11", "11"),
    "aperiodic*(Smoke as a, Rain as b, Temp as c)": ("1*1", "1*1"),
    "periodic(Smoke as a, 1 s, Rain) as b": ("11", "11"),
    "periodic*(Smoke as a, 1 s, Rain as c) as b": ("1*1", "1*1"),
    "not (Temp)[Smoke as a, Rain as b]": ("11", "11"),
    "not (Temp)[Smoke as a, Rain as b] ; Temp as c": ("111", "++1"),
    "not (Temp)[Smoke as a and Rain as b, Temp as c]": ("111", "++1"),
    "Smoke as a + 1 s as b": ("11", "11"),
    "begin (Smoke as a or Rain as b) ; Temp as c": ("??1", "**1"),
    "aperiodic*(Smoke as a, Rain as b or Temp as c, Temp as d)": ("1**1", "1**1"),
}


@pytest.mark.parametrize("text", ROLES)
def test_what_roles_hold(text: str) -> None:
    plain, cumulative = ROLES[text]
    for context, expected in (("recent", plain), ("cumulative", cumulative)):
        found = holding(rule(f"define X from {text} context {context};"))
        assert "".join(found[role] for role in sorted(found)) == expected


def test_a_type_that_stands_twice_is_one_role() -> None:
    found = rule("define X (n: long) from Temp($a) ; Temp($a) where n = count(Temp);")
    assert found.values[0].to_list() == ["collect", "count", [[0, None], [1, None]], None]
    assert [c.several for c in found.constituents] == [True, True]


def test_equality_parameters_are_left_to_the_valuation() -> None:
    found = rule("""
        define X (area: string, first: double)
        from   Smoke($a, level = $n) ; Temp(area = $a, value = $v, value > $n) ; Rain($a)
        where  area = $a, first = $v;""")
    assert [c.equalities for c in found.constituents] == [{"a": 0}, {"a": 0}, {"a": 0}]
    assert [[term.to_list() for term in c.conditions] for c in found.constituents] == [
        [],
        [
            ["eq", "double", ["field", 1, 1], ["field", 1, 1]],  # what is not a number gives no value
            ["gt", "double", ["field", 1, 1], ["cast", "double", ["field", 0, 1]]],
        ],
        [],
    ]
    assert [value.to_list() for value in found.values] == [["parameter", "a"], ["field", 1, 1]]
    assert [parameter.name for parameter in found.equality_parameters()] == ["a"]


@pytest.mark.parametrize(
    ("text", "tied"),
    [
        ("any(3, Temp($a)*)", True),
        ("any(2, Temp($a), Rain)", False),
        ("aperiodic*(Smoke, Temp($a), Rain)", True),
        ("aperiodic*(Smoke($a), Temp, Rain)", False),
        ("periodic*(Smoke($a), 1 s collect Temp($a).value, Rain)", True),
        ("periodic(Smoke, 1 s collect Temp($a).value, Rain)", False),
        ("Temp($a) ; Rain", False),
    ],
)
def test_what_is_taken_several_times_has_one_value_for_a_parameter(text: str, tied: bool) -> None:
    found = rule(f"define X from {text};")
    assert bool(found.equality_parameters()) is tied


def test_different_parameters_can_be_compared() -> None:
    found = rule("define X from Sell($x) as s ; Sell($y, $y != $x) as t;")
    assert found.equality_parameters() == []
    assert found.constituents[1].conditions[-1].to_list() == [
        "ne",
        "string",
        ["field", 1, 2],
        ["field", 0, 2],
    ]


def test_grouped_events_are_of_one_execution() -> None:
    found = rule("define X from begin Sell[1] ; begin Sell[2] ; end Sell[2] ; end Sell[1];")
    assert [c.equalities for c in found.constituents] == [{"[1]": 0}, {"[2]": 0}, {"[2]": 0}, {"[1]": 0}]
    apart = [c.conditions[1].to_list() for c in found.constituents[1:]]
    assert apart == [
        ["ne", "string", ["field", at, 0], ["parameter", other]]
        for at, other in ((1, "[1]"), (2, "[1]"), (3, "[2]"))
    ]


def test_parameters_of_alternatives_have_a_value_in_each() -> None:
    found = rule("define X (area: string) from Smoke($a) or Rain($a) where area = $a;")
    assert found.values[0].to_list() == ["parameter", "a"]
    with pytest.raises(RuleErrors, match=r"`\$l` may be absent"):
        rule("define X (level: long) from Smoke(level = $l) or Rain where level = $l;")


def test_a_condition_proves_which_alternative_it_was() -> None:
    found = rule("define X (area: string) from Smoke as s or Rain as r if s.level > 3 where area = s.area;")
    assert not found.values[0].optional


def test_nested_equality_parameters() -> None:
    rule("define X from (Smoke($a) ; Temp($a, n = $n)) ; Temp($a, n = $n) as t;")
    rule("define X from (Smoke($a) ; Rain($a)) and (Temp(n = $n, $a) ; Temp(n = $n, $a) as t);")
    with pytest.raises(RuleErrors, match="is joined with what has only"):
        rule("define X from (Smoke($a) ; Rain($a)) and (Temp(n = $n) ; Temp(n = $n)) ; Temp($a, n = $n);")


def test_a_tick_has_what_it_samples() -> None:
    found = rule("""
        define X (value: double?, at: timestamp)
        from   periodic(Smoke($a) as s, 10 min collect Temp($a, value > s.level).value, Rain($a)) as p
        where  value = p.value, at = timeof(p);""")
    sampled = found.constituents[1]
    assert (sampled.part, sampled.equalities) == (Part.MEASURED, {"a": 0})
    assert [value.to_list() for value in found.values] == [["field", 2, 0], ["time", "end", 2]]


def test_named_expressions_are_put_in() -> None:
    found = typed("""
        event Hot = Temp(value > 45);
        event Busy = begin Sell as b and Hot as h;
        event Morning = Timer(hour = 9);
        define X (value: double, at: timestamp)
        from   (Busy ; Hot(n > 3) as again) ; Morning as m where value = again.value, at = timeof(m);
        define Y (n: int) from Hot as t and last Hot as u within 1 h from t where n = u.n;
        define Z from Busy context chronicle;
        define W from match Hot as h then Smoke;
        """)
    x, y, z, w = found.rules
    assert x.source == Seq(Seq(And(Leaf(0), Leaf(1)), Leaf(2)), Leaf(3))
    assert [c.role for c in x.constituents] == ["b", "h", "again", "m"]
    assert [len(c.conditions) for c in x.constituents] == [1, 1, 2, 0]
    assert [c.role for c in y.constituents] == ["t", "u"]
    assert (z.source, z.context) == (And(Leaf(0), Leaf(1)), Context.CHRONICLE)
    assert w.constituents[0].event.name == "Temp"


def test_clauses_of_detection() -> None:
    found = rule(
        "define X from Smoke($a) ; Rain($a) context continuous disjoint at most 3 per 1 min unbounded;"
    )
    assert (found.context, found.disjoint, found.unbounded) == (Context.CONTINUOUS, True, True)
    assert found.rate is not None
    assert (found.rate.count, found.rate.per_ms) == (3, 60_000)
