"""Declarations: events, facts, definitions and rules, and the program they make."""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypedDict, Unpack

from tocsin.topology import tree as ast
from tocsin.topology.building.actions import When, assigned
from tocsin.topology.building.handles import Events, Facts, Kind, Pattern, Steps, condition, events
from tocsin.topology.building.names import (
    BuildingError,
    Length,
    attribute_name,
    choice,
    duration,
    event_name,
    whole,
)
from tocsin.topology.building.values import Operand, RoleLike, Value, role_name
from tocsin.topology.errors import suggest

Attributes = Mapping[str, str]
"""Names and types, as the language writes them: `{"area": "string", "note": "string?"}`."""

Source = Events | Pattern | Steps
"""What a definition or a rule is about: an event or an expression of events, a pattern, or a match."""

_TYPE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[\])?(\?)?")
_IMPLICIT: Mapping[ast.EventKind, tuple[str, ...]] = {
    ast.EventKind.EVENT: (),
    ast.EventKind.OPERATION: ("call", "phase"),
    ast.EventKind.UNIT: ("id", "phase"),
}


class EventClauses(TypedDict, total=False):
    """What may be said of a declared event, each in the language's own word.

    `unit=(transaction, "tx")` names the attribute that says to which unit of work an event belongs,
    `of="plant_a"` the application that detects it.
    """

    of: str
    on: str
    extends: Kind
    key: str
    id: str
    time: str
    start: str
    lateness: Length
    idle: Length
    nulls: Literal["refuse", "ignore"]
    unit: tuple[Kind, str]


class DefineClauses(TypedDict, total=False):
    """What may be said of a definition.

    `at_most=3, per="1 min"` limits how often it is published. Behind a match, `skip="next"` or
    `skip=("last", b)` says where the search goes on.
    """

    if_: Value
    consuming: Iterable[RoleLike]
    context: Literal["unrestricted", "recent", "chronicle", "continuous", "cumulative"]
    disjoint: bool
    skip: Literal["next"] | tuple[Literal["first", "last"], RoleLike]
    at_most: int
    per: Length
    unbounded: bool


class RuleClauses(DefineClauses, total=False):
    """What may be said of a rule: `trigger="previous", back="1 day"` looks back when it is activated."""

    coupling: Literal["immediate", "deferred", "detached", "dependent"]
    priority: int | str
    trigger: Literal["now", "previous"]
    back: Length
    inactive: bool


def event(text: str, attributes: Attributes | None = None, /, **clauses: Unpack[EventClauses]) -> Kind:
    """Declare an event. Without a topic it is an explicit one, on a topic of the application's own.

    >>> temp = event("Temp", {"area": "string", "value": "double"}, on="temps", key="area", lateness="2 s")
    >>> print(temp)
    event Temp (area: string, value: double) on "temps" key area lateness 2 s;
    """
    return _event(ast.EventKind.EVENT, text, attributes, clauses)


def operation(text: str, attributes: Attributes | None = None, /, **clauses: Unpack[EventClauses]) -> Kind:
    """Declare an operation, which has a `begin(…)` and an `end(…)`; alone it stands for its end."""
    return _event(ast.EventKind.OPERATION, text, attributes, clauses)


def unit(text: str, attributes: Attributes | None = None, /, **clauses: Unpack[EventClauses]) -> Kind:
    """Declare a unit of work: `begin(…)`, `precommit(…)`, `commit(…)`, `abort(…)`; alone its commit."""
    return _event(ast.EventKind.UNIT, text, attributes, clauses)


def named(text: str, expression: Events, /) -> Kind:
    """Give an event expression a name; whoever uses it binds the context.

    >>> print(named("Busy", kind("Sell") & kind("SetPrice")))
    event Busy = Sell and SetPrice;
    """
    own = event_name(text)
    return Kind(ast.Occurrence(own), ast.Named(own, events(expression)))


def enum(text: str, *symbols: str) -> ast.Enumeration:
    """Declare an enumeration; its name is the type of an attribute."""
    if not symbols:
        raise BuildingError(f"The enumeration `{text}` needs at least one symbol.")
    return ast.Enumeration(event_name(text), tuple(event_name(symbol) for symbol in symbols))


def fact(text: str, attributes: Attributes, /, *, key: str | None = None, on: str | None = None) -> Facts:
    """Declare a kind of fact: what is so until it is changed."""
    own = event_name(text)
    topic = None if on is None else ast.Topic(on)
    declaration = ast.Fact(own, _attributes(attributes), _own(text, key, attributes), topic)
    return Facts(ast.Occurrence(own), declaration, tuple(attributes))


