"""Expressions to typed terms: names are looked up, types checked, and conversions made explicit.

Every function returns None after it has reported a mistake, so that one mistake is reported once.
"""

from dataclasses import dataclass

from tocsin.topology.errors import Report, did_you_mean, suggest
from tocsin.topology.model import Constituent, Rule
from tocsin.topology.terms import Apply, Const, Field, Scalar, Term, join, widen
from tocsin.topology.tree import (
    COMPARISONS,
    Binary,
    BinaryOp,
    Duration,
    Expr,
    Junction,
    Literal,
    Name,
    Parameter,
    Reference,
    Unary,
    UnaryOp,
)

_INT_MAX = 2**31 - 1
_LONG_MAX = 2**63 - 1
_SNIPPET_LENGTH = 40

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


@dataclass(frozen=True)
class Scope:
    """What names mean at one place of a rule: `own` is the constituent whose conditions these are, if any."""

    rule: Rule
    doubtful: frozenset[str]
    report: Report
    own: Constituent | None = None

    def snippet(self, expr: Expr) -> str:
        """Return the text of an expression for a message."""
        text = " ".join(self.report.source[expr.span].split())
        return text if len(text) <= _SNIPPET_LENGTH else f"{text[:_SNIPPET_LENGTH]}…"

    def visible(self) -> list[Constituent]:
        """Return the constituents that may be named here."""
        last = self.own.index if self.own else len(self.rule.constituents)
        return [c for c in self.rule.constituents if c.index <= last]

    def attribute(self, constituent: Constituent, name: Name) -> Field | None:
        """Look up an attribute of a constituent."""
        event = constituent.event
        index = event.index_of(name.text)
        if index is not None:
            return Field(constituent.index, index, event.fields[index].type, event.fields[index].optional)
        if event.name not in self.doubtful:
            known = [field.name for field in event.fields]
            message = f"event {event.name} has no attribute `{name}`"
            self.report.error(message, name.span, suggest(name.text, known, "it has"))
        return None


def elaborate(expr: Expr, scope: Scope) -> Term | None:  # noqa: PLR0911 (one case a kind)
    """Return the typed term of an expression, or None after reporting what is wrong with it."""
    match expr:
        case Literal():
            return _literal(expr, scope)
        case Duration():
            return Const(Scalar.LONG, expr.ms)
        case Parameter():
            return _parameter(expr, scope)
        case Reference():
            return _reference(expr, scope)
        case Unary(op=UnaryOp.NOT):
            operand = truth(expr.operand, scope)
            return operand and Apply("not", Scalar.BOOLEAN, (operand,), Scalar.BOOLEAN, operand.optional)
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
        case _:
            raise TypeError(expr)


def truth(expr: Expr, scope: Scope) -> Term | None:
    """Return the typed term of an expression that must be true or false."""
    term = elaborate(expr, scope)
    if term is None or term.scalar is Scalar.BOOLEAN:
        return term
    scope.report.error(
        f"`{scope.snippet(expr)}` is {term.scalar.described}, but a condition must be true or false",
        expr.span,
        "compare it with something, like `value > 45`" if isinstance(expr, Reference) else None,
    )
    return None


def compare(expr: Binary, left: Term, right: Term, scope: Scope) -> Term | None:
    """Return the comparison of two terms, if their types allow it."""
    kinds = {left.scalar, right.scalar}
    if kinds <= _NUMBERS or kinds <= _WHOLE | {Scalar.TIMESTAMP}:
        wide = _common(left, right)
        return Apply(_COMPARE[expr.op], wide, (widen(left, wide), widen(right, wide)), Scalar.BOOLEAN)
    if len(kinds) > 1:
        scope.report.error(
            f"`{scope.snippet(expr.left)}` is {left.scalar.described} and `{scope.snippet(expr.right)}` is "
            f"{right.scalar.described}: they cannot be compared",
            expr.span,
        )
        return None
    if kinds == {Scalar.BOOLEAN} and expr.op not in {BinaryOp.EQ, BinaryOp.NE}:
        scope.report.error("truth values have no order", expr.span, "compare them with `=` or `!=`")
        return None
    return Apply(_COMPARE[expr.op], left.scalar, (left, right), Scalar.BOOLEAN)


def _common(left: Term, right: Term) -> Scalar:
    return Scalar.DOUBLE if Scalar.DOUBLE in {left.scalar.wide, right.scalar.wide} else Scalar.LONG


def _calculate(expr: Binary, left: Term, right: Term, scope: Scope) -> Term | None:
    for part, term in ((expr.left, left), (expr.right, right)):
        if term.scalar not in _NUMBERS | {Scalar.TIMESTAMP}:
            message = f"`{expr.op}` needs numbers, but `{scope.snippet(part)}` is {term.scalar.described}"
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
    return Apply(_CALCULATE[expr.op], wide, args, result, left.optional or right.optional)


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
    if operand.scalar not in _NUMBERS:
        message = f"`-` needs a number, but `{scope.snippet(expr.operand)}` is {operand.scalar.described}"
        scope.report.error(message, expr.operand.span)
        return None
    wide = operand.scalar.wide
    return Apply("neg", wide, (operand,), wide, operand.optional)


def _literal(expr: Literal, scope: Scope) -> Term | None:
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


def _parameter(expr: Parameter, scope: Scope) -> Term | None:
    parameters = scope.rule.parameters
    if expr.name in parameters:
        return parameters[expr.name]
    if expr.name not in scope.rule.lost:
        hint = did_you_mean(expr.name, parameters, prefix="$")
        scope.report.error(
            f"the parameter `${expr.name}` has no value here",
            expr.span,
            hint or f"bind it in this or an earlier constituent, like `area = ${expr.name}`",
        )
    return None


def _reference(expr: Reference, scope: Scope) -> Term | None:
    if expr.of is None:
        if scope.own is not None:
            return scope.attribute(scope.own, expr.attribute)
        having = [c.role for c in scope.visible() if c.event.index_of(expr.attribute.text) is not None]
        choices = " or ".join(f"`{role}.{expr.attribute}`" for role in having)
        message = f"`{expr.attribute}` does not say of which constituent"
        scope.report.error(message, expr.span, f"write {choices}" if choices else None)
        return None
    constituent = scope.rule.named(expr.of)
    if constituent is not None and constituent in scope.visible():
        return scope.attribute(constituent, expr.attribute)
    if constituent is not None:
        message = f"`{expr.of}` comes later in the pattern"
        scope.report.error(message, expr.of.span, f"compare the two in the conditions of `{expr.of}`")
        return None
    hint = suggest(expr.of.text, [c.role for c in scope.visible()], "it has")
    scope.report.error(f"the pattern has no constituent `{expr.of}`", expr.of.span, hint)
    return None
