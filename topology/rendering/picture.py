"""From a plan to the diagram of its shared event graph.

A source that lets everything pass is drawn as the event itself, or as the definition that makes it: what is
one thing to the reader is one box.
"""

from collections.abc import Iterator, Sequence

from tocsin.topology.plan import (
    ChangeNode,
    DefineNode,
    EventType,
    FactNode,
    PatternNode,
    Plan,
    RuleNode,
    SourceNode,
)
from tocsin.topology.printing.expressions import print_ms, print_string
from tocsin.topology.rendering.describe import (
    PLACES,
    Described,
    describe,
    told_context,
    told_contexts,
    told_horizon,
    told_running,
    told_size,
)
from tocsin.topology.rendering.diagram import Band, Box, Chip, ChipLook, Diagram, Link, Look
from tocsin.topology.rendering.view import View
from tocsin.topology.subscribers import PlanAction
from tocsin.topology.types import Kind

_FEW_TOPICS = 6


def picture(plan: Plan) -> Diagram:
    """Return the diagram of a plan."""
    return _Picture(plan).diagram()


class _Picture:
    """Boxes and links as they are found, node by node.

    A leaf is drawn in each band that reads its topic; any other node once.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._view = View(plan)
        self._boxes: list[Box] = []
        self._links: dict[Link, None] = {}
        self._of_type: dict[tuple[int, int], int] = {}
        self._of_leaf: dict[tuple[int, int], int] = {}
        self._of_node: dict[int, int] = {}

    def diagram(self) -> Diagram:
        """Return all of it."""
        self._made_by_rules()
        for index in range(len(self._view.nodes)):
            if self._view.inputs(index):
                self._of_node[index] = self._drawn(index)
        for (index, _), box in self._of_leaf.items():
            self._produced(index, box)
        for index, node in enumerate(self._view.nodes):
            if isinstance(node, RuleNode):
                self._acts(index, node)
        bands = tuple(
            Band(sub.name, (PLACES[sub.kind], f"reads {_listed(sub.topics)}"), sub.kind.value)
            for sub in self._plan.subtopologies
        )
        title = f"{self._plan.app}: the event graph"
        return Diagram(title, told_size(self._view), bands, tuple(self._boxes), tuple(self._links))

    # --- boxes ----------------------------------------------------------------------------------------------

    def _made_by_rules(self) -> None:
        """Draw first what rules both make and read: of a circle, it is the action that is drawn back."""
        rules = [(i, node) for i, node in enumerate(self._view.nodes) if isinstance(node, RuleNode)]
        made = {self._makes(index, action) for index, rule in rules for action in rule.actions}
        for index, node in enumerate(self._view.nodes):
            if isinstance(node, SourceNode | FactNode | ChangeNode) and node.type in made:
                for reader in self._view.readers[index]:
                    self._event(node.type, self._home(index, self._band(reader)))

    def _drawn(self, index: int) -> int:
        """Return the box of a node that reads others."""
        node = self._view.nodes[index]
        band = self._band(index)
        if isinstance(node, PatternNode) and not node.parts and node.where is None:
            return self._read(node.terminator.node, band)
        looks = {DefineNode: Look.DEFINE, RuleNode: Look.RULE}
        look = looks.get(type(node), Look.OPERATOR)
        inputs = [self._read(read, band) for read in self._view.inputs(index)]
        box = self._box(index, look, describe(self._view, index), band)
        labels = self._roles(index) if look is Look.OPERATOR else [""] * len(inputs)
        for read, label in zip(inputs, labels, strict=True):
            self._link(read, box, "" if label == self._boxes[read].title else label)
        return box

    def _roles(self, index: int) -> list[str]:
        """Return the roles of the leaves that a node reads, and nothing for what is no leaf."""
        slots = self._view.slots(index)
        found = []
        for read, start in zip(self._view.inputs(index), self._view.input_slots(index), strict=True):
            # Of a change, the last slot is that of the event.
            last = start + len(self._view.slots(read)) - 1
            found.append("" if self._view.inputs(read) else slots[last].role)
        return found

    def _read(self, index: int, band: int) -> int:
        """Return the box of a node as it is read in a band."""
        if self._view.inputs(index):
            return self._of_node[index]
        home = self._home(index, band)
        if (index, home) not in self._of_leaf:
            self._of_leaf[index, home] = self._leaf(index, home)
        return self._of_leaf[index, home]

    def _leaf(self, index: int, band: int) -> int:
        described = describe(self._view, index)
        match self._view.nodes[index]:
            case SourceNode(producers=(_, *_)) as node:
                maker = self._of_node.get(node.producers[0]) if len(node.producers) == 1 else None
                if maker is not None and _plain(described, self._boxes[maker].title):
                    return maker
                return self._box(index, Look.SOURCE, described, band)
            case SourceNode() | FactNode() | ChangeNode() as node:
                event = self._event(node.type, band)
                if _plain(described, self._plan.types[node.type].name):
                    return event
                box = self._box(index, Look.SOURCE, described, band)
                self._link(event, box)
                return box
            case _:
                return self._box(index, Look.SOURCE, described, band)

    def _home(self, index: int, band: int) -> int:
        """Return where a leaf is drawn that is read in a band: there, or where its topic is read for it."""
        match self._view.nodes[index]:
            case SourceNode() | FactNode() | ChangeNode() as node:
                topic = self._plan.types[node.type].topic
            case _:
                return band
        made_here = isinstance(node, SourceNode) and any(self._band(i) == band for i in node.producers)
        subs = self._plan.subtopologies
        if made_here or topic in subs[band].topics:
            return band
        return next((i for i, sub in enumerate(subs) if index in sub.nodes and topic in sub.topics), band)

    def _event(self, kind: int, band: int) -> int:
        """Return the box of an event or a fact, in the band where its topic is read."""
        place = (kind, band)
        if place not in self._of_type:
            self._of_type[place] = len(self._boxes)
            self._boxes.append(_event_box(self._plan.types[kind], band))
        return self._of_type[place]

    def _box(self, index: int, look: Look, described: Described, band: int) -> int:
        users = self._view.used_by(index)
        tooltip = [described.sentence, f"node {index}"]
        tooltip += [f"used by {', '.join(users)}"] if look in {Look.SOURCE, Look.OPERATOR} else []
        self._boxes.append(
            Box(
                look,
                described.tag,
                described.title,
                described.lines,
                tuple(self._chips(index, look)),
                "\n".join(tooltip),
                band,
            )
        )
        return len(self._boxes) - 1

    def _chips(self, index: int, look: Look) -> Iterator[Chip]:
        if look in {Look.DEFINE, Look.RULE}:
            yield from _subscribing(self._view.subscriber(index))
            return
        for context in told_contexts(self._view, index):
            yield Chip(ChipLook.CONTEXT, context)
        if horizon := told_horizon(self._view, index):
            yield Chip(ChipLook.HORIZON, horizon)
        if (readers := len(self._view.readers[index])) > 1:
            yield Chip(ChipLook.SHARED, f"shared by {readers}")

    def _band(self, index: int) -> int:
        """Return the sub-topology that a node runs in."""
        return self._view.first_subtopology(index)

    # --- links ----------------------------------------------------------------------------------------------

    def _link(self, start: int, end: int, label: str = "") -> None:
        over_topic = self._boxes[start].band != self._boxes[end].band
        self._links[Link(start, end, label, over_topic)] = None

    def _produced(self, index: int, box: int) -> None:
        """Link the definitions that make an event to the source that reads it, where both are drawn."""
        node = self._view.nodes[index]
        for producer in node.producers if isinstance(node, SourceNode) else ():
            if self._of_node[producer] != box:
                self._link(self._of_node[producer], box)

    def _acts(self, index: int, node: RuleNode) -> None:
        """Link a rule to the events and facts that it makes, where some rule reads them."""
        for action in node.actions:
            for (kind, _), box in self._of_type.items():
                if kind == self._makes(index, action):
                    self._link(self._of_node[index], box, action.do)

    def _makes(self, index: int, action: PlanAction) -> int | None:
        """Return the type that an action of a rule makes or changes."""
        if action.slot is None:
            return action.type
        return self._view.slot_types(index)[action.slot]


def _plain(described: Described, name: str) -> bool:
    """Tell whether a source lets everything of an event pass."""
    return not described.lines and described.title == name


def _event_box(event: EventType, band: int) -> Box:
    fact = event.kind is Kind.FACT
    lines = [f"on {print_string(event.topic)}"]
    lines += [] if event.key is None else [f"key {event.fields[event.key].name}"]
    waits = [f"lateness {print_ms(event.lateness_ms)}"] if event.lateness_ms else []
    tooltip = "\n".join([event.signature, *lines, *waits])
    return Box(
        Look.FACT if fact else Look.EVENT, event.kind.value, event.name, tuple(lines), (), tooltip, band
    )


def _subscribing(node: DefineNode | RuleNode) -> Iterator[Chip]:
    if context := told_context(node):
        yield Chip(ChipLook.CONTEXT, context)
    yield from (Chip(ChipLook.NOTE, text) for text in told_running(node))


def _listed(topics: Sequence[str]) -> str:
    shown = ", ".join(topics[:_FEW_TOPICS])
    return shown if len(topics) <= _FEW_TOPICS else f"{shown} and {len(topics) - _FEW_TOPICS} more"
