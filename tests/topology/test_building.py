"""Rules built in Python are the tree of the text they print."""

import doctest
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import timedelta
from enum import StrEnum
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin import rules as r
from tocsin.topology import Plan, TocsinError, compile_rules, parse, tree
from tocsin.topology.tree import Declaration

AREA = {"area": "string", "value": "double"}

temp = r.event("Temp", AREA, on="temps", key="area", lateness="2 s")
smoke = r.event("Smoke", {"area": "string"}, on="smoke", key="area")
rain = r.event("Rain", {"area": "string"}, on="rain", key="area")
sell = r.operation("Sell", {"oid": "string", "qty": "int"}, on="sells")
work = r.unit("Work", on="work")
equipment = r.fact("Equipment", {"id": "string", "state": "State"}, key="id", on="equipment")
alarm = r.event("Alarm", {"id": "string", "eqpt": "string"}, on="alarms")
confirmed = r.fact("ConfirmedAlarm", {"alarm": "string", "at": "timestamp"})

this, previous, fn = r.this, r.previous, r.fn
a, m, x = r.params("a m x")
e, s, t = r.roles("e s t")


class State(StrEnum):
    ONLINE = "ONLINE"
    ACTIVE = "ACTIVE"


def define(source: r.Events | r.Pattern | r.Steps, **clauses: object) -> Declaration:
    declaration = r.define("D", source, **clauses).declaration
    assert declaration is not None
    return declaration


def on(source: r.Events | r.When, *actions: object, **clauses: object) -> Declaration:
    return r.rule("R", source, do=actions or r.call("x:y"), **clauses)


DECLARATIONS = [
    (temp.declaration, 'event Temp (area: string, value: double) on "temps" key area lateness 2 s;'),
    (r.event("Ping").declaration, "event Ping;"),
    (
        r.event("Fire", {"area": "string"}, of="plant_a", key="area").declaration,
        'event Fire (area: string) of "plant_a" key area;',
    ),
    (
        r.event(
            "Hot",
            {"note": "string?", "began": "timestamp"},
            extends=temp,
            id="area",
            start="began",
            idle="5 s",
            nulls="ignore",
        ).declaration,
        "event Hot extends Temp (note: string?, began: timestamp) id area start began idle 5 s nulls ignore;",
    ),
    (
        r.operation("Buy", {"tx": "string", "at": "timestamp"}, time="at", unit=(work, "tx")).declaration,
        "operation Buy (tx: string, at: timestamp) time at unit Work by tx;",
    ),
    (work.declaration, 'unit Work on "work";'),
    (equipment.declaration, 'fact Equipment (id: string, state: State) key id on "equipment";'),
    (r.enum("State", "ONLINE", "ACTIVE"), "enum State { ONLINE, ACTIVE };"),
    (r.priorities("low", "urgent"), "priorities low, urgent;"),
    (r.named("Busy", r.end(sell) & smoke).declaration, "event Busy = end Sell and Smoke;"),
]

EVENTS = [
    (temp | smoke, "Temp or Smoke"),
    (temp & smoke & rain, "Temp and Smoke and Rain"),
    (temp >> (smoke | rain), "Temp ; Smoke or Rain"),
    ((temp | smoke) & rain, "(Temp or Smoke) and Rain"),
    ((temp >> smoke).within("5 min"), "Temp ; Smoke within 5 min"),
    (temp >> smoke.within(timedelta(hours=1)), "Temp ; (Smoke within 1 h)"),
    ((temp + "15 min").as_("p") | smoke, "(Temp + 15 min as p) or Smoke"),
    (r.any_of(2, temp, smoke, rain), "any(2, Temp, Smoke, Rain)"),
    (r.any_of(3, temp, star=True), "any(3, Temp*)"),
    (r.aperiodic(smoke, temp, rain), "aperiodic(Smoke, Temp, Rain)"),
    (r.aperiodic(smoke, temp.as_("t"), rain, star=True), "aperiodic*(Smoke, Temp as t, Rain)"),
    (r.periodic(smoke, "10 min", rain).as_("p"), "periodic(Smoke, 10 min, Rain) as p"),
    (
        r.periodic(smoke, "10 min", rain, star=True, collect=(temp(area=a), "value")),
        "periodic*(Smoke, 10 min collect Temp(area = $a).value, Rain)",
    ),
    (r.not_between(rain, temp, smoke), "not(Rain)[Temp, Smoke]"),
    (r.begin(temp >> smoke), "begin (Temp ; Smoke)"),
    (r.begin(sell[1]) >> r.end(sell[1]), "begin Sell[1] ; end Sell[1]"),
    (r.begin(work) >> r.precommit(work) >> r.commit(work), "begin Work ; precommit Work ; commit Work"),
    (r.abort(work) | temp, "abort Work or Temp"),
    (
        temp | r.timer(hour=9, minute=0, weekday="Friday"),
        "Temp or Timer(weekday = Friday, hour = 9, minute = 0)",
    ),
]

