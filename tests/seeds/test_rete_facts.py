"""RETE with events: rules on facts alone, negated conditions, and what actions do."""

from collections.abc import Sequence

from tests.oracle.history import Change, Input, event, fact, retraction
from tests.oracle.run import Detected, detect
from tests.seeds.alarms import (
    TICK,
    alarm,
    cancellation,
    confirmation,
    fired,
    supervised,
)

# --- §4.1: facts alone --------------------------------------------------------------------------------------

PLANT = """
fact Machine (id: string, site: string, owner: string?) key id;
fact Fault   (machine: string, level: long) key machine;
fact Stopped (site: string) key site;
fact Idle    (site: string) key site;
fact Noted   (text: string, level: long?);
event Reset  (machine: string) on "resets" key machine;
event Page   (who: string) key who;
"""


def machine(t: float, name: str, site: str) -> Change:
    return fact("Machine", t=round(t * TICK), id=name, site=site)


def fault(t: float, name: str, level: int) -> Change:
    return fact("Fault", t=round(t * TICK), machine=name, level=level)


def planted(rules: str, facts: Sequence[Change], events: Sequence[Input] = ()) -> Detected:
    return detect(PLANT + rules, events, facts=facts, until=100 * TICK)


STOP = """
rule Stop
when fact Machine(site = $s) as m  fact Fault(machine = m, level > 2) as f
then assert Stopped(site = $s);
"""


def test_facts_alone_match_when_they_come_to_hold_together() -> None:
    facts = [
        fault(1, "m1", 3),
        machine(2, "m1", "north"),
        machine(3, "m2", "south"),
        fault(4, "m2", 1),
        fault(5, "m2", 9),
    ]
    detected = planted(STOP, facts)
    assert [one.time for one in detected.of("Stop")] == [2 * TICK, 5 * TICK]
    assert detected.facts("Stopped") == [{"site": "north"}, {"site": "south"}]


def test_facts_that_never_hold_at_the_same_time_do_not_match() -> None:
    facts = [fault(1, "m1", 3), retraction("Fault", t=2 * TICK, key="m1"), machine(2, "m1", "north")]
    assert planted(STOP, facts).of("Stop") == ()


def test_rules_on_facts_react_to_each_other_at_once() -> None:
    rules = (
        STOP
        + """
    rule Rest when fact Stopped(site = $s) then assert Idle(site = $s);
    rule Wake when fact Idle() as i  event Reset() as r then retract i;
    rule Note when fact Idle(site = $s) then assert Noted(text = $s);
    """
    )
    facts = [machine(0, "m1", "north"), fault(1, "m1", 3)]
    detected = planted(
        rules, facts, [event("Reset", t=1 * TICK, machine="m1"), event("Reset", t=2 * TICK, machine="m1")]
    )
    (stop,), (rest,), (note,) = detected.of("Stop"), detected.of("Rest"), detected.of("Note")
    assert stop.position == rest.position == note.position
    assert (stop.round, rest.round, note.round) == (0, 1, 2)
    assert [one.time for one in detected.of("Wake")] == [
        1 * TICK
    ]  # the fact of time 1 stands before the reset of time 1
    assert detected.facts("Idle") == []


def test_a_negated_fact_can_let_the_same_facts_match_again() -> None:
    rule = "rule Well when fact Machine() as m  not fact Fault(machine = m) then assert Idle(site = m.site);"
    facts = [
        machine(0, "m", "north"),
        fault(1, "m", 3),
        fault(2, "m", 4),
        retraction("Fault", t=3 * TICK, key="m"),
    ]
    assert [one.time for one in planted(rule, facts).of("Well")] == [0, 3 * TICK]


def test_a_negated_fact_must_be_absent_from_the_first_event_to_the_last() -> None:
    rule = """
    rule Pair
    when event Reset(machine = $m) as a  event Reset(machine = $m, this after [1 s, 9 s] a) as b
         not fact Fault(machine = $m)
    then assert Idle(site = $m);
    """
    resets = [event("Reset", t=10 * TICK, machine="m"), event("Reset", t=15 * TICK, machine="m")]
    gone = retraction("Fault", t=12 * TICK, key="m")
    assert len(planted(rule, [], resets).of("Pair")) == 1
    assert len(planted(rule, [fault(1, "n", 1)], resets).of("Pair")) == 1
    assert planted(rule, [fault(11, "m", 1), gone], resets).of("Pair") == ()
    assert planted(rule, [fault(1, "m", 1), gone], resets).of("Pair") == ()
    assert len(planted(rule, [fault(15.5, "m", 1)], resets).of("Pair")) == 1


def test_a_negated_event_is_denied_up_to_the_firing() -> None:
    rule = """
    rule Unanswered
    when event Alarm() as a  event Confirmation(alarm = a) as c
         not event Cancellation(alarm = a) as x, x after [0 s, 3 s] a
    then assert ConfirmedAlarm(alarm = a, confirmation = c) unbounded;
    """

    def confirmed(*more: Input) -> int:
        return len(supervised(rule, [alarm(10, "a"), confirmation(12, "a"), *more]).of("Unanswered"))

    assert confirmed() == 1
    assert confirmed(cancellation(11, "a")) == 0
    assert confirmed(cancellation(11, "b")) == 1
    assert confirmed(cancellation(9, "a")) == 1  # the constraint limits it
    assert confirmed(cancellation(12.5, "a")) == 1  # after the firing


