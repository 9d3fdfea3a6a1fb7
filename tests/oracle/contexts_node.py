"""Operator nodes of the event graph (Appendix A): storage for each child, and how events are signalled.

What the four contexts have in common. A context is a subclass with a method for each `if … event is
signalled` of its printed procedure. What is signalled by one operand at one position comes together;
simultaneous events of different operands come in an order in which nothing pairs with what is not before
it.

Where conditions tie the operands, "E1's list" is read as those in the list that fit what was signalled:
only they are candidates, and only they are flushed.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

from tests.oracle import temporal
from tests.oracle.history import Position
from tests.oracle.snoop_parts import Node, Part, all_fit, fits, in_time, modified, same, union
from tests.oracle.valuations import Valuation
from tocsin.topology import tree

LEFT, MIDDLE, RIGHT = 0, 1, 2
"""The operands of A, A*, NOT, P and P*; in the periodic operators the ticks are in the middle."""

Parts = Sequence[Part]


class Operator:
    """An operator node of one rule, in one context, for one valuation."""

    def __init__(self, node: Node, valuation: Valuation, until: int) -> None:
        self.node = node
        self.valuation = valuation
        self.until = until
        lists = 3 if isinstance(node.expr, tree.Periodic) else len(node.operands)
        self.lists: list[list[Part]] = [[] for _ in range(lists)]
        """E1's list, E2's list, and so on; what is passed on by the nodes below is stored nowhere else."""
        self.passed: list[Part] = []
        self.initiators: dict[Part, Part] = {}
        """Of each tick of a periodic operator, the occurrence it is counted from."""
        self.beside: Parts = ()
        """NOT: the middle events of the position at hand."""
        self.disjoint = False
        self.last_end: Position | None = None

    def activate(self, position: Position, signalled: Sequence[Parts]) -> list[Part]:
        """What the node passes to its parent when its operands signal this."""
        self.passed = []
        self.expire(position)
        self.deliver(position, [self.admitted(k, events) for k, events in enumerate(signalled)])
        found = sorted(dict.fromkeys(in_time(self.node, self.passed)), key=lambda part: part.order)
        return self.without_overlap(position, found) if self.disjoint else found

    def deliver(self, position: Position, signalled: Sequence[Parts]) -> None:  # noqa: C901, PLR0912 (one case a type)
        """CASE node is of type."""
        match self.node.expr:
            case tree.Or():
                for events in signalled:
                    self.passed.extend(events)
            case tree.Modified(modifier=modifier):
                self.passed.extend(modified(modifier, e) for e in signalled[0])
            case tree.Plus():
                self.passed.extend(self.due(position))
                self.lists[0].extend(signalled[0])
            case tree.And():
                self.and_(0, signalled[0])
                self.and_(1, signalled[1])
            case tree.AnyOf(star=True):
                self.any_star(signalled[0])
            case tree.AnyOf():
                for k, events in enumerate(signalled):
                    self.any_(k, events)
            case tree.Seq():
                self.seq_right(signalled[1])
                self.seq_left(signalled[0])
            case tree.Aperiodic(star=star):
                self.deliver_interval(*signalled, star=star)
            case tree.Periodic(star=star):
                self.deliver_interval(signalled[0], self.ticks(position), signalled[1], star=star)
            case tree.Not():
                self.deliver_not(*signalled)
            case _:
                raise AssertionError(self.node.expr)

    def deliver_interval(self, first: Parts, middle: Parts, last: Parts, *, star: bool) -> None:
        """A, P, A*, P*, over the interval (e1, e3]: e2 before the e3 beside it, and both before e1."""
        if star:
            self.star_middle(middle)
            self.star_right(last)
            self.star_left(first)
        else:
            self.a_middle(middle)
            self.a_right(last)
            self.a_left(first)

    def deliver_not(self, first: Parts, middle: Parts, last: Parts) -> None:
        """NOT, over the interval [e1, e3]: an e2 beside e1 or e3 is inside, if it is another occurrence."""
        self.beside = middle
        self.not_right(last)
        self.not_middle(middle)
        self.not_left([e1 for e1 in first if not self.excluded(e1, e1)])

    # --- lists ----------------------------------------------------------------------------------------------

    def candidates(self, k: int, by: int, e: Part) -> list[Part]:
        """What E_k's list holds for an event that operand `by` signals, its head first."""
        return [
            stored
            for stored in self.lists[k]
            if self.fit(k, stored, by, e)
            and not same(stored, e)
            and not (isinstance(self.node.expr, tree.Not) and by == RIGHT and self.excluded(stored, e))
        ]

    def fit(self, k: int, stored: Part, by: int, e: Part) -> bool:
        """Whether the conditions between two operands hold; a tick goes with its own initiator only."""
        if isinstance(self.node.expr, tree.Periodic):
            if by == MIDDLE:
                return self.initiators[e] == stored
            return fits(self.node, {0: stored, 1: e})
        return fits(self.node, {k: stored, by: e})

    def excluded(self, e1: Part, e: Part) -> bool:
        """Whether an e2 at this very position, other than `e`, forbids e1."""
        return any(not same(e2, e) and self.fit(LEFT, e1, MIDDLE, e2) for e2 in self.beside)

    def together(self, chosen: dict[int, Part]) -> bool:
        """Whether these are distinct occurrences and all conditions among them hold."""
        distinct = not any(same(one, other) for one, other in combinations(chosen.values(), 2))
        return distinct and all_fit(self.node, chosen)

    def replace(self, k: int, e: Part) -> None:
        """Replace e in E_k's list."""
        self.lists[k] = [e]

    def append(self, k: int, e: Part) -> None:
        """Append e to E_k's list."""
        self.lists[k].append(e)

    def delete(self, k: int, used: Iterable[Part]) -> None:
        """Delete these from E_k's list; FLUSH, where they are all there is."""
        used = set(used)
        self.lists[k] = [stored for stored in self.lists[k] if stored not in used]

    def pass_on(self, *parts: Part) -> None:
        """Pass <…> to the parent."""
        self.passed.append(union(parts))

    # --- A* and P* ------------------------------------------------------------------------------------------

    def between(self, e1: Part, e3: Part) -> list[Part]:
        """The e2 in E2's list that belong to e1 and e3: behind e1, or ticks of its own."""
        behind = [e2 for e2 in self.lists[MIDDLE] if self.behind(e1, e2)]
        if isinstance(self.node.expr, tree.Periodic):
            return behind
        return [e2 for e2 in behind if all_fit(self.node, {LEFT: e1, MIDDLE: e2, RIGHT: e3})]

    def behind(self, e1: Part, e2: Part) -> bool:
        return e1.position < e2.position and self.fit(LEFT, e1, MIDDLE, e2)

    def pass_interval(self, e1: Part, e3: Part) -> None:
        """Pass <e1, all e2, e3>, or <e1, e3> where there is no e2."""
        self.pass_on(e1, *self.between(e1, e3), e3)

    def drop_orphans(self) -> None:
        """Delete from E2's list what is not behind any e1 any more."""
        self.lists[MIDDLE] = [
            e2 for e2 in self.lists[MIDDLE] if any(self.behind(e1, e2) for e1 in self.lists[LEFT])
        ]

    # --- time -----------------------------------------------------------------------------------------------

    def due(self, position: Position) -> list[Part]:
        """E + [d]: those whose time has come; they wait in the operand's list until then."""
        points = {e: temporal.later(self.node, e) for e in self.lists[0]}
        self.delete(0, [e for e, point in points.items() if point.position <= position])
        return [point for point in points.values() if point.position == position]

    def ticks(self, position: Position) -> list[Part]:
        """P, P*: the ticks at this position, each counted from an e1 in E1's list."""
        found = {
            temporal.tick(self.node, e1, self.valuation, position): e1
            for e1 in self.lists[LEFT]
            if position in temporal.tick_positions(self.node, e1, position.time)
        }
        self.initiators |= found
        return list(found)

    def next_timer(self, after: Position) -> Position | None:
        """When this node has to be activated by time alone."""
        timers: Iterable[Position] = ()
        if isinstance(self.node.expr, tree.Plus):
            timers = (temporal.later(self.node, e).position for e in self.lists[0])
        elif isinstance(self.node.expr, tree.Periodic):
            timers = (
                next((p for p in temporal.tick_positions(self.node, e1, self.until) if p > after), after)
                for e1 in self.lists[LEFT]
            )
        return min((p for p in timers if p > after and p.time <= self.until), default=None)

    def expire(self, position: Position) -> None:
        """`within`: what started too long ago is gone from every list; what waits for its time is none."""
        if self.node.bound_ms is None or isinstance(self.node.expr, tree.Plus):
            return
        earliest = position.time - self.node.bound_ms
        self.lists = [[stored for stored in entries if stored.start >= earliest] for entries in self.lists]
        if isinstance(self.node.expr, tree.Aperiodic | tree.Periodic):
            self.drop_orphans()

    # --- disjoint -------------------------------------------------------------------------------------------

    def admitted(self, k: int, events: Parts) -> Parts:
        """What a disjoint root takes in: no constituent that began up to the end of its last occurrence.

        What only forbids or closes is no constituent; it does so whenever it began.
        """
        match self.node.expr:
            case tree.Plus():
                constituent = False
            case tree.Not():
                constituent = k != MIDDLE
            case tree.Aperiodic(star=False) | tree.Periodic(star=False):
                constituent = k != len(self.node.operands) - 1
            case _:
                constituent = True
        if not self.disjoint or not constituent or self.last_end is None:
            return events
        return [e for e in events if e.initiated > self.last_end]

    def without_overlap(self, position: Position, found: Parts) -> list[Part]:
        """The first that begins behind the end of the last occurrence; then what is stored is flushed."""
        first = [part for part in found if self.last_end is None or part.initiated > self.last_end][:1]
        if first:
            self.last_end = position
            if not isinstance(self.node.expr, tree.Plus):
                self.lists = [[] for _ in self.lists]
        return first

    # --- what a context defines -----------------------------------------------------------------------------

    def and_(self, k: int, signalled: Parts) -> None:
        """AND: the left (k = 0) or the right (k = 1) event is signalled."""
        raise NotImplementedError

    def any_(self, k: int, signalled: Parts) -> None:
        """ANY(m, E1, …, En): e_k is signalled."""
        raise NotImplementedError

    def any_star(self, signalled: Parts) -> None:
        """ANY(m, E*), which the appendix leaves out: as ANY, with one list for all."""
        raise NotImplementedError

    def seq_left(self, signalled: Parts) -> None:
        raise NotImplementedError

    def seq_right(self, signalled: Parts) -> None:
        raise NotImplementedError

    def a_left(self, signalled: Parts) -> None:
        """A and P."""
        raise NotImplementedError

    def a_middle(self, signalled: Parts) -> None:
        raise NotImplementedError

    def a_right(self, signalled: Parts) -> None:
        raise NotImplementedError

    def star_left(self, signalled: Parts) -> None:
        """A* and P*."""
        raise NotImplementedError

    def star_middle(self, signalled: Parts) -> None:
        raise NotImplementedError

    def star_right(self, signalled: Parts) -> None:
        raise NotImplementedError

    def not_left(self, signalled: Parts) -> None:
        raise NotImplementedError

    def not_middle(self, signalled: Parts) -> None:
        raise NotImplementedError

    def not_right(self, signalled: Parts) -> None:
        raise NotImplementedError
