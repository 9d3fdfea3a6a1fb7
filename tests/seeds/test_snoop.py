"""Snoop (the report on Sentinel, §2): the worked examples, on the history that the report uses throughout."""

import pytest

from tests.oracle import run
from tests.oracle.history import event
from tests.seeds.notation import CONTEXTS, constituents, history, lines, occurrences, players, stored

H = "e1¹ e1² e2¹ e3¹ e2² e4¹ e3² e4²"
"""§2.2.1: the global event history."""

X = "(E1 and E2 as dow) ; E3 ; (E2 as change and E4)"
"""Opening of the market and a change of the Dow; then IBM; then a change of the Dow and of a commodity."""

A = "(E1 and E2) ; E3"
"""§2.3: what X begins with."""

# The operator nodes of X by their way from the root. Figure 3 names two of them: A is the root, C is (E2
# and E4).
NODE_A, NODE_C = (), (1,)
OPENING, OPENING_AND_IBM = (0, 0), (0,)


def test_merging_histories() -> None:
    """§2.2: {{e1¹, e3⁴}, {e1²}} ⊎ {{e2¹}, {e2²}} pairs everything and unites the pairs."""
    rules = """
        event E1 (n: int); event E2; event E3;
        define Merged
        from   (E1(n = 1) as a and E3 or E1(n = 2) as b) and E2
        context unrestricted unbounded;
    """
    events = [
        event("E1", t=1, label="e1¹", n=1),
        event("E3", t=2, label="e3⁴"),
        event("E1", t=3, label="e1²", n=2),
        event("E2", t=4, label="e2¹"),
        event("E2", t=5, label="e2²"),
    ]
    found = {constituents(occurrence) for occurrence in run.detect(rules, events).of("Merged")}
    assert found == {"e1¹ e3⁴ e2¹", "e1¹ e3⁴ e2²", "e1² e2¹", "e1² e2²"}


class TestUnrestricted:
    """§2.2.1."""

    def test_conjunctions(self) -> None:
        assert lines(occurrences("E1 and E2", H, "unrestricted")) == "e1¹ e2¹ | e1² e2¹ | e1¹ e2² | e1² e2²"
        assert lines(occurrences("E2 and E4", H, "unrestricted")) == "e2¹ e4¹ | e2² e4¹ | e2¹ e4² | e2² e4²"

    def test_sixteen_occurrences(self) -> None:
        """The text says 16, the printed list has 18 lines with repetitions; the definition gives 16.

        As sets they are 14: with e3², the change of the Dow before it and the one behind it may be e2¹ and
        e2² in either role.
        """
        rules = "event E1; event E2; event E3; event E4; "
        rules += f"define X from {X} context unrestricted unbounded;"
        found = run.detect(rules, history(H)).of("X")
        roles = {tuple(players(x, role) for role in ("E1", "dow", "E3", "change", "E4")) for x in found}
        with_first_ibm = {
            (e1, "e2¹", "e3¹", change, e4)
            for e1 in ("e1¹", "e1²")
            for change in ("e2¹", "e2²")
            for e4 in ("e4¹", "e4²")
        }
        with_second_ibm = {
            (e1, dow, "e3²", change, "e4²")
            for e1 in ("e1¹", "e1²")
            for dow in ("e2¹", "e2²")
            for change in ("e2¹", "e2²")
        }
        assert len(found) == 16
        assert roles == with_first_ibm | with_second_ibm
        assert len({constituents(x) for x in found}) == 14


class TestContexts:
    """§2.3: Figure 1 for A, Figure 2 for X; and B and C, which the section describes in words."""

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            ("recent", "e1² e2¹ e3¹ | e1² e2² e3²"),
            ("chronicle", "e1¹ e2¹ e3¹ | e1² e2² e3²"),
            # The text names {e1², e2², e3²} as the second one, but e1² ended with e2¹: by the algorithm,
            # and by the
            # walk through Figure 3, which finds "two initiators already present" at node A.
            ("continuous", "e1¹ e2¹ e3¹ | e1² e2¹ e3¹"),
            ("cumulative", "e1¹ e1² e2¹ e3¹"),
        ],
    )
    def test_event_a(self, context: str, expected: str) -> None:
        assert lines(occurrences(A, H, context)) == expected

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_event_b(self, context: str) -> None:
        """B = E1 ∇ E2 ∇ E3 "is signaled each time an instance of any of the three events occurs"."""
        assert lines(occurrences("E1 or E2 or E3", H, context)) == "e1¹ | e1² | e2¹ | e3¹ | e2² | e3²"

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            (
                "unrestricted",
                (
                    "e1¹ e2¹ e3¹ | e1² e2¹ e3¹ | e1¹ e3¹ e2² | e1² e3¹ e2² | "
                    "e1¹ e2¹ e3² | e1¹ e2² e3² | e1² e2¹ e3² | e1² e2² e3²"
                ),
            ),
            ("recent", "e1² e2¹ e3¹ | e1² e3¹ e2² | e1² e2² e3²"),
            ("chronicle", "e1¹ e2¹ e3¹ | e1² e2² e3²"),
            ("continuous", "e1¹ e2¹ e3¹ | e1² e2¹ e3¹"),
            ("cumulative", "e1¹ e1² e2¹ e3¹"),
        ],
    )
    def test_event_c(self, context: str, expected: str) -> None:
        """C = E1 ; Any(2, E2, E3): "E1 is the initiator and both E2 and E3 can be terminators"."""
        assert lines(occurrences("E1 ; any(2, E2, E3)", H, context)) == expected

    def test_figure_2(self) -> None:
        """The occurrences of X, numbered as in the figure: 1 and 2, 3 and 4, 5 to 8, and 9."""
        assert occurrences(X, H, "recent") == ["e1² e2¹ e3¹ e2² e4¹", "e1² e2² e3² e4²"]
        assert occurrences(X, H, "chronicle") == ["e1¹ e2¹ e3¹ e4¹", "e1² e2² e3² e4²"]
        assert occurrences(X, H, "continuous") == [
            "e1¹ e2¹ e3¹ e4¹",
            "e1¹ e2¹ e3¹ e2² e4¹",
            "e1² e2¹ e3¹ e4¹",
            "e1² e2¹ e3¹ e2² e4¹",
        ]
        assert occurrences(X, H, "cumulative") == ["e1¹ e1² e2¹ e3¹ e2² e4¹"]

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_disjoint(self, context: str) -> None:
        """§2.3.1: "only the first occurrences of events in each context (i.e. 1, 3, 5, and 9)"."""
        assert occurrences(X, H, f"{context} disjoint") == occurrences(X, H, context)[:1]

    def test_recent_is_the_default(self) -> None:
        """§4.1: "The default context is assumed to be Recent"."""
        rules = f"event E1; event E2; event E3; event E4; define X from {X} unbounded;"
        found = [constituents(x) for x in run.detect(rules, history(H)).of("X")]
        assert found == occurrences(X, H, "recent")


