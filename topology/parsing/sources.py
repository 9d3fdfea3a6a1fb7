"""What stands behind `from` or `on`: a match, a pattern, or an expression of the event algebra."""

from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.events import parse_event
from tocsin.topology.parsing.matches import parse_match
from tocsin.topology.parsing.occurrences import is_constituent
from tocsin.topology.parsing.patterns import parse_pattern
from tocsin.topology.tree import And, EventExpr, Occurrence, Source, Within


def parse_source(cursor: Cursor) -> Source:
    """Read an expression, and what follows a single event as its pattern."""
    cursor.begin_source()
    start = cursor.token.span
    if cursor.accept("match"):
        return parse_match(cursor)
    expr = parse_event(cursor, root=True)
    if is_constituent(expr):
        return parse_pattern(cursor, expr, start)
    if cursor.at("and"):
        raise ParseError(
            f"`{cursor.peek().text}` belongs to a pattern, which has a single event before it",
            cursor.peek().span,
            "define an event for the expression, and use that",
        )
    if cursor.at("from"):
        _refuse_unselected(expr)
    return expr


def _refuse_unselected(expr: EventExpr) -> None:
    """Fail for `A and B within 3 min from …`."""
    match expr:
        case Within(operand=And(right=Occurrence(event=event))):
            raise ParseError(
                f"expected `each`, `last` or `first`, found `{event}`",
                event.span,
                f"say which one: `last {event}(…)`",
            )