PATTERNS = [
    (smoke, "Smoke"),
    (r.begin(sell).as_("b"), "begin Sell as b"),
    (r.timer(minute="*", second=30, zone="Europe/Rome"), 'Timer(minute = *, second = 30) zone "Europe/Rome"'),
    (
        smoke(area=a).as_(s) & r.last(temp(this.area == a, this.value > 45).as_(t), within="3 min", from_=s),
        "Smoke(area = $a) as s and last Temp(area = $a, value > 45) as t within 3 min from s",
    ),
    (
        smoke.as_(s) & r.first(temp.as_(t), before=s, count=3) & r.bounded(t, within="1 h", from_=s),
        "Smoke as s and 3 first Temp as t before s and t within 1 h from s",
    ),
    (
        smoke.as_(s) & r.each(temp.as_(t), within="1 h", from_=s) & r.no(rain, between=(t, s)),
        "Smoke as s and each Temp as t within 1 h from s and not Rain between t and s",
    ),
    (
        smoke.as_(s)
        & r.no(rain, within="1 h", from_=s)
        & r.no(temp, before=s)
        & r.no(rain, within="9 s", after=s),
        "Smoke as s and not Rain within 1 h from s and not Temp before s and not Rain within 9 s after s",
    ),
    (
        smoke.as_(s)
        & r.aggregate(m, "percentile", temp(area=a), "value", 95, within="1 h", from_=s)
        & (m > 45),
        "Smoke as s and $m = percentile(Temp(area = $a).value, 95) within 1 h from s and $m > 45",
    ),
    (
        smoke.as_(s) & ~(m == 3) & ((m + 1 > 4) | m.is_null()) & m.in_(1, 2),
        "Smoke as s and not $m = 3 and ($m + 1 > 4 or $m is null) and $m in (1, 2)",
    ),
    (
        smoke.as_(s) & r.aggregate(m, "avg", temp, "value", before=s, limit=3),
        "Smoke as s and $m = avg(3 last Temp.value) before s",
    ),
    (
        smoke.as_(s) & r.last(temp.as_(t), before=s) & r.aggregate(m, "count", rain, between=(t, s)),
        "Smoke as s and last Temp as t before s and $m = count(Rain) between t and s",
    ),
]

MATCHES = [
    (r.step(smoke), "Smoke"),
    (r.every(temp.as_(t)) >> smoke, "every Temp as t then Smoke"),
    (r.every(r.step(temp) >> smoke), "every (Temp then Smoke)"),
    (r.step(temp) & smoke & ~r.step(rain), "Temp and Smoke and not Rain"),
    (temp | r.step(smoke) | rain, "Temp | Smoke | Rain"),
    (r.one_of(temp, smoke, rain), "Temp or Smoke or Rain"),
    (~r.step(temp), "not Temp"),
    (temp & r.step(smoke), "Temp and Smoke"),
    (temp >> r.take_next(smoke), "Temp then next Smoke"),
    (r.step(temp).times(2), "Temp{2}"),
    (r.take_each(r.step(temp).times(2, 5, take="each")), "each Temp{2,5 each}"),
    (r.step(temp).times(2, ..., until=smoke), "Temp{2,} until Smoke"),
    (r.step(temp).times(10, while_=this.value > previous.value), "Temp{10 while value > previous.value}"),
    ((r.step(temp.as_(t)) >> smoke).within("5 min", from_=t), "Temp as t then Smoke within 5 min from t"),
    (r.step(temp.as_(t)).while_(t.value < 3).at_most(2), "Temp as t while t.value < 3 at most 2"),
    (temp >> r.absent(smoke, "1 s"), "Temp then not Smoke for 1 s"),
    (temp.as_(t) >> r.absent(smoke, "1 s", from_=t), "Temp as t then not Smoke for 1 s from t"),
    (temp >> r.wait("5 min", as_="w"), "Temp then wait 5 min as w"),
    (r.step(r.begin(sell)), "begin Sell"),
]

