"""Every construct of the language has its place in the plan."""

from typing import Any

import pytest

from tests.topology.planned import Node, compiled, node, nodes
from tocsin.topology import Plan, compile_rules


def definition(source: str, head: str = "D", tail: str = "") -> Plan:
    return compiled(f"define {head} from {source} {tail};")


# --- types --------------------------------------------------------------------------------------------------


def test_types() -> None:
    plan = compile_rules(
        """
        enum Level { LOW, HIGH };
        unit Work on "work";
        event Reading (id: string, at: timestamp, raw: bytes?) on "readings" key id id id time at;
        event Heat extends Reading (level: Level, began: timestamp, w: string)
          on "heats" start began unit Work by w;
        operation Set (oid: string) on "sets" key oid;
        event Told (what: string);
        fact Known (id: string) key id;
        define All (ids: string[], n: long) from match every (Heat(id = $i) as h {2} within 1 h)
        where ids = list(h.id), n = count(h) unbounded;
        """,
        app="test",
    )
    data = plan.to_dict()
    assert data["enums"] == [{"name": "Level", "symbols": ["LOW", "HIGH"]}]
    types = {one["name"]: one for one in data["types"]}
    assert {name: (one["origin"], one["kind"]) for name, one in types.items()} == {
        "Work": ("input", "unit"),
        "Reading": ("input", "event"),
        "Heat": ("input", "event"),
        "Set": ("input", "operation"),
        "Told": ("input", "event"),
        "Known": ("input", "fact"),
        "All": ("defined", "event"),
    }
    assert types["Work"]["phases"] == ["begin", "precommit", "commit", "abort"]
    assert types["Set"]["phases"] == ["begin", "end"]
    heat = types["Heat"]
    assert (heat["parent"], heat["id"], heat["key"], heat["time"], heat["start"]) == ("Reading", 0, 0, 1, 4)
    assert heat["unit"] == {"type": "Work", "by": 5}
    assert heat["fields"][2:4] == [
        {"name": "raw", "type": "bytes", "optional": True},
        {"name": "level", "type": "string", "optional": False, "enum": "Level"},
    ]
    assert types["All"]["fields"][0] == {"name": "ids", "type": "string", "optional": False, "many": True}
    assert types["Told"]["topic"] == "tocsin.test.Told"
    assert [event.name for event in plan.fact_types] == ["Known"]
    assert "Known" not in [event.name for event in plan.input_types]


# --- leaves -------------------------------------------------------------------------------------------------


def test_a_source_of_a_phase() -> None:
    source = node(definition("begin Set"), "source")
    assert source["phase"] == "begin"
    assert source["filter"] == ["eq", "string", ["field", 0, 1], ["const", "string", "begin"]]


def test_a_bound_says_nothing_about_a_moment() -> None:
    assert node(definition("Smoke within 1 h"), "source")["within_ms"] is None


def test_a_source_with_a_bound() -> None:
    plan = definition("Stay within 1 h")
    assert node(plan, "source")["within_ms"] == 3_600_000
    assert node(plan, "pattern")["terminator"] == {"node": 0}


@pytest.mark.parametrize(
    ("timer", "pattern", "zone"),
    [
        ("Timer(hour = 9)", (None, None, None, None, 9, 0, 0), "UTC"),
        ("Timer(minute = 30)", (None, None, None, None, None, 30, 0), "UTC"),
        ("Timer(weekday = Friday)", (None, None, None, 5, 0, 0, 0), "UTC"),
        ("Timer(year = 2030)", (2030, 1, 1, None, 0, 0, 0), "UTC"),
        (
            'Timer(hour = 9, minute = *) zone "Europe/Rome"',
            (None, None, None, None, 9, None, 0),
            "Europe/Rome",
        ),
    ],
)
def test_a_timer(timer: str, pattern: tuple[int | None, ...], zone: str) -> None:
    found = node(definition(timer), "timer")
    assert (tuple(found["pattern"].values()), found["zone"]) == (pattern, zone)
    assert list(found["pattern"]) == ["year", "month", "day", "weekday", "hour", "minute", "second"]