def priorities(*names: str) -> ast.Priorities:
    """Name priority classes, the most important one last."""
    return ast.Priorities(tuple(event_name(text) for text in names))


def define(
    text: str,
    source: Source,
    attributes: Attributes | None = None,
    /,
    *,
    where: Mapping[str, Operand] | None = None,
    **clauses: Unpack[DefineClauses],
) -> Kind:
    """Define an event by what it is made of.

    >>> smoke, temp = kind("Smoke"), kind("Temp")
    >>> a, (s, t) = param("a"), roles("s t")
    >>> fire = define(
    ...     "Fire",
    ...     smoke(area=a).as_(s)
    ...     & last(temp(this.area == a, this.value > 45).as_(t), within="3 min", from_=s)
    ...     & no(kind("Rain")(area=a), between=(t, s)),
    ...     {"area": "string", "value": "double"},
    ...     where={"area": a, "value": t.value},
    ... )
    >>> print(fire)
    define Fire (area: string, value: double)
    from   Smoke(area = $a) as s
      and  last Temp(area = $a, value > 45) as t within 3 min from s
      and  not Rain(area = $a) between t and s
    where  area = $a, value = t.value;
    """
    _known(text, clauses, DefineClauses)
    own, attributes = event_name(text), attributes or {}
    kind = Kind(ast.Occurrence(own), None, tuple(attributes))
    declaration = ast.Define(
        own,
        _attributes(attributes),
        _source(source),
        assigned(kind, dict(where or {})),
        _condition(clauses),
        _consuming(clauses),
        _detection(clauses),
        _rate(clauses),
        clauses.get("unbounded", False),
    )
    return Kind(kind.tree, declaration, kind.attributes)


def rule(
    text: str,
    trigger: Source | When,
    /,
    *,
    do: ast.Action | Iterable[ast.Action],
    **clauses: Unpack[RuleClauses],
) -> ast.Rule:
    """Make a rule: on an event (`rule R on E if … do …`), or on facts and events (`rule R when … then …`).

    >>> fire = event("Fire", {"value": "double"}, on="fires")
    >>> print(rule("Page", fire, if_=this.value > 60, do=call("ops:page"), coupling="detached", priority=10))
    rule Page
    on     Fire
    if     value > 60
    do     call "ops:page"
    coupling detached priority 10;
    """
    _known(text, clauses, RuleClauses)
    actions = (do,) if isinstance(do, ast.Action) else tuple(do)
    if not actions:
        raise BuildingError(f"The rule `{text}` does nothing: give it an action in `do=`.")
    priority = clauses.get("priority")
    return ast.Rule(
        event_name(text),
        trigger.tree if isinstance(trigger, When) else _source(trigger),
        actions,
        _condition(clauses),
        _consuming(clauses),
        _detection(clauses),
        _rate(clauses),
        clauses.get("unbounded", False),
        choice(ast.Coupling, clauses["coupling"], "coupling") if "coupling" in clauses else None,
        event_name(priority) if isinstance(priority, str) else priority,
        _mode(clauses),
        clauses.get("inactive", False),
    )


def program(*parts: Kind | Facts | ast.Declaration | ast.Program) -> ast.Program:
    """Return the rule file of declarations and of other files, each declaration once.

    >>> tick = event("Tick", {"id": "long"}, on="ticks", key="id")
    >>> print(program(tick, define("Tock", tick)), end="")
    event Tick (id: long) on "ticks" key id;
    <BLANKLINE>
    define Tock
    from   Tick;
    """
    found: dict[ast.Declaration, None] = {}
    for part in parts:
        match part:
            case ast.Program():
                found |= dict.fromkeys(part.declarations)
            case Kind() | Facts():
                if part.declaration is None:
                    message = f"`{part.name}` is declared elsewhere: add that declaration, or its file."
                    raise BuildingError(message)
                found[part.declaration] = None
            case _ if isinstance(part, ast.Declaration):
                found[part] = None
            case _:
                raise BuildingError(f"{part!r} is not a declaration.")
    return ast.Program(tuple(found))


# --- clauses ------------------------------------------------------------------------------------------------


