"""PROCEDURE activate_operator_node, §6.1.1: the recent context.

The printed AND has "Replace e1 in E1's list" under the `if`; it is done always, or nothing could ever start.
"""

from tests.oracle.contexts_node import LEFT, MIDDLE, RIGHT, Operator, Parts
from tocsin.topology import tree


class Recent(Operator):
    """Only the most recent initiator is used, and it is used until a newer one comes."""

    def and_(self, k: int, signalled: Parts) -> None:
        """If the other list is not empty, pass <other, e>. Replace e in its list."""
        for e in signalled:
            for other in self.candidates(1 - k, k, e):
                self.pass_on(other, e)
            self.replace(k, e)

    def any_(self, k: int, signalled: Parts) -> None:
        """Replace ek; if there are m, pass the most recent m distinct occurrences. They stay."""
        assert isinstance(self.node.expr, tree.AnyOf)
        for ek in signalled:
            self.replace(k, ek)
            stored = [(e.position, i, e) for i, entries in enumerate(self.lists) for e in entries if i != k]
            chosen = {k: ek}
            for _, i, e in sorted(stored, key=lambda item: item[:2], reverse=True):
                if len(chosen) < self.node.expr.count and self.together({**chosen, i: e}):
                    chosen[i] = e
            if len(chosen) == self.node.expr.count:
                self.pass_on(*chosen.values())

    def any_star(self, signalled: Parts) -> None:
        """Keep the m most recent; pass them whenever there are m."""
        assert isinstance(self.node.expr, tree.AnyOf)
        for e in signalled:
            self.lists[0] = [*self.lists[0], e][-self.node.expr.count :]
            if len(self.lists[0]) == self.node.expr.count:
                self.pass_on(*self.lists[0])

    def seq_left(self, signalled: Parts) -> None:
        """Replace e1 in E1's list."""
        for e1 in signalled:
            self.replace(0, e1)

    def seq_right(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <e1, e2>."""
        for e2 in signalled:
            for e1 in self.candidates(0, 1, e2):
                self.pass_on(e1, e2)

    def a_left(self, signalled: Parts) -> None:
        """Replace e1 in E1's list."""
        for e1 in signalled:
            self.replace(LEFT, e1)

    def a_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, pass <e1, e2>."""
        for e2 in signalled:
            for e1 in self.candidates(LEFT, MIDDLE, e2):
                self.pass_on(e1, e2)

    def a_right(self, signalled: Parts) -> None:
        """FLUSH E1's buffer."""
        for e3 in signalled:
            self.delete(LEFT, self.candidates(LEFT, RIGHT, e3))

    def star_left(self, signalled: Parts) -> None:
        """Replace e1 in E1's list; FLUSH E2's buffer."""
        for e1 in signalled:
            self.replace(LEFT, e1)
            self.drop_orphans()

    def star_middle(self, signalled: Parts) -> None:
        """If E1's list is not empty, append e2 to E2's list."""
        for e2 in signalled:
            if self.candidates(LEFT, MIDDLE, e2):
                self.append(MIDDLE, e2)

    def star_right(self, signalled: Parts) -> None:
        """Pass <e1, e2, e3>, or <e1, e3> if E2's list is empty; FLUSH E1's and E2's buffers."""
        for e3 in signalled:
            for e1 in self.candidates(LEFT, RIGHT, e3):
                self.pass_interval(e1, e3)
                self.delete(LEFT, [e1])
                self.drop_orphans()

    def not_left(self, signalled: Parts) -> None:
        """Replace e1 in E1's list."""
        for e1 in signalled:
            self.replace(LEFT, e1)

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