# --- operators ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "kind", "details", "slots"),
    [
        ("Smoke or Temp", "or", {}, 2),
        ("Smoke and Temp", "and", {}, 2),
        ("Smoke ; Temp", "seq", {}, 2),
        ("any(2, Smoke, Temp, Rain)", "any", {"count": 2, "star": False}, 3),
        ("any(2, Smoke*)", "any", {"count": 2, "star": True}, 1),
        ("aperiodic(Smoke, Temp, Rain)", "aperiodic", {"star": False}, 3),
        ("aperiodic*(Smoke, Temp, Rain) within 1 h", "aperiodic", {"star": True, "within_ms": 3_600_000}, 3),
        ("periodic(Smoke, 10 min, Rain)", "periodic", {"star": False, "every_ms": 600_000}, 3),
        (
            "periodic*(Smoke, 10 min collect Temp.value, Rain) within 1 h",
            "periodic",
            {"star": True, "every_ms": 600_000, "sample": [2, 1]},
            4,
        ),
        ("not(Rain)[Smoke, Temp]", "not", {}, 3),
        ("Smoke + 15 min", "plus", {"delay_ms": 900_000}, 2),
        ("begin (Smoke ; Temp)", "modified", {"modifier": "begin"}, 2),
    ],
)
def test_operators(expression: str, kind: str, details: Node, slots: int) -> None:
    found = node(definition(expression), kind)
    assert {name: found[name] for name in details} == details
    assert found["slots"] == slots


def test_the_operands_of_an_absence_are_in_the_order_of_time() -> None:
    plan = definition("not(Rain)[Smoke, Temp]")
    types = [plan.to_dict()["nodes"][one]["type"] for one in node(plan, "not")["inputs"]]
    assert [plan.types[one].name for one in types] == ["Smoke", "Rain", "Temp"]
    assert node(plan, "define")["roles"] == ["Smoke", "Rain", "Temp"]


def test_grouped_operations_are_tied_by_their_call() -> None:
    plan = definition("begin Set[1] ; begin Set[2] ; end Set[2] ; end Set[1] within 1 h")
    found = {one["slots"]: one for one in nodes(plan, "seq")}
    assert found[4]["parameters"] == [[[0, 0], [3, 0]], [[1, 0], [2, 0]]]
    assert found[2]["parameters"] == [[[0, 0]], [[1, 0]]]
    assert found[2]["where"] == ["ne", "string", ["field", 1, 0], ["parameter", 0]]


# --- patterns -----------------------------------------------------------------------------------------------


def test_a_pattern_with_all_there_is() -> None:
    plan = definition(
        """Smoke(area = $a) as s
           and 3 first Temp(area = $a, value > 20) as t within 10 min from s
           and not Rain(area = $a, mm > t.value) between t and s
           and each Temp(area = $a) as u within 10 min from t
           and u within 5 min from s
           and not Rain(area = $a) within 1 min after s
           and $p = percentile(Temp(area = $a).value, 95) within 1 h from s
           and $n = count(2 last Rain(area = $a)) within 1 h from s
           and $p > 45""",
        head="D (p: double?)",
        tail="where p = $p consuming t",
    )
    pattern = node(plan, "pattern")
    back = {"kind": "back", "within_ms": 3_600_000, "from": 0}
    tie = [{"field": 0, "equals": [0, 0]}]
    assert [(c["select"], c["count"], c["from"], c["horizon_ms"]) for c in pattern["constituents"]] == [
        ("first", 3, 0, 600_000),
        ("each", 1, 1, 300_000),
    ]
    assert pattern["bounds"] == [{"constituent": 2, "within_ms": 300_000, "from": 0}]
    assert [negation["range"] for negation in pattern["negations"]] == [
        {"kind": "between", "first": 1, "last": 0},
        {"kind": "ahead", "within_ms": 60_000, "from": 0},
    ]
    assert pattern["negations"][0]["where"] == ["gt", "double", ["field", 3, 1], ["field", 1, 1]]
    names = ("function", "field", "type", "argument", "limit", "range", "match")
    assert [tuple(a[name] for name in names) for a in pattern["aggregates"]] == [
        ("percentile", 1, "double", 95, None, back, tie),
        ("count", None, "long", None, 2, back, tie),
    ]
    assert pattern["where"] == ["gt", "double", ["aggregate", 0], ["const", "double", 45.0]]
    assert pattern["consuming"] == [1]
    define = node(plan, "define")
    assert define["roles"][:3] == ["s", "t", "u"]
    assert len(define["roles"]) == 7
    assert define["values"] == [["aggregate", 0]]


# --- matches ------------------------------------------------------------------------------------------------


def program(match: str) -> Any:  # noqa: ANN401 (nested data)
    return node(definition(f"match {match}", tail="unbounded"), "match")["program"]


