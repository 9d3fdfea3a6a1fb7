"""Declarations: events, facts, enumerations, definitions and rules."""

from tocsin.topology.errors import Span, suggest
from tocsin.topology.parsing.clauses import EventClauses, RuleClauses, read_clauses
from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.events import parse_event
from tocsin.topology.parsing.expressions import parse_expression
from tocsin.topology.parsing.rules import parse_actions, parse_when
from tocsin.topology.parsing.sources import parse_source
from tocsin.topology.parsing.words import OPENERS
from tocsin.topology.tree import (
    Attribute,
    Declaration,
    Define,
    Enumeration,
    Event,
    EventKind,
    Fact,
    Name,
    Named,
    Priorities,
    Rule,
)

_WHAT = {
    "event": "the name of an event",
    "operation": "the name of an operation",
    "unit": "the name of a unit of work",
    "enum": "the name of an enumeration",
    "fact": "the name of a fact",
    "define": "the name of the event to define",
    "rule": "the name of a rule",
}


def parse_declaration(cursor: Cursor, broken: set[str]) -> Declaration:
    """Read one declaration; while it is not read to its end, its name is among the broken ones."""
    start = cursor.token.span
    if not cursor.at(*OPENERS):
        raise cursor.unexpected("a declaration", suggest(cursor.token.text, OPENERS, "it starts with one of"))
    word = cursor.advance().text
    if word == "priorities":
        return _priorities(cursor, start)
    name = cursor.name(_WHAT[word])
    broken.add(name.text)
    declared = _named_declaration(cursor, word, name, start)
    broken.discard(name.text)
    return declared


def _named_declaration(cursor: Cursor, word: str, name: Name, start: Span) -> Declaration:
    match word:
        case "enum":
            return _enumeration(cursor, name, start)
        case "fact":
            return _fact(cursor, name, start)
        case "define":
            return _define(cursor, name, start)
        case "rule":
            return _rule(cursor, name, start)
        case "event" if cursor.accept("="):
            return _named(cursor, name, start)
        case _:
            return _event(cursor, EventKind(word), name, start)


def _event(cursor: Cursor, kind: EventKind, name: Name, start: Span) -> Event:
    parent = cursor.name("the name of an event") if cursor.accept("extends") else None
    attributes = _attributes(cursor)
    clauses = EventClauses()
    read_clauses(cursor, f"an {kind}" if kind is not EventKind.UNIT else "a unit", clauses.of_event)
    return Event(
        name,
        attributes,
        clauses.topic,
        clauses.key,
        clauses.time,
        clauses.lateness,
        clauses.idle,
        kind,
        parent,
        clauses.id,
        clauses.start,
        clauses.unit,
        clauses.application,
        clauses.nulls,
        cursor.since(start),
    )


def _named(cursor: Cursor, name: Name, start: Span) -> Named:
    cursor.begin_source()
    expr = parse_event(cursor)
    cursor.expect(";", *(() if cursor.ended or cursor.at(*OPENERS) else ("within", "and", "or")))
    return Named(name, expr, cursor.since(start))


def _enumeration(cursor: Cursor, name: Name, start: Span) -> Enumeration:
    cursor.expect("{", hint=f"list its symbols: `enum {name} {{ ON, OFF }}`")
    symbols = cursor.several(lambda c: c.attribute_name("the name of a symbol"))
    cursor.expect("}", ",")
    cursor.expect(";")
    return Enumeration(name, symbols, cursor.since(start))


def _fact(cursor: Cursor, name: Name, start: Span) -> Fact:
    attributes = _attributes(cursor)
    clauses = EventClauses()
    read_clauses(cursor, "a fact", clauses.of_fact)
    return Fact(name, attributes, clauses.key, clauses.topic, cursor.since(start))


def _priorities(cursor: Cursor, start: Span) -> Priorities:
    names = cursor.several(lambda c: c.attribute_name("the name of a class"))
    cursor.expect(";", ",")
    return Priorities(names, cursor.since(start))


def _define(cursor: Cursor, name: Name, start: Span) -> Define:
    attributes = _attributes(cursor)
    if cursor.at("when"):
        hint = f"write `rule … when … then publish {name} (…)`, and declare `event {name} (…);`"
        raise ParseError("`when` belongs to a rule", cursor.token.span, hint)
    cursor.expect("from")
    source = parse_source(cursor)
    clauses = RuleClauses()
    read_clauses(cursor, "a definition", clauses.of_define)
    return Define(
        name,
        attributes,
        source,
        clauses.assignments,
        clauses.condition,
        clauses.consuming,
        clauses.detection,
        clauses.rate,
        clauses.unbounded,
        cursor.since(start),
    )


def _rule(cursor: Cursor, name: Name, start: Span) -> Rule:
    opened = cursor.choose("on", "when")
    trigger = parse_source(cursor) if opened == "on" else parse_when(cursor)
    clauses = RuleClauses()
    given = []
    if cursor.accept("if"):
        clauses.condition = parse_expression(cursor)
        given.append("if")
    closing = "do" if opened == "on" else "then"
    mixed = "`on` goes with `do`, `when` with `then`" if cursor.at("do", "then") else None
    cursor.expect(closing, hint=mixed or f"say what happens, like `{closing} publish …`")
    actions = parse_actions(cursor)
    read_clauses(cursor, "a rule", clauses.of_rule, *given)
    return Rule(
        name,
        trigger,
        actions,
        clauses.condition,
        clauses.consuming,
        clauses.detection,
        clauses.rate,
        clauses.unbounded,
        clauses.coupling,
        clauses.priority,
        clauses.mode,
        clauses.inactive,
        cursor.since(start),
    )


def _attributes(cursor: Cursor) -> tuple[Attribute, ...]:
    if not cursor.accept("("):
        return ()
    attributes = () if cursor.at(")") else cursor.several(_attribute)
    cursor.expect(")", ",")
    return attributes


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.attribute_name("the name of an attribute")
    cursor.expect(":", hint=f"an attribute has a type, like `{name}: string`")
    scalar = cursor.attribute_name("a type")
    many = cursor.accept("[") is not None
    if many:
        cursor.expect("]")
    optional = cursor.accept("?") is not None
    return Attribute(name, scalar, optional, many, cursor.since(name.span))
