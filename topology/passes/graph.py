"""The event graph: the nodes of all rules, those of equal meaning once, and who uses them how."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tocsin.topology import fingerprints
from tocsin.topology.event_types import plan_type
from tocsin.topology.model import (
    Action,
    ChangeFact,
    Compilation,
    Flush,
    Invoke,
    Modify,
    Publish,
    Retract,
    Rule,
    Switch,
    Webhook,
)
from tocsin.topology.passes.cycles import uses
from tocsin.topology.plan import (
    DefineNode,
    JoinNode,
    MatchingNode,
    Node,
    OperatorNode,
    PatternNode,
    RuleNode,
    SourceNode,
    Subscription,
)
from tocsin.topology.planning.dependencies import units
from tocsin.topology.planning.digraphs import components
from tocsin.topology.planning.reach import below
from tocsin.topology.planning.root_nodes import Root, build_root
from tocsin.topology.planning.stores import NodeStore
from tocsin.topology.subscribers import Binding, PlanAction, PlanRate
from tocsin.topology.terms import Term, renumber
from tocsin.topology.tree import TriggerMode

_Detector = OperatorNode | PatternNode | MatchingNode | JoinNode
Way = tuple[str | None, bool]
"""How a node is used: in which context, and whether disjoint."""


def build_graph(compilation: Compilation) -> None:
    """Fill the nodes: those of a rule behind those of the rules it depends on.

    Where rules depend on each other, what one uses of another at its own position comes first.
    """
    store = NodeStore([plan_type(declared) for declared in compilation.types.values()])
    order = {id(rule): place for place, rule in enumerate(compilation.rules)}
    actions = (action for rule in compilation.rules for action in rule.actions)
    switched = {action.rule for action in actions if isinstance(action, Switch)}
    for unit in units(compilation):
        for rule in _by_position(unit):
            store.owner = rule.name if _remembers_alone(rule, switched) else None
            _Subscriber(rule, build_root(rule, store), store).add(order[id(rule)])
    _connect_producers(store.nodes)
    _note_contexts(store.nodes)
    compilation.nodes = store.nodes


def _remembers_alone(rule: Rule, switched: set[str]) -> bool:
    """Tell whether a rule may have seen other events than rules that are always active, from now on."""
    return not rule.active or rule.name in switched or rule.trigger is TriggerMode.PREVIOUS


def _by_position(unit: Sequence[Rule]) -> list[Rule]:
    """Return rules behind those whose occurrences they use at their own position; else in their order."""
    makers: dict[str, list[int]] = {}
    for number, rule in enumerate(unit):
        if rule.output is not None:
            makers.setdefault(rule.output.name, []).append(number)

    def needs(number: int) -> Iterator[int]:
        for use in uses(unit[number]):
            yield from makers.get(unit[number].constituents[use.constituent].event.name, ())

    return [unit[number] for found in components(range(len(unit)), needs) for number in found]


class _Subscriber:
    """Adds the definition or rule on top of a source's nodes."""

    def __init__(self, rule: Rule, root: Root, store: NodeStore) -> None:
        self._rule = rule
        self._root = root
        self._store = store
        self._slots = root.numbers
        self._parameters = {name: number for number, name in enumerate(root.parameters)}

    def add(self, order: int) -> None:
        """Add the node."""
        rule = self._rule
        common: dict[str, Any] = {
            "input": self._root.node,
            "rule": rule.name,
            "order": order,
            "roles": tuple(rule.constituents[index].role for index in self._root.slots),
            "bindings": tuple(self._bindings()),
            "condition": None if rule.condition is None else self._term(rule.condition),
            "rate": None if rule.rate is None else PlanRate(rule.rate.count, rule.rate.per_ms),
            "context": rule.context and rule.context.value,
            "disjoint": rule.disjoint,
            "skip": None
            if rule.skip is None
            else (rule.skip.to.value, rule.skip.role and rule.skip.role.text),
            "unbounded": rule.unbounded,
            "fingerprint": fingerprints.of_definition(rule),
        }
        if rule.output is not None:
            number = self._store.type_number(rule.output.name)
            values = tuple(map(self._term, rule.values))
            self._store.append(DefineNode(**common, type=number, values=values))
        else:
            self._store.append(
                RuleNode(
                    **common,
                    actions=tuple(map(self._action, rule.actions)),
                    coupling=rule.coupling.value,
                    priority=rule.priority,
                    trigger=rule.trigger.value,
                    back_ms=rule.back_ms,
                    active=rule.active,
                )
            )

    def _term(self, term: Term) -> Term:
        return renumber(term, self._slots, self._parameters)

    def _bindings(self) -> Iterator[Binding]:
        for name, parameter in self._rule.parameters.items():
            value = self._term(parameter.value)
            yield Binding(name, value.scalar, value, parameter.equality)

    def _action(self, action: Action) -> PlanAction:  # noqa: PLR0911 (one case a kind)
        match action:
            case Publish(event, values):
                return self._change("publish", event.name, values)
            case ChangeFact(verb, fact, values):
                return self._change(verb.value, fact.name, values)
            case Modify(constituent, pairs):
                changed = tuple((field, self._term(value)) for field, value in pairs)
                return PlanAction("modify", slot=self._slots[constituent], values=changed)
            case Retract(constituent):
                return PlanAction("retract", slot=self._slots[constituent])
            case Invoke(module, function):
                return PlanAction("call", target=f"{module}:{function}")
            case Webhook(url):
                return PlanAction("webhook", target=url)
            case Switch(rule, on):
                return PlanAction("activate" if on else "deactivate", target=rule)
            case Flush(event):
                return PlanAction("flush", target=event)

    def _change(self, do: str, name: str, values: tuple[Term, ...]) -> PlanAction:
        numbered = tuple((field, self._term(value)) for field, value in enumerate(values))
        return PlanAction(do, type=self._store.type_number(name), values=numbered)


def _connect_producers(nodes: list[Node]) -> None:
    """Tell the sources of defined types which definitions make them."""
    producers: dict[int, list[int]] = {}
    for number, node in enumerate(nodes):
        if isinstance(node, DefineNode):
            producers.setdefault(node.type, []).append(number)
    for number, node in enumerate(nodes):
        if isinstance(node, SourceNode) and node.type in producers:
            nodes[number] = replace(node, producers=tuple(producers[node.type]))


def _note_contexts(nodes: list[Node]) -> None:
    """Tell each node in which contexts it is used, and by how many definitions and rules.

    Being disjoint is a matter of the topmost node alone.
    """
    uses: dict[int, Counter[Way]] = {}
    for subscriber in nodes:
        if isinstance(subscriber, DefineNode | RuleNode):
            ways = dict.fromkeys(below(subscriber.input, nodes), (subscriber.context, False))
            ways[subscriber.input] = (subscriber.context, subscriber.disjoint)
            for number, way in ways.items():
                uses.setdefault(number, Counter())[way] += 1
    for number, ways_of in uses.items():
        node = nodes[number]
        if isinstance(node, _Detector):
            found = sorted(ways_of.items(), key=lambda item: (item[0][0] or "", item[0][1]))
            contexts = tuple(Subscription(context, disjoint, count) for (context, disjoint), count in found)
            nodes[number] = replace(node, contexts=contexts)
