"""PROCEDURE activate_operator_node, §6.1.4: the cumulative context.

The printed A*, P* and NOT store e1 "if E1's list is not empty", which must read "is empty", as in A and P.
"""

from tests.oracle.contexts_node import LEFT, MIDDLE, RIGHT, Operator, Parts
from tests.oracle.snoop_parts import Part
from tocsin.topology import tree


class Cumulative(Operator):
    """All occurrences are accumulated until one event is made of them."""

    def and_(self, k: int, signalled: Parts) -> None:
        """If the other list is not empty, pass <all others, e> and FLUSH it; else append e."""
        for e in signalled:
            if others := self.candidates(1 - k, k, e):
                self.pass_on(*others, e)
                self.delete(1 - k, others)
            else:
                self.append(k, e)

    def any_(self, k: int, signalled: Parts) -> None:
        """Append ek; if there are m, pass <all ei, all ej, all ek, …> and FLUSH all buffers."""
        assert isinstance(self.node.expr, tree.AnyOf)
        for ek in signalled:
            self.append(k, ek)
            chosen: dict[int, list[Part]] = {k: list(self.lists[k])}
            for i in range(len(self.node.operands)):
                if i != k and len(chosen) < self.node.expr.count and (fitting := self.candidates(i, k, ek)):
                    chosen[i] = fitting
            if len(chosen) == self.node.expr.count:
                self.pass_on(*(e for accumulated in chosen.values() for e in accumulated))
                for i, accumulated in chosen.items():
                    self.delete(i, accumulated)

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
        for e1 in signalled:
            self.append(0, e1)

    def seq_right(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <all e1, e2> and FLUSH E1's buffer."""
        for e2 in signalled:
            if all_e1 := self.candidates(0, 1, e2):
                self.pass_on(*all_e1, e2)
                self.delete(0, all_e1)

    def a_left(self, signalled: Parts) -> None:
        """If E1's list is empty, store e1 in it."""
        for e1 in signalled:
            if not self.lists[LEFT]:
                self.append(LEFT, e1)

    def a_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <e1, e2> and FLUSH E1's buffer."""
        for e2 in signalled:
            for e1 in self.candidates(LEFT, MIDDLE, e2):
                self.pass_on(e1, e2)
                self.delete(LEFT, [e1])

    def a_right(self, signalled: Parts) -> None:
        """FLUSH E1's buffer."""
        for e3 in signalled:
            self.delete(LEFT, self.candidates(LEFT, RIGHT, e3))

    def star_left(self, signalled: Parts) -> None:
        """If E1's list is empty, store e1 in it."""
        for e1 in signalled:
            if not self.lists[LEFT]:
                self.append(LEFT, e1)

    def star_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, append e2 to E2's list."""
        for e2 in signalled:
            if self.candidates(LEFT, MIDDLE, e2):
                self.append(MIDDLE, e2)

    def star_right(self, signalled: Parts) -> None:
        """Pass <e1, all e2, e3>, or <e1, e3> if E2's list is empty; FLUSH E1's and E2's buffers."""
        for e3 in signalled:
            for e1 in self.candidates(LEFT, RIGHT, e3):
                self.pass_interval(e1, e3)
                self.delete(LEFT, [e1])
                self.drop_orphans()

    def not_left(self, signalled: Parts) -> None:
        """If E1's list is empty, store e1 in it."""
        for e1 in signalled:
            if not self.lists[LEFT]:
                self.append(LEFT, e1)

    def not_middle(self, signalled: Parts) -> None:
        """FLUSH E1's buffer."""
        for e2 in signalled:
            self.delete(LEFT, self.candidates(LEFT, MIDDLE, e2))

    def not_right(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <e1, e3> and FLUSH E1's buffer."""
        for e3 in signalled:
            for e1 in self.candidates(LEFT, RIGHT, e3):
                self.pass_on(e1, e3)
                self.delete(LEFT, [e1])
