"""Expressions to typed terms: names are looked up, types checked, and conversions made explicit.

Every function returns None after it has reported a mistake, so that one mistake is reported once.
"""

from tocsin.topology import functions
from tocsin.topology.errors import did_you_mean
from tocsin.topology.scopes import PREVIOUS, THIS, Scope
from tocsin.topology.terms import Apply, Const, Scalar, Term, described, join, widen
from tocsin.topology.tree import (
    COMPARISONS,
    Binary,
    BinaryOp,
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
)

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1

_COMPARE = {
    BinaryOp.EQ: "eq",
    BinaryOp.NE: "ne",
    BinaryOp.LT: "lt",
    BinaryOp.LE: "le",
    BinaryOp.GT: "gt",
    BinaryOp.GE: "ge",
}
_CALCULATE = {
    BinaryOp.ADD: "add",
    BinaryOp.SUB: "sub",
    BinaryOp.MUL: "mul",
    BinaryOp.DIV: "div",
    BinaryOp.MOD: "mod",
}
_NUMBERS = frozenset({Scalar.INT, Scalar.LONG, Scalar.FLOAT, Scalar.DOUBLE})
_WHOLE = frozenset({Scalar.INT, Scalar.LONG})
_EQUALITY = frozenset({BinaryOp.EQ, BinaryOp.NE})


def elaborate(expr: Expr, scope: Scope) -> Term | None:  # noqa: C901, PLR0911, PLR0912 (one case a kind)
    """Return the typed term of an expression, or None after reporting what is wrong with it."""
    match expr:
        case Literal():
            return _literal(expr, scope)
        case Duration():
            return Const(Scalar.LONG, expr.ms)
        case Parameter():
            return scope.parameter(expr)
        case Reference():
            return _reference(expr, scope)
        case Unary(op=UnaryOp.NOT):
            operand = truth(expr.operand, scope)
            return operand and Apply("not", Scalar.BOOLEAN, (operand,), Scalar.BOOLEAN)
        case Unary():
            return _negation(expr, scope)
        case Binary():
            left, right = elaborate(expr.left, scope), elaborate(expr.right, scope)
            if left is None or right is None:
                return None
            combine = compare if expr.op in COMPARISONS else _calculate
            return combine(expr, left, right, scope)
        case Junction():
            parts = [truth(operand, scope) for operand in expr.operands]
            sound = [part for part in parts if part is not None]
            return join(expr.op, sound) if len(sound) == len(parts) else None
        case IsNull():
            return _is_null(expr, scope)
        case OneOf():
            return _one_of(expr, scope)
        case Call():
            return functions.call(expr, scope, elaborate)
        case Relation():
            return functions.relation(expr, scope)
        case _:
            raise TypeError(expr)


def truth(expr: Expr, scope: Scope) -> Term | None:
    """Return the typed term of an expression that must be true or false."""
    term = elaborate(expr, scope)
    if term is None or (term.scalar is Scalar.BOOLEAN and not term.many):
        return term
    scope.report.error(
        f"`{scope.snippet(expr)}` is {described(term)}, but a condition must be true or false",
        expr.span,
        "compare it with something, like `value > 45`" if isinstance(expr, Reference) else None,
    )
    return None


def compare(expr: Binary, left: Term, right: Term, scope: Scope) -> Term | None:
    """Return the comparison of two terms, if their types allow it."""
    kinds = {left.scalar, right.scalar}
    many = left.many or right.many
    if not many and (kinds <= _NUMBERS or kinds <= _WHOLE | {Scalar.TIMESTAMP}):
        wide = _common(left, right)
        return Apply(_COMPARE[expr.op], wide, (widen(left, wide), widen(right, wide)), Scalar.BOOLEAN)
    mixed = left.enum is not None and right.enum is not None and left.enum != right.enum
    if many or mixed or len(kinds) > 1:
        scope.report.error(
            f"`{scope.snippet(expr.left)}` is {described(left)} and `{scope.snippet(expr.right)}` is "
            f"{described(right)}: they cannot be compared",
            expr.span,
        )
        return None
    if not _ordered(expr, left, right, scope):
        return None
    sides = [_symbol(left, expr.left, right.enum, scope), _symbol(right, expr.right, left.enum, scope)]
    return Apply(_COMPARE[expr.op], left.scalar, (left, right), Scalar.BOOLEAN) if all(sides) else None


