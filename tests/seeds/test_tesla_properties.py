"""What holds of every history: TESLA's theorem of the uniqueness of selection, and how selections relate."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.history import Input, Occurrence, event
from tests.oracle.run import detect

EVENTS = """
event A (v: long) on "a"; event B (v: long) on "b"; event C (v: long) on "c";
"""

PATTERN = """
define Found
from A(v = $v) as a
 and {selection} B(v <= $v) as b within 5 s from a
 and each C() as c within 5 s from b
 and not C(v > $v) between b and a
{consuming};
"""

histories = st.lists(
    st.builds(
        lambda kind, t, v: event(kind, t=t * 1_000, v=v),
        st.sampled_from(["A", "B", "C"]),
        st.integers(0, 9),
        st.integers(0, 3),
    ),
    max_size=14,
)
selections = st.sampled_from(["each", "last", "first", "2 last", "3 first"])


def found(history: list[Input], selection: str, consuming: str = "") -> tuple[Occurrence, ...]:
    return detect(EVENTS + PATTERN.format(selection=selection, consuming=consuming), history).of("Found")


@settings(max_examples=60, deadline=None)
@given(histories, selections, st.sampled_from(["", "consuming b", "consuming b, c"]))
def test_uniqueness_of_selection(history: list[Input], selection: str, consuming: str) -> None:
    """A set of events is selected once, at the time of one of them, with all the others in the past."""
    occurrences = found(history, selection, consuming)
    selected = [frozenset((role, players[0].label) for role, players in o.roles.items()) for o in occurrences]
    assert len(set(selected)) == len(selected)
    for one in occurrences:
        assert one.position == one.roles["a"][0].position
        assert all(one.roles[role][0].position < one.position for role in "bc")


@settings(max_examples=60, deadline=None)
@given(histories, st.integers(1, 4))
def test_last_and_first_are_among_each_and_more_of_them_are_more(history: list[Input], k: int) -> None:
    each = set(found(history, "each"))
    for selection in ("last", "first"):
        fewer, more = (set(found(history, f"{count} {selection}")) for count in (k, k + 1))
        assert fewer <= more <= each
        assert set(found(history, f"{len(history) + 1} {selection}")) == each


@settings(max_examples=60, deadline=None)
@given(histories, selections)
def test_what_is_consumed_is_used_at_one_position_only(history: list[Input], selection: str) -> None:
    positions: dict[Occurrence, set[object]] = {}
    for one in found(history, selection, "consuming b"):
        positions.setdefault(one.roles["b"][0], set()).add(one.position)
    assert all(len(used) == 1 for used in positions.values())
