"""The typed model of a rule file: what the passes know about it and hand on to each other.

The typing passes fill it from the tree; behind `raise_mistakes` everything in it can be relied on: every name
is known, every term typed, every rule has a source.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from tocsin.topology import tree
from tocsin.topology.errors import Report, Span
from tocsin.topology.plan import Match, Node, Placement, Subtopology
from tocsin.topology.sources import Pattern, Source
from tocsin.topology.terms import Field, Place, Term, Valued
from tocsin.topology.tree import (
    NOWHERE,
    Context,
    Coupling,
    Define,
    FactVerb,
    Modifier,
    Named,
    Occurrence,
    Program,
    Skip,
    Timer,
    TriggerMode,
)
from tocsin.topology.tree import Rule as RuleDeclaration
from tocsin.topology.types import Enumeration, Type


class Part(StrEnum):
    """What a constituent is to the occurrences of its rule."""

    TAKEN = "taken"
    """One of those they are made of."""
    ABSENT = "absent"
    """What must not be there."""
    MEASURED = "measured"
    """What an aggregate ranges over, a tick samples, or a fact was before it changed."""


@dataclass(eq=False)
class Constituent:
    """A constituent of a rule; in a pattern, index 0 is the terminator.

    `phase` is that of an operation or a unit of work; a condition on the attribute `phase` is among the
    `conditions`. Of any other event, `begin` and `end` are the `point` that is taken of it. What is not
    `named` has a role that rules cannot mention. `several` tells that its role can hold several occurrences
    at once, `optional` that it can hold none.

    `equalities` are, in event expressions and matches, the equality parameters it is tied to, and by which
    attribute; in patterns and `when`, ties are conditions like any other. `present` are the optional
    attributes that its conditions prove to be there.

    `sound` is false when something about it was reported: what depends on it is then not judged.
    """

    index: int
    role: str
    event: Type
    part: Part = Part.TAKEN
    occurrence: Occurrence | None = None
    timer: Timer | None = None
    phase: Modifier | None = None
    point: Modifier | None = None
    named: bool = True
    several: bool = False
    optional: bool = False
    span: Span = NOWHERE
    sound: bool = True
    conditions: list[Term] = field(default_factory=list)
    equalities: dict[str, int] = field(default_factory=dict)
    present: set[int] = field(default_factory=set)

    # What the planner finds out.
    filter: Term | None = None
    match: tuple[Match, ...] = ()
    where: Term | None = None
    horizon_ms: int | None = 0


@dataclass(eq=False)
class Parameter:
    """`$a`: `value` is what it means outside the constituents that bind it.

    `places` are the attributes said to equal it, in textual order; the first gave it its value, unless an
    aggregate does. `[1]` of a grouped event is a parameter named `[1]`.
    """

    name: str
    value: Term
    places: list[Field] = field(default_factory=list)

    @property
    def equality(self) -> bool:
        """Whether it ties constituents together: rules are evaluated for each of its values on its own."""
        return isinstance(self.value, Valued) or len({place.constituent for place in self.places}) > 1


@dataclass(frozen=True, slots=True)
class Rate:
    """At most so many per duration, or ever."""

    count: int
    per_ms: int | None


# --- actions ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Publish:
    """Raise an event: one value an attribute, in their order."""

    event: Type
    values: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class ChangeFact:
    """Assert or update a fact: one value an attribute, in their order."""

    verb: FactVerb
    fact: Type
    values: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Modify:
    """Change some attributes of the fact that a constituent holds."""

    constituent: int
    values: tuple[tuple[int, Term], ...]


@dataclass(frozen=True, slots=True)
class Retract:
    """Take out what a constituent holds."""

    constituent: int


@dataclass(frozen=True, slots=True)
class Invoke:
    """Call a registered function."""

    module: str
    function: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """Post to an address."""

    url: str


@dataclass(frozen=True, slots=True)
class Switch:
    """Activate or deactivate a rule."""

    rule: str
    on: bool


@dataclass(frozen=True, slots=True)
class Flush:
    """Forget what was stored for an event, or for all."""

    event: str | None


Action = Publish | ChangeFact | Modify | Retract | Invoke | Webhook | Switch | Flush


# --- rules --------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Rule:
    """A definition (it has an `output`) or a rule (it has `actions`) on its way to the plan.

    `written` is its source with named expressions put in. `lost` are parameters whose binding was reported as
    wrong, `spent` those that had a meaning within one constituent only (and which), `certain` the attributes
    and constituents that its conditions prove to be there. `context` is None where the source is no event
    expression. A higher `priority` goes first. `keys` has the attribute by which each constituent must be
    partitioned; where it is empty, any partition will do. `reads` has the types
    that come from topics, of what it is made of too, and the attribute by which each is read.

    `sound` is false when something about it was reported: its source may be incomplete, and is not judged.
    """

    declaration: Define | RuleDeclaration
    output: Type | None = None
    written: tree.Source | tree.When = field(init=False)
    source: Source = field(default_factory=Pattern)
    constituents: list[Constituent] = field(default_factory=list)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    spent: dict[str, str] = field(default_factory=dict)
    certain: set[Place] = field(default_factory=set)
    condition: Term | None = None
    values: list[Term] = field(default_factory=list)
    consuming: tuple[int, ...] = ()
    context: Context | None = None
    disjoint: bool = False
    skip: Skip | None = None
    rate: Rate | None = None
    unbounded: bool = False
    actions: tuple[Action, ...] = ()
    coupling: Coupling = Coupling.IMMEDIATE
    priority: int = 0
    trigger: TriggerMode = TriggerMode.NOW
    back_ms: int | None = None
    active: bool = True
    sound: bool = True

    # What the planner finds out.
    placement: Placement = Placement.GLOBAL
    keys: dict[int, int] = field(default_factory=dict)
    reads: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        declaration = self.declaration
        self.written = declaration.source if isinstance(declaration, Define) else declaration.trigger

    @property
    def name(self) -> str:
        """The name of the definition or rule."""
        return self.declaration.name.text

    def taken(self) -> Iterator[Constituent]:
        """Yield the constituents its occurrences are made of."""
        return (c for c in self.constituents if c.part is Part.TAKEN)

    def equality_parameters(self) -> list[Parameter]:
        """Return the parameters that tie constituents together, in the order of their first mention."""
        return [parameter for parameter in self.parameters.values() if parameter.equality]


@dataclass(eq=False)
class Compilation:
    """A rule file on its way to the plan.

    `declared` says what each name was declared as; of two declarations of one name, it is the first. `types`
    holds events, definitions and facts in the order of the file, `unused` the named expressions that
    no rule uses: they are checked all the same. `doubtful` names the types whose attributes, `unkeyed` those
    whose keys were reported as wrong: what rests on them is not judged. `partitions` is how many each topic
    has, of those whose number is known.
    """

    app: str
    program: Program
    report: Report
    doubtful: set[str]
    partitions: Mapping[str, int] = field(default_factory=dict)
    unkeyed: set[str] = field(default_factory=set)
    declared: dict[str, tree.Declaration] = field(default_factory=dict)
    types: dict[str, Type] = field(default_factory=dict)
    enums: dict[str, Enumeration] = field(default_factory=dict)
    named: dict[str, Named] = field(default_factory=dict)
    unused: dict[str, tree.EventExpr] = field(default_factory=dict)
    priorities: dict[str, int] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    subtopologies: list[Subtopology] = field(default_factory=list)

    @contextmanager
    def judging(self, rule: Rule) -> Iterator[None]:
        """Mark a rule as unsound if anything is reported meanwhile."""
        before = len(self.report.diagnostics)
        yield
        rule.sound = rule.sound and len(self.report.diagnostics) == before
