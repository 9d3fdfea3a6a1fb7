"""Patterns: a terminator, and the constituents it asks for."""

from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.expressions import parse_expression
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import Expr, Occurrence, Pattern, PatternItem, Selected, Selection

MAX_CONSTITUENTS = 64


def parse_pattern(cursor: Cursor) -> Pattern:
    """Read what stands after `from`."""
    start = cursor.token.span
    terminator = _occurrence(cursor)
    items: list[PatternItem] = []
    while cursor.accept("and"):
        items.append(_selected(cursor, terminator))
        if len(items) >= MAX_CONSTITUENTS:
            raise ParseError(
                "this pattern is too long", items[-1].span, f"at most {MAX_CONSTITUENTS} constituents"
            )
    return Pattern(terminator, tuple(items), cursor.since(start))


def _selected(cursor: Cursor, terminator: Occurrence) -> Selected:
    start = cursor.token.span
    named = f"say which one: `last {cursor.token.text}(…)`" if cursor.token.text[:1].isupper() else None
    cursor.expect("last", hint=named)
    occurrence = _occurrence(cursor)
    example = f"say how far back it may lie, like `within 3 min from {terminator.role}`"
    cursor.expect("within", hint=example)
    within = cursor.duration("a duration")
    cursor.expect("from", hint=example)
    anchor = cursor.name("the name of an earlier constituent")
    return Selected(Selection.LAST, occurrence, within, anchor, cursor.since(start))


def _occurrence(cursor: Cursor) -> Occurrence:
    start = cursor.token.span
    event = cursor.name("the name of an event")
    conditions = _conditions(cursor) if cursor.at("(") else ()
    alias = cursor.name("a name for this constituent") if cursor.accept("as") else None
    return Occurrence(event, conditions, alias, cursor.since(start))


def _conditions(cursor: Cursor) -> tuple[Expr, ...]:
    cursor.expect("(")
    conditions: list[Expr] = []
    if not cursor.at(")"):
        conditions.append(parse_expression(cursor))
        while cursor.accept(","):
            conditions.append(parse_expression(cursor))
    assign = (
        "an attribute is compared with `=`" if cursor.token.kind is Kind.SYMBOL and cursor.at(":") else None
    )
    cursor.expect(")", ",", hint=assign)
    return tuple(conditions)
