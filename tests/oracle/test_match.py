"""Matches on the oracle, one construct at a time.

`found("A as a then B as b", "a1 b2")` runs a match over a history: a1 is an event A at 1 s, b2:50 a B at 2 s
with the value 50, b2=y one with the key y. A result is told by what was taken, and by its time where it ends
with a timer: "a1 b2", "a1 @6".
"""

import re

import pytest

from tests.oracle.history import Input, Occurrence
from tests.oracle.run import detect

DECLARATIONS = """
event Any (v: long, k: string) on "events";
event A extends Any;
event B extends Any;
event C extends Any;
event D extends Any;
"""


def found(match: str, history: str, clauses: str = "", until: int = 60, *, since: int = 0) -> list[str]:
    return [told(o) for o in defined(f"from match {match} {clauses}", history, until, since=since)]


def defined(definition: str, history: str, until: int = 60, *, since: int = 0) -> tuple[Occurrence, ...]:
    text = f"{DECLARATIONS} define Found {definition} unbounded;"
    events = [read(word) for word in history.split()]
    return detect(text, events, since=since * 1000, until=until * 1000).of("Found")


def read(word: str) -> Input:
    parts = re.fullmatch(r"([a-d])(\d+)(?::(\d+))?(?:=(\w))?", word)
    assert parts is not None
    name, second, value, key = parts.groups()
    return Input(name.upper(), int(second) * 1000, {"v": int(value or 0), "k": key or "x"}, name + second)


def told(occurrence: Occurrence) -> str:
    taken = sorted((c for c in occurrence.constituents if c.type != "Timer"), key=lambda c: c.position)
    words = [str(c.label) for c in taken]
    if not taken or taken[-1].position != occurrence.position:
        words.append(f"@{occurrence.time // 1000}")
    return " ".join(words)


# --- steps --------------------------------------------------------------------------------------------------


def test_a_step_takes_the_first_event_that_fits() -> None:
    assert found("A(v > 1)", "a1 b2 a3:5 a4:6") == ["a3"]


def test_each_takes_every_event_that_fits() -> None:
    assert found("each A", "a1 b2 a3") == ["a1", "a3"]


def test_next_takes_only_the_event_that_follows_in_the_stream_of_the_match() -> None:
    assert found("each A as a then next B as b", "a1 b2 a3 a4 b5") == ["a1 b2", "a4 b5"]
    assert found("each A as a then next B as b", "a1 c2 b3") == ["a1 b3"]
    assert found("each A as a then next Any as b", "a1 c2 b3") == ["a1 c2"]


def test_conditions_may_speak_of_what_was_taken_before() -> None:
    assert found("A as a then each B(v > a.v) as b", "a1:5 b2:4 b3:6 b4:7") == ["a1 b3", "a1 b4"]


# --- one after the other, together, one of them -------------------------------------------------------------


def test_then_is_started_by_every_match_of_its_left() -> None:
    assert found("each A then B", "a1 a2 b3 b4") == ["a1 b3", "a2 b3"]
    assert found("A then each B", "b1 a2 b3 b4") == ["a2 b3", "a2 b4"]


def test_and_combines_each_match_with_those_of_the_others_so_far() -> None:
    assert found("A and B", "b1 a2 a3 b4") == ["b1 a2"]
    assert found("each A and each B", "b1 a2 b3") == ["b1 a2", "a2 b3"]


def test_one_event_may_play_in_both_parts_of_an_and() -> None:
    assert found("Any(v > 1) as x and A as a", "a1:5") == ["a1"]


def test_not_beside_and_fails_the_whole_and_wins_at_its_position() -> None:
    assert found("A and not B", "a1") == ["a1"]
    assert found("A and not B", "b1 a2") == []
    assert found("A(v > 1) and not A(v > 2)", "a1:5") == []
    assert found("each A and not B", "a1 a2 b3 a4") == ["a1", "a2"]


def test_not_alone_is_true_where_it_is_started() -> None:
    assert found("A then not B", "a1 b2") == ["a1"]
    assert found("A then (B or not B)", "a1 b2") == ["a1", "a1 b2"]


def test_or_is_over_when_one_part_is_through() -> None:
    assert found("A or B", "b1 a2 b3") == ["b1"]
    assert found("each A or B", "a1 a2 b3 a4") == ["a1", "a2", "b3"]
    assert found("A then B or C", "a1 c2 b3") == ["a1 c2"]


def test_alternatives_go_on_without_each_other() -> None:
    assert found("A | B", "b1 a2 b3 a4") == ["b1", "a2"]
    assert found("A then (((C and not B) then D) | (D and not B))", "a1 c2 b3 d4") == ["a1 c2 d4"]
    assert found("A then (((C and not B) then D) | (D and not B))", "a1 c2 d3") == ["a1 c2 d3", "a1 d3"]


# --- again and again ----------------------------------------------------------------------------------------


def test_every_starts_afresh_at_each_match() -> None:
    assert found("every A then B", "a1 a2 b3") == ["a1 b3", "a2 b3"]
    assert found("every (A then B)", "a1 a2 b3 b4 a5 b6") == ["a1 b3", "a5 b6"]


