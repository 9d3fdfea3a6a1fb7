"""A plan explained as text: what runs where, the shared graph, and what each definition and rule costs."""

import textwrap
from collections.abc import Iterator

from tocsin.topology.plan import DefineNode, Forward, Placement, Plan, RuleNode, RuleSummary, Subtopology
from tocsin.topology.printing.expressions import print_ms
from tocsin.topology.rendering.describe import (
    PLACES,
    describe,
    told_context,
    told_contexts,
    told_horizon,
    told_running,
    told_size,
)
from tocsin.topology.rendering.view import View

WIDTH = 100

_RUNS = {
    Placement.LOCAL: "local",
    Placement.ROUTE: "local behind a route",
    Placement.GLOBAL: "global",
}
_TIED = {
    Placement.LOCAL: "the key of their topics",
    Placement.ROUTE: "by which they are sent on, since their topics have other keys",
}


def explain(plan: Plan) -> str:
    """Return what a plan does, in words."""
    return "\n".join(_Explanation(plan).lines()) + "\n"


class _Explanation:
    """Explains the parts of a plan; what was shown of the graph is referred to by its number."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._view = View(plan)
        self._shown: set[int] = set()

    def lines(self) -> Iterator[str]:
        """Yield the explanation, line by line."""
        yield f"{self._plan.app}: {told_size(self._view)}"
        for sub in self._plan.subtopologies:
            yield ""
            yield from self._subtopology(sub)
        if summaries := self._plan.summary():
            yield ""
            yield "what it costs"
            for summary, index in zip(summaries, self._in_order(), strict=True):
                yield from self._cost(summary, index)

    def _in_order(self) -> list[int]:
        """Return the definitions and rules in the order of the file."""
        return sorted(self._view.subscribers, key=lambda index: self._view.subscriber(index).order)

    # --- where what runs ------------------------------------------------------------------------------------

    def _subtopology(self, sub: Subtopology) -> Iterator[str]:
        yield f"{sub.name}: {PLACES[sub.kind]}"
        yield f"  reads {', '.join(sub.topics)}"
        for topic in sorted({forward.topic for forward in sub.forwards}):
            yield f"  sends to {topic}"
            yield from (f"    {line}" for forward in sub.forwards for line in self._sent(forward, topic))
        apart = [group.subscribers for group in sub.groups if group.subscribers]
        if len(apart) > 1:
            groups = (", ".join(self._view.subscriber(i).rule for i in group) for group in apart)
            yield f"  in partitions of their own: {' | '.join(groups)}"
        made = [
            self._view.subscriber(i).rule for i in self._in_order() if i in {*sub.nodes} - {*sub.subscribers}
        ]
        if made:
            yield f"  makes again for itself: {', '.join(made)}"
        for index in self._in_order():
            if index in sub.subscribers:
                yield ""
                yield from self._graph(index)

    def _sent(self, forward: Forward, topic: str) -> Iterator[str]:
        """Yield what is sent on to a topic, and by which key."""
        if forward.topic == topic:
            event = self._plan.types[forward.type]
            by = "" if forward.key is None else f", by {event.fields[forward.key].name}"
            for node in forward.nodes:
                yield describe(self._view, node).sentence.removeprefix("source ") + by

    def _graph(self, index: int, lead: str = "  ", below: str = "  ") -> Iterator[str]:
        """Yield a node and, unless they were shown before, those that it reads."""
        known = index in self._shown
        self._shown.add(index)
        yield lead + self._node(index, known=known)
        inputs = () if known else tuple(dict.fromkeys(self._view.inputs(index)))
        for read in inputs:
            branch, trunk = ("└─ ", "   ") if read == inputs[-1] else ("├─ ", "│  ")
            yield from self._graph(read, below + branch, below + trunk)

    def _node(self, index: int, *, known: bool) -> str:
        described = describe(self._view, index)
        if known:
            return f"#{index} {described.head} (above)"
        remarks = "; ".join(self._remarks(index))
        return f"#{index} {described.sentence}" + (f"  [{remarks}]" if remarks else "")

    def _remarks(self, index: int) -> Iterator[str]:
        node = self._view.nodes[index]
        if isinstance(node, DefineNode | RuleNode):
            yield from (text for text in (told_context(node), *told_running(node)) if text)
            return
        if contexts := told_contexts(self._view, index):
            yield ", ".join(contexts)
        if horizon := told_horizon(self._view, index):
            yield horizon
        if len(self._view.readers[index]) > 1:
            yield f"shared by {', '.join(self._view.used_by(index))}"

    # --- what it costs --------------------------------------------------------------------------------------

    def _cost(self, summary: RuleSummary, index: int) -> Iterator[str]:
        node = self._view.subscriber(index)
        yield f"  {summary.name}"
        yield f"    runs {_RUNS[Placement(summary.kind)]}: {self._reason(summary, node)}"
        horizon_ms = summary.horizon_ms
        yield "    no bound in time" if horizon_ms is None else f"    looks back {print_ms(horizon_ms)}"
        yield textwrap.fill(summary.state, WIDTH, initial_indent="    ", subsequent_indent="      ")
        if isinstance(node, DefineNode):
            event = self._plan.types[node.type]
            key = "" if event.key is None else f", keyed by {event.fields[event.key].name}"
            yield f"    writes {event.topic}{key}"

    def _reason(self, summary: RuleSummary, node: DefineNode | RuleNode) -> str:
        """Return why it runs where it runs."""
        placement = Placement(summary.kind)
        if placement is Placement.GLOBAL:
            return "nothing ties all its events to one key"
        names = [f"${binding.name}" for binding in node.bindings if binding.equality]
        alone = not self._view.stores(node.input) or len(self._view.slots(node.input)) == 1
        if alone and not names:
            return "each event stands alone"
        tie = " and ".join(names) or "equal values"
        return f"its events are tied by {tie}, {_TIED[placement]}"
