"""PROCEDURE activate_operator_node, §6.1.2: the chronicle context.

The printed A* deletes the e2 "whose t_occ is less than the E1's head t_occ": the new head's, after the
deletion.
"""

from tests.oracle.contexts_node import LEFT, MIDDLE, RIGHT, Operator, Parts
from tocsin.topology import tree


class Chronicle(Operator):
    """The oldest initiator goes with the oldest terminator, and both are used once."""

    def and_(self, k: int, signalled: Parts) -> None:
        """If the other list is not empty, pass <its head, e> and delete the head; else append e."""
        for e in signalled:
            if others := self.candidates(1 - k, k, e):
                self.pass_on(others[0], e)
                self.delete(1 - k, others[:1])
            else:
                self.append(k, e)

    def any_(self, k: int, signalled: Parts) -> None:
        """Append ek; if there are m, pass the oldest (heads) of m distinct events and delete them."""
        assert isinstance(self.node.expr, tree.AnyOf)
        for ek in signalled:
            self.append(k, ek)
            heads = [
                (fitting[0].position, i, fitting[0])
                for i in range(len(self.node.operands))
                if i != k and (fitting := self.candidates(i, k, ek))
            ]
            chosen = {k: ek}
            for _, i, head in sorted(heads, key=lambda item: item[:2]):
                if len(chosen) < self.node.expr.count and self.together({**chosen, i: head}):
                    chosen[i] = head
            if len(chosen) == self.node.expr.count:
                self.pass_on(*chosen.values())
                for i, e in chosen.items():
                    self.delete(i, [e])

    def any_star(self, signalled: Parts) -> None:
        """Append e; if there are m, pass them and delete them."""
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
        """If E1's list is not empty, pass <E1's head, e2> and delete the head."""
        for e2 in signalled:
            for head in self.candidates(0, 1, e2)[:1]:
                self.pass_on(head, e2)
                self.delete(0, [head])

    def a_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        for e1 in signalled:
            self.append(LEFT, e1)

    def a_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <E1's head, e2> and delete the head."""
        for e2 in signalled:
            for head in self.candidates(LEFT, MIDDLE, e2)[:1]:
                self.pass_on(head, e2)
                self.delete(LEFT, [head])

    def a_right(self, signalled: Parts) -> None:
        """FLUSH E1's buffer."""
        for e3 in signalled:
            self.delete(LEFT, self.candidates(LEFT, RIGHT, e3))

    def star_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        for e1 in signalled:
            self.append(LEFT, e1)

    def star_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, append e2 to E2's list."""
        for e2 in signalled:
            if self.candidates(LEFT, MIDDLE, e2):
                self.append(MIDDLE, e2)

    def star_right(self, signalled: Parts) -> None:
        """Pass <E1's head, all e2, e3>; delete the head, and the e2 older than the new one."""
        for e3 in signalled:
            for head in self.candidates(LEFT, RIGHT, e3)[:1]:
                self.pass_interval(head, e3)
                self.delete(LEFT, [head])
                self.drop_orphans()

    def not_left(self, signalled: Parts) -> None:
        """Append e1 to E1's list."""
        for e1 in signalled:
            self.append(LEFT, e1)

    def not_middle(self, signalled: Parts) -> None:
        """FLUSH E1's buffer."""
        for e2 in signalled:
            self.delete(LEFT, self.candidates(LEFT, MIDDLE, e2))

    def not_right(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <E1's head, e3> and delete the head."""
        for e3 in signalled:
            for head in self.candidates(LEFT, RIGHT, e3)[:1]:
                self.pass_on(head, e3)
                self.delete(LEFT, [head])