class TestStorage:
    """§2.3.2: what the nodes of X hold around e4¹, Figure 3; and §2.4."""

    def test_recent(self) -> None:
        """e4¹ "can serve as an initiator for node C", and node A keeps "the most recent initiator of E"."""
        held = stored(X, H, "recent", after="e4¹")
        assert held[NODE_C] == [["e2²"], ["e4¹"]]
        assert held[NODE_A][0] == ["e1² e2¹ e3¹"]

    def test_chronicle(self) -> None:
        """The text: "node C retains only e2² after AND is detected", and at node A both are deleted."""
        assert stored(X, H, "chronicle", after="e2²")[NODE_C] == [["e2¹", "e2²"], []]
        held = stored(X, H, "chronicle", after="e4¹")
        assert held[NODE_C] == [["e2²"], []]
        assert held[NODE_A] == [[], []]

    def test_continuous(self) -> None:
        """Two initiators at node C and two at node A give four occurrences, and all of them are deleted.

        The walk says that e4¹ is kept for node C; §2.3.1 and the algorithm, which stand here, discard it.
        """
        before = stored(X, H, "continuous", after="e2²")
        assert before[NODE_C] == [["e2¹", "e2²"], []]
        assert before[NODE_A][0] == ["e1¹ e2¹ e3¹", "e1² e2¹ e3¹"]
        held = stored(X, H, "continuous", after="e4¹")
        assert held[NODE_C] == [[], []]
        assert held[NODE_A] == [[], []]

    def test_cumulative(self) -> None:
        """The text: "e2¹, e2² are combined together as one initiator"; "once detected" all is discarded."""
        before = stored(X, H, "cumulative", after="e2²")
        assert before[NODE_C] == [["e2¹", "e2²"], []]
        assert before[NODE_A][0] == ["e1¹ e1² e2¹ e3¹"]
        held = stored(X, H, "cumulative", after="e4¹")
        assert held[NODE_C] == [[], []]
        assert held[NODE_A] == [[], []]

    @pytest.mark.parametrize(
        ("context", "opening", "then_ibm", "node_a"),
        [
            # After e3¹: the lists of (E1 and E2), what waits for E3, and what waits for (E2 and E4).
            ("recent", [["e1²"], ["e2¹"]], ["e1² e2¹"], ["e1² e2¹ e3¹"]),
            ("chronicle", [["e1²"], []], [], ["e1¹ e2¹ e3¹"]),
            ("continuous", [[], []], [], ["e1¹ e2¹ e3¹", "e1² e2¹ e3¹"]),
            ("cumulative", [[], []], [], ["e1¹ e1² e2¹ e3¹"]),
        ],
    )
    def test_figures_6_to_9(
        self, context: str, opening: list[list[str]], then_ibm: list[str], node_a: list[str]
    ) -> None:
        held = stored(X, H, context, after="e3¹")
        assert held[OPENING] == opening
        assert held[OPENING_AND_IBM][0] == then_ibm
        assert held[NODE_A][0] == node_a

    def test_storage_grows_from_context_to_context(self) -> None:
        """§2.4: monotonically "from recent to cumulative to chronicle to continuous to unrestricted".

        Measured as the report argues: by the room that the lists need. Recent needs "a fixed size buffer"; in
        cumulative "at each node there is only one whole initiator combination"; the others keep lists.
        """
        order = ("recent", "cumulative", "chronicle", "continuous", "unrestricted")
        total, largest = zip(*(room(context) for context in order), strict=True)
        assert list(total) == sorted(total)
        assert list(largest) == sorted(largest)
        assert largest[0] == 1
        assert total[0] < total[-2] < total[-1]


def room(context: str) -> tuple[int, int]:
    """The room for the lists of X over H: of all together, and of the largest."""
    entries: dict[tuple[tuple[int, ...], int], int] = {}
    for label in H.split():
        for path, node in stored(X, H, context, after=label).items():
            for operand, held in enumerate(node):
                needed = min(len(held), 1) if context == "cumulative" else len(held)
                entries[path, operand] = max(needed, entries.get((path, operand), 0))
    return sum(entries.values()), max(entries.values())
