"""Matches by operator precedence."""

from tocsin.topology.errors import Span
from tocsin.topology.parsing.cursor import MAX_NESTING, MAX_RATE, Cursor, Nesting, ParseError
from tocsin.topology.parsing.expressions import parse_expression
from tocsin.topology.parsing.occurrences import parse_alias, parse_phase
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    Absent,
    All,
    Alternatives,
    AtMost,
    Denied,
    Every,
    InTime,
    Match,
    MatchExpr,
    OneOfMatches,
    Repeat,
    Step,
    Take,
    Taking,
    Then,
    Wait,
    While,
)

POSTFIX, THEN, ALTERNATIVES, OR, AND, PREFIX, PRIMARY = range(1, 8)
"""How tightly operators bind; the printer sets parentheses by the same numbers."""

_REPEATS = "write `{2}`, `{2,}`, `{2,5}`, `{2 each}` or `{2 while …}`"
_EARLIER = "the name of an earlier constituent"


def parse_match(cursor: Cursor) -> Match:
    """Read what stands behind `match`."""
    start = cursor.token.span
    expr = _limited(cursor)
    if cursor.at(";") and not cursor.ends_declaration() and not cursor.starts_line(1):
        raise ParseError("the steps of a match are joined by `then`", cursor.token.span, "write `A then B`")
    return Match(expr, cursor.since(start))


def _limited(cursor: Cursor) -> MatchExpr:
    start = cursor.token.span
    expr = _then(cursor)
    limit = None
    while limited := _limit(cursor, expr, start):
        limit, expr = limited, _bounded(cursor, limited)
    if limit and cursor.at("then", "|", "or", "and"):
        hint = f"put it in parentheses: `(…) {cursor.token.text} …`"
        raise ParseError("a limit closes a match", cursor.token.span, hint)
    return expr


def _limit(cursor: Cursor, expr: MatchExpr, start: Span) -> MatchExpr | None:
    if cursor.accept("within"):
        duration = cursor.duration("a duration")
        since = cursor.role(_EARLIER) if cursor.accept("from") else None
        return InTime(expr, duration, since, span=cursor.since(start))
    if cursor.accept("while"):
        condition = parse_expression(cursor)
        return While(expr, condition, span=cursor.since(start))
    # `at most 3 per 1 min` and `at most 3 ever` are clauses of the rule.
    if cursor.at("at") and cursor.peek(3).text not in {"per", "ever"}:
        cursor.advance()
        cursor.expect("most")
        count = cursor.count("a whole number", high=MAX_RATE)
        return AtMost(expr, count, span=cursor.since(start))
    return None


def _then(cursor: Cursor) -> MatchExpr:
    left = _joined(cursor, ALTERNATIVES)
    while cursor.accept("then"):
        right = _joined(cursor, ALTERNATIVES)
        left = _bounded(cursor, Then(left, right, span=cursor.since(left.span)))
    return left


_JOINTS: dict[int, tuple[str, type[Alternatives | OneOfMatches | All]]] = {
    ALTERNATIVES: ("|", Alternatives),
    OR: ("or", OneOfMatches),
    AND: ("and", All),
}


def _joined(cursor: Cursor, power: int) -> MatchExpr:
    """Read parts joined by one operator, of parts joined by the tighter ones."""
    if power not in _JOINTS:
        return _prefix(cursor)
    operator, build = _JOINTS[power]
    parts = [_joined(cursor, power + 1)]
    while cursor.accept(operator):
        parts.append(_joined(cursor, power + 1))
    if len(parts) == 1:
        return parts[0]
    return _bounded(cursor, build(tuple(parts), span=cursor.since(parts[0].span)))


def _prefix(cursor: Cursor) -> MatchExpr:
    start = cursor.token.span
    if not cursor.at("every", "each", "next", "not"):
        return _primary(cursor)
    word = cursor.advance().text
    with cursor.nested(Nesting.EVENT_PREFIX):
        operand = _prefix(cursor)
    if word == "every":
        return _bounded(cursor, Every(operand, span=cursor.since(start)))
    if word != "not":
        return _bounded(cursor, Taking(Take(word), operand, span=cursor.since(start)))
    if not cursor.accept("for"):
        return _bounded(cursor, Denied(operand, span=cursor.since(start)))
    duration = cursor.duration("a duration")
    since = cursor.role(_EARLIER) if cursor.accept("from") else None
    return _bounded(cursor, Absent(operand, duration, since, span=cursor.since(start)))


def _primary(cursor: Cursor) -> MatchExpr:
    start = cursor.token.span
    if cursor.accept("wait"):
        duration = cursor.duration("a duration")
        return Wait(duration, parse_alias(cursor), span=cursor.since(start))
    if cursor.accept("("):
        with cursor.nested(Nesting.EVENT_PARENTHESES):
            expr = _limited(cursor)
        cursor.expect(")")
    else:
        expr = Step(parse_phase(cursor), span=cursor.since(start))
    return _repeat(cursor, expr, start) if cursor.at("{") else expr


def _repeat(cursor: Cursor, operand: MatchExpr, start: Span) -> MatchExpr:
    cursor.expect("{")
    number = cursor.token.span
    low = cursor.count("a whole number", _REPEATS)
    high: int | None = low
    if cursor.accept(","):
        high = cursor.count("a whole number", low=max(low, 1)) if cursor.token.kind is Kind.INTEGER else None
    take = Take(cursor.advance().text) if cursor.at("each", "next") else Take.FIRST
    condition = parse_expression(cursor) if cursor.accept("while") else None
    cursor.expect("}", hint=_REPEATS)
    if high == 0:
        raise ParseError("what is repeated no times is not there", number, "leave it out")
    until = None
    if cursor.accept("until"):
        with cursor.nested(Nesting.EVENT_PREFIX):
            until = _prefix(cursor)
    return _bounded(cursor, Repeat(operand, low, high, take, condition, until, span=cursor.since(start)))


def _bounded(cursor: Cursor, expr: MatchExpr) -> MatchExpr:
    if expr.height > MAX_NESTING:
        raise cursor.too_deep(expr.span)
    return expr
