"""Terms: functions, optional values, enums, lists, relations."""

import pytest

from tests.topology.typed import rule
from tocsin.topology.terms import Apply, Field, Scalar, constituents, fields, relocate

AREA, VALUE, N, NOTE, AT = (["field", 0, index] for index in range(5))


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ("long", "abs(t.n)", ["abs", "long", N]),
        ("double", "round(t.value)", ["round", "double", VALUE]),
        ("long", "ceil(t.n)", ["ceil", "long", N]),
        ("double", "floor(t.value)", ["floor", "double", VALUE]),
        ("double", "sqrt(t.n)", ["sqrt", "double", ["cast", "double", N]]),
        ("long", "length(t.area)", ["length", "string", AREA]),
        ("string", "lower(upper(t.area))", ["lower", "string", ["upper", "string", AREA]]),
        ("boolean", 'contains(t.area, "x")', ["contains", "string", AREA, ["const", "string", "x"]]),
        ("boolean", 'starts_with("x", t.area)', ["starts_with", "string", ["const", "string", "x"], AREA]),
        ("boolean?", 'ends_with(t.note, "x")', ["ends_with", "string", NOTE, ["const", "string", "x"]]),
        ("string", 'coalesce(t.note, "none")', ["coalesce", "string", NOTE, ["const", "string", "none"]]),
        ("string?", "coalesce(t.note, t.note)", ["coalesce", "string", NOTE, NOTE]),
        ("double", "coalesce(t.n, t.value)", ["coalesce", "double", ["cast", "double", N], VALUE]),
        ("boolean", "t.note is null", ["is_null", "string", NOTE]),
        ("boolean", "t.note is not null", ["not", "boolean", ["is_null", "string", NOTE]]),
        ("boolean", "t.n in (1, 2)", ["in", "long", N, ["const", "long", 1], ["const", "long", 2]]),
        (
            "boolean",
            "t.n in (1, 2.5)",
            ["in", "double", ["cast", "double", N], ["const", "double", 1.0], ["const", "double", 2.5]],
        ),
        ("boolean", "not t.note = t.area", ["not", "boolean", ["eq", "string", NOTE, AREA]]),
        ("timestamp", "timeof(t)", ["time", "end", 0]),
        ("timestamp", "startof(t) + 3 s", ["add", "long", ["time", "start", 0], ["const", "long", 3000]]),
        ("long", "timeof(t) - t.at", ["sub", "long", ["time", "end", 0], AT]),
    ],
)
def test_functions(declared: str, value: str, expected: list[object]) -> None:
    found = rule(f"define X (it: {declared}) from Temp as t where it = {value};").values[0]
    assert found.to_list() == expected
    assert found.optional is declared.endswith("?")


def test_an_enum_is_checked_and_stays_one() -> None:
    found = rule("""
        define X (state: State, text: string, other: State)
        from   match Smoke(state != "OFFLINE", state in ("ONLINE", "ACTIVE")) as s then Smoke(state = s.state)
        where  state = s.state, text = s.state, other = "ONLINE";""")
    assert [value.to_list() for value in found.values] == [
        ["field", 0, 2],
        ["field", 0, 2],
        ["const", "string", "ONLINE"],
    ]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("double[]", "list(t.value)"),
        ("string[]", "list(t.note)"),
        ("long", "count(t)"),
        ("long", "distinct(t.note)"),
        ("double", "sum(t.value)"),
        ("long", "sum(t.n)"),
        ("double", "coalesce(avg(t.value), 0)"),
        ("int?", "last(t.n)"),
        ("double?", "percentile(t.value, 99.5)"),
        ("double?", "stddev(t.n)"),
    ],
)
def test_aggregates_of_what_a_role_collected(declared: str, value: str) -> None:
    text = "define X (it: {}) from aperiodic*(Smoke, Temp as t, Rain) where it = {};"
    assert rule(text.format(declared, value)).values[0].optional is declared.endswith("?")


def test_what_was_collected_at_least_once_has_an_average() -> None:
    found = rule("define X (it: double) from Temp as t ; Rain where it = avg(t.value) context cumulative;")
    assert not found.values[0].optional


@pytest.mark.parametrize(
    ("relation", "bounds"),
    [
        ("this after t", []),
        ("this before [1 s] t", [1000]),
        ("this after [-1 s, *] t", [-1000, None]),
        ("t coincides [0, 5 ms] this", [0, 5]),
        ("this meets [5 ms] t", [5]),
        ("this during [1 s, 2 s, 3 s, 4 s] t", [1000, 2000, 3000, 4000]),
        ("this overlaps [*] t", [None]),
    ],
)
def test_relations(relation: str, bounds: list[int | None]) -> None:
    found = rule(f"define X from Temp as t ; Smoke({relation}) as s;").constituents[1].conditions[0]
    sides = [0, 1] if relation.startswith("t ") else [1, 0]
    assert found.to_list()[2:] == [*sides, bounds]


def test_what_terms_read() -> None:
    found = rule("""
        define X (it: boolean)
        from   Temp as t ; Smoke as s
        where  it = t.value > 3 and timeof(s) > 3 and t before s and count(t) = 1;""").values[0]
    assert constituents(found) == {0, 1}
    assert list(fields(found)) == [Field(0, 1, Scalar.DOUBLE)]


def test_terms_are_relocated() -> None:
    found = rule("define X from Temp(value > n) as t;").constituents[0].conditions[0]
    assert isinstance(found, Apply)
    assert constituents(relocate(found, 7)) == {7}
