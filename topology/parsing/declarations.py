"""Declarations: events and definitions, and the recovery from one mistake to the next."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TypeVar

from tocsin.topology.errors import Report, Span
from tocsin.topology.parsing.comments import attach
from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.expressions import parse_expression
from tocsin.topology.parsing.patterns import parse_pattern
from tocsin.topology.tokens import Kind, tokenize
from tocsin.topology.tree import (
    Assignment,
    Attribute,
    Declaration,
    Define,
    Duration,
    Event,
    Name,
    Program,
    Topic,
)

T = TypeVar("T")

_OPENERS = ("event", "define")
_CLAUSES = ("on", "key", "time", "lateness", "idle")


def parse_program(report: Report) -> Program:
    """Read a whole file; every declaration that cannot be read is reported and left out."""
    tokens, comments = tokenize(report)
    lexical = [diagnostic.span.start for diagnostic in report.diagnostics]
    cursor = Cursor(tokens, report.source)
    declarations: list[Declaration] = []
    broken: set[str] = set()
    while not cursor.ended:
        start = cursor.token.span
        try:
            declarations.append(_declaration(cursor, broken))
        except ParseError as error:
            found = error.diagnostic
            # A mistake inside a token has been reported already, and is the likely cause of this one.
            if bisect_left(lexical, start.start) == bisect_right(lexical, found.span.end):
                report.error(found.message, found.span, found.hint)
            _recover(cursor, start)
    commented, rest = attach(declarations, comments, report.source)
    return Program(commented, frozenset(broken), rest)


def _recover(cursor: Cursor, start: Span) -> None:
    """Go behind the next `;`, or to a line that opens a declaration."""
    if cursor.token.span == start:
        cursor.advance()
    elif cursor.previous.text == ";":
        return
    while not cursor.ended and not (cursor.at(*_OPENERS) and cursor.starts_line()):
        if cursor.advance().text == ";":
            return


def _declaration(cursor: Cursor, broken: set[str]) -> Declaration:
    start = cursor.token.span
    if cursor.accept("event"):
        name = cursor.name("the name of an event")
        broken.add(name.text)
        declared: Declaration = _event(cursor, name, start)
    else:
        cursor.expect("define", "event")
        name = cursor.name("the name of the event to define")
        broken.add(name.text)
        declared = _define(cursor, name, start)
    broken.discard(name.text)
    return declared


class _Clauses:
    """The clauses behind an event's attributes, in any order, each at most once."""

    def __init__(self) -> None:
        self.topic: Topic | None = None
        self.key: Name | None = None
        self.time: Name | None = None
        self.lateness: Duration | None = None
        self.idle: Duration | None = None

    def read(self, cursor: Cursor) -> bool:
        """Read one clause, if one is next."""
        if cursor.accept("on"):
            self.topic = _once(cursor, "on", self.topic, _topic)
        elif cursor.accept("key"):
            self.key = _once(cursor, "key", self.key, lambda c: c.attribute_name("the key's attribute"))
        elif cursor.accept("time"):
            self.time = _once(cursor, "time", self.time, lambda c: c.attribute_name("the time's attribute"))
        elif cursor.accept("lateness"):
            self.lateness = _once(cursor, "lateness", self.lateness, lambda c: c.duration("a duration"))
        elif cursor.accept("idle"):
            self.idle = _once(cursor, "idle", self.idle, lambda c: c.duration("a duration"))
        else:
            return False
        return True


def _once(cursor: Cursor, clause: str, given: T | None, read: Callable[[Cursor], T]) -> T:
    if given is not None:
        raise ParseError(f"`{clause}` is given twice", cursor.previous.span, "leave one of them out")
    return read(cursor)


def _topic(cursor: Cursor) -> Topic:
    token = cursor.token
    if token.kind is not Kind.STRING:
        raise cursor.unexpected("a topic in double quotes", hint='write `on "temps"`')
    cursor.advance()
    return Topic(str(token.value), token.span)


def _event(cursor: Cursor, name: Name, start: Span) -> Event:
    attributes = _attributes(cursor)
    clauses = _Clauses()
    while clauses.read(cursor):
        pass
    cursor.expect(";", *(() if cursor.ended or cursor.at(*_OPENERS) else _CLAUSES))
    if clauses.topic is None:
        raise ParseError(
            f"event {name} has no topic", name.span, 'say where it comes from, like `on "temps"`'
        )
    return Event(
        name,
        attributes,
        clauses.topic,
        clauses.key,
        clauses.time,
        clauses.lateness,
        clauses.idle,
        cursor.since(start),
    )


def _define(cursor: Cursor, name: Name, start: Span) -> Define:
    attributes = _attributes(cursor) if cursor.at("(") else ()
    cursor.expect("from")
    pattern = parse_pattern(cursor)
    assignments: list[Assignment] = []
    if cursor.accept("where"):
        assignments.append(_assignment(cursor))
        while cursor.accept(","):
            assignments.append(_assignment(cursor))
        cursor.expect(";", ",")
    else:
        cursor.expect(";", "and", "where")
    return Define(name, attributes, pattern, tuple(assignments), cursor.since(start))


def _attributes(cursor: Cursor) -> tuple[Attribute, ...]:
    cursor.expect("(")
    attributes: list[Attribute] = []
    if not cursor.at(")"):
        attributes.append(_attribute(cursor))
        while cursor.accept(","):
            attributes.append(_attribute(cursor))
    cursor.expect(")", ",")
    return tuple(attributes)


def _attribute(cursor: Cursor) -> Attribute:
    name = cursor.attribute_name("the name of an attribute")
    cursor.expect(":", hint=f"an attribute has a type, like `{name}: string`")
    scalar = cursor.attribute_name("a type")
    optional = cursor.accept("?") is not None
    return Attribute(name, scalar, optional, cursor.since(name.span))


def _assignment(cursor: Cursor) -> Assignment:
    name = cursor.attribute_name("an attribute of the event to define")
    cursor.expect("=", hint=f"give it a value, like `{name} = …`")
    value = parse_expression(cursor)
    return Assignment(name, value, cursor.since(name.span))
