"""The driver: every definition of a program over a whole history.

    detected = detect(text, [event("Temp", t=1000, area="a", value=50.0), …], until=60_000)
    detected.of("Fire")      the occurrences of a defined event, of a rule or of a published event, in order

Each kind of source has a module with `detect(definition, world) -> Iterable[Found]`: what its printed
definition gives over the whole history. What all have in common is done here: the `if`, the attributes of
`where`, the rate. Definitions run in the order of their dependence. Where it goes in a circle they are
repeated until nothing changes, which comes to an end because they depend on strictly earlier positions; so
they are where rules publish events and change facts, by `rete.effects(world, fired) -> Effects`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import MappingProxyType
from typing import Any

from tests.oracle.history import Change, Found, Input, Occurrence, Value, in_order, place
from tests.oracle.named import without_named
from tests.oracle.roles import written
from tests.oracle.values import Scope, evaluate, holds
from tests.oracle.wholes import without_wholes
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.errors import Report, Source
from tocsin.topology.parsing import parse_program

Definition = tree.Define | tree.Rule

ROUNDS_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class Effects:
    """What rules do to the world: every change of facts they make, and the events they publish, by type."""

    changes: tuple[Change, ...] = ()
    published: Mapping[str, tuple[Occurrence, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Detected:
    """What was detected, and the world at the end: with all derived events and all changes of facts."""

    world: World
    fired: Mapping[str, tuple[Found, ...]]
    """By the name of the definition: its occurrences, with the parameters they bound."""

    def of(self, name: str) -> tuple[Occurrence, ...]:
        """The occurrences of a defined event, of a rule or of a published event, in order."""
        if name in self.fired:
            return tuple(found.occurrence for found in self.fired[name])
        return self.world.occurrences(name)

    def facts(self, name: str) -> list[Mapping[str, Value]]:
        """The facts of a type at the end, in the order of their appearance."""
        last = {change.key: change.state for change in self.world.changes if change.type == name}
        return [state for key in self.world.keys(name) if (state := last[key]) is not None]


def detect(
    program: str | tree.Program,
    events: Iterable[Input],
    *,
    until: int | None = None,
    since: int | None = None,
    facts: Iterable[Change] = (),
) -> Detected:
    """Detect everything a program defines over a history of input events, in which time goes to `until`.

    The oracle does it, unless another detector is asked to, with `detecting_by`.
    """
    return _detector.get()(program, events, until=until, since=since, facts=facts)


@contextmanager
def detecting_by(detector: Callable[..., Detected]) -> Iterator[None]:
    """Let another detector answer for a while, one that is held against the same expectations."""
    token = _detector.set(detector)
    try:
        yield
    finally:
        _detector.reset(token)


def by_definition(
    program: str | tree.Program,
    events: Iterable[Input],
    *,
    until: int | None = None,
    since: int | None = None,
    facts: Iterable[Change] = (),
) -> Detected:
    """Detect by the printed definitions: the oracle itself."""
    parsed = without_wholes(without_named(parse(program) if isinstance(program, str) else program))
    world = World.of(parsed, events, until=until, since=since, facts=facts)
    given = world.changes
    definitions, repeat = in_dependency_order(parsed)
    names = dict.fromkeys(definition.name.text for definition in definitions)
    fired: dict[int, list[Found]] = {world.order(definition): [] for definition in definitions}
    effects = Effects()

    def of(name: str) -> tuple[Found, ...]:
        """What all definitions of one name found, in order."""
        found = [one for d in definitions if d.name.text == name for one in fired[world.order(d)]]
        return tuple(sorted(found, key=lambda one: place(one.occurrence)))

    def raised(name: str) -> tuple[Occurrence, ...]:
        """What was defined and what was published under one name."""
        defined = [one.occurrence for one in of(name)] if name in defines else []
        return in_order([*defined, *effects.published.get(name, ())])

    defines = {definition.name.text for definition in definitions if isinstance(definition, tree.Define)}
    for _ in range(ROUNDS_LIMIT):
        before = snapshot(world, fired)
        for definition in definitions:
            fired[world.order(definition)] = found_by(definition, world)
            if isinstance(definition, tree.Define):
                world = world.with_derived(definition.name.text, raised(definition.name.text))
        if not repeat:
            break
        effects = effects_of(world, [(d, one) for d in definitions for one in fired[world.order(d)]])
        for name in published_by(parsed):
            world = world.with_derived(name, raised(name))
        world = world.with_changes([*given, *effects.changes])
        if snapshot(world, fired) == before:
            break
    else:
        raise AssertionError("the definitions do not settle")
    return Detected(world, {name: of(name) for name in names})


_detector: ContextVar[Callable[..., Detected]] = ContextVar("detector", default=by_definition)


def parse(text: str) -> tree.Program:
    """The tree of a program; mistakes in its syntax are raised."""
    report = Report(Source(text, "<test>"))
    program = parse_program(report)
    report.check()
    return program


# --- one definition -----------------------------------------------------------------------------------------


def found_by(definition: Definition, world: World) -> list[Found]:
    """The occurrences of one definition: those of its source, after `if`, `where` and the rate, in order."""
    if isinstance(definition, tree.Rule) and definition.inactive:
        return []
    rank, roles = world.order(definition), list(written(source_of(definition)))
    labelled = (of_rule(rank, roles, one) for one in by_source(definition, world))
    ordered = in_places(roles, labelled)
    passed = [one for one in ordered if holds(definition.condition, scope_of(definition, one))]
    valued = [one for candidate in passed if (one := with_attributes(definition, candidate)) is not None]
    return limited(definition.rate, valued)


def of_rule(rank: int, roles: Sequence[str], found: Found) -> Found:
    """With the label that tells rules of one name apart, TESLA's lab(r, S), and roles as they are written."""
    players = sorted(found.occurrence.roles.items(), key=lambda one: roles.index(one[0]))
    label, ordered = (rank, found.occurrence.label), MappingProxyType(dict(players))
    return replace(found, occurrence=replace(found.occurrence, label=label, rank=rank, roles=ordered))


