"""How text is read where it could be read in several ways: the canonical parentheses show it."""

from typing import Any

import pytest

from tocsin.topology import RuleErrors, format_rules, parse, tree


def source(text: str) -> Any:  # noqa: ANN401 (each case knows what it is)
    (define,) = parse(f"define D from {text};").declarations
    assert isinstance(define, tree.Define)
    return define.source


def tidy(text: str) -> str:
    """Return a source in canonical layout, on one line."""
    _, _, printed = format_rules(f"define D from {text};").partition("from   ")
    return " ".join(printed.rstrip(";\n").split())


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("A or B and C", "A or (B and C)"),
        ("A or B ; C", "(A or B) ; C"),
        ("A ; B ; C", "A ; B ; C"),
        ("A as a and last after within 3 s from a", "A as a and last after within 3 s from a"),
        ("A and commit after", "A and commit after"),
        ("A ; (B ; C)", "A ; (B ; C)"),
        ("(A ; B) ; C", "A ; B ; C"),
        ("A and B + 1 s as p or C", "(A and B + 1 s as p) or C"),
        ("begin A + 1 s + 2 s", "begin A + 1 s + 2 s"),
        ("begin (A + 1 s)", "begin (A + 1 s)"),
        ("A ; B within 1 s", "A ; B within 1 s"),
        ("A ; (B within 1 s)", "A ; (B within 1 s)"),
        ("any(1, (A ; B)*)", "any(1, (A ; B)*)"),
        ("any(1, A ; B*)", "any(1, (A ; B)*)"),
        ("Timer(H = 9, M = 0, D = Friday) or A", "Timer(hour = 9, minute = 0, weekday = Friday) or A"),
        ("match A then B or C and D | E", "match A then ((B or (C and D)) | E)"),
        ("match every A then B", "match every A then B"),
        ("match every (A then B)", "match every (A then B)"),
        ("match each A{2}", "match each A{2}"),
        ("match (each A){2}", "match (each A){2}"),
        ("match not A and B within 1 s", "match not A and B within 1 s"),
        ("match not not A for 1 s", "match not not A for 1 s"),
        ("match not (not A) for 1 s", "match not (not A) for 1 s"),
        ("match A{2} until B{3} then C", "match A{2} until B{3} then C"),
        ("match A{2, 2 each} as_well", None),
        ("A(x is null or y in (1) and not a before b)", "A(x is null or y in (1) and not a before b)"),
        ("A((x = 1) = (y is null))", "A((x = 1) = (y is null))"),
        ("A(after after after)", "A(after after after)"),
    ],
)
def test_precedence(text: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(RuleErrors):
            tidy(text)
    else:
        assert tidy(text) == meant


def test_and_joins_events_or_brings_an_item_of_a_pattern() -> None:
    assert isinstance(source("A and B"), tree.And)
    assert isinstance(source("A and B within 1 s"), tree.Within)
    assert isinstance(source("A and not(B)[C, D]"), tree.And)
    assert isinstance(source("A and (B or C)"), tree.And)
    assert isinstance(source("A and B(n = 1) + 5 s"), tree.And)
    for item, kind in {
        "last B within 1 s from A": tree.Selected,
        "3 first B before A": tree.Selected,
        "b within 1 s from A": tree.Bounded,
        "not B between b and A": tree.Negated,
        "not begin B within 1 s after A": tree.Negated,
        "$n = count(B) before A": tree.Aggregated,
        "$n = count(b)": tree.Condition,
        "not $n > 1": tree.Condition,
        "((not $n > 1) or $n < 0)": tree.Condition,
        "3 < $n": tree.Condition,
        "7 s >= timeof(A) - $n": tree.Condition,
        "b before [1 s, 2 s] A": tree.Condition,
        "not b before [1 s] A": tree.Condition,
        "b meets A": tree.Condition,
        "timeof(A) - timeof(b) <= 7 s": tree.Condition,
        "(A.n = b.n or 2.5 < $n)": tree.Condition,
        "not b before A": tree.Negated,
    }.items():
        pattern = source(f"A and {item}")
        assert isinstance(pattern, tree.Pattern)
        assert [type(found) for found in pattern.items] == [kind]


@pytest.mark.parametrize("alone", ["A", "(A)", "begin A", 'Timer(hour = 1) zone "UTC"'])
def test_a_constituent_alone_is_a_pattern(alone: str) -> None:
    assert source(alone).items == ()


def test_a_semicolon_ends_a_declaration_before_the_next_or_joins_events() -> None:
    program = parse("define D from A ; B; event E; define F from A; event G = A ; B ; C;")
    assert [str(declaration.name) for declaration in program.declarations] == ["D", "E", "F", "G"]


def test_how_often_a_match_and_a_rule() -> None:
    def read(text: str) -> tuple[type[tree.MatchExpr], tree.Rate | None]:
        (define,) = parse(f"define D from match A {text};").declarations
        return type(define.source.expr), define.rate

    assert read("at most 3") == (tree.AtMost, None)
    assert read("at most 3 ever") == (tree.Step, tree.Rate(3))
    assert read("unbounded at most 3") == (tree.Step, tree.Rate(3))
    assert read("at most 2 at most 3 per 1 s")[0] is tree.AtMost


def test_names_may_be_words_of_the_language_where_it_stays_clear() -> None:
    text = "define D from until(in = $in, is is null) as last and first at before last and $in > 1;"
    assert format_rules(text) == (
        "define D\nfrom   until(in = $in, is is null) as last\n  and  first at before last\n  and  $in > 1;\n"
    )
