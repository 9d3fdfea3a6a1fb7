"""Cases in which the engine once differed from the oracle, each with what was wrong."""

from collections import Counter

import pytest

from tests.oracle.history import Input, event

from .run import Case, Drive, detect, difference

A_AND_B = """
event A (k: string, n: long) on "a" key k;
event B (n: long, x: double?, k: string) on "b" key k;
"""


def a(t: int, n: int = 0, k: str = "a") -> Input:
    return event("A", t=t, k=k, n=n)


def b(t: int, n: int = 0, k: str = "a") -> Input:
    return event("B", t=t, k=k, n=n)


def agree(rules: str, *history: Input, until: int | None = None, drive: Drive = Drive()) -> bool:  # noqa: B008
    """Whether engine and oracle detect the same; they must detect something."""
    counts: Counter[str] = Counter()
    found = difference(Case(A_AND_B + rules, history, until, drive), counts=counts)
    assert found is None, str(found)
    return counts["occurrences"] > 0


def test_what_is_consumed_may_be_of_another_type_than_other_constituents() -> None:
    rules = """
    define R (n: long)
    from A(k = $k) as r and last B as b within 9 ms from r and each A(k = $k) as a within 9 ms from r
    where n = b.n consuming b;
    """
    assert agree(rules, a(1), b(2, n=-1), a(3), b(4, n=-1), a(5))


def test_absences_that_are_decided_at_one_point_in_time_are_simultaneous() -> None:
    """So that what one of them consumes, the others still have."""
    rules = """
    define R from A as a and each B as b within 9 ms from a and not B within 5 ms after a consuming b;
    define S from R as r and each R as q before r unbounded;
    """
    assert agree(rules, b(1), b(2), a(3), a(3), until=20)
    assert agree(rules, b(1), b(2), a(3), a(4), until=20, drive=Drive(3))


def test_an_aggregate_waits_for_what_its_conditions_speak_of() -> None:
    """Also where it is only the time of a constituent."""
    rules = """
    define R (n: long) from A as a and $c = count(B) within 20 ms from a and last B as b within 20 ms from a
     and $d = count(B(this before b)) within 20 ms from a where n = $d - $c;
    """
    assert agree(rules, b(1), b(3), b(5), a(6))


def test_simultaneous_occurrences_of_one_definition_are_ordered_by_their_initiators() -> None:
    rules = """
    define R (n: long)
    from A as a and each B(n > 0) as b within 9 ms from a and each B(n < 0) as c within 9 ms from a
    where n = b.n + c.n;
    define S (n: long) from A as a and 2 last R as r within 9 ms from a where n = r.n;
    """
    assert agree(rules, b(1, n=-1), b(2, n=20), b(3, n=30), b(4, n=-4), a(5), a(6))


def test_simultaneous_occurrences_are_ordered_by_all_they_are_made_of() -> None:
    """Definition, initiator, and where these are the same the constituents, by the same order."""
    rules = """
    define R (n: long) from A(n > 1) as a where n = a.n;
    define R (n: long) from A(k = $k) as a and last A(k = $k) as c within 5 ms from a
     and 2 last R as r within 40 ms from a where n = a.n;
    """
    times = [(2, 3, "a"), (19, 0, "b"), (24, 1, "b"), (25, 2, "b"), (25, 3, "b"), (26, 2, "a"), (46, 0, "a")]
    assert agree(rules, *(a(t, n, k) for t, n, k in times), a(46))


@pytest.mark.parametrize("seed", range(12))
def test_simultaneous_occurrences_keep_their_order_when_they_are_loaded(seed: int) -> None:
    rules = """
    define R (n: long) from A as a and each B as b within 40 ms from a where n = b.n;
    define S (n: long) from A as a and 5 last R as r within 40 ms from a where n = r.n;
    define T (n: long) from A as a and last R(n > a.n) as r within 40 ms from a where n = r.n;
    """
    assert agree(rules, *(b(t, n=t) for t in (1, 2, 3)), *map(a, range(4, 16)), drive=Drive(seed))


