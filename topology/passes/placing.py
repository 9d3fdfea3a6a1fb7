"""Sub-topologies: which rules run in one task, which topics it reads, and what it sends on to others.

A task reads an event where its records are keyed as its rules need them: on their own topic, or forwarded by
another attribute or to the one place of global rules. Sub-topologies have levels and read only from lower
ones, so that none waits for itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tocsin.topology.model import Compilation, Rule
from tocsin.topology.plan import (
    ChangeNode,
    DefineNode,
    FactNode,
    Forward,
    Placement,
    RuleNode,
    SourceNode,
    Subtopology,
)
from tocsin.topology.planning.dependencies import units
from tocsin.topology.planning.digraphs import Classes
from tocsin.topology.planning.reach import below
from tocsin.topology.types import Kind, Type

_NAMES = {Placement.LOCAL: "local", Placement.ROUTE: "routed", Placement.GLOBAL: "global"}


def place_rules(compilation: Compilation) -> None:
    """Fill the sub-topologies."""
    places = _Places(compilation)
    for unit in units(compilation):
        places.add(unit)
    compilation.subtopologies = places.finished()


@dataclass(eq=False)
class _Task:
    """A sub-topology on its way; `keys` has the attribute by which it reads each type."""

    name: str
    placement: Placement
    level: int = 0
    keys: dict[str, int] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    forwards: dict[tuple[int, int | None, str], set[int]] = field(default_factory=dict)

    def forward(self, node: int, number: int, key: int | None, topic: str) -> None:
        """Send on what a leaf lets pass."""
        self.nodes.add(node)
        self.forwards.setdefault((number, key, topic), set()).add(node)


class _Places:
    """Finds a task for every unit of rules that must run together."""

    def __init__(self, compilation: Compilation) -> None:
        self._app = compilation.app
        self._types = compilation.types
        self._names = list(compilation.types)
        self._numbers = {name: number for number, name in enumerate(compilation.types)}
        self._nodes = compilation.nodes
        self._tasks: list[_Task] = []
        self._makers: dict[str, _Task] = {}
        self._route = _Task("route", Placement.ROUTE)
        self._subscribers = {
            node.order: number
            for number, node in enumerate(compilation.nodes)
            if isinstance(node, DefineNode | RuleNode)
        }
        self._orders = {id(rule): order for order, rule in enumerate(compilation.rules)}

    def add(self, unit: Sequence[Rule]) -> None:
        """Put a unit into the first task that suits it, or into a new one."""
        placement = unit[0].placement
        needs = self._needs(unit)
        made = {rule.output.name for rule in unit if rule.output is not None}
        makers = {name: self._makers[name] for name in needs if name in self._makers}
        suitable = (task for task in self._tasks if task.placement is placement)
        task = next((task for task in suitable if self._suits(task, needs, makers)), None)
        if task is None:
            number = 1 + sum(other.placement is placement for other in self._tasks)
            name = _NAMES[placement] + (f"-{number}" if number > 1 else "")
            level = max((maker.level + 1 for maker in makers.values()), default=0)
            task = _Task(name, placement, level)
            self._tasks.append(task)
        task.rules += unit
        task.keys |= {name: key for name, key in needs.items() if key is not None}
        self._makers |= dict.fromkeys(made, task)

    def finished(self) -> list[Subtopology]:
        """Return the sub-topologies, that of the routes first."""
        for task in self._tasks:
            for rule in task.rules:
                subscriber = self._subscriber(rule)
                task.nodes |= {subscriber, *below(subscriber, self._nodes)}
        for task in self._tasks:
            for number in sorted(task.nodes):
                self._read(number, task)
        tasks = [self._route, *self._tasks] if self._route.forwards else self._tasks
        return [self._subtopology(task) for task in tasks]

    def _needs(self, unit: Sequence[Rule]) -> dict[str, int | None]:
        """Return every type that rules read, and the attribute by which they need it, if by one."""
        needs: dict[str, int | None] = {}
        for rule in unit:
            for constituent in rule.constituents:
                if constituent.event.kind is not Kind.TIMER:
                    for name in constituent.event.with_subtypes:
                        key = rule.keys.get(constituent.index)
                        needs[name] = needs.get(name) if key is None else key
        return needs

    def _suits(self, task: _Task, needs: dict[str, int | None], makers: dict[str, _Task]) -> bool:
        for name, key in needs.items():
            maker = makers.get(name)
            if maker is not None and maker is not task and maker.level >= task.level:
                return False
            if key is not None and task.keys.get(name, key) != key:
                return False
            if maker is task and key not in {None, self._types[name].key}:
                return False
        return True

    def _read(self, number: int, task: _Task) -> None:
        """Find out where a task has the events and facts of a leaf from."""
        node = self._nodes[number]
        if not isinstance(node, SourceNode | FactNode | ChangeNode):
            return
        for name in self._types[self._names[node.type]].with_subtypes:
            read, maker = self._types[name], self._makers.get(name)
            if maker is task or (read.kind is Kind.FACT and read.explicit):
                continue
            key = task.keys.get(name)
            if task.placement is Placement.GLOBAL:
                self._forward(number, read, None, f"tocsin.{self._app}.{task.name}", task)
            elif key is None or key == read.key:
                task.topics.add(read.topic)
            else:
                topic = f"tocsin.{self._app}.{name}-by-{read.attributes[key].name}"
                self._forward(number, read, key, topic, task)

    def _forward(self, number: int, read: Type, key: int | None, topic: str, task: _Task) -> None:
        maker = self._makers.get(read.name)
        if maker is None:
            self._route.topics.add(read.topic)
        (maker or self._route).forward(number, self._numbers[read.name], key, topic)
        task.topics.add(topic)

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
            tuple(
                Forward(number, tuple(sorted(nodes)), key, topic)
                for (number, key, topic), nodes in task.forwards.items()
            ),
            self._groups(task) if kind is Placement.GLOBAL else (),
        )

    def _groups(self, task: _Task) -> tuple[tuple[int, ...], ...]:
        """Return the subscribers that have to do with each other, by what they make and what they change."""
        groups: Classes[int] = Classes()
        first: dict[str, int] = {}
        for rule in task.rules:
            subscriber = self._subscriber(rule)
            groups.find(subscriber)
            touched = {c.event.name for c in rule.constituents if c.event.name in self._types}
            if rule.output is not None:
                touched.add(rule.output.name)
            for name in sorted(touched):
                if self._makers.get(name) is task or self._types[name].kind is Kind.FACT:
                    groups.join(first.setdefault(name, subscriber), subscriber)
        return tuple(tuple(sorted(group)) for group in groups.sets())
