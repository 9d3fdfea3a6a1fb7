"""Appendix A of the report on Snoop: every operator in every context, told apart by its history.

Each expectation is derived by hand from the printed procedure of its context; unrestricted from §2.2.1.
"""

from itertools import product

import pytest

from tests.oracle import run
from tests.seeds.notation import CONTEXTS, declarations, history, lines, occurrences, players, stored

TABLE = {
    # Passed on as they are, in every context.
    "OR": (
        "A or B",
        "A1 B1 A2",
        {
            "unrestricted": "A1 | B1 | A2",
            "recent": "A1 | B1 | A2",
            "chronicle": "A1 | B1 | A2",
            "continuous": "A1 | B1 | A2",
            "cumulative": "A1 | B1 | A2",
        },
    ),
    # recent: A2 is the last A for both B; then B2 the last B for A3. Nothing is deleted.
    # chronicle: B1 takes the head A1, B2 takes A2; A3 finds no B left and is appended.
    # continuous: B1 takes both A, which are flushed; B2 finds none and is appended, for A3 to take.
    # cumulative: as continuous, but B1 and its A are one occurrence.
    "AND": (
        "A and B",
        "A1 A2 B1 B2 A3",
        {
            "unrestricted": "A1 B1 | A2 B1 | A1 B2 | A2 B2 | B1 A3 | B2 A3",
            "recent": "A2 B1 | A2 B2 | B2 A3",
            "chronicle": "A1 B1 | A2 B2",
            "continuous": "A1 B1 | A2 B1 | B2 A3",
            "cumulative": "A1 A2 B1 | B2 A3",
        },
    ),
    # recent: at each event from B1 on, the two most recent of different types.
    # chronicle: B1 takes the head A1; then C1 takes A2; B2 is alone.
    # continuous: B1 with both A, all flushed; C1 waits for B2. cumulative: the same, accumulated.
    "ANY": (
        "any(2, A, B, C)",
        "A1 A2 B1 C1 B2",
        {
            "unrestricted": "A1 B1 | A2 B1 | A1 C1 | A2 C1 | B1 C1 | A1 B2 | A2 B2 | C1 B2",
            "recent": "A2 B1 | B1 C1 | C1 B2",
            "chronicle": "A1 B1 | A2 C1",
            "continuous": "A1 B1 | A2 B1 | C1 B2",
            "cumulative": "A1 A2 B1 | C1 B2",
        },
    ),
    # The appendix leaves it out; as ANY with one list: recent keeps the last two, the others flush what
    # they used.
    "ANY*": (
        "any(2, A*)",
        "A1 A2 A3 A4",
        {
            "unrestricted": "A1 A2 | A1 A3 | A2 A3 | A1 A4 | A2 A4 | A3 A4",
            "recent": "A1 A2 | A2 A3 | A3 A4",
            "chronicle": "A1 A2 | A3 A4",
            "continuous": "A1 A2 | A3 A4",
            "cumulative": "A1 A2 | A3 A4",
        },
    ),
    # recent: A2 replaced A1 and stays. chronicle: head by head. continuous: B1 ends both. cumulative: in one.
    "SEQ": (
        "A ; B",
        "A1 A2 B1 B2 A3",
        {
            "unrestricted": "A1 B1 | A2 B1 | A1 B2 | A2 B2",
            "recent": "A2 B1 | A2 B2",
            "chronicle": "A1 B1 | A2 B2",
            "continuous": "A1 B1 | A2 B1",
            "cumulative": "A1 A2 B1",
        },
    ),
    # C1 flushes the list in every context, so B3 finds nothing until A3 opens the next interval.
    # recent: A2 for each B. chronicle: each B takes the head. continuous: each B with all A, which stay.
    # cumulative: A1 is stored, A2 is not; B1 flushes it, so B2 finds nothing.
    "A": (
        "aperiodic(A, B, C)",
        "A1 A2 B1 B2 C1 B3 A3 B4",
        {
            "unrestricted": "A1 B1 | A2 B1 | A1 B2 | A2 B2 | A3 B4",
            "recent": "A2 B1 | A2 B2 | A3 B4",
            "chronicle": "A1 B1 | A2 B2 | A3 B4",
            "continuous": "A1 B1 | A2 B1 | A1 B2 | A2 B2 | A3 B4",
            "cumulative": "A1 B1 | A3 B4",
        },
    ),
    # recent: A2 flushes B1; C1 takes A2 and flushes all, so C2 finds nothing; A3 has no B.
    # chronicle: C1 takes the head A1 with all B; B1 is older than the new head A2 and deleted; C2 takes A2
    # and B2.
    # continuous: C1 takes A1 with the B behind it and A2 with the B behind it. cumulative: A2 was not stored.
    "A*": (
        "aperiodic*(A, B, C)",
        "A1 B1 A2 B2 C1 C2 A3 C3",
        {
            "unrestricted": (
                "A1 B1 B2 C1 | A2 B2 C1 | A1 B1 B2 C2 | A2 B2 C2 | A1 B1 B2 C3 | A2 B2 C3 | A3 C3"
            ),
            "recent": "A2 B2 C1 | A3 C3",
            "chronicle": "A1 B1 B2 C1 | A2 B2 C2 | A3 C3",
            "continuous": "A1 B1 B2 C1 | A2 B2 C1 | A3 C3",
            "cumulative": "A1 B1 B2 C1 | A3 C3",
        },
    ),
    # Ticks: of A1 at 3 and 5, of A2 at 4; both at 7 and 6 would be behind C1 at 6. Of A3 at 9, and 11 is
    # too late.
    # recent: A2 replaced A1 before its first tick. chronicle: the first tick deletes its initiator.
    # continuous: all of them. cumulative: A2 was not stored, and A1 is flushed by its first tick.
    "P": (
        "periodic(A, 2 s, C)",
        "A1@1 A2@2 C1@6 A3@7 C2@10",
        {
            "unrestricted": "A1 @3 | A2 @4 | A1 @5 | A3 @9",
            "recent": "A2 @4 | A3 @9",
            "chronicle": "A1 @3 | A2 @4 | A3 @9",
            "continuous": "A1 @3 | A2 @4 | A1 @5 | A3 @9",
            "cumulative": "A1 @3 | A3 @9",
        },
    ),
    # As A*, each A with its own ticks. A tick stands behind the events of its time: none at 6 for C1, at 8
    # for C2.
    "P*": (
        "periodic*(A, 2 s, C)",
        "A1@1 A2@2 C1@6 C2@8 A3@9 C3@12",
        {
            "unrestricted": (
                "A1 @3 @5 C1 | A2 @4 C1 | A1 @3 @5 @7 C2 | A2 @4 @6 C2 | "
                "A1 @3 @5 @7 @9 @11 C3 | A2 @4 @6 @8 @10 C3 | A3 @11 C3"
            ),
            "recent": "A2 @4 C1 | A3 @11 C3",
            "chronicle": "A1 @3 @5 C1 | A2 @4 @6 C2 | A3 @11 C3",
            "continuous": "A1 @3 @5 C1 | A2 @4 C1 | A3 @11 C3",
            "cumulative": "A1 @3 @5 C1 | A3 @11 C3",
        },
    ),
    # B1 flushes A3 in every context. recent: C1 takes A2 and flushes it. chronicle: C1 takes A1, C2 takes A2.
    # continuous: C1 takes both. cumulative: A2 was not stored.
    "NOT": (
        "not(B)[A, C]",
        "A1 A2 C1 C2 A3 B1 C3 A4 C4",
        {
            "unrestricted": "A1 C1 | A2 C1 | A1 C2 | A2 C2 | A4 C4",
            "recent": "A2 C1 | A4 C4",
            "chronicle": "A1 C1 | A2 C2 | A4 C4",
            "continuous": "A1 C1 | A2 C1 | A4 C4",
            "cumulative": "A1 C1 | A4 C4",
        },
    ),
    # A relative temporal event is a point of its own for each A.
    "PLUS": (
        "A + 2 s",
        "A1@1 A2@2 B1@9",
        {
            "unrestricted": "A1 @3 | A2 @4",
            "recent": "A1 @3 | A2 @4",
            "chronicle": "A1 @3 | A2 @4",
            "continuous": "A1 @3 | A2 @4",
            "cumulative": "A1 @3 | A2 @4",
        },
    ),
}