def _event(kind: ast.EventKind, text: str, attributes: Attributes | None, clauses: EventClauses) -> Kind:
    _known(text, clauses, EventClauses)
    parent = clauses.get("extends")
    inherited = () if parent is None else parent.attributes
    own, attributes = event_name(text), attributes or {}
    known = None if inherited is None else (*inherited, *attributes, *_IMPLICIT[kind])
    membership = clauses.get("unit")
    declaration = ast.Event(
        own,
        _attributes(attributes),
        ast.Topic(clauses["on"]) if "on" in clauses else None,
        _own(text, clauses.get("key"), known),
        _own(text, clauses.get("time"), known),
        duration(clauses["lateness"]) if "lateness" in clauses else None,
        duration(clauses["idle"]) if "idle" in clauses else None,
        kind,
        None if parent is None else parent.tree.event,
        _own(text, clauses.get("id"), known),
        _own(text, clauses.get("start"), known),
        membership and ast.Membership(membership[0].tree.event, attribute_name(membership[1])),
        ast.Application(clauses["of"]) if "of" in clauses else None,
        _nulls(clauses.get("nulls")),
    )
    return Kind(ast.Occurrence(own), declaration, known)


def _nulls(policy: str | None) -> ast.Nulls | None:
    if policy is None:
        return None
    if policy not in set(ast.NullPolicy):
        allowed = " or ".join(f'"{known}"' for known in ast.NullPolicy)
        raise BuildingError(f"{policy!r} is nothing to do with nulls: say {allowed}.")
    return ast.Nulls(ast.NullPolicy(policy))


def _attributes(attributes: Attributes) -> tuple[ast.Attribute, ...]:
    return tuple(_attribute(text, type_) for text, type_ in attributes.items())


def _attribute(text: str, type_: object) -> ast.Attribute:
    found = _TYPE.fullmatch(type_) if isinstance(type_, str) else None
    if found is None:
        message = f'{type_!r} is no type for `{text}`: write it as in a file, such as "string" or "double?".'
        raise BuildingError(message)
    return ast.Attribute(
        attribute_name(text), attribute_name(found[1]), optional=bool(found[3]), many=bool(found[2])
    )


def _own(text: str, attribute: str | None, known: Iterable[str] | None) -> ast.Name | None:
    if attribute is None:
        return None
    if known is not None and attribute not in (names := tuple(known)):
        hint = suggest(attribute, names, "its attributes are")
        raise BuildingError(f"`{text}` has no attribute `{attribute}`{f'; {hint}' if hint else ''}")
    return attribute_name(attribute)


def _known(text: str, clauses: EventClauses | DefineClauses, of: type) -> None:
    known = tuple(of.__annotations__)
    for clause in clauses:
        if clause not in known:
            raise BuildingError(f"`{text}` cannot have `{clause}=`; {suggest(clause, known, 'known are')}")


def _source(given: object) -> ast.Source:
    match given:
        case Pattern():
            return given.tree
        case Steps():
            return ast.Match(given.tree)
    match events(given):
        case ast.Occurrence() | ast.Timer() | ast.Modified(operand=ast.Occurrence()) as single:
            return ast.Pattern(single)
        case expression:
            return expression


def _condition(clauses: DefineClauses) -> ast.Expr | None:
    return condition(clauses["if_"]) if "if_" in clauses else None


def _consuming(clauses: DefineClauses) -> tuple[ast.Name, ...]:
    return tuple(role_name(role) for role in clauses.get("consuming", ()))


def _detection(clauses: DefineClauses) -> ast.Detection | None:
    disjoint = clauses.get("disjoint", False)
    skip = _skip(clauses["skip"]) if "skip" in clauses else None
    if skip and disjoint:
        raise BuildingError("`disjoint` is to skip past the last event: give it or `skip=`, not both.")
    context = choice(ast.Context, clauses["context"], "context") if "context" in clauses else None
    return ast.Detection(context, disjoint, skip) if context or disjoint or skip else None


def _skip(given: str | tuple[str, RoleLike]) -> ast.Skip:
    match given:
        case "next":
            return ast.Skip(ast.SkipTo.NEXT)
        case ("first" | "last" as to, role):
            return ast.Skip(ast.SkipTo(to), role_name(role))
        case _:
            raise BuildingError(f'{given!r} says nothing to skip to: "next", ("first", b) or ("last", b).')


def _rate(clauses: DefineClauses) -> ast.Rate | None:
    if "at_most" not in clauses:
        if "per" in clauses:
            raise BuildingError("`per=` says in what time; say how many with `at_most=`.")
        return None
    per = duration(clauses["per"]) if "per" in clauses else None
    return ast.Rate(whole(clauses["at_most"], "`at_most`"), per)


def _mode(clauses: RuleClauses) -> ast.Trigger | None:
    back = duration(clauses["back"]) if "back" in clauses else None
    mode = choice(ast.TriggerMode, clauses["trigger"], "trigger mode") if "trigger" in clauses else None
    if back is not None and mode is not ast.TriggerMode.PREVIOUS:
        raise BuildingError('`back=` says how far back; it needs `trigger="previous"`.')
    return None if mode is None else ast.Trigger(mode, back)
