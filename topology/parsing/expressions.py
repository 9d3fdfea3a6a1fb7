"""Expressions by operator precedence."""

from tocsin.topology.parsing.cursor import MAX_NESTING, UNITS, Cursor, ParseError
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    COMPARISONS,
    Binary,
    BinaryOp,
    Expr,
    Junction,
    JunctionOp,
    Literal,
    Parameter,
    Reference,
    Unary,
    UnaryOp,
)

OR, AND, NOT, COMPARISON, SUM, PRODUCT, NEGATION = range(1, 8)
"""How tightly operators bind; the printer sets parentheses by the same numbers."""

BINARY_POWER = {
    **dict.fromkeys(COMPARISONS, COMPARISON),
    **dict.fromkeys((BinaryOp.ADD, BinaryOp.SUB), SUM),
    **dict.fromkeys((BinaryOp.MUL, BinaryOp.DIV, BinaryOp.MOD), PRODUCT),
}
JUNCTION_POWER = {JunctionOp.OR: OR, JunctionOp.AND: AND}

_BINARY = {op.value: op for op in BinaryOp}
_JUNCTION = {op.value: op for op in JunctionOp}


def parse_expression(cursor: Cursor, power: int = OR) -> Expr:
    """Read an expression whose operators bind at least as tightly as `power`."""
    left = _prefix(cursor)
    while cursor.token.kind in (Kind.SYMBOL, Kind.WORD):
        text = cursor.token.text
        if (junction := _JUNCTION.get(text)) and JUNCTION_POWER[junction] >= power:
            left = _junction(cursor, junction, left)
        elif (op := _BINARY.get(text)) and BINARY_POWER[op] >= power:
            left = _binary(cursor, op, left)
        else:
            break
    return left


def _junction(cursor: Cursor, op: JunctionOp, first: Expr) -> Expr:
    operands = [first]
    while cursor.accept(op):
        operands.append(parse_expression(cursor, JUNCTION_POWER[op] + 1))
    return _bounded(cursor, Junction(op, tuple(operands), span=cursor.since(first.span)))


def _binary(cursor: Cursor, op: BinaryOp, left: Expr) -> Expr:
    cursor.advance()
    right = parse_expression(cursor, BINARY_POWER[op] + 1)
    if (
        op in COMPARISONS
        and _BINARY.get(cursor.token.text) in COMPARISONS
        and cursor.token.kind is Kind.SYMBOL
    ):
        raise ParseError("comparisons cannot be chained", cursor.token.span, "write `a < b and b < c`")
    return _bounded(cursor, Binary(op, left, right, span=cursor.since(left.span)))


def _prefix(cursor: Cursor) -> Expr:
    start = cursor.token.span
    if cursor.accept("("):
        with cursor.nested():
            inner = parse_expression(cursor)
        cursor.expect(")")
        return inner
    if cursor.accept("not"):
        with cursor.nested():
            operand = parse_expression(cursor, NOT)
        return _bounded(cursor, Unary(UnaryOp.NOT, operand, span=cursor.since(start)))
    if cursor.accept("-"):
        with cursor.nested():
            operand = parse_expression(cursor, NEGATION)
        return _negated(cursor, operand, start.start)
    return _atom(cursor)


def _negated(cursor: Cursor, operand: Expr, start: int) -> Expr:
    span = operand.span._replace(start=start)
    if (
        isinstance(operand, Literal)
        and isinstance(operand.value, int | float)
        and not isinstance(operand.value, bool)
    ):
        return Literal(-operand.value, span=span)
    return _bounded(cursor, Unary(UnaryOp.NEG, operand, span=span))


def _atom(cursor: Cursor) -> Expr:
    token = cursor.token
    match token.kind:
        case Kind.INTEGER | Kind.FLOAT | Kind.STRING if token.value is not None:
            cursor.advance()
            if token.kind is Kind.INTEGER and cursor.at(*UNITS):
                return cursor.duration_after(token)
            return Literal(token.value, span=token.span)
        case Kind.PARAMETER:
            cursor.advance()
            return Parameter(token.text[1:], span=token.span)
        case Kind.WORD if token.text in {"true", "false"}:
            cursor.advance()
            return Literal(token.text == "true", span=token.span)
        case Kind.WORD:
            name = cursor.attribute_name("a value")
            if not cursor.accept("."):
                return Reference(name, span=name.span)
            attribute = cursor.attribute_name(f"an attribute of `{name}`")
            return Reference(attribute, of=name, span=cursor.since(name.span))
        case _:
            raise cursor.unexpected("a value")


def _bounded(cursor: Cursor, expr: Expr) -> Expr:
    if expr.height > MAX_NESTING:
        raise cursor.too_deep(expr.span)
    return expr