@pytest.mark.parametrize(("operator", "context"), list(product(TABLE, CONTEXTS)))
def test_operator_in_context(operator: str, context: str) -> None:
    expression, line, expected = TABLE[operator]
    assert lines(occurrences(expression, line, context)) == expected[context]


class TestSimultaneity:
    """Composites with the same terminator are simultaneous. Nothing pairs with what is not before it."""

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_a_sequence_needs_an_earlier_one(self, context: str) -> None:
        """Both conjunctions occur with B1, so neither is before the other."""
        assert occurrences("(A and B as x) ; (C and B as y)", "A1 C1 B1", context) == []

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_no_occurrence_is_paired_with_itself(self, context: str) -> None:
        assert occurrences("A as x and A as y", "A1", context) == []
        assert occurrences("any(2, A as x, A as y)", "A1", context) == []

    def test_one_type_in_both_places_of_a_conjunction(self) -> None:
        """recent: A2 finds y = A1, then x = A2 itself. chronicle: it finds y = A1, and then x = A1."""
        for context, expected in (("recent", 1), ("chronicle", 2), ("unrestricted", 2)):
            assert len(occurrences("A as x and A as y", "A1 A2", context)) == expected

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_the_end_belongs_to_the_interval_of_a(self, context: str) -> None:
        """(A1, B1]: B1 is signalled before it closes the interval, B2 is too late."""
        assert occurrences("aperiodic(A, B as each_b, B as closing)", "A1 B1 B2", context) == ["A1 B1"]

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_the_end_belongs_to_the_interval_of_a_star(self, context: str) -> None:
        rules = declarations(history("A1 B1"))
        rules += f"define S from aperiodic*(A, B as all_b, B as end_b) context {context} unbounded;"
        (found,) = run.detect(rules, history("A1 B1")).of("S")
        assert (players(found, "all_b"), players(found, "end_b")) == ("B1", "B1")

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_both_ends_belong_to_the_interval_of_not(self, context: str) -> None:
        """[A1, B1]: (C and B) occurs with B1, (C and A) with A1; but B1 itself is the end."""
        assert occurrences("not(C and B as inside)[A, B as last]", "A1 C1 B1", context) == []
        assert occurrences("not(C and A as inside)[A as first, B]", "C1 A1 B1", context) == []
        assert occurrences("not(B as inside)[A, B as last]", "A1 B1", context) == ["A1 B1"]
        assert occurrences("not(B as inside)[A, C]", "A1 B1 C1", context) == []

    def test_simultaneous_terminators_in_continuous(self) -> None:
        """Two As wait, and two (B and C) end with C1: each pairs with each, before the list is flushed."""
        found = occurrences("A ; (B and C)", "A1 A2 B1 B2 C1", "continuous")
        assert found == ["A1 B1 C1", "A1 B2 C1", "A2 B1 C1", "A2 B2 C1"]


