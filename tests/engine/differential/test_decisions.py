"""What was decided where engine and oracle once said different things: ids, numbers, alarms, bounds."""

import json
from collections import Counter

import pytest

from tests.oracle.history import Input, event
from tocsin._engine import Batch, Engine

from .records import TASK
from .run import Case, Drive, difference, differences, planned

A_AND_B = """
event A (k: string, n: long) on "a" key k;
event B (n: long, x: double?, k: string) on "b" key k;
"""


def a(t: int, n: int = 0, k: str = "a") -> Input:
    return event("A", t=t, k=k, n=n)


def b(t: int, n: int = 0, k: str = "a") -> Input:
    return event("B", t=t, k=k, n=n)


def x(t: int, value: float) -> Input:
    return event("B", t=t, k="a", n=0, x=value)


def agree(rules: str, *history: Input, until: int | None = None, drive: Drive = Drive()) -> bool:  # noqa: B008
    """Whether engine and oracle detect the same; they must detect something."""
    counts: Counter[str] = Counter()
    found = difference(Case(A_AND_B + rules, history, until, drive), counts=counts)
    assert found is None, str(found)
    return counts["occurrences"] > 0


E = """
event E (uid: string, n: long, k: string) on "e" key k id uid;
"""


def e(t: int, uid: str, n: int = 0) -> Input:
    return event("E", t=t, uid=uid, n=n, k="a")


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_two_records_with_one_id_are_one_event(seed: int | None) -> None:
    """The first in the order of events, whether or not any rule wants it."""
    rules = """
    define R from E as e;
    define C (c: long) from E(n = 1) as e and $c = count(E) within 9 ms from e where c = $c;
    define S from any(2, E*) within 9 ms;
    define T from (E as a ; E as b) within 9 ms;
    define U from E(n = 2);
    """
    history = [e(1, "u"), e(2, "u", n=2), e(3, "v", n=1), e(4, "w"), e(4, "w", n=1), e(5, "v", n=1)]
    assert agree(E + rules, *history, drive=Drive(seed))
    assert agree(E + "define U from E(n = 2);", *history, e(6, "x", n=2), drive=Drive(seed))


@pytest.mark.parametrize("seed", [None, *range(12)])
def test_an_id_is_known_for_as_long_as_rules_keep_its_events(seed: int | None) -> None:
    """Ten minutes at least; for ever, where they keep them so."""
    minute = 60_000
    history = [e(0, "u"), e(10 * minute, "u"), e(10 * minute + 1, "u"), e(15 * minute, "u")]
    late = [*history, e(50 * minute, "u"), e(90 * minute, "u")]
    within, ever = "define S from (E ; E) within 40 min;", "define S from (E ; E) unbounded;"
    assert agree(E + "define R from E;", *history, drive=Drive(seed))
    assert agree(E + "define R from E; " + within, *late, drive=Drive(seed))
    assert agree(E + "define R from E; " + ever, *late, drive=Drive(seed))


def test_ids_are_forgotten() -> None:
    """And so are their entries in the state."""
    plan = json.dumps(planned(E + "define R from E;"))
    engine = Engine(plan, TASK, 0, {"R": ("made.R", b"", 1)})
    engine.feed(Batch.build("e", 0, [(0, 0, b"a", b'{"uid": "u", "n": 1, "k": "a"}', None)]), 0)
    state: dict[bytes, bytes | None] = {}
    left = []
    for watermark in (1, 600_000, 700_000):
        engine.advance("e", watermark)
        engine.run()
        state.update(engine.take().state)
        left.append(sum(value is not None for key, value in state.items() if key.startswith(b"\0id")))
    assert left == [1, 1, 0]
    assert engine.stored == 0


@pytest.mark.parametrize("operator", ["A(n = $k) as a ; B(x = $k) as b", "A(n = $k) as a and B(x = $k) as b"])
def test_a_parameter_may_be_a_long_and_a_double(operator: str) -> None:
    history = [a(1, n=1), x(2, 1.0), x(3, 1.5), a(4, n=2**53 + 1), x(5, 2.0**53), a(6, n=2**53)]
    for context in ("recent", "chronicle", "continuous", "cumulative", "unrestricted"):
        assert agree(f"define R from ({operator}) within 9 ms context {context};", *history)
    assert agree("define R from match A(n = $k) as a then B(x = $k) as b within 9 ms;", *history)
    assert agree("define R from A(n = $k) as a and last B(x = $k) as b within 9 ms from a;", *history)
    forbids = "define R from not(B(x = $k))[A(n = $k) as a, A(n = $k) as c] within 9 ms;"
    assert agree(forbids, a(1, n=1), x(2, 1.0), a(3, n=1), a(4, n=1))


