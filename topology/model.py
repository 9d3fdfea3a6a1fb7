"""What the passes know about a rule file and hand on to each other."""

from dataclasses import dataclass, field

from tocsin.topology.errors import Report
from tocsin.topology.plan import EventType, Match, Node, Subtopology
from tocsin.topology.terms import Field, Term
from tocsin.topology.tree import Define, Name, Occurrence, Program


@dataclass(eq=False)
class Constituent:
    """A constituent of a rule; index 0 is the terminator.

    `sound` is false when something about it was reported: what depends on it is then not judged.
    """

    index: int
    occurrence: Occurrence
    event: EventType
    within_ms: int = 0
    anchor: int = 0
    sound: bool = True
    conditions: list[Term] = field(default_factory=list)
    filter: Term | None = None
    match: tuple[Match, ...] = ()
    where: Term | None = None
    horizon_ms: int = 0

    @property
    def role(self) -> str:
        """The name it has in the rule."""
        return self.occurrence.role


@dataclass(eq=False)
class Rule:
    """A definition on its way to the plan; `lost` are parameters whose binding was reported as wrong."""

    define: Define
    output: EventType
    constituents: list[Constituent] = field(default_factory=list)
    parameters: dict[str, Field] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    values: list[Term] = field(default_factory=list)

    def named(self, name: Name) -> Constituent | None:
        """Return the constituent with that role or, if there is just one, of that event type."""
        by_role = [c for c in self.constituents if c.role == name.text]
        by_type = [c for c in self.constituents if c.occurrence.event == name]
        if by_role:
            return by_role[0]
        return by_type[0] if len(by_type) == 1 else None


@dataclass(eq=False)
class Compilation:
    """A rule file on its way to the plan.

    `doubtful` names the events whose attributes, `unkeyed` those whose keys were reported as wrong: what
    rests on them is not judged.
    """

    app: str
    program: Program
    report: Report
    doubtful: set[str]
    unkeyed: set[str] = field(default_factory=set)
    types: dict[str, EventType] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    subtopologies: list[Subtopology] = field(default_factory=list)