class TestWithin:
    """`within` bounds the time from the first constituent to the last; what is too old is no candidate."""

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            ("unrestricted", "A2 B1 | A2 B2"),
            ("recent", "A2 B1 | A2 B2"),
            ("chronicle", "A2 B1"),  # A1 is gone, so A2 is the head; B2 finds nothing
            ("continuous", "A2 B1"),
            ("cumulative", "A2 B1"),
        ],
    )
    def test_sequence(self, context: str, expected: str) -> None:
        assert lines(occurrences("A ; B within 2 s", "A1@1 A2@3 B1@4 B2@5", context)) == expected

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_the_end_is_inside(self, context: str) -> None:
        assert occurrences("A ; B within 2 s", "A1@1 B1@3", context) == ["A1 B1"]
        assert occurrences("A ; B within 2 s", "A1@1 B1@3.001", context) == []

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_the_smallest_bound_counts(self, context: str) -> None:
        """A and B within 1 s, and all within 4 s."""
        expression = "(A ; B within 1 s) ; C within 4 s"
        assert occurrences(expression, "A1@1 B1@2 C1@5", context) == ["A1 B1 C1"]
        assert occurrences(expression, "A1@1 B1@3 C1@5", context) == []
        assert occurrences(expression, "A1@1 B1@2 C1@6", context) == []

    def test_what_was_accumulated_expires_too(self) -> None:
        """A1 opens an interval that is too old for C1; A2, which was not stored, cannot take its place."""
        assert occurrences("aperiodic*(A, B, C) within 3 s", "A1@1 A2@2 B1@3 C1@5", "cumulative") == []
        found = occurrences("aperiodic*(A, B, C) within 3 s", "A1@1 A2@2 B1@3 C1@5", "chronicle")
        assert found == ["A2 B1 C1"]

    def test_nothing_old_is_stored(self) -> None:
        held = stored("A ; B within 2 s", "A1@1 A2@3 B1@4", "chronicle", after="A2")
        assert held == {(): [["A1", "A2"], []]}
        held = stored("A ; (B or C) within 2 s", "A1@1 A2@3 C1@4", "continuous", after="C1")
        assert held[()] == [[], []]


