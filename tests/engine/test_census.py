"""What an engine counts for people: what came to each node, what it keeps, found and forgot, and for whom."""

import pytest

from .story import Story

WITHIN = "define R from (A as a ; B as b) within 10 s context {};"

SEQ = {
    "unrestricted": (3, 4),
    "recent": (1, 2),
    "chronicle": (1, 2),
    "continuous": (1, 2),
    "cumulative": (1, 1),
}
"""Of the report's example `A1 A2 B1 B2 A3`: what `A ; B` keeps in each context, and what it finds."""


@pytest.mark.parametrize("context", SEQ)
def test_a_sequence_counts_in_each_context(context: str) -> None:
    stored, found = SEQ[context]
    story = Story(WITHIN.format(context)).tell("A1 A2 B3 B4 A5")
    counts = story.counts("seq", context)
    assert (counts.arrived, counts.stored, counts.found, counts.expired) == (5, stored, found, 0)
    story.tell(".60")
    counts = story.counts("seq", context)
    assert (counts.arrived, counts.stored, counts.found, counts.expired) == (5, 0, found, stored)
    assert story.counts("define").found == story.detected() == found


def test_a_node_counts_for_each_context_it_is_used_in() -> None:
    contexts = {"R": "recent", "S": "chronicle", "T": "recent"}
    rule = "define {} from (A ; B) within 10 s context {};"
    story = Story("".join(rule.format(name, context) for name, context in contexts.items())).tell("A1 B2 B3")
    nodes = {c.context: c for c in story.engine.census() if c.kind == "seq"}
    assert {context: (c.stored, c.found, c.rules) for context, c in nodes.items()} == {
        "recent": (1, 2, ["R", "T"]),
        "chronicle": (0, 1, ["S"]),
    }
    assert len({c.node for c in nodes.values()}) == 1, "one node of the plan"


def test_a_leaf_counts_what_came_and_what_passed() -> None:
    story = Story("define R from A(n > 3) as a; define S from A(n > 5) as a;").tell("A1=4 A2=9 A3=1 A4 B5")
    leaves = {tuple(c.rules): (c.arrived, c.found) for c in story.engine.census() if c.kind == "source"}
    assert leaves == {("R",): (4, 2), ("S",): (4, 1)}


def test_bytes_of_state_are_given_with_the_rules_they_are_kept_for() -> None:
    each = "define {} from B(k = $k) as b and each A(k = $k) as a within {} from b;"
    story = Story(each.format("R", "10 s") + each.format("S", "20 s"))
    sizes = [sum(c.bytes for c in story.engine.census())]
    for line in ("A1", "A2 A3y", ".60"):
        story.tell(line)
        sizes.append(sum(c.bytes for c in story.engine.census()))
    assert sizes[0] == sizes[3] == 0
    assert sizes[2] == 3 * sizes[1]
    assert {tuple(c.rules) for c in story.engine.census() if c.kind == "pattern"} == {("R",), ("S",)}


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("define R from B(k = $k) as b and each A(k = $k) as a within 10 s from b;", "pattern"),
        ("define R from (A(k = $k) ; B(k = $k)) within 10 s;", "seq"),
        ("define R from match every A(k = $k) as a then B(k = $k) as b within 10 s from a;", "match"),
        (
            "rule R when event A(k = $k) as a event B(k = $k), a before [0 s, 9 s] B then publish C(k = $k);",
            "join",
        ),
    ],
)
def test_bytes_are_about_those_of_the_changelog(rule: str, kind: str) -> None:
    story = Story(rule)
    before = sum(c.bytes for c in story.engine.census() if c.kind == kind)
    story.tell(" ".join(f"A{1 + n / 100}{'xyz'[n % 3]}" for n in range(30)))
    commit = story.engine.take()
    entries = [(key, value) for key, value in commit.state[:-1] if value is not None]
    written = sum(len(key) + len(value) for key, value in entries)
    told = sum(c.bytes for c in story.engine.census() if c.kind == kind) - before
    assert written / 2 < told < written * 2


def test_what_a_match_waited_for_in_vain_has_expired() -> None:
    story = Story("define R from match every A as a then B as b within 5 s from a;").tell("A1 A2 B3 .30")
    assert story.counts("match").expired == 0
    story.tell("A40 A41 .60")
    assert story.counts("match").expired == 2


def test_what_a_pattern_keeps_expires() -> None:
    rule = (
        "define R from B(k = $k) as b and each A(k = $k) as a within 10 s from b and not C between a and b;"
    )
    story = Story(rule)
    story.tell("A1 A2 C3 A3.5y B4 .5")
    counts = story.counts("pattern")
    assert (counts.arrived, counts.stored, counts.found, counts.expired) == (5, 4, 0, 0)
    story.tell(".60")
    counts = story.counts("pattern")
    assert (counts.stored, counts.expired) == (0, 4)


def test_facts_that_come_to_hold_count_for_the_join() -> None:
    fact = 'fact F (k: string) key k on "F";'
    story = Story(fact + "rule R when fact F() as f event A() as a then publish C(k = a.k);")
    story.send("F", 1, "x", None)
    story.tell("A2 A3")
    assert (story.counts("join").arrived, story.counts("join").found) == (3, 2)
    assert (story.counts("rule").arrived, story.counts("rule").found) == (2, 2)