CONDITIONS = [
    (this.value > 45, "value > 45"),
    (45 < this.value, "value > 45"),  # noqa: SIM300 (what Python turns round)
    (this.value - 1.5 <= -this.value * 2, "value - 1.5 <= -value * 2"),
    (100 - this.value % 7 / a != 2 + a, "100 - value % 7 / $a != 2 + $a"),
    (
        (this.value >= 1) & (this.value < 5) & ~(this.area == "x"),
        'value >= 1 and value < 5 and not area = "x"',
    ),
    ((this.area == State.ONLINE) | (this.value == -1), 'area = "ONLINE" or value = -1'),
    (this.area.in_(State.ONLINE, "x"), 'area in ("ONLINE", "x")'),
    (this.area.is_null() | this["area"].is_not_null(), "area is null or area is not null"),
    (fn.length(this.area) > fn.coalesce(this.value, 3), "length(area) > coalesce(value, 3)"),
    (fn.abs(this.value) == True, "abs(value) = true"),  # noqa: E712 (a literal of the rule)
    (this.value > timedelta(seconds=90), "value > 90 s"),
    (a, "$a"),
]

CONSTRAINTS = [
    (r.relation(e, "after", s, "1 s", "5 s"), "e after [1 s, 5 s] s"),
    (r.relation(e, "before", s, "-10 s", None), "e before [-10 s, *] s"),
    (r.relation(e, "overlaps", s), "e overlaps s"),
    (fn.timeof(e) - fn.timeof(s) > 5, "timeof(e) - timeof(s) > 5"),
    (e.alarm == s, "e.alarm = s"),
]

DEFINE_CLAUSES: list[tuple[dict[str, object], str]] = [
    ({"if_": fn.count(s) > 2}, "if count(s) > 2"),
    ({"consuming": [s, "t"]}, "consuming s, t"),
    ({"context": "chronicle"}, "context chronicle"),
    ({"context": "recent", "disjoint": True}, "context recent disjoint"),
    ({"disjoint": True}, "disjoint"),
    ({"at_most": 3, "per": "1 min"}, "at most 3 per 1 min"),
    ({"skip": "next"}, "skip to next"),
    ({"skip": ("last", t), "context": "recent"}, "context recent skip to last t"),
    ({"at_most": 1}, "at most 1 ever"),
    ({"unbounded": True}, "unbounded"),
]

RULE_CLAUSES: list[tuple[dict[str, object], str]] = [
    *DEFINE_CLAUSES,
    ({"coupling": "deferred"}, "coupling deferred"),
    ({"priority": 20}, "priority 20"),
    ({"priority": "urgent"}, "priority urgent"),
    ({"trigger": "now"}, "trigger now"),
    ({"trigger": "previous", "back": "1 day"}, "trigger previous 1 day"),
    ({"inactive": True}, "inactive"),
]

ACTIONS = [
    (r.publish(smoke, area=e.id), "publish Smoke (area = e.id)"),
    (
        r.assert_fact(confirmed, alarm=s.id, at=fn.timeof(s)),
        "assert ConfirmedAlarm (alarm = s.id, at = timeof(s))",
    ),
    (r.update(equipment, id="x", state="ACTIVE"), 'update Equipment (id = "x", state = "ACTIVE")'),
    (r.modify(e, state="OFFLINE"), 'modify e (state = "OFFLINE")'),
    (r.retract(e), "retract e"),
    (r.call("ops:page"), 'call "ops:page"'),
    (r.webhook("https://example.com/hook"), 'webhook "https://example.com/hook"'),
    (r.activate("Other"), "activate Other"),
    (r.deactivate(r.rule("Other", smoke, do=r.call("x:y"))), "deactivate Other"),
    (r.flush(temp), "flush Temp"),
    (r.flush_all(), "flush all"),
]

WHENS = [
    (
        r.when(r.holds(equipment(state="ACTIVE").as_(e)), r.occurs(alarm(eqpt=e.id).as_(s))),
        'when fact Equipment(state = "ACTIVE") as e event Alarm(eqpt = e.id) as s',
    ),
    (
        r.when(r.occurs(alarm.as_(s)), ~r.holds(equipment(id=s.eqpt)), ~r.occurs(r.begin(sell))),
        "when event Alarm as s not fact Equipment(id = s.eqpt) not event begin Sell",
    ),
    (
        r.when(r.changes(equipment(state="ONLINE").as_(e), equipment(state="ACTIVE"), as_=s)),
        'when event change Equipment(state = "ONLINE") as e to (state = "ACTIVE") as s',
    ),
]