class TestDisjoint:
    """§2.3.1: an occurrence begins behind the end of the one before."""

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            ("unrestricted", "A1 B1 | A3 B3"),
            ("recent", "A2 B1 | A3 B3"),
            ("chronicle", "A1 B1 | A3 B3"),
            ("continuous", "A1 B1 | A3 B3"),
            ("cumulative", "A1 A2 B1 | A3 B3"),
        ],
    )
    def test_sequence(self, context: str, expected: str) -> None:
        """After A? B1 everything stored is flushed: B2 finds nothing, and A3 begins the next."""
        assert lines(occurrences("A ; B", "A1 A2 B1 B2 A3 B3", f"{context} disjoint")) == expected

    def test_an_operand_that_overlaps_is_discarded(self) -> None:
        """(A and B) waits below the root with A1 from before B1's end; what it gives later overlaps."""
        line = "C1 A1 D1 B1 D2 C2 A2 B2 D3"
        expression = "(C or (A and B)) ; D"
        assert lines(occurrences(expression, line, "chronicle")) == "C1 D1 | A1 B1 D2 | C2 D3"
        assert lines(occurrences(expression, line, "chronicle disjoint")) == "C1 D1 | C2 D3"

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_what_forbids_or_closes_may_overlap(self, context: str) -> None:
        """(B and D) began before C1 ended the first occurrence; it forbids A2 C2 as without `disjoint`."""
        line = "B1 A1 C1 A2 D1 C2"
        assert occurrences("not(B and D)[A, C]", line, f"{context} disjoint") == ["A1 C1"]
        assert occurrences("aperiodic(A, C, B and D)", line, f"{context} disjoint") == ["A1 C1"]

    @pytest.mark.parametrize("expression", ["A ; B", "A and B"])
    def test_observations(self, expression: str) -> None:
        """§2.3.1: "Disjoint continuous … is the same as disjoint chronicle", and cumulative is disjoint.

        For one operator on every history of seven events; where a node below the root keeps what overlaps
        with an occurrence, as above, they hold no more.
        """
        for types in product("AB", repeat=7):
            line = " ".join(f"{kind}{number % 10}" for number, kind in enumerate(types))
            continuous, chronicle, cumulative = (
                occurrences(expression, line, f"{context} disjoint")
                for context in ("continuous", "chronicle", "cumulative")
            )
            assert continuous == chronicle
            assert cumulative == occurrences(expression, line, "cumulative")


def test_every_context_but_cumulative_is_a_part_of_unrestricted() -> None:
    """§2.3: "a meaningful subset of event occurrences generated by the unrestricted context"."""
    line = "A1 B1 A2 C1 B2 A3 C2 B3 C3"
    for expression in (
        "(A and B) ; C",
        "any(2, A, B, C)",
        "not(B)[A, C] ; B as b",
        "aperiodic(A, B, C) and C as c",
    ):
        everything = set(occurrences(expression, line, "unrestricted"))
        for context in ("recent", "chronicle", "continuous"):
            assert set(occurrences(expression, line, context)) <= everything
