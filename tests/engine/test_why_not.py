"""Why a rule did not detect something: for each reason a small program, a history, and the answer."""

import pytest

from tocsin._engine import Batch

from .story import Story, name, told

LAST = "define R from B(k = $k) as b and last A(k = $k{}) as a within 10 s from b{};"

PATTERNS = {
    "nothing was there": (LAST.format("", ""), "B1", ["1 missing: b=B1; no a"]),
    "it had another value for the parameter": (LAST.format("", ""), "A1y B2", ["2 parameter: b=B2; no a"]),
    "it was too old": (
        LAST.format("", ""),
        "A1 B11.5",
        ["11.501 expired: a=A1", "11.5 expired: b=B11.5; no a, but A1"],
    ),
    "it had expired, and the next came too late": (
        LAST.format("", ""),
        "A1 .30 B40",
        ["40 expired: b=B40; no a, but A1", "30 expired: a=A1"],
    ),
    "it did not fulfil the condition": (
        LAST.format(", n > b.n", ""),
        "A1=3 B2=5",
        ["2 condition: b=B2; no a, but A1"],
    ),
    "all were there, and did not fulfil the condition": (
        LAST.format("", " and a.n > b.n"),
        "A1=3 B2=5",
        ["2 condition: b=B2 a=A1"],
    ),
    "something came between": (
        LAST.format("", " and not C between a and b"),
        "A1 C2 C3 B4",
        ["4 negated: b=B4 a=A1 by C3"],
    ),
    "something came behind": (
        LAST.format("", " and not C within 5 s after b"),
        "A1 B2 C3",
        ["3 negated: b=B2 a=A1 by C3"],
    ),
    "it was consumed": (
        LAST.format("", " consuming a"),
        "A1 B2 B3",
        ["3 consumed: b=B3 by B2; no a, but A1"],
    ),
    "the furthest counts": (
        "define R from C as c and each A as a within 10 s from c and last B(n > a.n) as b within 9 s from a;",
        "B1=2 A2=9 B3=5 A4=7 C5",
        ["5 condition: c=C5 a=A2; no b, but B1"],
    ),
}

AFTER = "define R from (A(k = $k) as a ; B(k = $k{}) as b) within 10 s context {};"

OPERATORS = {
    "nothing was there": (AFTER.format("", "recent"), "B1", ["1 missing: b=B1; no a"]),
    "another value": (AFTER.format("", "recent"), "A1y B2", ["2 parameter: b=B2; no a"]),
    "the condition": (AFTER.format(", n > a.n", "recent"), "A1=5 B2=1", ["2 condition: a=A1 b=B2"]),
    "a newer one took its place": (AFTER.format("", "recent"), "A1 A2", ["2 context: a=A1 by A2"]),
    "it was used once": (
        AFTER.format("", "chronicle"),
        "A1 B2 B3",
        ["3 context: b=B3 by B2; no a, but A1"],
    ),
    "all were ended": (
        AFTER.format("", "continuous"),
        "A1 A2 B3 B4",
        ["4 context: b=B4 by B3; no a, but A2"],
    ),
    "it expired": (
        AFTER.format("", "cumulative"),
        "A1 .30 B40",
        ["40 expired: b=B40; no a, but A1", "30 expired: a=A1"],
    ),
    "what must not come came": (
        "define R from not(C)[A as a, B as b] within 10 s;",
        "A1 C2 B3",
        ["3 negated: a=A1 b=B3 by C2", "2 negated: a=A1 by C2"],
    ),
    "it came, and nothing is flushed without a context": (
        "define R from not(C)[A as a, B as b] within 10 s context unrestricted;",
        "A1 C2 B3",
        ["3 negated: a=A1 b=B3 by C2"],
    ),
    "the interval was closed": (
        "define R from aperiodic(A as a, B as b, C) within 10 s;",
        "A1 C2 B3",
        ["3 context: b=B3 by C2; no a, but A1", "2 context: a=A1 by C2"],
    ),
    "it overlaps": (
        "define R from (A as a ; B as b) within 10 s context unrestricted disjoint;",
        "A1 A2 B3",
        ["3 overlap: a=A2 b=B3"],
    ),
    "it ended below another": (
        "define R from ((A as a ; B as b) ; C as c) within 10 s;",
        "A1 A2 B3",
        ["2 context: a=A1 by A2"],
    ),
}

MATCHES = {
    "the time was up": (
        "define R from match every A as a then B as b within 5 s from a;",
        "A1 .9",
        ["6 expired: a=A1"],
    ),
    "it was denied": (
        "define R from match every (A as a then B as b and not C) unbounded;",
        "A1 C2 B3",
        ["2 negated: a=A1 by C2"],
    ),
    "it did not stay away": (
        "define R from match every A as a then not B for 5 s;",
        "A1 B2",
        ["2 negated: a=A1 by B2"],
    ),
    "another came next": (
        "define R from match every A as a then next B as b unbounded;",
        "A1 A2",
        ["2 violated: a=A1 by A2"],
    ),
    "while": (
        "define R from match (every A as a) while a.n > 1 unbounded;",
        "A1=5 A2=1",
        ["2 while: a=A2"],
    ),
    "too often": ("define R from match every A as a at most 1 unbounded;", "A1 A2", ["2 too many: a=A2"]),
    "too few before the end": (
        "define R from match every (A as a{3,} until B as b) unbounded;",
        "A1 A2 B3",
        ["3 violated: a=A1 a=A2 by B3"],
    ),
    "it overlaps": (
        "define R from match every A as a then B as b disjoint unbounded;",
        "A1 A2 B3",
        ["3 overlap: a=A2 b=B3"],
    ),
}