def one(text: str) -> Declaration:
    (declaration,) = parse(text).declarations
    return declaration


CASES: list[tuple[object, str]] = [
    *DECLARATIONS,
    *((define(built), f"define D from {text};") for built, text in (*EVENTS, *PATTERNS)),
    *((define(built), f"define D from match {text};") for built, text in MATCHES),
    *((define(temp(built)), f"define D from Temp({text});") for built, text in CONDITIONS),
    *((define(temp, **given), f"define D from Temp {text};") for given, text in DEFINE_CLAUSES),
    *((on(temp, **given), f'rule R on Temp do call "x:y" {text};') for given, text in RULE_CLAUSES),
    *((on(temp, built), f"rule R on Temp do {text};") for built, text in ACTIONS),
    *((on(built), f'rule R {text} then call "x:y";') for built, text in WHENS),
    *(
        (on(r.when(r.occurs(temp.as_(s)), built)), f'rule R when event Temp as s, {text} then call "x:y";')
        for built, text in CONSTRAINTS
    ),
    (
        r.define(
            "D", smoke.as_(s), {"area": "string", "all": "double[]?"}, where={"area": s.area}
        ).declaration,
        "define D (area: string, all: double[]?) from Smoke as s where area = s.area;",
    ),
]


@pytest.mark.parametrize(("built", "text"), CASES, ids=[text for _, text in CASES])
def test_what_is_built_is_what_is_written(built: Declaration, text: str) -> None:
    assert built == one(text)
    assert one(str(built)) == built


def kinds(node: object) -> set[type]:
    """The classes that a tree is made of."""
    if isinstance(node, tuple):
        return set().union(*map(kinds, node))
    if not is_dataclass(node) or isinstance(node, type):
        return set()
    return {type(node)}.union(*(kinds(getattr(node, field.name)) for field in fields(node)))


def test_everything_that_can_be_written_can_be_built() -> None:
    nodes = {each for each in vars(tree).values() if isinstance(each, type) and is_dataclass(each)}
    bases = {tree.EventExpr, tree.Expr, tree.MatchExpr, tree.Pair}
    assert nodes - bases - {tree.Program} <= set().union(*(kinds(built) for built, _ in CASES))


# Random expressions: whatever the operators put together is read back as the same.

leaves = st.sampled_from([temp, smoke.as_("s"), rain(area=a), r.begin(sell), r.timer(hour=9)])
lengths = st.integers(1, 90).map(lambda seconds: timedelta(seconds=seconds))


def larger(events: st.SearchStrategy[r.Events]) -> st.SearchStrategy[r.Events]:
    return st.one_of(
        st.builds(lambda p, q: p & q, events, events),
        st.builds(lambda p, q: p | q, events, events),
        st.builds(lambda p, q: p >> q, events, events),
        st.builds(lambda p, length: p + length, events, lengths),
        st.builds(lambda p, length: p.within(length), events, lengths),
        st.builds(lambda p, q: r.any_of(2, p, q), events, events),
        st.builds(r.aperiodic, events, events, events, star=st.booleans()),
        st.builds(r.periodic, events, lengths, events, star=st.booleans()),
        st.builds(r.not_between, events, events, events),
        st.builds(r.begin, events),
    )


@given(st.recursive(leaves, larger, max_leaves=12))
def test_every_event_expression_is_read_back(built: r.Events) -> None:
    assert one(str(define(built))) == define(built)


def longer(steps: st.SearchStrategy[r.Steps]) -> st.SearchStrategy[r.Steps]:
    return st.one_of(
        st.builds(lambda p, q: p >> q, steps, steps),
        st.builds(lambda p, q: p & q, steps, steps),
        st.builds(lambda p, q: p & ~q, steps, steps),
        st.builds(lambda p, q: p | q, steps, steps),
        st.builds(r.one_of, steps, steps),
        st.builds(r.every, steps),
        st.builds(r.take_each, steps),
        st.builds(lambda p, low, more: p.times(low, low + more), steps, st.integers(1, 3), st.integers(0, 2)),
        st.builds(lambda p, q: p.times(1, ..., until=q), steps, steps),
        st.builds(lambda p, length: p.within(length), steps, lengths),
        st.builds(lambda p, count: p.at_most(count), steps, st.integers(1, 3)),
        st.builds(lambda p: p.while_(this.value > 3), steps),
        st.builds(r.absent, steps, lengths),
    )


