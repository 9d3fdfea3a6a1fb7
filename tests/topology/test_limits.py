"""Limits moved to where their event is known: what the compiler makes of a match means what was written."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracle.history import Input, event
from tests.oracle.run import detect, parse
from tocsin.topology import tree
from tocsin.topology.passes.limits import place_limits

HEAD = "".join(f'event {name} (n: int) on "{name}"; ' for name in "ABC")

others = st.sampled_from(["B as b", "C as c", "not B for 2 s", "each C as c", "B as b {2}", "wait 1 s"])


def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} then {})".format, inner, others),
        st.builds("({} then {})".format, others, inner),
        st.builds("({} and {})".format, inner, others),
        st.builds("({} or {})".format, inner, others),
        st.builds("({} | {})".format, inner, others),
        st.builds("(each {})".format, inner),
        st.builds("({} within 4 s)".format, inner),
        st.builds("({} within 3 s from a)".format, inner),
        st.builds("({}{{1,2}})".format, inner),
    )


matches = st.builds(
    "{}({} within {} s from a)".format,
    st.sampled_from(["", "every "]),
    st.recursive(st.just("A as a"), around, max_leaves=4),
    st.integers(1, 5),
)
histories = st.lists(st.tuples(st.sampled_from("ABC"), st.integers(0, 2)), max_size=7)


def found(program: tree.Program, events: list[Input]) -> list[object]:
    occurrences = detect(program, events, until=20_000).of("D")
    return [
        (o.position, sorted(c.label for c in o.constituents if isinstance(c.label, str))) for o in occurrences
    ]


@given(matches, histories)
def test_moving_limits_changes_nothing(match: str, steps: list[tuple[str, int]]) -> None:
    program = parse(f"{HEAD} define D from match {match};")
    *declared, define = program.declarations
    assert isinstance(define, tree.Define)
    assert isinstance(define.source, tree.Match)
    placed = replace(define, source=replace(define.source, expr=place_limits(define.source.expr)))
    time, events = 0, []
    for number, (name, pause) in enumerate(steps):
        time += 1000 * pause
        events.append(event(name, t=time, n=number))
    moved = replace(program, declarations=(*declared, placed))
    try:
        expected, got = found(program, events), found(moved, events)
    except AssertionError as error:
        # Some matches multiply beyond what the oracle follows.
        assume("too many ways" not in str(error))
        raise
    assert got == expected