RULES = {
    "if": ("define R from A as a if a.n > 3;", "A1=1", ["1 if: a=A1"]),
    "too large a rate": ("define R from A as a at most 1 per 10 s;", "A1 A2", ["2 rate: a=A2"]),
    "no value": (
        "define R (n: long) from A as a where n = coalesce(a.n, 1) / coalesce(a.n, 0);",
        "A1=0",
        ["1 no value: a=A1"],
    ),
    "the if of a rule": ("rule R on A as a if a.n > 3 do publish C(k = a.k);", "A1=1", ["1 if: a=A1"]),
}

PAIR = (
    "rule R when event A(k = $k) as a event B(k = $k{}) as b, a before [0 s, 10 s] b then publish C(k = $k);"
)

JOINS = {
    "the condition": (
        PAIR.format(", n > a.n"),
        "A1=5 B2=1",
        ["2.001 expired: b=B2", "2 condition: b=B2; no a, but A1"],
    ),
    "it expired": (PAIR.format(""), "A1 .30", ["30 expired: a=A1"]),
}


CASES = {
    f"{kind}: {case}": told_of
    for kind, cases in (("pattern", PATTERNS), ("operator", OPERATORS), ("match", MATCHES), ("rule", RULES))
    for case, told_of in cases.items()
}


@pytest.mark.parametrize("case", CASES)
def test_reasons(case: str) -> None:
    rules, line, endings = CASES[case]
    assert Story(rules).tell(line).endings() == endings


@pytest.mark.parametrize("case", JOINS)
def test_reasons_of_joins(case: str) -> None:
    rules, line, endings = JOINS[case]
    assert Story(rules).tell(line).endings(kinds=["join"]) == endings


def test_a_fact_that_is_lacking_or_has_another_value() -> None:
    facts = 'fact F (k: string) key k on "F"; fact G (k: string) key k on "G";'
    rules = (
        facts
        + "rule R when fact F(k = $k) as f event A(k = $k) as a not fact G(k = $k) then publish C(k = $k);"
    )
    story = Story(rules).tell("A1")
    story.send("F", 2, "y", None)
    story.tell("A3")
    story.send("F", 4, "x", None)
    story.send("G", 5, "x", None)
    story.tell("A6")
    assert story.endings(kinds=["join"]) == [
        "6 negated: f=F4 a=A6 by G5",
        "3 parameter: a=A3; no f",
        "1 missing: a=A1; no f",
    ]


def test_what_does_not_get_to_a_node() -> None:
    story = Story("define R from A(n > 3) as a; define S from B as b;").tell("A5=1 A6=9 B7 B8")
    late = (2, 1000, b"x", b'{"k": "x", "n": 7}', None)
    story.engine.feed(Batch.build("A", 0, [late]), 10**9)
    endings = story.engine.why_not("R")
    assert [told(e) for e in endings] == ["5 filter: ; no a, but A5", "1 late: ; no a, but A1"]
    assert [e.kind for e in endings] == ["source", "source"]
    assert story.engine.why_not("S") == []


def test_where_an_event_lies() -> None:
    story = Story(LAST.format("", "")).tell("A1y A2y B3")
    (ending,) = story.engine.why_not("R")
    (b,) = ending.constituents
    assert (b.role, b.type, b.time, b.label) == ("b", "B", 3000, "B/0/0")
    assert (b.topic, b.partition, b.offset) == ("B", 0, 0)
    assert (ending.kind, ending.context, ending.missing) == ("pattern", None, "a")


def test_only_what_is_asked_for_is_told() -> None:
    story = Story(LAST.format(", n > b.n", "")).tell("A1=5 B2=9 A3y=5 B4y=9 B5z=9")

    def asked(
        key: dict[str, str | int] | None = None, from_ms: int = 0, to_ms: int = 9000, limit: int = 9
    ) -> list[str]:
        endings = story.engine.why_not("R", key=key, from_ms=from_ms, to_ms=to_ms, limit=limit)
        return [name(ending.constituents[0]) for ending in endings]

    assert asked() == ["B5", "B4", "B2"]
    assert asked(key={"k": "y"}) == ["B4"]
    assert asked(key={"k": "y", "n": 9}) == ["B4"]
    assert asked(key={"k": "y", "n": 5}) == []
    assert asked(key={"other": 1}) == []
    assert asked(from_ms=3000) == ["B5", "B4"]
    assert asked(from_ms=2000, to_ms=4000) == ["B4", "B2"]
    assert asked(limit=1) == ["B5"]
    with pytest.raises(ValueError, match="no rule `T`"):
        story.engine.why_not("T")


def test_what_is_remembered_is_bounded() -> None:
    story = Story(LAST.format("", ""))
    for second in range(2000):
        story.send("B", second, "x", None)
    endings = story.engine.why_not("R", limit=1000)
    assert len(endings) == 64
    assert endings[0].time > 1_500_000


def test_what_is_shared_is_told_to_each_rule_by_its_own_roles() -> None:
    rules = "define R from (A as a ; B as b) within 10 s; define T from C as c;"
    rules += "define S from ((A as first ; B as b) ; C as c) within 10 s;"
    story = Story(rules).tell("A1 A2")
    assert story.endings() == ["2 context: a=A1 by A2"]
    assert story.endings(rule="S") == ["2 context: first=A1 by A2"]
    assert story.endings(rule="T") == []


def test_nothing_is_told_of_what_was_detected() -> None:
    story = Story("define R from (A as a ; B as b) within 10 s context chronicle;").tell("A1 B2 A3 B4")
    assert story.detected() == 2
    assert story.endings() == []