def _ordered(expr: Binary, left: Term, right: Term, scope: Scope) -> bool:
    """Tell whether two comparable values can be compared in this way."""
    what = {Scalar.BOOLEAN: "truth values", Scalar.BYTES: "bytes"}.get(left.scalar)
    enum = left.enum or right.enum
    if expr.op in _EQUALITY or (what is None and enum is None):
        return True
    subject = what or f"values of {enum}"
    scope.report.error(f"{subject} have no order", expr.span, "compare them with `=` or `!=`")
    return False


def _symbol(term: Term, expr: Expr, enum: str | None, scope: Scope) -> bool:
    """Tell whether a literal that meets a value of an enum is one of its symbols."""
    if enum is None or not isinstance(term, Const) or enum in scope.compilation.doubtful:
        return True
    symbols = scope.compilation.enums[enum].symbols
    if term.value in symbols:
        return True
    close = did_you_mean(str(term.value), symbols)
    hint = close or f"it has `{'`, `'.join(symbols)}`"
    scope.report.error(f"there is no `{term.value}` in {enum}", expr.span, hint)
    return False


def fits_enum(term: Term, expr: Expr, enum: str, scope: Scope) -> bool:
    """Tell whether a string can be a value of an enum: of the same one, or one of its symbols."""
    if isinstance(term, Const):
        return _symbol(term, expr, enum, scope)
    if term.enum == enum:
        return True
    message = f"`{scope.snippet(expr)}` is {described(term)}, but a {enum} is needed"
    scope.report.error(message, expr.span, f"give one of its values, or an attribute of the type {enum}")
    return False


def _common(left: Term, right: Term) -> Scalar:
    return Scalar.DOUBLE if Scalar.DOUBLE in {left.scalar.wide, right.scalar.wide} else Scalar.LONG


def _calculate(expr: Binary, left: Term, right: Term, scope: Scope) -> Term | None:
    for part, term in ((expr.left, left), (expr.right, right)):
        if term.many or term.scalar not in _NUMBERS | {Scalar.TIMESTAMP}:
            message = f"`{expr.op}` needs numbers, but `{scope.snippet(part)}` is {described(term)}"
            scope.report.error(message, part.span)
            return None
    result = _result(expr.op, left.scalar, right.scalar)
    if result is None:
        scope.report.error(
            f"`{expr.op}` cannot be applied to {left.scalar.described} and {right.scalar.described}",
            expr.span,
            "timestamps can be subtracted from each other, and moved by a whole number of milliseconds",
        )
        return None
    if expr.op in {BinaryOp.DIV, BinaryOp.MOD} and isinstance(right, Const) and right.value == 0:
        scope.report.error("this divides by zero", expr.right.span)
        return None
    wide = _common(left, right)
    args = (widen(left, wide), widen(right, wide))
    return Apply(_CALCULATE[expr.op], wide, args, result, optional=left.optional or right.optional)


def _result(op: BinaryOp, left: Scalar, right: Scalar) -> Scalar | None:
    """Return the type of a calculation; a timestamp takes part only in shifts and differences."""
    if Scalar.TIMESTAMP not in {left, right}:
        return Scalar.DOUBLE if Scalar.DOUBLE in {left.wide, right.wide} else Scalar.LONG
    if op is BinaryOp.SUB and left is right:
        return Scalar.LONG
    forward = op is BinaryOp.ADD and not {left, right}.isdisjoint(_WHOLE)
    back = op is BinaryOp.SUB and right in _WHOLE
    return Scalar.TIMESTAMP if forward or back else None