@pytest.mark.parametrize("condition", ["a.n = b.x", "a.n > b.x", "a.n <= b.x", "a.n != b.x"])
def test_numbers_are_compared_as_they_are(condition: str) -> None:
    """Not every long is a double."""
    history = [x(1, 2.0**53), *(a(2 + n, n=2**53 + n) for n in (-1, 0, 1)), x(6, 0.5), a(7, n=0), a(8, n=1)]
    assert agree(f"define R from A as a and last B as b within 9 ms from a if {condition};", *history)
    assert agree(
        "define R from A(n = 9007199254740992.0); define S from A(n > 9007199254740992.0);", *history
    )
    assert agree("define R from A(n in (0.5, 9007199254740992.0)); define S from A(n > 0.5);", *history)


FACTS = """
fact F (k: string, n: long) key k;
event P (k: string) on "p";
define W from A(n = 2) as a and not B(n = 9) within 8 ms after a;
rule r when event W then assert F (k = "x", n = 1);
rule s when fact F as f then publish P (k = f.k);
"""


@pytest.mark.parametrize(
    "rules",
    [
        "define M from match every A(n = 1) as a then (B as b within 10 ms);",
        "define M from A(n = 1) as a and not B(n = 1) within 10 ms after a;",
        "define M from periodic(A(n = 1), 5 ms, B(n = 1)) within 40 ms;",
    ],
)
def test_identities_do_not_depend_on_alarms_that_nobody_waits_for(rules: str) -> None:
    """Only a task that was not restarted has them."""
    history = (a(10, n=1), b(11, n=1), a(12, n=2))
    drives = [Drive(), *map(Drive, range(20))]
    found = differences(Case(A_AND_B + rules + FACTS, history, until=100), drives)
    assert [str(one) for one in found if one is not None] == []


@pytest.mark.parametrize("context", ["recent", "chronicle", "continuous", "cumulative", "unrestricted"])
def test_within_counts_to_the_position_at_hand(context: str) -> None:
    """Also where the occurrence ends before it, when its last event began."""
    began = """
    event C (k: string, began: timestamp) on "c" key k start began;
    define T from C;
    """
    rules = f"""
    define R from (A as a ; begin C as c) within 20 ms context {context};
    define S from (begin C as c and A as a) within 20 ms context {context};
    """
    assert agree(
        began + rules, a(1), event("C", t=30, k="a", began=10), a(31), event("C", t=40, k="a", began=33)
    )


ROOTS = """
define D (k: string, v: double) from A as a where k = a.k, v = sqrt(a.n);
"""


@pytest.mark.parametrize(
    "rules",
    [
        "define R from D(v = $v);",
        "define R from D(v = $v) as d and not B(x = $v) within 9 ms from d;",
        "define R from B as b and last D(v = $v) as d within 9 ms from b;",
        "define R from (D(v = $v) as d ; B as b) within 9 ms;",
        "define R from match D(v = $v) as d then B as b within 9 ms;",
        'event P (k: string) on "p"; rule r when event D(v = $v) as d then publish P (k = d.k);',
    ],
)
def test_what_is_not_a_number_gives_no_parameter_its_value(rules: str) -> None:
    assert agree(ROOTS + rules, a(1, n=-1), a(2, n=4), a(3, n=-1), b(4), a(5, n=1), b(6))


@pytest.mark.parametrize("key", ["", "key k"])
def test_a_fact_that_stays_not_a_number_has_not_changed(key: str) -> None:
    rules = f"""
    fact F (k: string, x: double) {key};
    event P (k: string) on "p";
    rule r when event A as a then update F (k = a.k, x = sqrt(a.n));
    rule s when fact F as f then publish P (k = f.k);
    """
    assert agree(rules, a(1, n=-1), a(2, n=-1), a(3, n=4), a(4, n=-1))


def test_a_sum_of_longs_that_is_too_large_is_absent() -> None:
    rules = """
    define R (s: long?, m: double?) from B as b and $s = sum(A.n) within 9 ms from b
     and $m = avg(A.n) within 9 ms from b where s = $s, m = $m;
    """
    assert agree(rules, a(1, n=2**62), b(2), a(3, n=2**62), b(4), a(5, n=-1), b(6))


