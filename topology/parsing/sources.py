"""What stands behind `from` or `on`: a match, a pattern, or an expression of the event algebra."""

from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.events import parse_event
from tocsin.topology.parsing.matches import parse_match
from tocsin.topology.parsing.occurrences import is_constituent
from tocsin.topology.parsing.patterns import parse_pattern
from tocsin.topology.tokens import Token
from tocsin.topology.tree import And, EventExpr, Occurrence, Source, Within


def parse_source(cursor: Cursor) -> Source:
    """Read an expression, and what follows a single event as its pattern."""
    cursor.begin_source()
    start = cursor.token.span
    if cursor.accept("match"):
        return parse_match(cursor)
    if cursor.at("every", "next", "wait"):
        raise _belongs_to_match(cursor, f"`{cursor.token.text}`", f"{cursor.token.text} …")
    expr = parse_event(cursor, root=True)
    if cursor.at("-") and cursor.peek().text == ">":
        raise _belongs_to_match(cursor, "`->`", "A then B")
    if (cursor.at("then") and _opens_step(cursor.peek())) or cursor.at("|", "until"):
        raise _belongs_to_match(cursor, f"`{cursor.token.text}`", f"A {cursor.token.text} B")
    if is_constituent(expr):
        return parse_pattern(cursor, expr, start)
    if cursor.at("and"):
        raise ParseError(
            f"`{cursor.peek().text}` belongs to a pattern, which has a single event before it",
            cursor.peek().span,
            "define an event for the expression, and use that",
        )
    if cursor.at("from", "before"):
        _refuse_unselected(expr)
    return expr


def _opens_step(token: Token) -> bool:
    """Whether this goes on as a match does, and not as the actions of a rule."""
    return token.text[:1].isupper() or token.text in {"(", "each", "every", "next", "not", "wait"}


def _belongs_to_match(cursor: Cursor, what: str, example: str) -> ParseError:
    return ParseError(f"{what} belongs to a match", cursor.token.span, f"write `from match {example}`")


def _refuse_unselected(expr: EventExpr) -> None:
    """Fail for `A and B within 3 min from …` and `A and B before …`."""
    match expr:
        case Within(operand=And(right=Occurrence(event=event))) | And(right=Occurrence(event=event)):
            raise ParseError(
                f"expected `each`, `last` or `first`, found `{event}`",
                event.span,
                f"say which one: `last {event}(…)`",
            )
