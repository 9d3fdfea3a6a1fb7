"""What a node of the plan does, in a few words of the language: for drawings and explanations alike."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tocsin.topology.nodes import PlanCondition
from tocsin.topology.operations import operation
from tocsin.topology.pattern_nodes import PlanAggregate, PlanConstituent, PlanNegation
from tocsin.topology.plan import (
    ChangeNode,
    DefineNode,
    FactNode,
    JoinNode,
    Match,
    MatchingNode,
    Operator,
    OperatorNode,
    PatternNode,
    Placement,
    RuleNode,
    SourceNode,
    TimerNode,
)
from tocsin.topology.printing.events import event
from tocsin.topology.printing.expressions import print_expression, print_ms, print_string
from tocsin.topology.rendering.view import View
from tocsin.topology.rendering.wording import Wording
from tocsin.topology.sources import Ahead, Backward, Between
from tocsin.topology.subscribers import PlanAction
from tocsin.topology.terms import Apply, Const, Field, Term, conjuncts
from tocsin.topology.tree import (
    Binary,
    BinaryOp,
    Call,
    Coupling,
    Literal,
    Name,
    Reference,
    TimeField,
    Timer,
    TimeValue,
    TriggerMode,
)
from tocsin.topology.types import PHASE

PLACES = {
    Placement.ROUTE: "sends events on to where they are needed",
    Placement.LOCAL: "one task a partition",
    Placement.GLOBAL: "one place for all partitions",
}
"""What is to be said of each kind of sub-topology."""

_SEVERAL = "…"
_UTC = "UTC"
_NAMING = frozenset({"activate", "deactivate", "flush"})
"""Actions on something of the file, by its name; others have texts."""


@dataclass(frozen=True, slots=True)
class Described:
    """What a node is, what it is about, and what it asks for, one thing a line.

    The title of an operator says what it is; a tag repeats it for drawings.
    """

    tag: str
    title: str
    lines: tuple[str, ...] = ()
    operator: bool = False

    @property
    def head(self) -> str:
        """What it is and what it is about."""
        return self.title if self.operator else f"{self.tag} {self.title}"

    @property
    def sentence(self) -> str:
        """All of it on one line."""
        return f"{self.head}: {'; '.join(line.strip() for line in self.lines)}" if self.lines else self.head


def describe(view: View, index: int) -> Described:  # noqa: C901, PLR0911 (one case a kind)
    """Return what a node does."""
    match view.nodes[index]:
        case SourceNode() as node:
            return _source(view, index, node)
        case TimerNode() as node:
            zone = () if node.zone == _UTC else (f"zone {print_string(node.zone)}",)
            return Described("timer", _timer(node), zone)
        case FactNode() as node:
            wording = Wording(view.slots(index), own=0)
            return Described(
                "fact", view.plan.types[node.type].name, tuple(_conditions(wording, node.filter))
            )
        case ChangeNode() as node:
            return _change(view, index, node)
        case OperatorNode() as node:
            return _operator(view, index, node)
        case PatternNode() as node:
            return _pattern(view, index, node)
        case MatchingNode() as node:
            wording = Wording(view.slots(index), parameters=node.parameters)
            program = wording.program(node.program)
            lines = (program, *_same(wording, node.parameters), *_steps(view, index, node))
            names = dict.fromkeys(describe(view, read).title for read in node.inputs)
            return Described("match", ", ".join(names), lines)
        case JoinNode() as node:
            return _join(view, index, node)
        case DefineNode() as node:
            topic = view.plan.types[node.type].topic
            return Described("complex event", node.rule, (topic, *_subscribed(view, index)))
        case RuleNode() as node:
            actions = tuple(_action(view, index, action) for action in node.actions)
            return Described("rule", node.rule, (*actions, *_subscribed(view, index)))


def told_horizon(view: View, index: int) -> str:
    """Return how long a node keeps anything, in words; empty where it keeps nothing."""
    if not view.stores(index):
        return ""
    horizon_ms = view.horizon_ms(index)
    if horizon_ms is None:
        return "no bound in time"
    return f"keeps {print_ms(horizon_ms)}" if horizon_ms else ""


def told_contexts(view: View, index: int) -> tuple[str, ...]:
    """Return the contexts that a node is used in, in words."""
    return tuple(
        " ".join(word for word in (use.context, "disjoint" if use.disjoint else None) if word)
        for use in view.contexts(index)
        if use.context or use.disjoint
    )


def told_context(node: DefineNode | RuleNode) -> str:
    """Return the context that a definition or a rule binds, in words."""
    skip = "" if node.skip is None else " ".join(word for word in ("skip to", *node.skip) if word)
    return " ".join(word for word in (node.context, "disjoint" if node.disjoint else "", skip) if word)


def told_running(node: DefineNode | RuleNode) -> Iterator[str]:
    """Yield what is said about the running of a rule, beyond what is usual."""
    if isinstance(node, DefineNode):
        return
    if node.coupling != Coupling.IMMEDIATE:
        yield node.coupling
    if node.priority:
        yield f"priority {node.priority}"
    if node.trigger != TriggerMode.NOW:
        yield f"trigger {node.trigger}"
    if not node.active:
        yield "inactive"


def told_size(view: View) -> str:
    """Return how large the graph is, in words."""
    defined = sum(isinstance(view.nodes[i], DefineNode) for i in view.subscribers)
    rules = len(view.subscribers) - defined
    counted = [_counted(defined, "definition"), _counted(rules, "rule")]
    nodes = _counted(len(view.nodes), "node")
    size = nodes if view.unshared == len(view.nodes) else f"{nodes} ({view.unshared} if nothing were shared)"
    return f"{' and '.join(text for text in counted if text) or 'no rules'} in {size or 'no nodes'}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}" if count else ""


# --- leaves -------------------------------------------------------------------------------------------------


def _source(view: View, index: int, node: SourceNode) -> Described:
    name = view.plan.types[node.type].name
    wording = Wording(view.slots(index), own=0)
    phase_field = view.plan.types[node.type].index_of(PHASE)
    conditions = [
        wording.text(part)
        for part in (conjuncts(node.filter) if node.filter is not None else ())
        if node.phase is None or not _tells_phase(part, phase_field)
    ]
    if node.within_ms is not None:
        conditions.append(f"within {print_ms(node.within_ms)}")
    return Described("source", f"{node.phase} {name}" if node.phase else name, tuple(conditions))


def _tells_phase(term: Term, field: int | None) -> bool:
    """Tell whether a condition only says what the phase of the source says already."""
    match term:
        case Apply(op="eq", args=(Field(field=read), Const())):
            return read == field
        case _:
            return False


def _timer(node: TimerNode) -> str:
    """Return a timer without the fields that say nothing."""
    given = {field: value for field, value in node.pattern if value is not None}
    if given.get(TimeField.SECOND) == 0 and TimeField.MINUTE in given:
        del given[TimeField.SECOND]
    return event(Timer(tuple(TimeValue(field, value) for field, value in given.items()))).flat


def _change(view: View, index: int, node: ChangeNode) -> Described:
    lines = [
        f"{word} {text}"
        for word, term in (("from", node.before), ("to", node.after), ("if", node.event))
        for text in _conditions(Wording(view.slots(index), own=0), term)
    ]
    return Described("change", view.plan.types[node.type].name, tuple(lines))


# --- operators ----------------------------------------------------------------------------------------------


def _operator(view: View, index: int, node: OperatorNode) -> Described:
    wording = Wording(view.slots(index), parameters=node.parameters)
    lines = [*_same(wording, node.parameters), *_conditions(wording, node.where)]
    if node.within_ms is not None:
        lines.append(f"within {print_ms(node.within_ms)}")
    tag = "sequence" if node.operator is Operator.SEQ else node.operator.value
    sampled = None if node.sample is None else Wording(view.slots(index)).place(*node.sample).attribute.text
    return Described(tag, operation(node, _operands(view, index), sampled), tuple(lines), operator=True)


def _operands(view: View, index: int) -> list[str]:
    """Return what the inputs of a node are called: a leaf by its name, anything else by an ellipsis."""
    return [_SEVERAL if view.inputs(read) else describe(view, read).title for read in view.inputs(index)]


def _same(wording: Wording, parameters: Sequence[Sequence[tuple[int, int]]]) -> Iterator[str]:
    """Yield what the equality parameters of a node ask for."""
    for places in parameters:
        references = [wording.place(*place) for place in places]
        attributes = {reference.attribute.text for reference in references}
        if len(attributes) == 1:
            yield f"same {attributes.pop()}"
        else:
            yield " = ".join(print_expression(reference) for reference in references)


# --- patterns -----------------------------------------------------------------------------------------------


def _pattern(view: View, index: int, node: PatternNode) -> Described:
    slots = view.slots(index)
    aggregates = tuple(_aggregate(view, index, node, i) for i in range(len(node.aggregates)))
    names = Wording(slots, aggregates=aggregates)
    lines: list[str] = []
    for slot, part in enumerate(node.parts, start=1):
        wording = Wording(slots, own=slot, aggregates=aggregates)
        own = slots[slot].role
        match part:
            case PlanConstituent():
                count = f"{part.count} " if part.count > 1 else ""
                what = _called(view, part.node, own)
                lines.append(f"{count}{part.select} {what} {_back(names, part.within_ms, part.anchor)}")
            case PlanNegation():
                lines.append(f"not {_called(view, part.node, own)} {_range(names, part.range)}")
            case PlanAggregate():
                aggregate = aggregates[slot - 1 - len(node.constituents) - len(node.negations)]
                lines.append(f"{print_expression(aggregate)} {_range(names, part.range)}")
        lines += _tied(wording, own, part.match, part.where)
    lines += [
        f"{names.role(bound.constituent)} {_back(names, bound.within_ms, bound.anchor)}"
        for bound in node.bounds
    ]
    lines += _conditions(names, node.where)
    if node.consuming:
        lines.append(f"consuming {', '.join(slots[slot].role for slot in node.consuming)}")
    return Described("pattern", _called(view, node.terminator.node, slots[0].role), tuple(lines))


def _called(view: View, leaf: int, role: str) -> str:
    """Return what a leaf is called in the part it plays."""
    title = describe(view, leaf).title
    return title if role == title else f"{title} as {role}"


def _aggregate(view: View, index: int, node: PatternNode, number: int) -> Call:
    part = node.aggregates[number]
    slot = 1 + len(node.constituents) + len(node.negations) + number
    wording = Wording(view.slots(index))
    argument = () if part.argument is None else (Literal(part.argument),)
    return Call(Name(part.function), (wording.place(slot, part.field), *argument))


def _tied(wording: Wording, own: str, match: Sequence[Match], where: Term | None) -> Iterator[str]:
    """Yield the conditions of a constituent, each qualified by its role."""
    for tie in match:
        left = Reference(wording.place(wording.own or 0, tie.field).attribute, Name(own))
        yield "  " + print_expression(Binary(BinaryOp.EQ, left, wording.place(*tie.equals)))
    if where is not None:
        unqualified = Wording(wording.slots, aggregates=wording.aggregates)
        yield from (f"  {text}" for text in _conditions(unqualified, where))


def _back(wording: Wording, within_ms: int | None, anchor: int) -> str:
    if within_ms is None:
        return f"before {wording.role(anchor)}"
    return f"within {print_ms(within_ms)} from {wording.role(anchor)}"


def _range(wording: Wording, given: Between | Backward | Ahead) -> str:
    match given:
        case Between(first, last):
            return f"between {wording.role(first)} and {wording.role(last)}"
        case Backward(within_ms, anchor):
            return _back(wording, within_ms, anchor)
        case Ahead(within_ms, anchor):
            return f"within {print_ms(within_ms)} after {wording.role(anchor)}"


# --- matches and joins --------------------------------------------------------------------------------------


def _steps(view: View, index: int, node: MatchingNode) -> Iterator[str]:
    wording = Wording(view.slots(index), parameters=node.parameters)
    for step in node.steps:
        yield from _conditions(wording, step.where)


def _join(view: View, index: int, node: JoinNode) -> Described:
    slots = view.slots(index)
    names = [
        # Of a change, the last slot is that of the event.
        slots[condition.slot + len(view.slots(condition.node)) - 1].role
        for condition in node.conditions
        if not condition.negated
    ]
    lines: list[str] = []
    for condition in node.conditions:
        lines += _condition(Wording(slots, own=condition.slot), condition)
    return Described("when", ", ".join(names) or "not", tuple(lines))


def _condition(wording: Wording, condition: PlanCondition) -> Iterator[str]:
    own = wording.slots[condition.slot].role
    if condition.negated:
        yield f"not {own}"
    yield from (text.strip() for text in _tied(wording, own, condition.match, condition.where))


# --- subscribers --------------------------------------------------------------------------------------------


def _subscribed(view: View, index: int) -> Iterator[str]:
    node = view.subscriber(index)
    if node.condition is not None:
        yield f"if {Wording(view.slots(index)).text(node.condition)}"
    if node.rate is not None:
        per = "ever" if node.rate.per_ms is None else f"per {print_ms(node.rate.per_ms)}"
        yield f"at most {node.rate.count} {per}"


def _action(view: View, index: int, action: PlanAction) -> str:
    if action.target is not None:
        named = action.do in _NAMING
        return f"{action.do} {action.target if named else print_string(action.target)}"
    if action.slot is not None:
        return f"{action.do} {view.slots(index)[action.slot].role}"
    return action.do if action.type is None else f"{action.do} {view.plan.types[action.type].name}"


def _conditions(wording: Wording, term: Term | None) -> Iterator[str]:
    """Yield conditions that must all hold, one by one."""
    if term is not None:
        yield from (wording.text(part) for part in conjuncts(term))
