"""What rules will cost: where they run, how far back they look, what they keep; read off the plan."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tocsin.topology.event_types import EventType
from tocsin.topology.nodes import (
    ChangeNode,
    FactNode,
    JoinNode,
    MatchingNode,
    Operator,
    OperatorNode,
    SourceNode,
    TimerNode,
)
from tocsin.topology.operations import operation
from tocsin.topology.pattern_nodes import PatternNode, PlanAggregate, PlanConstituent, PlanNegation
from tocsin.topology.printer import print_ms
from tocsin.topology.subscribers import DefineNode, RuleNode

if TYPE_CHECKING:  # the plan is built on this module
    from tocsin.topology.plan import Node, Subtopology

_INITIATOR, _MIDDLE, _ALL, _SAMPLE = slice(0, 1), slice(1, 2), slice(None), slice(2, None)
_STORED: dict[Operator, tuple[slice, ...]] = {
    Operator.OR: (),
    Operator.MODIFIED: (),
    Operator.AND: (_ALL,),
    Operator.ANY: (_ALL,),
    Operator.SEQ: (_INITIATOR,),
    Operator.NOT: (_INITIATOR,),
    Operator.PLUS: (_INITIATOR,),
    Operator.APERIODIC: (_INITIATOR,),
    Operator.PERIODIC: (_INITIATOR, _SAMPLE),
}
"""Which operands an operator keeps; what else comes to it completes an occurrence, or ends one."""
_INFIX = frozenset({Operator.OR, Operator.AND, Operator.SEQ, Operator.PLUS})
_FOREVER = "forever"


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """What a rule will cost; `horizon_ms` is None where time bounds nothing."""

    name: str
    kind: str
    horizon_ms: int | None
    state: str

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"name": self.name, "kind": self.kind, "horizon_ms": self.horizon_ms, "state": self.state}


class Summaries:
    """Reads summaries off the parts of a plan."""

    def __init__(
        self, types: Sequence[EventType], nodes: Sequence["Node"], subtopologies: Sequence["Subtopology"]
    ) -> None:
        self._types = types
        self._nodes = nodes
        forwarded = {forward.topic for sub in subtopologies for forward in sub.forwards}
        self._kinds: dict[int, str] = {}
        for sub in subtopologies:
            routed = sub.kind == "local" and not forwarded.isdisjoint(sub.topics)
            self._kinds |= dict.fromkeys(sub.subscribers, "route" if routed else sub.kind.value)

    def all(self) -> tuple[RuleSummary, ...]:
        """Return the summaries of all definitions and rules, in the order of the file."""
        found = [(n, node) for n, node in enumerate(self._nodes) if isinstance(node, DefineNode | RuleNode)]
        found.sort(key=lambda pair: pair[1].order)
        return tuple(self._summary(number, node) for number, node in found)

    def _summary(self, number: int, node: DefineNode | RuleNode) -> RuleSummary:
        kept = list(dict.fromkeys(self._kept(node.input, node.context)))
        if node.rate is not None:
            per = "" if node.rate.per_ms is None else f", for {print_ms(node.rate.per_ms)}"
            kept.append(f"a count for each binding{per}")
        state = f"keeps {' and '.join(kept)}" if kept else "keeps nothing: every occurrence stands alone"
        bounds = list(self._bounds(node.input))
        known = [bound for bound in bounds if bound is not None]
        horizon_ms = max(known, default=0) if len(known) == len(bounds) else None
        return RuleSummary(node.rule, self._kinds[number], horizon_ms, state)

    def _bounds(self, number: int, since_ms: int = 0, held_ms: int = 0) -> Iterator[int | None]:
        """Yield how long what is below a node is kept.

        What is above it holds it for `held_ms`; its own bound counts from `since_ms` before the end on.
        """
        match self._nodes[number]:
            case PatternNode() as pattern:
                yield from (part.horizon_ms for part in pattern.parts)
                yield pattern.ahead_ms
            case MatchingNode() as match:
                yield from (step.horizon_ms for step in match.steps)
            case JoinNode() as join:
                events = (c for c in join.conditions if not isinstance(self._nodes[c.node], FactNode))
                yield from (condition.horizon_ms for condition in events)
            case OperatorNode() as operator:
                if operator.horizon_ms is None:
                    yield None
                    return
                if operator.resets:
                    since_ms = held_ms = held_ms + operator.horizon_ms
                else:
                    held_ms = max(held_ms, since_ms + operator.horizon_ms)
                yield held_ms
                for below in operator.inputs:
                    yield from self._bounds(below, since_ms, held_ms)
            case _:
                return

    def _kept(self, number: int, context: str | None) -> Iterator[str]:
        match self._nodes[number]:
            case PatternNode() as pattern:
                yield from (self._part(part, pattern) for part in pattern.parts if part.horizon_ms != 0)
                if pattern.ahead_ms:
                    yield f"what waits for {print_ms(pattern.ahead_ms)} to pass"
            case MatchingNode() as match:
                each = " for each binding" if match.parameters else ""
                for step in match.steps:
                    if step.node is not None and step.horizon_ms != 0:
                        yield f"{self._name(step.node)}{each}{_span(step.horizon_ms)}"
            case JoinNode() as join:
                yield from self._joined(join, list(self._bounds(number)))
            case OperatorNode() as operator:
                yield from self._operands(operator, context)
            case _:
                return

    def _joined(self, join: JoinNode, bounds: Sequence[int | None]) -> Iterator[str]:
        for condition in join.conditions:
            name = self._name(condition.node)
            if isinstance(self._nodes[condition.node], FactNode):
                yield f"every {name}"
            elif condition.horizon_ms != 0:
                yield f"every {name}{_span(condition.horizon_ms)}"
        if len(bounds) > 1 and not any(bound != 0 for bound in bounds):
            yield "the events of one time"

    def _operands(self, operator: OperatorNode, context: str | None) -> Iterator[str]:
        for below in operator.inputs:
            yield from self._kept(below, context)
        star = dict(operator.details).get("star") and operator.operator is not Operator.ANY
        collects = star or context != "recent" or operator.operator is Operator.PLUS
        accumulated = (_MIDDLE,) if star and operator.operator is Operator.APERIODIC else ()
        each = " for each binding" if operator.parameters else ""
        for place in (*_STORED[operator.operator], *accumulated):
            # Of what is sampled, and of initiators in the recent context, only the latest counts.
            amount = "every" if collects and place != _SAMPLE else "the latest"
            for below in operator.inputs[place]:
                yield f"{amount} {self._name(below)}{each}{_span(operator.horizon_ms)}"

    def _part(self, part: PlanConstituent | PlanNegation | PlanAggregate, pattern: PatternNode) -> str:
        name, span = self._name(part.node), part.horizon_ms
        slot = pattern.parts.index(part) + 1
        # Older ones can be forgotten only if the choice depends on equalities and the terminator alone.
        latest = isinstance(part, PlanConstituent) and part.select == "last" and part.anchor == 0
        if not latest or part.where is not None or slot in pattern.consuming:
            return (
                f"every {name} of the last {print_ms(span)}"
                if span is not None
                else f"every {name}, {_FOREVER}"
            )
        assert isinstance(part, PlanConstituent)
        source = self._nodes[part.node]
        fields = self._types[source.type].fields if isinstance(source, SourceNode) else ()
        by = ", ".join(fields[match.field].name for match in part.match)
        several = f"{part.count} " if part.count > 1 else ""
        return f"the last {several}{name}{f' for each {by}' if by else ''}{_span(span)}"

    def _name(self, number: int) -> str:
        """Return what a node's occurrences are called."""
        match self._nodes[number]:
            case SourceNode() | FactNode() | ChangeNode() as leaf:
                return self._types[leaf.type].name
            case TimerNode():
                return "Timer"
            case OperatorNode() as operator:
                text = operation(
                    operator, [self._name(below) for below in operator.inputs], self._sampled(operator)
                )
                return f"({text})" if operator.operator in _INFIX else text
            case _:
                return "occurrence"

    def _sampled(self, operator: OperatorNode) -> str | None:
        """Return the attribute that a periodic event collects."""
        source = self._nodes[operator.inputs[-1]]
        if operator.sample is None or not isinstance(source, SourceNode):
            return None
        return self._types[source.type].fields[operator.sample[1]].name


def _span(length_ms: int | None) -> str:
    return f", {_FOREVER}" if length_ms is None else f", for {print_ms(length_ms)}"
