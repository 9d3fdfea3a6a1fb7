"""A plan as a graph to look at: who reads whom, what slots are called, what is stored, and where."""

from collections.abc import Sequence
from functools import cached_property

from tocsin.topology.plan import (
    ChangeNode,
    DefineNode,
    FactNode,
    JoinNode,
    MatchingNode,
    Operator,
    OperatorNode,
    PatternNode,
    Plan,
    RuleNode,
    SourceNode,
    Subscription,
    Subtopology,
    TimerNode,
)
from tocsin.topology.planning.reach import below
from tocsin.topology.rendering.wording import Slot

Subscriber = DefineNode | RuleNode
Leaf = SourceNode | TimerNode | FactNode | ChangeNode

_TICK = "tick"
_PASSING = frozenset({Operator.OR, Operator.MODIFIED})


class View:
    """What drawings and explanations of a plan have in common; nodes are called by their index."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.nodes = plan.nodes

    # --- who reads whom -------------------------------------------------------------------------------------

    def inputs(self, index: int) -> tuple[int, ...]:
        """Return the nodes that a node reads directly."""
        match self.nodes[index]:
            case SourceNode() | TimerNode() | FactNode() | ChangeNode():
                return ()
            case DefineNode() | RuleNode() as subscriber:
                return (subscriber.input,)
            case node:
                return node.inputs

    def subscriber(self, index: int) -> Subscriber:
        """Return a definition or a rule."""
        node = self.nodes[index]
        assert isinstance(node, DefineNode | RuleNode)
        return node

    @cached_property
    def subscribers(self) -> tuple[int, ...]:
        """The definitions and rules, in the order of the plan."""
        return tuple(i for i, node in enumerate(self.nodes) if isinstance(node, DefineNode | RuleNode))

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each node, those that read it directly."""
        found: list[dict[int, None]] = [{} for _ in self.nodes]
        for i in range(len(self.nodes)):
            for read in self.inputs(i):
                found[read][i] = None
        return tuple(tuple(readers) for readers in found)

    def used_by(self, index: int) -> tuple[str, ...]:
        """Return the names of the definitions and rules that rest on a node, in the order of the plan."""
        reached, waiting = {index}, [index]
        while waiting:
            new = set(self.readers[waiting.pop()]) - reached
            reached |= new
            waiting += new
        return tuple(self.subscriber(i).rule for i in self.subscribers if i in reached)

    @cached_property
    def unshared(self) -> int:
        """How many nodes there would be if definitions and rules shared none."""
        sizes: list[int] = []
        for i in range(len(self.nodes)):
            sizes.append(1 + sum(sizes[read] for read in self.inputs(i)))
        return sum(sizes[i] for i in self.subscribers)

    def subtopology(self, index: int) -> int:
        """Return which sub-topology a node runs in: of several the last, where it is read."""
        return max(i for i, sub in enumerate(self.plan.subtopologies) if index in self._members[i])

    @cached_property
    def _members(self) -> tuple[frozenset[int], ...]:
        # What a sub-topology makes again is shown where it belongs.
        return tuple(
            frozenset(i for subscriber in sub.subscribers for i in below(subscriber, self.nodes))
            or frozenset(sub.nodes)
            for sub in self.plan.subtopologies
        )

    def first_subtopology(self, index: int) -> int:
        """Return the first sub-topology that has a node."""
        return next(i for i, members in enumerate(self._members) if index in members)

    def place(self, index: int) -> Subtopology:
        """Return the sub-topology that a node runs in."""
        return self.plan.subtopologies[self.subtopology(index)]

    # --- what is stored -------------------------------------------------------------------------------------

    def contexts(self, index: int) -> tuple[Subscription, ...]:
        """Return the contexts that a node is used in."""
        match self.nodes[index]:
            case OperatorNode() | PatternNode() | MatchingNode() | JoinNode() as node:
                return node.contexts
            case _:
                return ()

    def stores(self, index: int) -> bool:
        """Tell whether a node keeps anything from one event to the next."""
        match self.nodes[index]:
            case OperatorNode() as node:
                return node.operator not in _PASSING
            case PatternNode() as node:
                return bool(node.parts)
            case MatchingNode() | JoinNode():
                return True
            case _:
                return False

    def horizon_ms(self, index: int) -> int | None:
        """Return how long a node keeps anything; None where time sets no bound."""
        match self.nodes[index]:
            case OperatorNode() as node:
                return node.horizon_ms
            case PatternNode() as node:
                return _longest([*(part.horizon_ms for part in node.parts), node.ahead_ms])
            case MatchingNode() as node:
                return _longest([step.horizon_ms for step in node.steps])
            case JoinNode() as node:
                events = (c for c in node.conditions if not isinstance(self.nodes[c.node], FactNode))
                return _longest([condition.horizon_ms for condition in events])
            case _:
                return 0

    # --- what slots are called ------------------------------------------------------------------------------

    def slots(self, index: int) -> tuple[Slot, ...]:
        """Return what the slots of a node are called: by the first definition or rule that rests on it."""
        node = self.nodes[index]
        if isinstance(node, DefineNode | RuleNode):
            return self.slots(node.input)
        types = self._types[index]
        roles = self._roles.get(index, ())
        return tuple(
            Slot(roles[i] if i < len(roles) and roles[i] else self._name(kind), self._fields(kind))
            for i, kind in enumerate(types)
        )

    def slot_types(self, index: int) -> tuple[int | None, ...]:
        """Return the types of the slots of a node; None for points in time."""
        return self._types[index]

    def input_slots(self, index: int) -> tuple[int, ...]:
        """Return the first slot of each input of a node."""
        match self.nodes[index]:
            case MatchingNode() as node:
                return tuple(slot for slot, step in enumerate(node.steps) if step.node is not None)
            case JoinNode() as node:
                return tuple(condition.slot for condition in node.conditions)
            case _:
                starts, start = [], 0
                for read in self.inputs(index):
                    starts.append(start)
                    start += len(self._types[read])
                return tuple(starts)

    @cached_property
    def _roles(self) -> dict[int, tuple[str, ...]]:
        found: dict[int, tuple[str, ...]] = {}
        for i in self.subscribers:
            self._spread(self.subscriber(i).input, self.subscriber(i).roles, found)
        return found

    def _spread(self, index: int, roles: tuple[str, ...], found: dict[int, tuple[str, ...]]) -> None:
        if index in found:
            return
        found[index] = roles
        for read, start in zip(self.inputs(index), self.input_slots(index), strict=True):
            self._spread(read, roles[start : start + len(self._types[read])], found)

    @cached_property
    def _types(self) -> tuple[tuple[int | None, ...], ...]:
        """For each node, the types of its slots; None for points in time."""
        found: list[tuple[int | None, ...]] = []
        for i, node in enumerate(self.nodes):
            match node:
                case SourceNode() | FactNode():
                    found.append((node.type,))
                case ChangeNode():
                    found.append((node.type,) * node.slots)
                case TimerNode():
                    found.append((None,))
                case MatchingNode():
                    found.append(
                        tuple(None if step.node is None else found[step.node][0] for step in node.steps)
                    )
                case DefineNode() | RuleNode():
                    found.append(found[node.input])
                case _:
                    read = tuple(kind for source in self.inputs(i) for kind in found[source])
                    found.append((*read, *(None,) * (node.slots - len(read))))
        return tuple(found)

    def _name(self, kind: int | None) -> str:
        return _TICK if kind is None else self.plan.types[kind].name

    def _fields(self, kind: int | None) -> tuple[str, ...]:
        return () if kind is None else tuple(field.name for field in self.plan.types[kind].fields)


def _longest(lengths: Sequence[int | None]) -> int | None:
    known = [length for length in lengths if length is not None]
    return max(known, default=0) if len(known) == len(lengths) else None