def test_definitions_that_use_each_other_see_what_stands_at_their_own_position() -> None:
    rules = """
    define R (n: long) from A as a and $c = count(S) within 10 ms from a where n = $c;
    define S (n: long) from A as a and last R as r within 10 ms from a where n = r.n;
    """
    assert agree(rules, *map(a, range(1, 7)))


def test_begin_and_end_of_an_event_are_points() -> None:
    rules = """
    event C (k: string, began: timestamp) on "c" key k start began;
    define R (t: timestamp, s: timestamp) from A as a and last begin C as c within 5 ms from a
    where t = timeof(c), s = startof(c);
    define S from A as a and last end C as c within 5 ms from a;
    """
    assert agree(rules, event("C", t=100, k="a", began=90), a(101))


def test_a_contradiction_in_what_is_only_counted_is_no_mistake() -> None:
    """Nothing is ever counted: the compiler once did not come to an end."""
    rules = """
    define R (n: long) from A as a and last A as c within 5 ms from a
     and $n = count(B(c after [3 ms, *] a)) within 2 ms from a where n = $n;
    """
    assert agree(rules, a(1), b(2), a(3))


def test_a_value_for_which_all_is_used_up_is_not_new_after_a_loss() -> None:
    """What its first operand had held for all values was used for that one: it must not come back."""
    rules = """
    define R from periodic(A, 2 ms, B(k = $k)) ; B(k = $k) context cumulative unbounded;
    """
    assert agree(rules, a(98), b(103), b(105), b(120), drive=Drive(None))
    for seed in range(40):
        assert agree(rules, a(98), b(103), b(105), b(120), drive=Drive(seed))


def test_what_one_constituent_makes_is_ordered_by_what_that_one_is_made_of() -> None:
    """The oldest of simultaneous occurrences, in the chronicle context."""
    rules = """
    define R from any(3, A, B as r, B as s) within 10 ms context unrestricted;
    define S from A and (R or R) context chronicle unbounded;
    """
    assert agree(rules, a(2), b(2), b(6), a(8))


def test_what_an_expression_leads_to_itself_begins_only_later_ones() -> None:
    """It comes when the position was handled, and still stands in its place among simultaneous ones."""
    rules = """
    define R from any(2, A as r, B);
    define S from aperiodic(A or R, B(k = $k), B) within 10 ms context cumulative;
    define R from A as r ; S unbounded;
    """
    assert agree(rules, b(1), a(5), b(5), b(12))


def test_an_operand_sees_what_the_whole_expression_leads_to_at_one_position() -> None:
    rules = """
    define R from aperiodic*(B, R, A) ; A as r within 200 ms context unrestricted;
    """
    assert agree(rules, b(87), a(89), a(89, n=1), a(89, n=2))


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_lists_and_bytes_go_on_into_what_is_defined_by_what_has_them(seed: int | None) -> None:
    rules = """
    event C (k: string, b: bytes) on "c" key k;
    define R (ns: long[], b: bytes) from any(2, (C as c)*) and A as a within 9 ms
     where ns = list(a.n), b = last(c.b);
    define S (ns: long[], b: bytes) from B as b and last R as r within 9 ms from b where ns = r.ns, b = r.b;
    """
    history = (event("C", t=1, k="a", b=b"a"), event("C", t=2, k="a", b=b"b"), a(3, n=7), b(4), b(5))
    assert agree(rules, *history, drive=Drive(seed))


def test_what_ends_a_repeat_ends_it_for_any_value() -> None:
    """A parameter that only the end of a repeat mentions ties nothing."""
    rules = """
    define R (n: long) from A as a where n = a.n;
    define S (k: string) from match (R as r {1,} until A(k = $k) as a) within 20 ms where k = a.k unbounded;
    define T (k: string) from match every (B as r {1,} until A(k = $k) as a) where k = a.k unbounded;
    """
    assert agree(rules, b(1), a(5, k="b"), a(5, n=1), b(6), a(7), until=30)