def step(slot: int) -> Node:
    return {"op": "step", "slot": slot}


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ("Smoke then Temp", {"op": "then", "of": [step(0), step(1)]}),
        ("Smoke or Temp", {"op": "or", "of": [step(0), step(1)]}),
        ("Smoke | Temp", {"op": "alternatives", "of": [step(0), step(1)]}),
        ("Smoke and not Temp", {"op": "and", "of": [step(0), {"op": "not", "of": step(1)}]}),
        ("every Smoke", {"op": "every", "of": step(0)}),
        ("each Smoke", {"op": "taking", "take": "each", "of": step(0)}),
        ("Smoke at most 3", {"op": "at_most", "count": 3, "of": step(0)}),
        (
            "Smoke then wait 5 s as w",
            {"op": "then", "of": [step(0), {"op": "wait", "delay_ms": 5000, "slot": 1}]},
        ),
        ("Smoke within 5 s", {"op": "within", "within_ms": 5000, "since": None, "of": step(0)}),
        (
            "Smoke as s then Temp within 5 s from s",
            {
                "op": "then",
                "of": [step(0), {"op": "within", "within_ms": 5000, "since": 0, "of": step(1)}],
            },
        ),
        (
            "Smoke as s then not Temp for 5 s from s",
            {
                "op": "then",
                "of": [step(0), {"op": "absent", "within_ms": 5000, "since": 0, "of": step(1)}],
            },
        ),
        (
            "Temp as t while t.value > 3",
            {
                "op": "while",
                "where": ["gt", "double", ["field", 0, 1], ["const", "double", 3.0]],
                "of": step(0),
            },
        ),
        (
            "Temp as t {2,5 next while value > previous.value} until Rain",
            {
                "op": "repeat",
                "low": 2,
                "high": 5,
                "take": "next",
                "where": ["gt", "double", ["field", 0, 1], ["previous", 0, 1]],
                "until": step(1),
                "of": step(0),
            },
        ),
    ],
)
def test_matches(match: str, expected: Node) -> None:
    assert program(match) == expected


def test_the_stream_of_a_match() -> None:
    plan = compiled("""
        event Heat extends Temp (source: string) on "heats";
        define D from match every (Smoke then next Temp(value > 3) within 1 h) skip to next;
        """)
    names = [plan.types[one].name for one in node(plan, "match")["stream"]]
    assert names == ["Temp", "Smoke", "Heat"]
    assert node(plan, "define")["skip"] == {"to": "next", "role": None}


# --- facts and events ---------------------------------------------------------------------------------------


def test_a_join() -> None:
    plan = compiled("""
        rule R
        when fact Equipment(state = "ACTIVE", id = $e) as e
             event Alarm(eqpt = $e) as a
             event Confirm(alarm = a.id) as c, c after [1 s, 5 s] a and c.eqpt != e.id
        then call "a:b";""")
    conditions = node(plan, "join")["conditions"]
    kinds = [plan.to_dict()["nodes"][one["node"]]["kind"] for one in conditions]
    assert kinds == ["fact", "source", "source"]
    assert conditions[1]["match"] == [{"field": 1, "equals": [0, 0]}]
    assert conditions[2]["where"] == [
        "and",
        "boolean",
        ["related", "after", 2, 1, [1000, 5000]],
        ["ne", "string", ["field", 2, 1], ["field", 0, 0]],
    ]
    fact = node(plan, "fact")
    assert fact["filter"] == ["eq", "string", ["field", 0, 1], ["const", "string", "ACTIVE"]]


def test_what_must_not_be_there_is_joined_last() -> None:
    plan = compiled("""
        rule R
        when event Alarm(eqpt = $e) as a
             not fact Confirmed(eqpt = $e) as f
             event Confirm(eqpt = $e) as c, c after [1 s, 5 s] a
        then call "a:b";""")
    conditions = node(plan, "join")["conditions"]
    assert [(one["slot"], one["negated"]) for one in conditions] == [(0, False), (1, False), (2, True)]
    assert node(plan, "rule")["roles"] == ["a", "c", "f"]


def test_a_change() -> None:
    plan = compiled("""
        rule R when event change Equipment(state = "ONLINE") as e to (state = "ACTIVE") as act
                    event Alarm(eqpt = e.id) as a, a after [0 s, 1 min] act
        then modify e (state = "OFFLINE");""")
    change = node(plan, "change")
    state = ["field", 0, 1]
    assert change["before"] == ["eq", "string", state, ["const", "string", "ONLINE"]]
    assert change["after"] == ["eq", "string", state, ["const", "string", "ACTIVE"]]
    first, second = node(plan, "join")["conditions"]
    assert (first["slot"], first["horizon_ms"], second["slot"]) == (0, 60_000, 3)
    assert second["match"] == [{"field": 1, "equals": [1, 0]}]
    rule = node(plan, "rule")
    assert rule["roles"][1:] == ["e", "act", "a"]
    assert rule["actions"] == [{"do": "modify", "slot": 1, "values": [[1, ["const", "string", "OFFLINE"]]]}]


# --- subscribers --------------------------------------------------------------------------------------------