def _negation(expr: Unary, scope: Scope) -> Term | None:
    operand = elaborate(expr.operand, scope)
    if operand is None:
        return None
    if operand.many or operand.scalar not in _NUMBERS:
        message = f"`-` needs a number, but `{scope.snippet(expr.operand)}` is {described(operand)}"
        scope.report.error(message, expr.operand.span)
        return None
    wide = operand.scalar.wide
    return Apply("neg", wide, (operand,), wide, optional=operand.optional)


def _is_null(expr: IsNull, scope: Scope) -> Term | None:
    operand = elaborate(expr.operand, scope)
    if operand is None:
        return None
    test = Apply("is_null", operand.scalar.wide, (operand,), Scalar.BOOLEAN)
    return Apply("not", Scalar.BOOLEAN, (test,), Scalar.BOOLEAN) if expr.negated else test


def _one_of(expr: OneOf, scope: Scope) -> Term | None:
    operand = elaborate(expr.operand, scope)
    if operand is None:
        return None
    options: list[Const] = []
    sound = True
    for option in expr.options:
        value = _literal(option, scope)
        single = Binary(BinaryOp.EQ, expr.operand, option, span=option.span)
        if value is None or compare(single, operand, value, scope) is None:
            sound = False
        else:
            options.append(value)
    wide = operand.scalar.wide
    if any(option.scalar.wide is Scalar.DOUBLE for option in options):
        wide = Scalar.DOUBLE
    args = (widen(operand, wide), *(widen(option, wide) for option in options))
    return Apply("in", wide, args, Scalar.BOOLEAN) if sound else None


def _literal(expr: Literal, scope: Scope) -> Const | None:
    value = expr.value
    if isinstance(value, bool):
        return Const(Scalar.BOOLEAN, value)
    if isinstance(value, str):
        return Const(Scalar.STRING, value)
    if isinstance(value, float):
        return Const(Scalar.DOUBLE, value)
    if not -_LONG_MAX - 1 <= value <= _LONG_MAX:
        scope.report.error("this number is too large", expr.span, "whole numbers have at most 64 bits")
        return None
    return Const(Scalar.INT if -_INT_MAX - 1 <= value <= _INT_MAX else Scalar.LONG, value)


def _reference(expr: Reference, scope: Scope) -> Term | None:
    if expr.of is None:
        return _unqualified(expr, scope)
    if expr.of.text == PREVIOUS:
        return scope.element_before(expr.attribute, expr.of)
    if expr.of.text == THIS and scope.own is not None:
        return scope.attribute(scope.own, expr.attribute)
    constituent = scope.one(expr.of)
    return None if constituent is None else scope.attribute(constituent, expr.attribute)


def _unqualified(expr: Reference, scope: Scope) -> Term | None:
    """Return an attribute of the event at hand, or what stands for a whole event or fact."""
    name = expr.attribute
    alone = scope.visible[0] if len(scope.visible) == 1 and scope.own is None else scope.own
    role = scope.players(name)
    if alone is not None and (alone.event.index_of(name.text) is not None or not role):
        if alone.several and alone is not scope.own:
            scope.report_several(name, f"`{alone.role}`")
            return None
        return scope.attribute(alone, name)
    if role:
        constituent = scope.one(name)
        identity = None if constituent is None else constituent.event.identity
        if constituent is None or constituent.event.name in scope.compilation.doubtful:
            return None
        if identity is None:
            message = f"{constituent.event.described} has neither id nor key that could stand for `{name}`"
            scope.report.error(message, expr.span, f"compare one of its attributes: `{name}.…`")
            return None
        return scope.field(constituent, identity)
    having = [c.role for c in scope.visible if c.event.index_of(name.text) is not None]
    choices = " or ".join(f"`{role}.{name}`" for role in having)
    message = f"`{name}` does not say of which constituent"
    scope.report.error(message, expr.span, f"write {choices}" if choices else None)
    return None