def in_places(roles: Sequence[str], found: Iterable[Found]) -> list[Found]:
    """In order, each once and with its place in it: what is made of the same events, by the roles these play.

    What the same events make in the same roles is one: the first, by its interval if by nothing else.
    What came true several times with the same events stands in the order in which it did.
    """

    def order(one: Found) -> tuple[Any, ...]:
        played = (roles.index(role) for role, players in one.occurrence.roles.items() if players)
        return place(one.occurrence), tuple(played), one.occurrence.start, one.occurrence.end

    def placed(number: int, one: Found) -> Found:
        at = (one.occurrence.position, one.occurrence.rank, number)
        return replace(one, occurrence=replace(one.occurrence, place=at))

    distinct: dict[Occurrence, Found] = {}
    for one in sorted(found, key=order):
        distinct.setdefault(one.occurrence, one)
    return [placed(number, one) for number, one in enumerate(distinct.values())]


def source_of(definition: Definition) -> tree.Source | tree.When:
    """What a definition is detected from."""
    return definition.source if isinstance(definition, tree.Define) else definition.trigger


def by_source(definition: Definition, world: World) -> Iterable[Found]:
    """The occurrences of a definition's source, by the module for its kind."""
    kinds = {tree.Pattern: "tesla", tree.Match: "match", tree.When: "rete"}
    module = kinds.get(type(source_of(definition)), "snoop")
    found: Iterable[Found] = import_module(f"tests.oracle.{module}").detect(definition, world)
    return found


def scope_of(definition: Definition, found: Found) -> Scope:
    """What names mean in the clauses; a bare attribute is one of the only constituent."""
    players = found.occurrence.roles
    roles = list(written(source_of(definition)))
    alone = players.get(roles[0], ()) if len(roles) == 1 else ()
    return Scope(own=alone[-1] if alone else None, roles=players, parameters=found.parameters)


def with_attributes(definition: Definition, found: Found) -> Found | None:
    """The occurrence with its attributes; there is none where one that must have a value is null."""
    if isinstance(definition, tree.Rule):
        return found
    scope = scope_of(definition, found)
    given = {a.attribute.text: evaluate(a.value, scope) for a in definition.assignments}
    attributes = {a.name.text: converted(a, given.get(a.name.text)) for a in definition.attributes}
    if any(attributes[a.name.text] is None and not a.optional for a in definition.attributes):
        return None
    occurrence = replace(found.occurrence, attributes=MappingProxyType(attributes))
    return replace(found, occurrence=occurrence)


