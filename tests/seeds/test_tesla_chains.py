"""TESLA beyond one step: iteration by recursion, the ordering graph, hierarchies, other constituents."""

from tests.oracle.history import event
from tests.oracle.run import detect
from tests.seeds.sensors import MINUTE, found, rain, sensed, smoke, temp

# --- iteration by recursion ---------------------------------------------------------------------------------

REP_A = """
event A (val: long) on "a";

define RepA (times: long, val: long)
from A() as a
where times = 1, val = a.val;

define RepA (times: long, val: long)
from A(val = $x) as a and last RepA(val <= $x) as r within 3 min from a
where times = r.times + 1, val = $x
consuming r;

define B (times: long)
from RepA() as r
where times = r.times;
"""


def test_rep_a_every_iteration_of_a_that_never_decreases() -> None:
    """Valid patterns (8/8): at each A the first rule begins a repetition, the second goes on with the last.

    Of the two RepA at one position the one of the later rule is the last, so that repetitions grow.
    """
    values = [(1, 3), (2, 5), (3, 6), (4, 4), (5, 7), (6, 8), (10, 9)]
    detected = detect(REP_A, [event("A", t=t * MINUTE, val=val) for t, val in values])
    repetitions = [
        (o.time // MINUTE, o.attributes["times"], o.attributes["val"]) for o in detected.of("RepA")
    ]
    assert repetitions == [
        (1, 1, 3),
        (2, 1, 5),
        (2, 2, 5),  # goes on with (1, 3) of minute 1
        (3, 1, 6),
        (3, 3, 6),  # with (2, 5), which came later than (1, 5) of the same position
        (4, 1, 4),  # (1, 3) is consumed, and all the others are higher: nothing to go on with
        (5, 1, 7),
        (5, 2, 7),  # with (1, 4), the last there is
        (6, 1, 8),
        (6, 3, 8),  # with (2, 7)
        (10, 1, 9),  # too late for all of them
    ]
    counts = sorted((o.time // MINUTE, o.attributes["times"]) for o in detected.of("B"))
    assert counts == sorted((minute, times) for minute, times, _ in repetitions)


# --- chains, hierarchies ------------------------------------------------------------------------------------

ORDERING_GRAPH = """
event A (va: long) on "a"; event B (vb: long) on "b"; event C (vc: long) on "c";
event D (vd: long) on "d"; event E () on "e";

define CE
from A(va > 1)
 and each B(vb > 2) within 2 min from A
 and each C(vc < 3) within 4 min from A
 and each D(vd = 5) within 4 min from B
 and D within 5 min from C
 and each E() within 3 min from B;
"""


def test_the_rule_of_the_ordering_graph() -> None:
    """Event Detection Automata (1/5): D must come before B and before C, which are not ordered themselves."""
    history = [
        event("E", t=350_000, label="e5.8"),
        event("E", t=6 * MINUTE, label="e6"),
        event("E", t=8 * MINUTE + 1, label="e8"),
        event("D", t=290_000, label="d4.8", vd=5),
        event("D", t=6 * MINUTE, label="d6", vd=5),
        event("D", t=6 * MINUTE, label="d6 with another value", vd=4),
        event("D", t=450_000, label="d7.5", vd=5),  # before B, but after C
        event("C", t=7 * MINUTE, label="c7", vc=2),
        event("C", t=7 * MINUTE, label="c7 with another value", vc=3),
        event("B", t=470_000, label="b7.8", vb=9),  # more than 2 min before A
        event("B", t=8 * MINUTE, label="b8", vb=3),
        event("B", t=9 * MINUTE, label="b9", vb=3),
        event("A", t=10 * MINUTE, label="a10", va=2),
        event("A", t=10 * MINUTE + 1, label="a with another value", va=1),
    ]
    detected = detect(ORDERING_GRAPH, history)
    chosen = {tuple(one.roles[role][0].label for role in "ABCDE") for one in detected.of("CE")}
    assert chosen == {
        ("a10", "b8", "c7", "d4.8", "e5.8"),
        ("a10", "b8", "c7", "d4.8", "e6"),
        ("a10", "b8", "c7", "d6", "e5.8"),
        ("a10", "b8", "c7", "d6", "e6"),
        ("a10", "b9", "c7", "d6", "e6"),
        ("a10", "b9", "c7", "d6", "e8"),
    }
    assert len(detected.of("CE")) == len(chosen)


def test_a_bound_that_is_written_later_does_not_change_what_last_selects() -> None:
    """It is a filter on what was selected; written as a condition, the choice is among what fulfils it."""
    rule = """
    define Later (value: double)
    from Smoke() as s and last Rain() as r within 9 min from s and last Temp() as t within 9 min from s
     and t within 9 min from r
    where value = t.value;
    define Instead (value: double)
    from Smoke() as s and last Rain() as r within 9 min from s and last Temp() as t within 9 min from r
    where value = t.value;
    """
    detected = sensed(rule, [temp(1, 48), rain(2), temp(3, 50), smoke(4)])
    assert found(detected, "Later") == []  # the last Temp is not before the rain
    assert found(detected, "Instead") == [(4, 48)]


def test_defined_events_are_constituents_of_others() -> None:
    rules = """
    define Fire (area: string)
    from Smoke(area = $a) as s and last Temp(area = $a, value > 45) as t within 3 min from s where area = $a;
    define Spreading (start: string, next: string)
    from Fire(area = $b) as f and last Fire(area = $a, area != $b) as g within 10 min from f
    where start = $a, next = $b;
    """
    history = [temp(0, 50, "a"), smoke(1, "a"), temp(4, 50, "b"), smoke(5, "b")]
    one, *more = sensed(rules, history).of("Spreading")
    assert dict(one.attributes) == {"start": "a", "next": "b"}
    assert (one.start, one.end, more) == (0, 5 * MINUTE, [])


# --- constituents of other kinds ----------------------------------------------------------------------------


def test_an_occurrence_of_a_child_is_one_of_the_parent() -> None:
    rules = """
    event Fever extends Temp (patient: string) on "fevers";
    define Hot (value: double) from Smoke() as s and each Temp(value > 38) as t within 5 min from s
    where value = t.value;
    """
    fever = event("Fever", t=MINUTE, area="ward", value=39.0, patient="p")
    assert found(sensed(rules, [fever, temp(2, 50), smoke(3)]), "Hot") == [(3, 39), (3, 50)]


def test_numbers_in_brackets_tell_executions_apart() -> None:
    rules = """
    operation Job (id: string) on "jobs" key id;
    define Took (id: string) from end Job[1] as e and last begin Job[1] as b within 1 h from e
    where id = b.id;
    define Overlapped from end Job[1] as e and each begin Job[1] as b within 1 h from e
      and each begin Job[2] as other within 1 h from e
      and not end Job[2] between other and e;
    """
    phases = [(1, "x", "begin"), (2, "y", "begin"), (3, "x", "end"), (4, "z", "begin"), (5, "y", "end")]
    history = [event("Job", t=t, id=call.upper(), call=call, phase=phase) for t, call, phase in phases]
    detected = detect(rules, history)
    assert [(o.time, o.attributes["id"]) for o in detected.of("Took")] == [(3, "X"), (5, "Y")]
    overlaps = [
        (o.roles["b"][0].attributes["id"], o.roles["other"][0].attributes["id"])
        for o in detected.of("Overlapped")
    ]
    assert overlaps == [("X", "Y"), ("Y", "Z")]


def test_rates_are_kept_for_each_value_of_the_parameter_that_ties_the_constituents() -> None:
    rule = """
    define Fire (value: double)
    from Smoke(area = $a) as s and last Temp(area = $a) as t within 9 min from s
    where value = t.value at most 1 per 2 min;
    """
    history = [temp(0, 1, "a"), temp(0, 2, "b"), smoke(1, "a"), smoke(2, "b"), smoke(3, "a"), smoke(3.1, "a")]
    assert found(sensed(rule, history), "Fire") == [(1, 1), (2, 2), (3.1, 1)]