singles = st.sampled_from([temp, smoke.as_("s"), rain(area=a), r.begin(sell)])


@given(st.recursive(singles.map(r.step) | lengths.map(r.wait), longer, max_leaves=10))
def test_every_match_is_read_back(built: r.Steps) -> None:
    assert one(str(define(built))) == define(built)


# Programs.


def fire() -> r.Kind:
    return r.define(
        "Fire",
        smoke(area=a).as_(s) & r.last(temp(this.area == a, this.value > 45).as_(t), within="3 min", from_=s),
        AREA,
        where={"area": a, "value": t.value},
    )


def test_a_program_is_compiled_as_its_text_is() -> None:
    built = r.program(temp, smoke, fire())
    plan: Plan = compile_rules(built, app="fire")
    assert plan == compile_rules(str(built), app="fire")
    assert [event.name for event in plan.defined_types] == ["Fire"]


def test_programs_are_composed_of_files_and_declarations_each_once() -> None:
    file = parse(str(r.program(temp, smoke)))
    built = r.program(file, smoke, fire(), fire())
    assert [declaration.name.text for declaration in built.declarations] == ["Temp", "Smoke", "Fire"]


def test_a_defined_event_is_a_kind_of_event() -> None:
    declaration = define(fire()(area="north"))
    assert declaration == one('define D from Fire(area = "north");')


# Mistakes.