def test_an_event_that_would_begin_after_its_time_is_a_point() -> None:
    rules = """
    event C (k: string, began: timestamp) on "c" key k start began;
    define R (d: long) from C as c where d = timeof(c) - startof(c);
    define S from (C ; A) within 9 ms;
    """
    assert agree(rules, event("C", t=5, k="a", began=9), a(7), event("C", t=12, k="a", began=11), a(13))


def test_a_position_without_room_for_more_is_not_believed() -> None:
    plan = json.dumps(planned(E + "define R from E;"))
    engine = Engine(plan, TASK, 0, {"R": ("made.R", b"", 1)})
    engine.feed(Batch.build("e", 0, [(0, 0, b"a", b'{"uid": "u", "n": 1, "k": "a"}', None)]), 0)
    engine.advance("e", 1)
    engine.run()
    key, value = next(entry for entry in engine.take().state if entry[0] == b"\0task")
    assert value is not None
    # Version 4, released at 1, began at 0, and position 1: Avro longs of a byte each.
    assert value[:4] == bytes([8, 2, 0, 2])
    with pytest.raises(ValueError, match="out of range"):
        Engine(plan, TASK, 0, {"R": ("made.R", b"", 1)}).load([(key, value[:3] + b"\1" + value[4:])])


KEPT = """
fact F (k: string, n: long) key k;
event P (n: long) on "p";
"""


@pytest.mark.parametrize(
    "source",
    [
        "match every (B as x | B as y)",
        "match every (B as x | B as y | A as x)",
        "match every ((B as x then A as y) | (A as y then B as x) | (B as z then A as y))",
        "match every (not A as y for 1 ms | B as x | B as y)",
        "B as x or B as y",
        "(aperiodic(A, B as x, C) or B as y) ; C",
    ],
)
def test_one_event_in_several_roles_comes_first_in_the_role_written_first(source: str) -> None:
    """For what rules do, and for what is chosen among simultaneous occurrences."""
    values = "count(x) * 1000 + count(y) * 100 + sum(x.n)"
    clauses = "unbounded" if source.startswith("match") else "context unrestricted unbounded"
    rules = f"""
    event C extends B on "c";
    rule W on {source} do update F (k = "a", n = {values}) {clauses};
    rule S when fact F as f then publish P (n = f.n);
    define R (n: long) from {source} where n = {values} {clauses};
    define T (n: long) from A as a and last R as r within 90 ms from a where n = r.n;
    define U (n: long) from A as a and first R as r within 90 ms from a where n = r.n;
    """
    history = [b(1, n=1), a(2, n=2), b(3, n=3), event("C", t=4, k="a", n=5), a(5, n=5), b(6, n=6), a(7)]
    assert agree(KEPT + rules, *history, until=20)


def test_what_a_rule_publishes_at_one_position_stands_in_the_order_in_which_it_fired() -> None:
    """By initiators first, although what is published is a point."""
    rules = """
    rule r on A as a and each B(n > 0) as b within 9 ms from a and each B(n < 0) as c within 9 ms from a
    do publish P (n = b.n + c.n);
    define S (n: long) from A as a and 2 last P as p within 9 ms from a where n = p.n;
    define T (n: long) from A as a and first P as p within 9 ms from a where n = p.n;
    """
    assert agree(KEPT + rules, b(1, n=-1), b(2, n=20), b(3, n=30), b(4, n=-4), a(5), a(6))


def test_what_comes_true_twice_with_the_same_events_is_chosen_once() -> None:
    rules = """
    define R (n: long) from match every (A as a | B{1}) where n = coalesce(a.n, 0) unbounded;
    define S (n: long) from R as r and first R as q within 40 ms from r where n = q.n;
    define T (n: long) from R as r and last R as q within 40 ms from r where n = q.n;
    """
    assert agree(rules, a(1), b(20), b(23), b(26))


@pytest.mark.parametrize(
    "rules",
    [
        "define R (k: string, n: long) from match every A where k = k, n = n unbounded;",
        "define R (n: long) from match every (A and not B) if n > 1 where n = n unbounded;",
        "define R (n: long) from A within 5 ms if n > 1 where n = n;",
        "rule r when event A, n > 1 then publish P (n = n);",
        "rule r on A do update F (k = k, n = n); rule s when fact F if n > 1 then publish P (n = n);",
    ],
)
def test_attributes_of_the_only_constituent_need_no_name(rules: str) -> None:
    assert agree(KEPT + rules, a(1, n=1), a(2, n=2), a(3, n=3))
