"""The event algebra by operator precedence."""

from collections.abc import Callable
from typing import NamedTuple

from tocsin.topology.parsing.cursor import MAX_NESTING, Cursor, Nesting, ParseError
from tocsin.topology.parsing.occurrences import parse_alias, parse_occurrence, parse_timer
from tocsin.topology.parsing.patterns import opens_item
from tocsin.topology.parsing.words import MODIFIERS, SELECTIONS
from tocsin.topology.tree import (
    And,
    AnyOf,
    Aperiodic,
    Collected,
    EventExpr,
    Modified,
    Not,
    Or,
    Pair,
    Periodic,
    Plus,
    Seq,
    Within,
)

WITHIN, SEQ, OR, AND, PLUS, MODIFIED = range(1, 7)
"""How tightly operators bind; the printer sets parentheses by the same numbers."""

_APERIODIC = "write `aperiodic(E1, E2, E3)`: each E2 between E1 and E3"
_PERIODIC = "write `periodic(E1, 10 min, E3)`: every 10 minutes between E1 and E3"
_NOT = "write `not(E2)[E1, E3]`: no E2 between E1 and E3"


class _Operator(NamedTuple):
    power: int
    build: type[Pair]


_PAIRS = {";": _Operator(SEQ, Seq), "or": _Operator(OR, Or), "and": _Operator(AND, And)}


def parse_event(cursor: Cursor, *, root: bool = False) -> EventExpr:
    """Read an event expression; at the root, stop before an `and` that brings an item of a pattern."""
    start = cursor.token.span
    expr = _pairs(cursor, SEQ, root=root)
    closed = False
    while cursor.accept("within"):
        duration = cursor.duration("a duration")
        expr = _bounded(cursor, Within(expr, duration, span=cursor.since(start)))
        closed = True
    if closed and (cursor.at("+") or (cursor.token.text in _PAIRS and not cursor.ends_declaration())):
        hint = f"put it in parentheses: `(… within …) {cursor.token.text} …`"
        raise ParseError("`within` closes an expression", cursor.token.span, hint)
    return expr


def _pairs(cursor: Cursor, power: int, *, root: bool) -> EventExpr:
    left = _delayed(cursor)
    while (operator := _PAIRS.get(cursor.token.text)) and operator.power >= power:
        if cursor.ends_declaration() or (root and opens_item(cursor)):
            break
        cursor.advance()
        right = _pairs(cursor, operator.power + 1, root=root)
        left = _bounded(cursor, operator.build(left, right, span=cursor.since(left.span)))
    return left


def _delayed(cursor: Cursor) -> EventExpr:
    start = cursor.token.span
    expr = _modified(cursor)
    while cursor.accept("+"):
        delay = cursor.duration("a duration")
        alias = parse_alias(cursor)
        expr = _bounded(cursor, Plus(expr, delay, alias, span=cursor.since(start)))
    return expr


def _modified(cursor: Cursor) -> EventExpr:
    start = cursor.token.span
    modifier = MODIFIERS.get(cursor.token.text)
    if modifier is None:
        return _primary(cursor)
    cursor.advance()
    with cursor.nested(Nesting.EVENT_PREFIX):
        operand = _modified(cursor)
    return _bounded(cursor, Modified(modifier, operand, span=cursor.since(start)))


def _primary(cursor: Cursor) -> EventExpr:
    if cursor.at("Timer"):
        return parse_timer(cursor)
    if compound := _COMPOUND.get(cursor.token.text):
        with cursor.nested(Nesting.EVENT_PARENTHESES):
            return _bounded(cursor, compound(cursor))
    if cursor.token.text in SELECTIONS:
        hint = f"`{cursor.token.text}` selects for a single event before it, not for an expression"
        raise cursor.unexpected("an event", hint)
    occurrence = parse_occurrence(cursor)
    if cursor.at("{"):
        hint = (
            f"write `from match {occurrence.event}{{3}}`, or `any(3, {occurrence.event}*)` in an expression"
        )
        raise ParseError("a number of repetitions belongs to a match", cursor.token.span, hint)
    return occurrence


def _grouped(cursor: Cursor) -> EventExpr:
    cursor.expect("(")
    expr = parse_event(cursor)
    cursor.expect(")")
    if cursor.at("as"):
        raise ParseError(
            "an expression has no name of its own", cursor.token.span, "give names to the events inside it"
        )
    return expr


def _any_of(cursor: Cursor) -> AnyOf:
    start = cursor.expect("any").span
    cursor.expect("(")
    count = cursor.count("a whole number", "say how many of them: `any(2, A, B, C)`", low=1)
    cursor.expect(",")
    choices = [parse_event(cursor)]
    star = cursor.accept("*") is not None
    while not star and cursor.accept(","):
        choices.append(parse_event(cursor))
    cursor.expect(")", *(() if star else (",",)))
    if not star and count > len(choices):
        raise ParseError(
            f"there are only {len(choices)} events to choose {count} from",
            cursor.since(start),
            "write `*` behind a single event to take several of it",
        )
    return AnyOf(count, tuple(choices), star, span=cursor.since(start))


def _aperiodic(cursor: Cursor) -> Aperiodic:
    start = cursor.expect("aperiodic").span
    star = cursor.accept("*") is not None
    cursor.expect("(")
    first = _operand(cursor, _APERIODIC)
    middle = _operand(cursor, _APERIODIC)
    last = parse_event(cursor)
    cursor.expect(")")
    return Aperiodic(first, middle, last, star, span=cursor.since(start))


def _periodic(cursor: Cursor) -> Periodic:
    start = cursor.expect("periodic").span
    star = cursor.accept("*") is not None
    cursor.expect("(")
    first = _operand(cursor, _PERIODIC)
    every = cursor.duration("a duration")
    collect = _collected(cursor) if cursor.accept("collect") else None
    cursor.expect(",", hint=_PERIODIC)
    last = parse_event(cursor)
    cursor.expect(")")
    alias = parse_alias(cursor)
    return Periodic(first, every, last, star, collect, alias, span=cursor.since(start))


def _collected(cursor: Cursor) -> Collected:
    start = cursor.token.span
    occurrence = parse_occurrence(cursor)
    cursor.expect(".", hint="say which attribute to collect, like `Price.value`")
    attribute = cursor.attribute_name(f"an attribute of {occurrence.event}")
    return Collected(occurrence, attribute, cursor.since(start))


def _not(cursor: Cursor) -> Not:
    start = cursor.expect("not").span
    cursor.expect("(", hint=_NOT)
    absent = parse_event(cursor)
    cursor.expect(")")
    cursor.expect("[", hint=_NOT)
    first = _operand(cursor, _NOT)
    last = parse_event(cursor)
    cursor.expect("]")
    return Not(absent, first, last, span=cursor.since(start))


def _operand(cursor: Cursor, example: str) -> EventExpr:
    expr = parse_event(cursor)
    cursor.expect(",", hint=example)
    return expr


_COMPOUND: dict[str, Callable[[Cursor], EventExpr]] = {
    "(": _grouped,
    "any": _any_of,
    "aperiodic": _aperiodic,
    "periodic": _periodic,
    "not": _not,
}


def _bounded(cursor: Cursor, expr: EventExpr) -> EventExpr:
    if expr.height > MAX_NESTING:
        raise cursor.too_deep(expr.span)
    return expr
