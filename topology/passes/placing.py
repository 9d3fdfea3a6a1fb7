"""Sub-topologies: which rules run in one task, which topics it reads, and what is sent on to it.

A task reads an event where its records are keyed as its rules need them: on their own topic, or forwarded by
another attribute or to the one place of global rules. Only what comes from topics is forwarded: complex
events that a task reads and that belong to another one are made again, so that they stand at their place
among the events they are made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from zlib import crc32

from tocsin.topology.model import Compilation, Rule
from tocsin.topology.plan import (
    ChangeNode,
    DefineNode,
    FactNode,
    Forward,
    Group,
    MatchingNode,
    Node,
    Placement,
    RuleNode,
    SourceNode,
    Subtopology,
)
from tocsin.topology.planning.dependencies import units
from tocsin.topology.planning.digraphs import Classes
from tocsin.topology.planning.partitions import own_partitions
from tocsin.topology.planning.reach import below
from tocsin.topology.types import Kind, Type

GLOBAL_PARTITIONS = 4
"""Of the topic of global rules: fixed, so that rules come and go while others stay where their state is."""

_NAMES = {Placement.LOCAL: "local", Placement.ROUTE: "routed", Placement.GLOBAL: "global"}


def place_rules(compilation: Compilation) -> None:
    """Fill the sub-topologies."""
    places = _Places(compilation)
    for unit in units(compilation):
        places.add(unit)
    compilation.subtopologies = places.finished()


@dataclass(eq=False)
class _Task:
    """A sub-topology on its way; `reads` has the attribute by which it reads each type, if by one.

    `partitions` is how many the topics have that it reads as they are, if that is known.
    """

    name: str
    placement: Placement
    partitions: int | None = None
    reads: dict[str, int | None] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    forwards: dict[tuple[int, int | None, str], set[int]] = field(default_factory=dict)

    def suits(self, unit: Sequence[Rule], partitions: int | None) -> bool:
        """Tell whether rules can run here: no type is read in two ways, and topics are alike."""
        if None not in {partitions, self.partitions} and partitions != self.partitions:
            return False
        known = ((self.reads.get(name), key) for rule in unit for name, key in rule.reads.items())
        return all(own is None or key in {None, own} for own, key in known)

    def add(self, unit: Sequence[Rule], partitions: int | None) -> None:
        """Let rules run here."""
        self.rules += unit
        self.partitions = self.partitions or partitions
        for rule in unit:
            for name, key in rule.reads.items():
                self.reads[name] = self.reads.get(name) if key is None else key

    def forward(self, node: int, number: int, key: int | None, topic: str) -> None:
        """Send on what a leaf lets pass."""
        self.nodes.add(node)
        self.forwards.setdefault((number, key, topic), set()).add(node)


class _Places:
    """Finds a task for every unit of rules that must run together."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self._app = compilation.app
        self._types = compilation.types
        self._names = list(compilation.types)
        self._numbers = {name: number for number, name in enumerate(compilation.types)}
        self._nodes = compilation.nodes
        self._tasks: list[_Task] = []
        self._routes: dict[tuple[str | None, int | None], _Task] = {}
        self._partitions = compilation.partitions
        self._subscribers = {
            node.order: number
            for number, node in enumerate(compilation.nodes)
            if isinstance(node, DefineNode | RuleNode)
        }
        self._orders = {id(rule): order for order, rule in enumerate(compilation.rules)}
        self._makers: dict[str, list[int]] = {}
        for rule in compilation.rules:
            if rule.output is not None:
                self._makers.setdefault(rule.output.name, []).append(self._subscriber(rule))

    def add(self, unit: Sequence[Rule]) -> None:
        """Put a unit into the first task that suits it, or into a new one."""
        placement = unit[0].placement
        widest = max(own_partitions(unit[0].reads, self._compilation).values(), default=None)
        alike = [task for task in self._tasks if task.placement is placement]
        task = next((task for task in alike if task.suits(unit, widest)), None)
        if task is None:
            name = _NAMES[placement] + (f"-{len(alike) + 1}" if alike else "")
            task = _Task(name, placement)
            self._tasks.append(task)
        task.add(unit, widest)

    def finished(self) -> list[Subtopology]:
        """Return the sub-topologies, those of the routes first."""
        for task in self._tasks:
            task.nodes = self._rest_on([self._subscriber(rule) for rule in task.rules])
            for number in sorted(task.nodes):
                self._read(number, task)
        return [self._subtopology(task) for task in (*self._routes.values(), *self._tasks)]

    def _rest_on(self, subscribers: Sequence[int]) -> set[int]:
        """Return all nodes that subscribers need, those that make the complex events they read among them."""
        found: set[int] = set()
        waiting = list(subscribers)
        while waiting:
            subscriber = waiting.pop()
            if subscriber in found:
                continue
            nodes = below(subscriber, self._nodes)
            found |= nodes
            for node in (self._nodes[number] for number in nodes):
                if isinstance(node, SourceNode):
                    for name in self._types[self._names[node.type]].with_subtypes:
                        waiting += self._makers.get(name, ())
        return found

    def _read(self, number: int, task: _Task) -> None:
        """Find out where a task has the events and facts of a leaf from."""
        for name in self._wanted(self._nodes[number]):
            read = self._types[name]
            if name in self._makers or (read.kind is Kind.FACT and read.explicit):
                continue
            key = task.reads.get(name)
            if task.placement is Placement.GLOBAL:
                self._forward(number, read, None, f"tocsin.{self._app}.{task.name}-events", task)
            elif key is None or (key == read.key and self._is_alike(read, task)):
                task.topics.add(read.topic)
            else:
                # Each task has what is sent to it for itself, to be deleted when it has read it.
                reader = "" if task.name == _NAMES[Placement.ROUTE] else f"-{task.name}"
                topic = f"tocsin.{self._app}.{name}-by-{read.attributes[key].name}{reader}"
                self._forward(number, read, key, topic, task)

    def _is_alike(self, read: Type, task: _Task) -> bool:
        """Tell whether a topic has as many partitions as the task, as far as is known."""
        return self._partitions.get(read.topic, task.partitions) == task.partitions

    def _wanted(self, node: Node) -> tuple[str, ...]:
        """Return the types whose events a node has from topics, all or those that pass its filter."""
        match node:
            case SourceNode() | FactNode() | ChangeNode():
                return self._types[self._names[node.type]].with_subtypes
            case MatchingNode() if node.takes_next:
                return tuple(self._names[number] for number in node.stream)
            case _:
                return ()

    def _forward(self, number: int, read: Type, key: int | None, topic: str, task: _Task) -> None:
        route = self._route(read)
        route.topics.add(read.topic)
        route.forward(number, self._numbers[read.name], key, topic)
        task.topics.add(topic)

    def _route(self, read: Type) -> _Task:
        """Return the task that sends a type on.

        Topics with as many partitions share one. Those of another application have one of their own, because
        their number may not be known yet, and is rarely that of ours.
        """
        place = read.application, self._partitions.get(read.topic)
        if place not in self._routes:
            another = any(application == read.application for application, _ in self._routes)
            number = f".{place[1]}" if another else ""
            name = f"route{number}" if read.application is None else f"route{number}-{read.application}"
            self._routes[place] = _Task(name, Placement.ROUTE)
        return self._routes[place]

    def _subscriber(self, rule: Rule) -> int:
        return self._subscribers[self._orders[id(rule)]]

    def _subtopology(self, task: _Task) -> Subtopology:
        """Return the finished form; what runs behind a route is local."""
        kind = Placement.LOCAL if task.rules and task.placement is Placement.ROUTE else task.placement
        return Subtopology(
            task.name,
            kind,
            tuple(sorted(task.topics)),
            tuple(sorted(task.nodes)),
            tuple(sorted(self._subscriber(rule) for rule in task.rules)),
            tuple(
                Forward(number, tuple(sorted(nodes)), key, topic)
                for (number, key, topic), nodes in task.forwards.items()
            ),
            self._groups(task) if kind is Placement.GLOBAL else (),
        )

    def _groups(self, task: _Task) -> tuple[Group, ...]:
        """Spread the rules over partitions; those that have to do with each other stay together.

        They have by what they make and what they change.
        """
        here = {rule.output.name for rule in task.rules if rule.output is not None}
        groups: Classes[int] = Classes()
        first: dict[str, int] = {}
        for rule in task.rules:
            subscriber = self._subscriber(rule)
            groups.find(subscriber)
            touched = {c.event.name for c in rule.constituents if c.event.name in self._types}
            if rule.output is not None:
                touched.add(rule.output.name)
            for name in sorted(touched):
                if name in here or self._types[name].kind is Kind.FACT:
                    groups.join(first.setdefault(name, subscriber), subscriber)
        sets = [[*group] for group in groups.sets()]
        spread: list[list[int]] = [[] for _ in range(GLOBAL_PARTITIONS)]
        for group in sets:
            spread[self._partition(group)] += group
        return tuple(
            Group(tuple(sorted(group)), tuple(sorted(self._rest_on(sorted(group))))) for group in spread
        )

    def _partition(self, group: Sequence[int]) -> int:
        """Return where rules run that have to do with each other: where they ran before, if they did."""
        subscribers = (self._nodes[number] for number in group)
        first = min(node.rule for node in subscribers if isinstance(node, DefineNode | RuleNode))
        return crc32(first.encode()) % GLOBAL_PARTITIONS