MISTAKES: list[tuple[Callable[[], object], str]] = [
    (lambda: temp(aera="x"), "`Temp` has no attribute `aera`; did you mean `area`?"),
    (lambda: temp(True), "True is not a condition such as `this.value > 45`."),
    (lambda: temp(this.value > 1 and this.value < 5), "is neither true nor false in Python"),
    (lambda: temp and smoke, "A part of a rule is neither true nor false in Python"),
    (lambda: (temp >> smoke) or rain, "A part of a rule is neither true nor false in Python"),
    (lambda: r.step(temp) and r.step(smoke), "join parts with `&`, `|` and `~`"),
    (lambda: r.last(temp, before="s") and smoke, "join parts with `&`, `|` and `~`"),
    (lambda: equipment and smoke, "join parts with `&`, `|` and `~`"),
    (lambda: not r.holds(equipment), "join parts with `&`, `|` and `~`"),
    (lambda: r.occurs(alarm) and r.holds(equipment), "join parts with `&`, `|` and `~`"),
    (lambda: 1 < this.value < 5, "do not chain comparisons"),
    (lambda: this.area == None, "Nothing equals null: use `.is_null()`"),  # noqa: E711
    (lambda: this.area == [1], "[1] cannot stand in a condition"),
    (lambda: this.value > math.inf, "inf is beyond the numbers of the language."),
    (lambda: this.value > 2**63, "is beyond the numbers of the language."),
    (this.area.in_, "`in_` needs at least one value"),
    (lambda: r.event("from"), "`from` is a word of the language and cannot be a name here."),
    (lambda: r.event("Größe"), "'Größe' cannot be a name"),
    (lambda: r.role("x" * 101), "is too long for a name: at most 100 characters."),
    (lambda: r.event("E", {"v": "double!"}), "'double!' is no type for `v`"),
    (lambda: r.event("E", {"v": "double"}, key="w"), "`E` has no attribute `w`; its attributes are `v`"),
    (lambda: r.event("E", keys="v"), "`E` cannot have `keys=`; did you mean `key`?"),
    (lambda: r.enum("State"), "needs at least one symbol"),
    (
        lambda: temp.within("5 mins"),
        "'5 mins' is not a length of time such as \"5 min\"; did you mean `min`?",
    ),
    (lambda: temp.within("-5 min"), "cannot be negative here"),
    (lambda: temp.within("40000 days"), "is too long: at most 36500 days."),
    (lambda: temp.within(timedelta(microseconds=1)), "has a fraction of a millisecond"),
    (lambda: temp.within(5), "5 is not a length of time"),
    (lambda: temp & equipment, "`Equipment` is a fact: it holds, it does not occur."),
    (lambda: temp & 3, "3 is not an event."),
    (lambda: r.not_between(r.step(temp), temp, temp), "A match cannot be part of an event expression"),
    (lambda: (temp >> smoke).as_("x"), "give one to the parts of the expression."),
    (lambda: r.any_of(3, temp, smoke), "3 of 2 events can never be"),
    (lambda: r.any_of(2, temp, smoke, star=True), "counts occurrences of one event, not of 2."),
    (lambda: r.any_of(0, temp), "The number of events must be a whole number from 1 on, not 0."),
    (r.timer, "A timer needs at least one field"),
    (lambda: r.timer(weekday="Fryday"), "`Fryday` is no day of the week"),
    (lambda: r.periodic(temp, "1 s", smoke, collect=(r.begin(sell), "qty")), "without a phase"),
    (lambda: smoke & (this.value > 3), "A condition in a pattern begins with a parameter"),
    (lambda: smoke & (fn.abs(m) > 3), "`abs($m) > 3` does not."),
    (lambda: (temp >> smoke) & r.last(temp, before="s"), "Only a single event can be a constituent here"),
    (lambda: r.last(temp), "Say how far back"),
    (lambda: r.last(temp, within="3 min"), "Say how far back"),
    (lambda: r.no(temp, after=s), "`after=` says from when on; it needs `within=`"),
    (lambda: r.no(temp, between=(s, t), before=s), "`between=` says the whole range"),
    (lambda: r.last(temp, before=temp), "is not a role"),
    (lambda: r.aggregate(this.value, "avg", temp, "value", before=s), "assigned to is a parameter"),
    (lambda: smoke.as_(s) & r.last(temp, before=s) & temp, "Behind `&` in a pattern"),
    (lambda: r.step(temp) >> (temp >> smoke), "begin the match with a step"),
    (lambda: r.one_of(temp), "`one_of` needs at least two parts."),
    (lambda: r.step(temp) >> 3, "3 is not a part of a match."),
    (lambda: r.step(r.timer(hour=9)), "`wait(…)` lets time pass."),
    (lambda: r.step(temp).times(3, 2), "At least 3 and at most 2 repetitions can never be."),
    (lambda: r.step(temp).times(2, take="all"), "`all` is no way to take events"),
    (lambda: r.relation(e, "afer", s), "`afer` is no relation in time; did you mean `after`?"),
    (lambda: r.holds(temp), "`holds` takes a fact"),
    (lambda: r.occurs(equipment), "`Equipment` is a fact"),
    (lambda: r.occurs(r.timer(hour=9)), "A timer cannot be joined with facts"),
    (lambda: r.changes(equipment, confirmed), "cannot change to one of kind `ConfirmedAlarm`"),
    (lambda: r.changes(equipment, equipment.as_(e)), "is given once, to its state before the change"),
    (lambda: r.when(this.value > 3), "`when` begins with a fact or an event"),
    (lambda: r.publish(equipment), "What is published is a kind of event."),
    (lambda: r.assert_fact(temp), "`assert` takes a kind of fact"),
    (lambda: r.publish(temp, valu=3), "`Temp` has no attribute `valu`; did you mean `value`?"),
    (lambda: r.define("D", temp, context="latest"), "`latest` is no context"),
    (lambda: r.define("D", temp, skip="last"), "'last' says nothing to skip to"),
    (lambda: r.define("D", temp, skip="next", disjoint=True), "give it or `skip=`, not both"),
    (lambda: r.define("D", temp, per="1 s"), "say how many with `at_most=`"),
    (lambda: r.define("D", temp, priority=3), "`D` cannot have `priority=`"),
    (lambda: r.define("D", temp, {"v": "double"}, where={"w": 3}), "`D` has no attribute `w`"),
    (lambda: r.define("D", 3), "3 is not an event."),
    (lambda: r.rule("R", temp, do=[]), "The rule `R` does nothing"),
    (lambda: r.rule("R", temp, do=r.call("x"), back="1 day"), 'it needs `trigger="previous"`'),
    (lambda: r.program(r.kind("Temp")), "`Temp` is declared elsewhere"),
    (lambda: r.program(temp(area=a)), "is not a declaration."),
]


@pytest.mark.parametrize(("build", "sentence"), MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_misuse_is_a_sentence(build: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TocsinError) as caught:
        build()
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "module",
    ["", ".actions", ".declarations", ".events", ".handles", ".matches", ".names", ".patterns", ".values"],
)
def test_the_examples_are_true(module: str) -> None:
    tested = import_module(f"tocsin.topology.building{module}")
    assert doctest.testmod(tested, extraglobs={name: getattr(r, name) for name in r.__all__}).failed == 0
