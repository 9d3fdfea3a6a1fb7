"""Cycles: what may be made of itself, and what may not."""

import pytest

from tests.topology.planned import messages
from tocsin.topology.planning.digraphs import components, shortest_cycle

HEAD = "define D (area: string)"
TAIL = "where area = $a unbounded;"


@pytest.mark.parametrize(
    "source",
    [
        "Temp(area = $a) as t and each D(area = $a) as d within 1 h from t",
        (
            "Temp(area = $a) as t and last Rain(area = $a) as r within 1 h from t "
            "and not D(area = $a) within 1 h from r"
        ),
        (
            "Temp(area = $a) as t and last Rain(area = $a) as r within 1 h from t "
            "and $n = count(D(area = $a)) within 1 h from r"
        ),
        "D(area = $a) as d ; Temp(area = $a) as t",
        "aperiodic(D(area = $a) as d, Temp(area = $a) as t, Rain(area = $a) as r)",
        "not(Rain(area = $a))[D(area = $a) as d, Temp(area = $a) as t]",
        "Temp(area = $a) or (D(area = $a) as d + 5 min)",
        "match every D(area = $a) as d then Temp(area = $a) as t",
        "match every D(area = $a) as d then Temp(area = $a) as t then wait 5 min",
    ],
)
def test_of_what_was_before(source: str) -> None:
    assert messages(f"{HEAD} from {source} {TAIL}") == []


@pytest.mark.parametrize(
    ("source", "verb"),
    [
        ("D(area = $a) as d and last Temp(area = $a) as t within 1 h from d", "needs"),
        ("Temp(area = $a) as t and not D(area = $a) within 1 h from t", "denies"),
        ("Temp(area = $a) as t and not D(area = $a) within 1 h after t", "denies"),
        (
            (
                "Temp(area = $a) as t and last Rain(area = $a) as r within 1 h from t "
                "and not D(area = $a) between r and t"
            ),
            "denies",
        ),
        ("Temp(area = $a) as t and $n = count(D(area = $a)) within 1 h from t", "needs"),
        ("Temp(area = $a) as t and D(area = $a) as d", "needs"),
        ("Temp(area = $a) as t ; D(area = $a) as d", "needs"),
        ("any(2, Temp(area = $a), Rain(area = $a), D(area = $a))", "needs"),
        ("aperiodic*(Temp(area = $a) as t, D(area = $a) as d, Rain(area = $a) as r)", "needs"),
        ("not(D(area = $a))[Rain(area = $a) as r, Temp(area = $a) as t]", "denies"),
        ("match every Temp(area = $a) as t then D(area = $a) as d", "needs"),
        ("match every D(area = $a) as d then Temp(area = $a) as t {0,2}", "needs"),
        ("match every (Temp(area = $a) as t and not D(area = $a) as d)", "denies"),
        ("match every Temp(area = $a) as t then not D(area = $a) as d for 5 min", "denies"),
    ],
)
def test_at_its_own_position(source: str, verb: str) -> None:
    assert messages(f"{HEAD} from {source} {TAIL}") == [f"`D` {verb} itself at the same position: D → D"]


def test_one_message_for_a_way_around() -> None:
    rules = """
        define A from B or Temp;
        define B from C;
        define C from Rain ; A within 1 h;
        define E from A;
        """
    assert messages(rules) == ["`A` needs itself at the same position: A → B → C → A"]


COUNTERS = "fact Counter (id: string, n: long) key id;"


@pytest.mark.parametrize(
    ("rules", "way"),
    [
        ('rule R on Page do publish Page (who = "someone else");', "R → R"),
        ("rule R on Smoke ; Page as p do publish Page (who = p.who);", "R → R"),
        ("rule R when event Page as p then publish Page (who = p.who);", "R → R"),
        ('define D from Page; define E from D; rule R on E do publish Page (who = "a");', "R → D → E → R"),
        (
            'event Call extends Page; rule R on Page do publish Call (who = "a");',
            "R → R",
        ),
        (f"{COUNTERS} rule R when fact Counter as c then modify c (n = c.n + 1);", "R → R"),
        (
            f"{COUNTERS} rule R when fact Counter as c then update Counter (id = c.id, n = c.n + 1);",
            "R → R",
        ),
        (
            f"{COUNTERS} rule R when event change Counter() as c to () then modify c (n = c.n + 1);",
            "R → R",
        ),
    ],
)
def test_rules_that_set_themselves_off_without_end(rules: str, way: str) -> None:
    assert messages(rules) == [f"`R` sets itself off at the same position, without end: {way}"]


@pytest.mark.parametrize(
    "rules",
    [
        'rule R when fact Equipment(state = "ONLINE") as e then modify e (state = "ACTIVE");',
        'rule R when fact Equipment as e then modify e (state = "ACTIVE");',  # then nothing changes any more
        'rule R on Page(who = "a") do publish Page (who = "b");',
        'rule R on Page as p if p.who = "a" do publish Page (who = "b");',
        'rule R on Page do publish Page (who = "b") at most 3 per 1 h;',
        'rule R on Smoke ; Page do publish Page (who = "b") context chronicle unbounded;',
        'rule R on Page + 5 min do publish Page (who = "b");',  # time goes on
        'define D from Page if Page.who = "a"; rule R on D do publish Page (who = "b");',
        f"{COUNTERS} rule R when fact Counter as c, c.n < 10 then modify c (n = c.n + 1);",
        f"{COUNTERS} rule R when event Page fact Counter as c then modify c (n = c.n + 1);",
        f"{COUNTERS} rule R when fact Counter as c then retract c;",
        f"{COUNTERS} rule R when fact Counter as c then assert Counter (id = c.id, n = c.n + 1);",
    ],
)
def test_rules_that_may_come_to_an_end(rules: str) -> None:
    assert messages(rules) == []


def test_components_come_behind_what_they_depend_on() -> None:
    graph = {"a": ["b"], "b": ["c", "d"], "c": ["b"], "d": [], "e": ["a", "e"]}
    assert components(graph, graph.__getitem__) == [("d",), ("b", "c"), ("a",), ("e",)]
    assert shortest_cycle("b", graph.__getitem__) == ("b", "c")
    assert shortest_cycle("e", graph.__getitem__) == ("e",)
    assert shortest_cycle("a", graph.__getitem__) is None


def test_long_hierarchies() -> None:
    graph = {n: [n + 1] for n in range(20_000)} | {20_000: []}
    assert components(graph, graph.__getitem__)[0] == (20_000,)
