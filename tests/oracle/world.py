"""The world of a history: what is declared, what occurred, which facts held, and how far time goes.

    world = World.of(program, [event("Temp", t=1000, area="a", value=50.0)], until=60_000)
    world.occurrences("Temp")          those of the type and of its subtypes, in the total order
    world.leaf(expr)                   those a leaf of a source speaks of, before its conditions
    world.state("Equipment", "e1", p)  the fact as events at position p see it

A world is immutable. `with_derived` adds what was detected, `with_changes` what rules did to facts.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType

from tests.oracle import calendar
from tests.oracle.history import Change, Input, Occurrence, Position, Value, due, in_order, timer
from tocsin.topology import compile_rules, tree
from tocsin.topology.tree import EventKind, Modifier

PHASES = {EventKind.OPERATION: Modifier.END, EventKind.UNIT: Modifier.COMMIT}
"""The phase that is meant where none is said."""


@dataclass(frozen=True)
class World:
    """Everything a definition may quantify over."""

    program: tree.Program
    events: tuple[Occurrence, ...]
    """The input events, in the total order."""
    since: int
    until: int
    """The time that has come to pass: timers are due in [since, until]."""
    changes: tuple[Change, ...] = ()
    """All changes of facts, in the order in which they take effect."""
    derived: Mapping[str, tuple[Occurrence, ...]] = field(default_factory=dict)
    """By name: the occurrences of defined events, of rules, and those that rules published."""

    @staticmethod
    def of(
        program: tree.Program,
        events: Iterable[Input],
        *,
        until: int | None = None,
        since: int | None = None,
        facts: Iterable[Change] = (),
    ) -> "World":
        """The world of these input events. Without an `until`, time ends with the last of them."""
        declared = {d.name.text: d for d in program.declarations if isinstance(d, tree.Event)}
        occurrences = in_order(primitives(declared, tuple(events)))
        ordered = once_each(program, occurrences)
        times = [occurrence.time for occurrence in occurrences] or [0]
        changes = [keyed(program, change) for change in facts]
        return World(
            program,
            ordered,
            min(times) if since is None else since,
            max(times) if until is None else until,
            tuple(sorted(changes, key=lambda change: change.position)),
        )

    # --- declarations ---------------------------------------------------------------------------------------

    @cached_property
    def declared(self) -> Mapping[str, tree.Event]:
        """The declared events by name."""
        return {d.name.text: d for d in self.program.declarations if isinstance(d, tree.Event)}

    @cached_property
    def facts(self) -> Mapping[str, tree.Fact]:
        """The declared facts by name."""
        return {d.name.text: d for d in self.program.declarations if isinstance(d, tree.Fact)}

    def order(self, definition: tree.Define | tree.Rule) -> int:
        """The place of a definition in the file, for the tie-break of its timers."""
        return next(i for i, d in enumerate(self.program.declarations) if d is definition)

    def ancestors(self, name: str) -> Iterable[str]:
        """The event type and everything it extends."""
        event = self.declared.get(name)
        yield name
        if event and event.parent:
            yield from self.ancestors(event.parent.text)

    def key(self, name: str) -> str | None:
        """The key attribute of an event or a fact, its own or an ancestor's: what a lone `$x` speaks of."""
        for ancestor in self.ancestors(name):
            declaration = self.declared.get(ancestor) or self.facts.get(ancestor)
            if declaration and declaration.key:
                return declaration.key.text
        return None

    # --- occurrences ----------------------------------------------------------------------------------------

    def occurrences(self, name: str) -> tuple[Occurrence, ...]:
        """`E[H]`: every occurrence of the type, in order. An occurrence of a child is one of the parent."""
        if name not in self._occurrences:
            own = [event for event in self.events if name in self.ancestors(event.type)]
            derived = self.derived.items()
            raised = [o for type_, found in derived if name in self.ancestors(type_) for o in found]
            self._occurrences[name] = in_order([*own, *raised])
        return self._occurrences[name]

    @cached_property
    def _occurrences(self) -> dict[str, tuple[Occurrence, ...]]:
        """What was asked for before."""
        return {}

    def leaf(self, expr: tree.Constituent) -> tuple[Occurrence, ...]:
        """Every occurrence that `Temp`, `begin SetPrice` or `Timer(…)` speaks of, conditions aside."""
        match expr:
            case tree.Timer():
                return self.timers(expr)
            case tree.Modified(modifier=modifier, operand=tree.Occurrence(event=name)):
                kind = self.declared[name.text].kind if name.text in self.declared else EventKind.EVENT
                occurrences = self.occurrences(name.text)
                if kind is EventKind.EVENT:
                    return tuple(modified(modifier, occurrence) for occurrence in occurrences)
                return tuple(o for o in occurrences if o.attributes.get("phase") == modifier.value)
            case tree.Occurrence(event=name):
                kind = self.declared[name.text].kind if name.text in self.declared else EventKind.EVENT
                if kind is EventKind.EVENT:
                    return self.occurrences(name.text)
                return self.leaf(tree.Modified(PHASES[kind], expr))
            case _:
                raise AssertionError(expr)

    def timers(self, expr: tree.Timer) -> tuple[Occurrence, ...]:
        """The points in time that match an absolute temporal event, §2.1.1 of Snoop.

        The same timer written twice is one event, which stands where it is written first.
        """
        mention = self.first_mention(expr)
        return tuple(
            timer(due(point, *mention), ("Timer", mention, point))
            for point in calendar.points(expr, self.since, self.until)
        )

    def first_mention(self, expr: tree.Timer) -> tuple[int, int]:
        """The definition, and the place in it, where a timer is written first."""
        plain = replace(expr, alias=None)
        for number, declaration in enumerate(self.program.declarations):
            found = [t for t in timers_in(declaration) if replace(t, alias=None) == plain]
            if found:
                return number, next(i for i, t in enumerate(timers_in(declaration)) if t is found[0])
        return len(self.program.declarations), 0

    # --- facts ----------------------------------------------------------------------------------------------

    def history(self, name: str, key: Hashable) -> tuple[Change, ...]:
        """The changes of one fact, in order."""
        return tuple(self._histories.get((name, key), ()))

    @cached_property
    def _histories(self) -> dict[tuple[str, Hashable], list[Change]]:
        """The changes by type and key."""
        found: dict[tuple[str, Hashable], list[Change]] = {}
        for change in self.changes:
            found.setdefault((change.type, change.key), []).append(change)
        return found

    def keys(self, name: str) -> tuple[Hashable, ...]:
        """The keys of all facts of a type there ever were, in the order of their appearance."""
        return tuple(key for type_, key in self._histories if type_ == name)

    def state(self, name: str, key: Hashable, at: Position) -> Mapping[str, Value] | None:
        """The state of a fact just before `at`: what changes at a position is seen by later ones."""
        before = [change.state for change in self.history(name, key) if change.position < at]
        return before[-1] if before else None

    # --- what is added by detection -------------------------------------------------------------------------

    def with_derived(self, name: str, occurrences: Sequence[Occurrence]) -> "World":
        """The world in which these, and no others, are the occurrences of a defined or published event."""
        derived = {**self.derived, name: tuple(occurrences)}
        return replace(self, derived=MappingProxyType(derived))

    def with_changes(self, changes: Iterable[Change]) -> "World":
        """The world in which these are all the changes of facts; those of one position keep their order."""
        return replace(self, changes=tuple(sorted(changes, key=lambda change: change.position)))


