"""PROCEDURE activate_operator_node, §6.1.3: the continuous context.

Terminators that a child signals at one position each pair with all initiators, and the list is flushed behind
them: §2.3.2 has two initiators and two simultaneous terminators give four occurrences. The printed A* passes
<E1's head, e3> for each e1 where there is no e2; it is <e1, e3>.
"""

from itertools import combinations, product

from tests.oracle.contexts_node import LEFT, MIDDLE, RIGHT, Operator, Parts
from tests.oracle.snoop_parts import Part
from tocsin.topology import tree


class Continuous(Operator):
    """Each initiator starts an occurrence, and a terminator ends all that were started."""

    def and_(self, k: int, signalled: Parts) -> None:
        """If the other list is not empty, pass <other, e> for every other and FLUSH it; else append e."""
        used: list[Part] = []
        for e in signalled:
            others = self.candidates(1 - k, k, e)
            for other in others:
                self.pass_on(other, e)
            if not others:
                self.append(k, e)
            used += others
        self.delete(1 - k, used)

    def any_(self, k: int, signalled: Parts) -> None:
        """Append ek; if there are m, pass all tuples of m distinct occurrences and FLUSH all buffers."""
        assert isinstance(self.node.expr, tree.AnyOf)
        self.lists[k].extend(signalled)
        others = [i for i in range(len(self.node.operands)) if i != k]
        tuples = [
            dict(zip((k, *places), chosen, strict=True))
            for places in combinations(others, self.node.expr.count - 1)
            for chosen in product(signalled, *(self.lists[i] for i in places))
        ]
        used = [chosen for chosen in tuples if self.together(chosen)]
        for chosen in used:
            self.pass_on(*chosen.values())
        for chosen in used:
            for i, e in chosen.items():
                self.delete(i, [e])

    def any_star(self, signalled: Parts) -> None:
        """Append e; if there are m, pass them and FLUSH the buffer."""
        assert isinstance(self.node.expr, tree.AnyOf)
        for e in signalled:
            self.append(0, e)
            if len(self.lists[0]) == self.node.expr.count:
                self.pass_on(*self.lists[0])
                self.delete(0, self.lists[0])

    def seq_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        self.lists[0].extend(signalled)

    def seq_right(self, signalled: Parts) -> None:
        """For every e1 in E1's list, pass <e1, e2>; FLUSH E1's list."""
        used: list[Part] = []
        for e2 in signalled:
            for e1 in self.candidates(0, 1, e2):
                self.pass_on(e1, e2)
                used.append(e1)
        self.delete(0, used)

    def a_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        self.lists[LEFT].extend(signalled)

    def a_middle(self, signalled: Parts) -> None:
        """For every e1 in E1's list, pass <e1, e2>."""
        for e2 in signalled:
            for e1 in self.candidates(LEFT, MIDDLE, e2):
                self.pass_on(e1, e2)

    def a_right(self, signalled: Parts) -> None:
        """FLUSH E1's list."""
        for e3 in signalled:
            self.delete(LEFT, self.candidates(LEFT, RIGHT, e3))

    def star_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        self.lists[LEFT].extend(signalled)

    def star_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, append e2 to E2's list."""
        for e2 in signalled:
            if self.candidates(LEFT, MIDDLE, e2):
                self.append(MIDDLE, e2)

    def star_right(self, signalled: Parts) -> None:
        """For each e1, pass <e1, all e2 later than e1, e3>; FLUSH E1's and E2's buffers."""
        used: list[Part] = []
        for e3 in signalled:
            for e1 in self.candidates(LEFT, RIGHT, e3):
                self.pass_interval(e1, e3)
                used.append(e1)
        self.delete(LEFT, used)
        self.drop_orphans()

    def not_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        self.lists[LEFT].extend(signalled)

    def not_middle(self, signalled: Parts) -> None:
        """FLUSH E1's buffer."""
        for e2 in signalled:
            self.delete(LEFT, self.candidates(LEFT, MIDDLE, e2))

    def not_right(self, signalled: Parts) -> None:
        """For each e1, pass <e1, e3>; FLUSH E1's buffer."""
        used: list[Part] = []
        for e3 in signalled:
            for e1 in self.candidates(LEFT, RIGHT, e3):
                self.pass_on(e1, e3)
                used.append(e1)
        self.delete(LEFT, used)
