"""Expressions, values and durations."""

from tocsin.topology.parsing.expressions import BINARY_POWER, COMPARISON, JUNCTION_POWER, NEGATION, NOT
from tocsin.topology.tree import (
    COMPARISONS,
    Assignment,
    Binary,
    Call,
    Duration,
    Expr,
    IsNull,
    Junction,
    Literal,
    OneOf,
    Parameter,
    Reference,
    Relation,
    Unary,
    UnaryOp,
    Unit,
)

_ATOM = NEGATION + 1
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LAST_OF_BMP = 0xFFFF
_UNIT_TEXT = {
    Unit.MILLISECOND: "ms",
    Unit.SECOND: "s",
    Unit.MINUTE: "min",
    Unit.HOUR: "h",
    Unit.DAY: "day",
    Unit.WEEK: "week",
}


def print_duration(duration: Duration) -> str:
    """Return a duration in its unit: `3 min`, `1 day`, `2 days`."""
    unit = _UNIT_TEXT[duration.unit]
    plural = "s" if duration.unit in {Unit.DAY, Unit.WEEK} and duration.amount != 1 else ""
    return f"{duration.amount} {unit}{plural}"


def print_ms(length_ms: int) -> str:
    """Return a number of milliseconds as a duration in the largest unit that leaves no remainder."""
    units = [unit for unit in Unit if unit is not Unit.WEEK and length_ms % unit.value == 0]
    unit = max(units, key=lambda u: u.value) if length_ms else Unit.SECOND
    return print_duration(Duration(length_ms // unit.value, unit))


def print_expression(expr: Expr, power: int = 0) -> str:
    """Return an expression, in parentheses if it binds less tightly than `power`."""
    text, own = _expression(expr)
    return f"({text})" if own < power else text


def print_assignment(assignment: Assignment) -> str:
    """Return `attribute = value`."""
    return f"{assignment.attribute} = {print_expression(assignment.value)}"


def print_string(value: str) -> str:
    """Return a string in its quotes."""
    return f'"{"".join(_character(char) for char in value)}"'


def _expression(expr: Expr) -> tuple[str, int]:
    match expr:
        case Unary() | Binary() | Junction():
            return _operation(expr)
        case IsNull():
            test = "is not null" if expr.negated else "is null"
            return f"{print_expression(expr.operand, COMPARISON + 1)} {test}", COMPARISON
        case OneOf():
            options = ", ".join(print_expression(option) for option in expr.options)
            return f"{print_expression(expr.operand, COMPARISON + 1)} in ({options})", COMPARISON
        case Relation():
            return _relation(expr), COMPARISON
        case Literal():
            return _literal(expr)
        case _:
            return _atom(expr), _ATOM


def _operation(expr: Unary | Binary | Junction) -> tuple[str, int]:
    match expr:
        case Unary(op=UnaryOp.NOT):
            return f"not {print_expression(expr.operand, NOT)}", NOT
        case Unary():
            text = print_expression(expr.operand, NEGATION)
            # Two minus signs in a row would start a comment.
            return (f"-({text})" if text.startswith("-") else f"-{text}"), NEGATION
        case Binary():
            power = BINARY_POWER[expr.op]
            left = print_expression(expr.left, power + (expr.op in COMPARISONS))
            return f"{left} {expr.op} {print_expression(expr.right, power + 1)}", power
        case Junction():
            power = JUNCTION_POWER[expr.op]
            return f" {expr.op} ".join(print_expression(e, power + 1) for e in expr.operands), power


def _relation(relation: Relation) -> str:
    bounds = ", ".join(print_duration(bound) if bound else "*" for bound in relation.bounds)
    return f"{relation.left} {relation.op} {f'[{bounds}] ' if bounds else ''}{relation.right}"


def _literal(literal: Literal) -> tuple[str, int]:
    value = literal.value
    if isinstance(value, bool):
        return ("true" if value else "false"), _ATOM
    if isinstance(value, str):
        return print_string(value), _ATOM
    text = repr(value)
    return text, NEGATION if text.startswith("-") else _ATOM


def _atom(expr: Expr) -> str:
    match expr:
        case Duration():
            return print_duration(expr)
        case Parameter():
            return f"${expr.name}"
        case Reference():
            return f"{expr.of}.{expr.attribute}" if expr.of else str(expr.attribute)
        case Call():
            return f"{expr.function}({', '.join(print_expression(e) for e in expr.arguments)})"
        case _:
            raise TypeError(expr)


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() or ord(char) > _LAST_OF_BMP else f"\\u{ord(char):04x}"