def primitives(declared: Mapping[str, tree.Event], events: Sequence[Input]) -> list[Occurrence]:
    """The occurrences of the input events; two with the same own id have the same label."""
    return [primitive(inherited(declared, event.type), event, i) for i, event in enumerate(events)]


def once_each(program: tree.Program, occurrences: Sequence[Occurrence]) -> tuple[Occurrence, ...]:
    """The occurrences without those that repeat the own id of an earlier one, for as long as it is known.

    How long that is depends on how long rules keep the type, which the compiler proves. One that has its id
    from a time before that is another event, with another label.
    """
    if len({occurrence.label for occurrence in occurrences}) == len(occurrences):
        return tuple(occurrences)
    known_ms = remembered(str(program))
    kept: dict[Hashable, Occurrence] = {}
    found: list[Occurrence] = []
    for occurrence in occurrences:
        first, known = kept.get(occurrence.label), known_ms[occurrence.type]
        if first is not None and (known is None or occurrence.time - first.time <= known):
            continue
        kept[occurrence.label] = occurrence
        label = occurrence.label if first is None else (occurrence.label, occurrence.position)
        found.append(replace(occurrence, label=label))
    return tuple(found)


@lru_cache(maxsize=8)
def remembered(program: str) -> Mapping[str, int | None]:
    """For how long ids are known, by type."""
    return {type_.name: type_.remember_ms for type_ in compile_rules(program, app="oracle").types}


def inherited(declared: Mapping[str, tree.Event], name: str) -> tree.Event:
    """The declaration of an event, with what it does not say itself taken from what it extends."""
    event = declared[name]
    if event.parent is None:
        return event
    parent = inherited(declared, event.parent.text)
    return replace(
        event,
        topic=event.topic or parent.topic,
        key=event.key or parent.key,
        id=event.id or parent.id,
        time=event.time or parent.time,
        start=event.start or parent.start,
    )


def primitive(declaration: tree.Event, event: Input, number: int) -> Occurrence:
    """An input event in its place: the time it declares, then topic, key and the order of sending."""

    def declared(clause: tree.Name | None) -> Value:
        return event.attributes.get(clause.text) if clause else None

    topic = declaration.topic.name if declaration.topic else event.type
    key, own_id = declared(declaration.key), declared(declaration.id)
    time = event.t if declared(declaration.time) is None else declared(declaration.time)
    start = time if declared(declaration.start) is None else min(declared(declaration.start), time)
    label: Hashable = (event.type, own_id) if own_id is not None else event.label or f"{event.type}#{number}"
    position = Position(time, 0, (topic, "" if key is None else str(key), number))
    return Occurrence(
        event.type,
        position,
        start,
        time,
        attributes=MappingProxyType(dict(event.attributes)),
        label=label,
        initiated=position,
    )


def keyed(program: tree.Program, change: Change) -> Change:
    """The change with the key that the declaration of the fact names."""
    for declaration in program.declarations:
        if isinstance(declaration, tree.Fact) and declaration.name.text == change.type and declaration.key:
            named = None if change.state is None else change.state.get(declaration.key.text)
            return replace(change, key=change.key if named is None else named)
    return change


def modified(modifier: Modifier, occurrence: Occurrence) -> Occurrence:
    """`begin E`, `end E`: the same occurrence, of which one point is taken. It stays where it stands."""
    if modifier is Modifier.BEGIN:
        return replace(occurrence, end=occurrence.start)
    return replace(occurrence, start=occurrence.end, initiated=occurrence.position)


def timers_in(node: object) -> list[tree.Timer]:
    """The timers of a declaration, in the order in which they are written."""
    if isinstance(node, tree.Timer):
        return [node]
    if isinstance(node, tuple):
        return [timer for part in node for timer in timers_in(part)]
    if not hasattr(node, "__dataclass_fields__"):
        return []
    return [timer for name in node.__dataclass_fields__ for timer in timers_in(getattr(node, name))]