def test_every_starts_afresh_at_each_fail() -> None:
    assert found("every (A then next B)", "a1 a2 a3 b4") == ["a3 b4"]
    assert found("every (A and not B)", "b1 a2 b3 a4") == ["a2", "a4"]


def test_every_in_every_doubles() -> None:
    assert found("every every B", "b1 b2 b3") == ["b1", "b2", "b2", "b3", "b3", "b3", "b3"]


def test_every_drops_what_is_true_where_it_starts() -> None:
    assert found("every (B or not D)", "b1 d2 b3") == []


def test_a_repetition_is_true_at_each_count() -> None:
    assert found("A{2}", "a1 b2 a3 a4") == ["a1 a3"]
    assert found("A{1,}", "a1 a2 a3") == ["a1", "a1 a2", "a1 a2 a3"]
    assert found("A then B{0,1} then C", "a1 b2 c3") == ["a1 b2 c3", "a1 c3"]


def test_a_repetition_says_how_the_later_ones_are_found() -> None:
    assert found("A{2 each}", "a1 a2 a3") == ["a1 a2", "a1 a3"]
    assert found("each A{2 each}", "a1 a2 a3") == ["a1 a2", "a1 a3", "a2 a3"]
    assert found("each A as a{2 next} then B", "a1 b2 a3 a4 b5") == ["a3 a4 b5"]


def test_a_repetition_compares_each_with_the_one_before() -> None:
    assert found("A{3 while v > previous.v}", "a1:5 a2:4 a3:6 a4:7") == ["a1 a3 a4"]
    assert found("each A{2 next while v > previous.v}", "a1:5 a2:4 a3:6") == ["a2 a3"]


def test_a_repetition_may_sum_what_it_took() -> None:
    assert found("A(sum(a.v) + v < 10) as a{1,}", "a1:4 a2:5 a3:3 a4:0") == ["a1", "a1 a2", "a1 a2 a4"]


def test_what_cannot_go_on_being_repeated_does_not_fail() -> None:
    assert found("A{1, next} and D", "a1 b2 d3") == ["a1 d3"]
    assert found("(A then next B){2} or D", "a1 b2 a3 d4") == ["d4"]


def test_until_is_true_when_it_ends() -> None:
    assert found("A{0,} until B", "a1 a2 b3") == ["a1 a2 b3"]
    assert found("A{0,} until B", "b1") == ["b1"]
    assert found("A{2,} until B", "a1 b2 a3 b4") == []
    assert found("every (A{2,} until B)", "a1 b2 a3 a4 b5") == ["a3 a4 b5"]


def test_until_goes_on_waiting_when_it_has_enough() -> None:
    assert found("A{1,2} until B", "a1 a2 a3 b4") == ["a1 a2 b4"]


def test_what_ends_a_repetition_wins_over_an_element() -> None:
    assert found("Any as x{0,} until A(v = 1) as a", "a1 b2 a3:1") == ["a1 b2 a3"]
    assert found("A as x{1,} until A as a", "a1") == []


def test_each_and_next_mean_the_first_event_that_is_taken_whichever_step_that_is() -> None:
    assert found("each (A{0,1} then B)", "a1 b2 b3") == ["a1 b2", "b2", "b3"]
    assert found("D then next (A{0,1} then B)", "d1 d2 b3") == []


# --- limits and time ----------------------------------------------------------------------------------------


def test_within_counts_from_the_start_and_includes_its_end() -> None:
    assert found("A then (B within 2 s)", "a1 b3") == ["a1 b3"]
    assert found("A then (B within 2 s)", "a1 b4") == []
    assert found("A within 3 s", "a4") == []


def test_within_fails_at_its_end() -> None:
    assert found("every (A then (B within 3 s))", "a1 b5 a6 b7") == ["a6 b7"]
    assert found("(A within 2 s) or B", "b3") == ["b3"]
    assert found("(A within 2 s) and B", "a1 b3") == ["a1 b3"]
    assert found("(each A within 2 s) and B", "a1 b3") == []


def test_within_may_count_from_an_event() -> None:
    assert found("A as a then B as b then (C within 3 s from a)", "a1 b3 c4") == ["a1 b3 c4"]
    assert found("A as a then B as b then (C within 3 s from a)", "a1 b3 c5") == []
    assert found("(each A as a then B) within 3 s from a", "a1 a3 b5") == ["a3 b5"]
    assert found("A as a{2} then (C within 3 s from a)", "a1 a3 c5") == []


def test_what_comes_after_the_event_a_time_counts_from_fails_when_it_is_up() -> None:
    assert found("every (A as a then B) within 3 s from a", "a1 a5 b7 a8 b9") == ["a5 b7", "a8 b9"]
    assert found("every (A as a then B within 3 s from a)", "a1 a5 b7") == ["a5 b7"]
    assert found("every (A as a then C then B within 3 s from a)", "a1 a5 c6 b7") == ["a5 c6 b7"]
    assert found("every (C then (A as a then B) within 3 s from a)", "c1 a4 b7 c8 a9 c14 a15 b16") == [
        "c1 a4 b7",
        "c14 a15 b16",
    ]
    assert found("(A as a then B) | (C then B) within 3 s from a", "a1 c2 b5") == ["c2 b5"]
    assert found("A as a and B within 3 s from a", "a1 b5") == []