def test_each_alternative_of_a_number_is_another_execution() -> None:
    rules = """
    event C (n: long) on "t.C";
    operation Op (k: string) on "t.Op" key k;

    define R0 from ((C as r1 ; Op[1] as r3) ; (Op[2] as r4 or Op[2](k = "b") as r5)) within 5 ms;
    """
    history = [
        event("C", t=10020, n=1),
        event("Op", t=10021, call="q", phase="end", k="b"),
        event("Op", t=10022, call="q", phase="end", k="b"),
        event("Op", t=10023, call="r", phase="end", k="b"),
    ]
    case = Case(rules, tuple(history), until=10030)
    assert difference(case) is None
    assert detect(case.text, case.events, until=case.until).of("R0")


@pytest.mark.parametrize("context", ["unrestricted", "unrestricted disjoint", "chronicle", "continuous"])
def test_what_the_same_events_make_in_several_ways_is_the_first_of_them(context: str) -> None:
    """The ways differ in where the pairs begin or end, and so in the interval of the whole."""
    rules = f"""
    define R from any(3, (begin (B(k = $k) as r and B(k = $k) as s))*) context {context} unbounded;
    define S from any(2, (end (B(k = $k) as r and B(k = $k) as s))*) context {context} unbounded;
    """
    assert agree(rules, b(1), b(6, n=1), b(6, n=2), b(7), b(9))


@pytest.mark.parametrize(
    "source",
    [
        "A as a and last B(k = a) as b within 20 ms from a",
        "(A as a and B(k = a) as b) within 20 ms context unrestricted",
        "match every A as a then B(k = a) as b within 20 ms from a",
    ],
)
def test_a_role_alone_stands_for_its_key_everywhere(source: str) -> None:
    """In conditions of others, in `if` and as the value of an attribute, also inside of something else."""
    rules = f"""
    define R (k: string, s: string, n: long) from {source}
    if a != "c" where k = a, s = lower(b), n = length(a) + count(b);
    """
    history = (b(1, k="b"), b(2, k="a"), a(3, k="a"), b(4, k="a"), b(5, k="c"), a(6, k="c"), b(7, k="c"))
    assert agree(rules, *history)


def test_a_role_alone_stands_for_its_own_id_rather_than_its_key() -> None:
    rules = """
    event C (uid: string, k: string) on "c" key k id uid;
    define R (id: string) from A as a and last C as c within 20 ms from a where id = c;
    """
    history = (event("C", t=1, uid="c1", k="a"), a(2))
    assert agree(rules, *history)
    (found,) = detect(A_AND_B + rules, history).of("R")
    assert found.attributes["id"] == "c1"


@pytest.mark.parametrize("context", ["unrestricted", "recent", "chronicle", "continuous", "cumulative"])
def test_different_numbers_are_different_executions_also_where_nothing_was_collected(context: str) -> None:
    rules = f"""
    operation Op (k: string) on "op" key k;
    define R from aperiodic*(begin Op[2] as r, Op[1] as s, Op[1] as t) within 9 ms context {context};
    define S from (aperiodic*(A, begin Op[1] as r, Op[1] as s) ; Op[2] as t) within 9 ms context {context};
    """
    calls = (
        (1, "p", "begin"),
        (2, "p", "end"),
        (3, "q", "end"),
        (4, "p", "begin"),
        (5, "q", "end"),
        (6, "p", "end"),
    )
    history = [event("Op", t=t, call=call, phase=phase, k="a") for t, call, phase in calls]
    assert agree(rules, a(0), *history)


def test_what_stands_behind_the_timer_of_an_absence_comes_too_late_for_it() -> None:
    """At one time timers stand in the order of their definitions, and of those of the calendar in them."""
    rules = """
    define Early from A as a and not S within 5 ms after a and not B within 5 ms after a;
    define S from A + 5 ms;
    define Late from A as a and not S within 5 ms after a;
    define Tick from Timer(second = *) as t and not Timer(minute = *, second = 1) within 0 ms after t;
    """
    assert agree(rules, a(3), until=1000)
    found = detect(A_AND_B + rules, [a(3)], until=1000)
    assert [len(found.of(name)) for name in ("Early", "Late", "Tick")] == [1, 0, 1]
