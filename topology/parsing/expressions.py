"""Expressions by operator precedence."""

from tocsin.topology.parsing.cursor import MAX_NESTING, Cursor, Nesting, ParseError
from tocsin.topology.parsing.words import RELATIONS, UNITS
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    COMPARISONS,
    Assignment,
    Binary,
    BinaryOp,
    Call,
    Duration,
    Expr,
    IsNull,
    Junction,
    JunctionOp,
    Literal,
    Name,
    OneOf,
    Parameter,
    Reference,
    Relation,
    Unary,
    UnaryOp,
    Unit,
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
_TESTS = frozenset({"is", "in", *RELATIONS})
_MAX_BOUNDS = 4


def parse_expression(cursor: Cursor, power: int = OR) -> Expr:
    """Read an expression whose operators bind at least as tightly as `power`."""
    left = _prefix(cursor)
    while cursor.token.kind in (Kind.SYMBOL, Kind.WORD):
        text = cursor.token.text
        if (junction := _JUNCTION.get(text)) and JUNCTION_POWER[junction] >= power:
            left = _junction(cursor, junction, left)
        elif (op := _BINARY.get(text)) and BINARY_POWER[op] >= power:
            left = _binary(cursor, op, left)
        elif text in _TESTS and power <= COMPARISON:
            left = _test(cursor, left)
        else:
            break
    return left


def parse_conditions(cursor: Cursor) -> tuple[Expr, ...]:
    """Read expressions in parentheses, or nothing where there are no parentheses."""
    if not cursor.accept("("):
        return ()
    conditions = () if cursor.at(")") else cursor.several(parse_expression)
    assign = "an attribute is compared with `=`" if cursor.at(":") else None
    cursor.expect(")", ",", hint=assign)
    return conditions


def parse_assignment(cursor: Cursor) -> Assignment:
    """Read `attribute = value`."""
    name = cursor.attribute_name("an attribute of the event to define")
    hint = f"give it a value, like `{name} = …`"
    if cursor.at(*COMPARISONS):
        hint = (
            "here attributes get their values; a condition stands behind `if`, or in the event's parentheses"
        )
    cursor.expect("=", hint=hint)
    value = parse_expression(cursor)
    return Assignment(name, value, cursor.since(name.span))


def _junction(cursor: Cursor, op: JunctionOp, first: Expr) -> Expr:
    operands = [first]
    while cursor.accept(op):
        operands.append(parse_expression(cursor, JUNCTION_POWER[op] + 1))
    return _bounded(cursor, Junction(op, tuple(operands), span=cursor.since(first.span)))


def _binary(cursor: Cursor, op: BinaryOp, left: Expr) -> Expr:
    cursor.advance()
    right = parse_expression(cursor, BINARY_POWER[op] + 1)
    if op in COMPARISONS:
        _refuse_chain(cursor)
    return _bounded(cursor, Binary(op, left, right, span=cursor.since(left.span)))


def _test(cursor: Cursor, left: Expr) -> Expr:
    word = cursor.advance()
    if word.text == "is":
        negated = cursor.accept("not") is not None
        cursor.expect("null", hint="values are compared with `=`; `is null` asks whether one is missing")
        test: Expr = IsNull(left, negated, span=cursor.since(left.span))
    elif word.text == "in":
        cursor.expect("(", hint='write the values in parentheses, like `in ("north", "south")`')
        options = cursor.several(_option)
        cursor.expect(")", ",")
        test = OneOf(left, options, span=cursor.since(left.span))
    else:
        if not isinstance(left, Reference) or left.of:
            hint = f"write `a {word.text} b`, with the names of two of the rule's constituents"
            raise ParseError(f"`{word.text}` relates two constituents", left.span, hint)
        test = _relation(cursor, left.attribute, word.text)
    _refuse_chain(cursor)
    return _bounded(cursor, test)


def _refuse_chain(cursor: Cursor) -> None:
    op = _BINARY.get(cursor.token.text)
    if op in COMPARISONS or cursor.at(*_TESTS):
        raise ParseError("comparisons cannot be chained", cursor.token.span, "write `a < b and b < c`")


def _option(cursor: Cursor) -> Literal:
    start = cursor.token.span
    option = parse_expression(cursor, SUM)
    if not isinstance(option, Literal):
        hint = "compare anything else with `=` and `or`"
        raise ParseError("only plain values can be listed here", cursor.since(start), hint)
    return option


def _relation(cursor: Cursor, left: Name, op: str) -> Relation:
    bounds: tuple[Duration | None, ...] = ()
    if bracket := cursor.accept("["):
        bounds = cursor.several(_bound)
        cursor.expect("]", ",")
        if len(bounds) > _MAX_BOUNDS:
            hint = "write the least and the greatest distance, like `[1 s, 5 s]` or `[1 s, *]`"
            raise ParseError("a relation has at most four bounds", cursor.since(bracket.span), hint)
    right = cursor.role("the name of a constituent")
    return Relation(RELATIONS[op], left, right, bounds, span=cursor.since(left.span))


def _bound(cursor: Cursor) -> Duration | None:
    start = cursor.token.span
    if cursor.accept("*"):
        return None
    negative = cursor.accept("-") is not None
    if cursor.token.kind is Kind.INTEGER and cursor.token.value == 0 and cursor.peek().text not in UNITS:
        cursor.advance()
        return Duration(0, Unit.SECOND, span=cursor.since(start))
    length = cursor.duration("a duration or `*`")
    return Duration(-length.amount, length.unit, span=cursor.since(start)) if negative else length


def _prefix(cursor: Cursor) -> Expr:
    start = cursor.token.span
    if cursor.accept("("):
        with cursor.nested(Nesting.PARENTHESES):
            inner = parse_expression(cursor)
        cursor.expect(")")
        return inner
    if cursor.accept("not"):
        with cursor.nested(Nesting.PREFIX):
            operand = parse_expression(cursor, NOT)
        return _bounded(cursor, Unary(UnaryOp.NOT, operand, span=cursor.since(start)))
    if cursor.accept("-"):
        with cursor.nested(Nesting.PREFIX):
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
        case Kind.WORD if token.text == "null":
            raise cursor.unexpected("a value", "`is null` and `is not null` ask whether a value is missing")
        case Kind.WORD:
            return _named(cursor)
        case _:
            raise cursor.unexpected("a value")


def _named(cursor: Cursor) -> Expr:
    name = cursor.attribute_name("a value")
    if cursor.accept("."):
        attribute = cursor.attribute_name(f"an attribute of `{name}`")
        return Reference(attribute, of=name, span=cursor.since(name.span))
    if not cursor.at("("):
        return Reference(name, span=name.span)
    with cursor.nested(Nesting.PARENTHESES):
        arguments = parse_conditions(cursor)
    return _bounded(cursor, Call(name, arguments, span=cursor.since(name.span)))


def _bounded(cursor: Cursor, expr: Expr) -> Expr:
    if expr.height > MAX_NESTING:
        raise cursor.too_deep(expr.span)
    return expr