def test_a_rule() -> None:
    plan = compiled("""
        priorities low, high;
        rule Other on Rain do call "a:b";
        rule R on Smoke(area = $a) as s ; Temp(area = $a) as t within 1 h if t.value > 45
        do publish Page (who = "ops"), update Equipment (id = $a, state = "ACTIVE"),
           call "ops:page", webhook "https://example.com/hook", activate Other, deactivate Other,
           flush Smoke, flush all
        context chronicle disjoint at most 3 per 1 h coupling detached priority high
        trigger previous 1 day inactive;
        """)
    rule = next(one for one in nodes(plan, "rule") if one["rule"] == "R")
    names = [event.name for event in plan.types]
    page, equipment = names.index("Page"), names.index("Equipment")
    assert rule["actions"] == [
        {"do": "publish", "type": page, "values": [[0, ["const", "string", "ops"]]]},
        {
            "do": "update",
            "type": equipment,
            "values": [[0, ["parameter", 0]], [1, ["const", "string", "ACTIVE"]]],
        },
        {"do": "call", "target": "ops:page"},
        {"do": "webhook", "target": "https://example.com/hook"},
        {"do": "activate", "target": "Other"},
        {"do": "deactivate", "target": "Other"},
        {"do": "flush", "target": "Smoke"},
        {"do": "flush"},
    ]
    assert rule["condition"] == ["gt", "double", ["field", 1, 1], ["const", "double", 45.0]]
    assert rule["rate"] == {"count": 3, "per_ms": 3_600_000}
    assert (rule["context"], rule["disjoint"]) == ("chronicle", True)
    assert (rule["coupling"], rule["priority"], rule["active"]) == ("detached", 2, False)
    assert rule["trigger"] == {"mode": "previous", "back_ms": 86_400_000}
    assert rule["bindings"] == [{"name": "a", "type": "string", "value": ["parameter", 0], "equality": True}]


def test_summaries() -> None:
    plan = compiled("""
        define A from (Smoke(area = $a) ; Temp(area = $a)) within 1 h context chronicle;
        define B from (Smoke and Temp) ; Rain;
        define C from aperiodic*(Smoke, Temp, Rain) within 1 h at most 3 per 1 day;
        define E from Smoke(area = $a) as s and not Rain(area = $a) within 10 min after s;
        define F from match every (Smoke as s then Temp as t within 5 min);
        define G from Smoke + 15 min;
        rule H when fact Equipment as e event Alarm(eqpt = e.id) as a
                    event Confirm(alarm = a.id) as c, c after [0 s, 5 s] a then call "a:b";
        define I from ((Smoke ; Temp) ; any(2, Rain*)) within 1 h;
        define J from (not(Rain)[Smoke + 1 s, Temp] ; Rain) within 1 h;
        define K from (periodic*(Smoke, 10 s collect Temp.value, Rain) ; Smoke) within 1 h;
        define L from match every (Smoke(area = $a) then Temp(area = $a) within 5 min from Smoke);
        rule M when event Alarm as a event Confirm as c, c coincides a then call "a:b";
        """)
    assert [(rule.name, rule.horizon_ms, rule.state) for rule in plan.summary()] == [
        ("A", 3_600_000, "keeps every Smoke for each binding, for 1 h"),
        (
            "B",
            None,
            (
                "keeps the latest Smoke, forever and the latest Temp, forever "
                "and the latest (Smoke and Temp), forever"
            ),
        ),
        (
            "C",
            3_600_000,
            "keeps every Smoke, for 1 h and every Temp, for 1 h and a count for each binding, for 1 day",
        ),
        ("E", 600_000, "keeps what waits for 10 min to pass"),
        ("F", 300_000, "keeps Smoke, for 5 min"),
        ("G", 900_000, "keeps every Smoke, for 15 min"),
        ("H", 5_000, "keeps every Equipment and every Alarm, for 5 s"),
        (
            "I",
            3_600_000,
            (
                "keeps the latest Smoke, for 1 h and the latest Rain, for 1 h "
                "and the latest (Smoke ; Temp), for 1 h"
            ),
        ),
        (
            "J",
            3_601_000,
            (
                "keeps every Smoke, for 1 s and the latest (Smoke + 1 s), for 1 h "
                "and the latest not(Rain)[(Smoke + 1 s), Temp], for 1 h"
            ),
        ),
        (
            "K",
            3_600_000,
            (
                "keeps every Smoke, for 1 h and the latest Temp, for 1 h "
                "and the latest periodic*(Smoke, 10 s collect Temp.value, Rain), for 1 h"
            ),
        ),
        ("L", 300_000, "keeps Smoke for each binding, for 5 min"),
        ("M", 0, "keeps the events of one time"),
    ]
