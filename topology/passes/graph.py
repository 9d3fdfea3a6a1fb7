"""The event graph: the nodes of all rules, what is equal only once, and the task they run in."""

from tocsin.topology import fingerprints
from tocsin.topology.model import Compilation, Constituent, Rule
from tocsin.topology.plan import (
    Binding,
    DefineNode,
    Node,
    PatternNode,
    PlanConstituent,
    SourceNode,
    Subtopology,
    Terminator,
)
from tocsin.topology.tree import Selection


def build_graph(compilation: Compilation) -> None:
    """Fill the nodes and the sub-topologies."""
    graph = _Graph(compilation)
    for rule in compilation.rules:
        graph.add(rule)
    compilation.nodes = list(graph.ids)
    if compilation.nodes:
        types = list(compilation.types.values())
        topics = {types[node.type].topic for node in compilation.nodes if isinstance(node, SourceNode)}
        nodes = tuple(range(len(compilation.nodes)))
        compilation.subtopologies = [Subtopology("local", "local", tuple(sorted(topics)), nodes)]


class _Graph:
    """Nodes by value, so that equal ones have one id."""

    def __init__(self, compilation: Compilation) -> None:
        self.ids: dict[Node, int] = {}
        self._types = {name: index for index, name in enumerate(compilation.types)}

    def add(self, rule: Rule) -> None:
        """Add the nodes of a rule."""
        sources = [self._source(constituent) for constituent in rule.constituents]
        for source in sorted(sources, key=lambda node: node.type):
            self._id(source)
        terminator = Terminator(self._id(sources[0]), rule.constituents[0].role)
        constituents = tuple(
            self._constituent(constituent, item.selection, source)
            for constituent, item, source in zip(
                rule.constituents[1:], rule.define.pattern.items, sources[1:], strict=True
            )
        )
        pattern = PatternNode(
            terminator, constituents, fingerprints.of_pattern(terminator, constituents, sources)
        )
        self._id(
            DefineNode(
                input=self._id(pattern),
                type=self._types[rule.output.name],
                rule=rule.output.name,
                values=tuple(rule.values),
                bindings=tuple(Binding(name, field.scalar, field) for name, field in rule.parameters.items()),
                fingerprint=fingerprints.of_definition(rule),
            )
        )

    def _id(self, node: Node) -> int:
        return self.ids.setdefault(node, len(self.ids))

    def _source(self, constituent: Constituent) -> SourceNode:
        test = constituent.filter
        fingerprint = fingerprints.of_source(constituent.event, test)
        return SourceNode(self._types[constituent.event.name], test, fingerprint)

    def _constituent(
        self, constituent: Constituent, selection: Selection, source: SourceNode
    ) -> PlanConstituent:
        return PlanConstituent(
            node=self._id(source),
            role=constituent.role,
            select=selection.value,
            within_ms=constituent.within_ms,
            anchor=constituent.anchor,
            match=constituent.match,
            where=constituent.where,
            horizon_ms=constituent.horizon_ms,
        )