def converted(attribute: tree.Attribute, value: Value) -> Value:
    """A whole number where a real one is declared becomes one."""
    if attribute.type.text in {"double", "float"} and value is not None:
        return tuple(map(float, value)) if attribute.many else float(value)
    return value


def limited(rate: tree.Rate | None, found: Sequence[Found]) -> list[Found]:
    """`at most n per d`: not more than n of a valuation in any closed window of that length."""
    if rate is None:
        return list(found)
    emitted: list[Found] = []
    for one in found:
        recent = [
            other
            for other in emitted
            if other.valuation == one.valuation
            and (rate.per is None or one.occurrence.time - rate.per.ms <= other.occurrence.time)
        ]
        if len(recent) < rate.count:
            emitted.append(one)
    return emitted


# --- all of them --------------------------------------------------------------------------------------------


def effects_of(world: World, fired: Sequence[tuple[Definition, Found]]) -> Effects:
    """What the rules did."""
    rules = [(definition, found) for definition, found in fired if isinstance(definition, tree.Rule)]
    if not any(has_effects(d) for d in world.program.declarations):
        return Effects()
    effects: Effects = import_module("tests.oracle.rete").effects(world, rules)
    return effects


def snapshot(world: World, fired: Mapping[int, Sequence[Found]]) -> object:
    """Everything that a further round could change.

    Labels hold the labels of what they are made of: those of a recursion are told apart by their hashes,
    which they keep, where comparing them would look at what lies deep inside again and again.
    """
    occurrences = {
        name: [(hash(o.label), dict(o.attributes)) for o in found] for name, found in world.derived.items()
    }
    return (
        occurrences,
        world.changes,
        {rank: [hash(one.occurrence.label) for one in found] for rank, found in fired.items()},
    )


def in_dependency_order(program: tree.Program) -> tuple[list[Definition], bool]:
    """The definitions, each after those it depends on, and whether they are repeated until they settle."""
    definitions = [d for d in program.declarations if isinstance(d, tree.Define | tree.Rule)]
    ordered: list[Definition] = []
    open_: list[Definition] = []
    cyclic = any(has_effects(definition) for definition in definitions)

    def visit(definition: Definition) -> None:
        nonlocal cyclic
        if any(definition is one for one in ordered):
            return
        if any(definition is one for one in open_):
            cyclic = True
            return
        open_.append(definition)
        used = with_subtypes(program, set(names_in(definition)))
        for other in definitions:
            if isinstance(other, tree.Define) and other.name.text in used:
                visit(other)
        open_.pop()
        ordered.append(definition)

    for definition in definitions:
        visit(definition)
    return ordered, cyclic


def has_effects(declaration: tree.Declaration) -> bool:
    acting = tree.Publish | tree.ChangeFact | tree.Modify | tree.Retract
    return isinstance(declaration, tree.Rule) and any(isinstance(a, acting) for a in declaration.actions)


def published_by(program: tree.Program) -> set[str]:
    """The events that rules publish."""
    rules = [declaration for declaration in program.declarations if isinstance(declaration, tree.Rule)]
    return {a.event.text for rule in rules for a in rule.actions if isinstance(a, tree.Publish)}


def names_in(node: object) -> Iterator[str]:
    """The event types a source speaks of."""
    if isinstance(node, tree.Occurrence):
        yield node.event.text
    if isinstance(node, tuple):
        for part in node:
            yield from names_in(part)
    elif hasattr(node, "__dataclass_fields__"):
        for name in node.__dataclass_fields__:
            yield from names_in(getattr(node, name))


def with_subtypes(program: tree.Program, names: set[str]) -> set[str]:
    """With the event types that extend them."""
    children = {
        d.name.text
        for d in program.declarations
        if isinstance(d, tree.Event) and d.parent is not None and d.parent.text in names
    }
    return names if children <= names else with_subtypes(program, names | children)