def test_at_most_fails_with_the_one_too_many() -> None:
    assert found("each A at most 2", "a1 a2 a3 a4") == ["a1", "a2"]
    assert found("(each A at most 1) and each B", "a1 b2 a3 b4") == ["a1 b2"]
    assert found("each A at most 0", "a1") == []


def test_while_fails_with_the_first_violation() -> None:
    assert found("each A as a while a.v < 5", "a1:1 a2:7 a3:1") == ["a1"]
    assert found("every (A as a while a.v < 5)", "a1:1 a2:7 a3:1") == ["a1", "a3"]


def test_wait_is_true_when_the_time_is_up() -> None:
    assert found("A then wait 5 s", "a1") == ["a1 @6"]
    assert found("A then wait 5 s then B", "a1 b6 b7") == ["a1 b7"]
    assert found("A then wait 5 s", "a1", until=5) == []
    assert found("every wait 5 s", "", since=1, until=12) == ["@6", "@11"]


def test_a_wait_with_a_name_is_taken() -> None:
    (occurrence,) = defined("(at: timestamp) from match A then wait 5 s as w where at = timeof(w)", "a1")
    assert occurrence.attributes == {"at": 6000}


def test_absence_is_true_when_the_time_is_up() -> None:
    assert found("A then not B for 3 s", "a1 b5") == ["a1 @4"]
    assert found("A then not B for 3 s", "a1 b4") == []
    assert found("A then (not B for 3 s or C)", "a1 c2") == ["a1 c2"]
    assert found("A then (not B for 3 s and C)", "a1 c2") == ["a1 c2 @4"]
    assert found("A then every not B for 3 s", "a1 b2", until=9) == ["a1 @5", "a1 @8"]


def test_absence_may_count_from_an_event() -> None:
    assert found("A as a then B then not C for 5 s from a", "a1 b3") == ["a1 b3 @6"]
    assert found("A as a then B then not C for 5 s from a", "a1 b9") == ["a1 b9"]


# --- the root -----------------------------------------------------------------------------------------------


def test_what_is_true_before_any_event_is_no_occurrence() -> None:
    assert found("A{0,1}", "a1") == ["a1"]
    assert found("not A", "a1") == []


def test_valuations_of_equal_parameters_are_matched_apart() -> None:
    assert found("every (A(k = $k) then next B(k = $k))", "a1=x a2=y b3=x b4=y") == ["a1 b3", "a2 b4"]


def test_a_parameter_of_a_repeated_step_is_equal_in_all_of_them() -> None:
    assert found("each A(k = $k){2 next}", "a1=x a2=y a3=x b4 a5=y") == ["a1 a3", "a2 a5"]


def test_a_parameter_of_one_step_names_a_value() -> None:
    (occurrence,) = defined("(v: long) from match A(v = $v) then B where v = $v", "a1:7 b2")
    assert occurrence.attributes == {"v": 7}


def test_a_role_that_was_not_taken_is_null() -> None:
    (occurrence,) = defined("(v: long?) from match A as a or B as b where v = a.v", "b1:7")
    assert occurrence.attributes == {"v": None}


def test_a_role_given_to_several_steps_collects() -> None:
    (occurrence,) = defined("(n: long[]) from match A as x then B as x where n = list(x.v)", "a1:7 b2:8")
    assert occurrence.attributes == {"n": (7, 8)}


def test_the_same_events_can_come_true_twice() -> None:
    assert found("A then every wait 2 s", "a1", until=6) == ["a1 @3", "a1 @5"]


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ("", ["a1 b3", "a2 b3", "a1 b4", "a2 b4", "a5 b6", "a1 b6", "a2 b6"]),
        ("disjoint", ["a1 b3", "a5 b6"]),
        ("skip to next", ["a1 b3", "a2 b3", "a5 b6"]),
        ("skip to first b", ["a1 b3", "a5 b6"]),
        ("skip to last a", ["a1 b3", "a2 b3", "a2 b4", "a5 b6", "a2 b6"]),
    ],
)
def test_what_is_skipped_after_an_occurrence(clause: str, expected: list[str]) -> None:
    assert sorted(found("each A as a then each B as b", "a1 a2 b3 b4 a5 b6", clause)) == sorted(expected)


def test_skipping_to_an_event_of_a_loop() -> None:
    runs = "(each A as a{1, next} then next B as b)"
    assert found(runs, "a1 a2 b3", "skip to last a") == ["a1 a2 b3", "a2 b3"]
    assert found(runs, "a1 a2 b3", "skip to first b") == ["a1 a2 b3"]
    assert found(runs, "a1 a2 b3", "disjoint") == ["a1 a2 b3"]


def test_a_repeat_may_be_longer_than_recursion_goes() -> None:
    history = " ".join(f"a{second}" for second in range(1, 501))
    assert len(found("A{1,}", history, until=600)) == 500