# --- actions ------------------------------------------------------------------------------------------------


def test_update_replaces_what_assert_leaves() -> None:
    rule = "rule R when event Reset(machine = $m) as r then {verb} Fault(machine = $m, level = 0);"
    resets = [event("Reset", t=5 * TICK, machine="m"), event("Reset", t=6 * TICK, machine="n")]
    asserted, updated = (
        planted(rule.format(verb=verb), [fault(1, "m", 7)], resets) for verb in ("assert", "update")
    )
    assert asserted.facts("Fault") == [{"machine": "m", "level": 7}, {"machine": "n", "level": 0}]
    assert updated.facts("Fault") == [{"machine": "m", "level": 0}, {"machine": "n", "level": 0}]


def test_actions_of_one_position_run_by_priority() -> None:
    rules = """
    rule Low  when fact Fault() as f  event Reset(machine = f) then modify f (level = 1);
    rule High when fact Fault() as f  event Reset(machine = f) then modify f (level = 100) priority 5;
    """
    detected = planted(rules, [fault(1, "m", 7)], [event("Reset", t=5 * TICK, machine="m")])
    changes = [change.state["level"] for change in detected.world.changes if change.state]
    assert changes == [7, 100, 1]


def test_modify_changes_the_fact_as_it_is_and_not_one_that_is_gone() -> None:
    rules = """
    rule Remove when fact Fault(level > 5) as f  event Reset(machine = f) then retract f priority 1;
    rule Lower  when fact Fault() as f  event Reset(machine = f) then modify f (level = 1);
    """
    facts = [fault(1, "m", 7), fault(1, "n", 3)]
    detected = planted(rules, facts, [event("Reset", t=5 * TICK, machine=name) for name in ("m", "n")])
    assert detected.facts("Fault") == [{"machine": "n", "level": 1}]


def test_modify_leaves_what_other_actions_of_the_position_changed() -> None:
    rules = """
    rule Move when fact Machine() as m  event Reset(machine = m) then modify m (site = "depot");
    rule Lend when fact Machine() as m  event Reset(machine = m) then modify m (owner = "depot") priority -1;
    """
    detected = planted(rules, [machine(1, "m", "north")], [event("Reset", t=5 * TICK, machine="m")])
    assert detected.facts("Machine") == [{"id": "m", "site": "depot", "owner": "depot"}]


def test_without_a_key_equal_values_are_one_fact() -> None:
    rules = """
    rule Write when event Reset(machine = $m) as r then assert Noted(text = $m, level = 1);
    rule Erase when fact Noted(text = "gone") as n  event Reset(machine = "end") then retract n;
    """
    names = ["m", "m", "gone", "n", "end", "end"]
    resets = [event("Reset", t=t * TICK, machine=name) for t, name in enumerate(names)]
    detected = planted(rules, [], resets)
    assert [noted["text"] for noted in detected.facts("Noted")] == ["m", "n", "end"]
    assert [change.state for change in detected.world.changes].count(None) == 1


def test_an_action_that_lacks_a_value_does_nothing() -> None:
    rules = """
    rule Share when fact Fault() as f  event Reset() as r then modify f (level = 100 / f.level);
    """
    detected = planted(rules, [fault(1, "m", 0), fault(1, "n", 4)], [event("Reset", t=5 * TICK, machine="m")])
    assert detected.facts("Fault") == [{"machine": "m", "level": 0}, {"machine": "n", "level": 25}]


def test_a_name_is_an_attribute_before_it_is_a_role() -> None:
    rules = """
    fact Owner (name: string, machine: string) key name;
    rule R when fact Machine() as machine  fact Owner(machine = machine) as o  fact Fault(machine = o.machine)
    then assert Noted(text = o);
    """
    facts = [machine(0, "m1", "north"), fact("Owner", t=0, name="ann", machine="m2"), fault(1, "m2", 1)]
    assert planted(rules, facts).facts("Noted") == [{"text": "ann", "level": None}]


def test_a_retracted_event_denies_nothing_any_more() -> None:
    rules = """
    rule Forget when event Alarm() as a  event Cancellation(alarm = a) then retract a unbounded;
    rule Quiet when event Confirmation() as c  not event Alarm()
               then assert ConfirmedAlarm(alarm = c, confirmation = c) unbounded;
    define Seen from Confirmation() as c and last Alarm() as a within 1 min from c;
    """
    history = [alarm(1, "a"), confirmation(2, "a", "c2"), cancellation(3, "a"), confirmation(4, "a", "c4")]
    detected = supervised(rules, history)
    assert fired(detected, "Quiet", "c") == [("c4",)]
    assert fired(detected, "Seen", "c") == [("c2",), ("c4",)]  # only `when` rules have a working memory


def test_a_published_event_takes_part_at_the_same_position() -> None:
    rules = """
    rule Call when fact Fault(level > 5) as f  event Reset(machine = f) then publish Page(who = f);
    rule Heard when event Page() as p then assert Stopped(site = p.who);
    define Paged (who: string) from Page() as p where who = p.who;
    """
    detected = planted(rules, [fault(1, "m", 7)], [event("Reset", t=5 * TICK, machine="m")])
    assert [(one.time, one.attributes["who"]) for one in detected.of("Paged")] == [(5 * TICK, "m")]
    assert [(one.time, one.round) for one in detected.of("Heard")] == [(5 * TICK, 1)]
    assert detected.facts("Stopped") == [{"site": "m"}]
