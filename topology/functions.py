"""Functions and temporal relations: of values, of a role, of what a role collected."""

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.topology.errors import Report, Span, suggest
from tocsin.topology.model import Constituent
from tocsin.topology.scopes import Scope
from tocsin.topology.terms import (
    Apply,
    Collected,
    Const,
    Edge,
    Moment,
    Place,
    Related,
    Scalar,
    Term,
    described,
    widen,
)
from tocsin.topology.tree import Call, Expr, Literal, Name, Reference, Relation, RelationOp
from tocsin.topology.types import Attribute, Kind

Elaborate = Callable[[Expr, Scope], Term | None]

_NUMBERS = frozenset({Scalar.INT, Scalar.LONG, Scalar.FLOAT, Scalar.DOUBLE})
_TEXT = frozenset({Scalar.STRING})
_ORDERED = _NUMBERS | {Scalar.STRING, Scalar.TIMESTAMP}
_ALL = frozenset(Scalar)
_PERCENT = 100


@dataclass(frozen=True, slots=True)
class _Function:
    """A function of values: what each argument may be, and the result (None: as the argument)."""

    arguments: tuple[frozenset[Scalar], ...]
    result: Scalar | None


_VALUES = {
    "abs": _Function((_NUMBERS,), None),
    "round": _Function((_NUMBERS,), None),
    "floor": _Function((_NUMBERS,), None),
    "ceil": _Function((_NUMBERS,), None),
    "sqrt": _Function((_NUMBERS,), Scalar.DOUBLE),
    "length": _Function((_TEXT,), Scalar.LONG),
    "lower": _Function((_TEXT,), Scalar.STRING),
    "upper": _Function((_TEXT,), Scalar.STRING),
    "contains": _Function((_TEXT, _TEXT), Scalar.BOOLEAN),
    "starts_with": _Function((_TEXT, _TEXT), Scalar.BOOLEAN),
    "ends_with": _Function((_TEXT, _TEXT), Scalar.BOOLEAN),
}
_MOMENTS = {"timeof": Edge.END, "startof": Edge.START}


@dataclass(frozen=True, slots=True)
class _Aggregate:
    """A function of many values: what they may be, the result (None: as they are), whether of none null."""

    values: frozenset[Scalar]
    result: Scalar | None
    null_of_none: bool = True


_AGGREGATES = {
    "count": _Aggregate(_ALL, Scalar.LONG, null_of_none=False),
    "distinct": _Aggregate(_ALL, Scalar.LONG, null_of_none=False),
    "sum": _Aggregate(_NUMBERS, None, null_of_none=False),
    "avg": _Aggregate(_NUMBERS, Scalar.DOUBLE),
    "stddev": _Aggregate(_NUMBERS, Scalar.DOUBLE),
    "min": _Aggregate(_ORDERED, None),
    "max": _Aggregate(_ORDERED, None),
    "percentile": _Aggregate(_NUMBERS | {Scalar.TIMESTAMP}, None),
    "first": _Aggregate(_ALL, None),
    "last": _Aggregate(_ALL, None),
    "list": _Aggregate(_ALL, None, null_of_none=False),
}
_KEEPING = frozenset({"first", "last", "list"})
"""Aggregates that give what they were given, so that an enum stays one."""
FUNCTIONS = [*_VALUES, "coalesce", *_MOMENTS, *_AGGREGATES]
"""The names of all functions."""


def call(expr: Call, scope: Scope, elaborate: Elaborate) -> Term | None:
    """Return the term of a function."""
    name = expr.function.text
    if name in _MOMENTS:
        return _moment(expr, scope)
    if name in _AGGREGATES:
        return _collected(expr, scope)
    if name == "coalesce":
        return _coalesce(expr, scope, elaborate)
    if name in _VALUES:
        return _of_values(expr, _VALUES[name], scope, elaborate)
    hint = suggest(name, FUNCTIONS, "functions are")
    scope.report.error(f"there is no function `{name}`", expr.function.span, hint)
    return None


# --- of values ----------------------------------------------------------------------------------------------


def _of_values(expr: Call, function: _Function, scope: Scope, elaborate: Elaborate) -> Term | None:
    if not _has_arguments(expr, len(function.arguments), scope):
        return None
    args: list[Term] = []
    for argument, accepted in zip(expr.arguments, function.arguments, strict=True):
        term = elaborate(argument, scope)
        if term is not None and (term.many or term.scalar not in accepted):
            needed = "a string" if accepted is _TEXT else "a number"
            text = scope.snippet(argument)
            message = f"`{expr.function}` needs {needed}, but `{text}` is {described(term)}"
            scope.report.error(message, argument.span)
        elif term is not None:
            args.append(term)
    if len(args) < len(function.arguments):
        return None
    operand = Scalar.DOUBLE if function.result is Scalar.DOUBLE else args[0].scalar.wide
    widened = tuple(widen(arg, operand) for arg in args)
    optional = any(arg.optional for arg in args)
    return Apply(expr.function.text, operand, widened, function.result or operand, optional=optional)


def _has_arguments(expr: Call, count: int, scope: Scope) -> bool:
    if len(expr.arguments) == count:
        return True
    needed = "one argument" if count == 1 else f"{count} arguments"
    message = f"`{expr.function}` takes {needed}, not {len(expr.arguments)}"
    scope.report.error(message, expr.span)
    return False


def _coalesce(expr: Call, scope: Scope, elaborate: Elaborate) -> Term | None:
    if not _has_arguments(expr, 2, scope):
        return None
    left, right = (elaborate(argument, scope) for argument in expr.arguments)
    if left is None or right is None:
        return None
    numbers = {left.scalar, right.scalar} <= _NUMBERS
    if left.many or right.many or (left.scalar is not right.scalar and not numbers):
        first, second = (scope.snippet(argument) for argument in expr.arguments)
        scope.report.error(
            f"`{first}` is {described(left)} and `{second}` is {described(right)}: "
            "`coalesce` needs two values of one type",
            expr.span,
        )
        return None
    scalar = left.scalar
    if numbers and left.scalar is not right.scalar:
        scalar = Scalar.DOUBLE if Scalar.DOUBLE in {left.scalar.wide, right.scalar.wide} else Scalar.LONG
    args = (widen(left, scalar.wide), widen(right, scalar.wide))
    enum = left.enum if left.enum == right.enum or isinstance(right, Const) else None
    optional = left.optional and right.optional
    return Apply("coalesce", scalar.wide, args, scalar, optional=optional, enum=enum)


# --- of roles -----------------------------------------------------------------------------------------------


def _moment(expr: Call, scope: Scope) -> Term | None:
    if not _has_arguments(expr, 1, scope):
        return None
    match expr.arguments[0]:
        case Reference(of=None, attribute=name):
            constituent = occurrence(name, scope)
        case other:
            message = f"`{expr.function}` takes the name of a constituent, not `{scope.snippet(other)}`"
            scope.report.error(message, other.span, f"like `{expr.function}(t)`")
            return None
    if constituent is None:
        return None
    edge = _MOMENTS[expr.function.text]
    return Moment(constituent.index, edge, optional=scope.may_lack(constituent))


def occurrence(name: Name, scope: Scope) -> Constituent | None:
    """Look up a role that holds one occurrence, which has a time; a fact has none."""
    constituent = scope.one(name)
    if constituent is None or constituent.event.kind is not Kind.FACT:
        return constituent
    message = f"`{name}` is a fact: it holds for a while and has no place in time"
    scope.report.error(message, name.span, "only events do")
    return None


def _collected(expr: Call, scope: Scope) -> Term | None:
    function = expr.function
    if not _accepts(expr, scope):
        return None
    argument = expr.arguments[0]
    if not isinstance(argument, Reference):
        message = f"`{function}` takes what a constituent collected, not `{scope.snippet(argument)}`"
        scope.report.error(message, argument.span, f"like `{function}(t.value)`")
        return None
    constituents = _collecting(expr, argument.of or argument.attribute, scope)
    if not constituents:
        return None
    if argument.of is None:
        return _counted(expr, constituents, scope)
    return _aggregated(expr, constituents, argument.attribute, scope)


def _collecting(expr: Call, role: Name, scope: Scope) -> tuple[Constituent, ...]:
    """Look up the constituents of a role that can be taken together here."""
    if not scope.aggregating:
        message = f"`{expr.function}` needs all that `{role}` stands for, but they are found one by one"
        scope.report.error(message, expr.span, "put the condition behind `if`")
        return ()
    constituents = scope.all_of(role)
    if constituents == (scope.own,) and not scope.repeated:
        message = f"`{role}` is not repeated, so nothing of it was taken before"
        scope.report.error(message, role.span, "a repeat is written `Temp(…){3}`")
        return ()
    return constituents


def _aggregated(
    expr: Call, constituents: tuple[Constituent, ...], attribute: Name, scope: Scope
) -> Term | None:
    function = expr.function
    places: list[Place] = []
    kinds: list[Attribute] = []
    for constituent in constituents:
        index = scope.index(constituent, attribute)
        if index is None:
            return None
        places.append((constituent.index, index))
        kinds.append(constituent.event.attributes[index])
    empty = scope.own in constituents or all(scope.may_lack(c) for c in constituents)
    typed = aggregate(function, [(kind, attribute) for kind in kinds], scope, empty=empty)
    if typed is None:
        return None
    scalar, optional = typed
    enums = {kind.enum.name if kind.enum else None for kind in kinds}
    keeps = function.text in _KEEPING and len(enums) == 1
    return Collected(
        function.text,
        tuple(places),
        scalar,
        _percentage(expr),
        optional=optional,
        enum=enums.pop() if keeps else None,
        many=function.text == "list",
    )


def _counted(expr: Call, constituents: tuple[Constituent, ...], scope: Scope) -> Term | None:
    if expr.function.text == "count":
        return Collected("count", tuple((c.index, None) for c in constituents), Scalar.LONG)
    message = f"`{expr.function}` needs an attribute: `{scope.snippet(expr.arguments[0])}` is an event"
    scope.report.error(message, expr.arguments[0].span, "only `count` counts events as such")
    return None


def _accepts(expr: Call, scope: Scope) -> bool:
    if expr.function.text != "percentile":
        return _has_arguments(expr, 1, scope)
    if not _has_arguments(expr, 2, scope):
        return False
    percentage = _percentage(expr)
    if percentage is None:
        message = "the percentage must be a number"
        scope.report.error(message, expr.arguments[1].span, "like `percentile(t.value, 95)`")
        return False
    return in_percent(percentage, expr.arguments[1].span, scope.report)


def _percentage(expr: Call) -> float | int | None:
    match expr.arguments[1:]:
        case (Literal(value=bool() | str()),):
            return None
        case (Literal(value=value),) if not isinstance(value, bool | str):
            return value
        case _:
            return None


def in_percent(percentage: float, span: Span, report: Report) -> bool:
    """Hold that a percentage is one."""
    if 0 <= percentage <= _PERCENT:
        return True
    report.error("a percentage lies between 0 and 100", span)
    return False


def aggregate(
    function: Name, values: list[tuple[Attribute, Name]], scope: Scope, *, empty: bool
) -> tuple[Scalar, bool] | None:
    """Return the type of an aggregate over attributes, and whether it may be null.

    `empty` tells that there may be no value at all.
    """
    known = _AGGREGATES[function.text]
    for attribute, name in values:
        unordered = attribute.enum is not None and known.values is not _ALL
        if attribute.many or unordered or attribute.scalar not in known.values:
            needed = "numbers" if known.values is _NUMBERS else "values with an order"
            message = f"`{function}` needs {needed}, but `{name}` is {attribute.described}"
            scope.report.error(message, name.span)
            return None
    optional = known.null_of_none and (empty or all(attribute.optional for attribute, _ in values))
    scalars = {attribute.scalar for attribute, _ in values}
    if known.result is not None:
        return known.result, optional
    if function.text == "sum":
        return (Scalar.DOUBLE if {Scalar.FLOAT, Scalar.DOUBLE} & scalars else Scalar.LONG), optional
    if len(scalars) == 1:
        return scalars.pop(), optional
    if scalars <= _NUMBERS:
        return (Scalar.DOUBLE if {Scalar.FLOAT, Scalar.DOUBLE} & scalars else Scalar.LONG), optional
    name = values[0][1]
    scope.report.error(f"`{name}` is not of one type in all these events", name.span)
    return None


def is_aggregate(function: Name, scope: Scope) -> bool:
    """Hold that a name is that of an aggregate."""
    if function.text in _AGGREGATES:
        return True
    hint = suggest(function.text, [*_AGGREGATES], "aggregates are")
    scope.report.error(f"there is no aggregate `{function}`", function.span, hint)
    return False


# --- temporal relations -------------------------------------------------------------------------------------

_DISTANCES = frozenset({RelationOp.AFTER, RelationOp.BEFORE})
_BOUNDS = {
    RelationOp.AFTER: (0, 1, 2),
    RelationOp.BEFORE: (0, 1, 2),
    RelationOp.COINCIDES: (0, 1, 2),
    RelationOp.OVERLAPS: (0, 1, 2),
    RelationOp.OVERLAPPEDBY: (0, 1, 2),
    RelationOp.DURING: (0, 1, 2, 4),
    RelationOp.INCLUDES: (0, 1, 2, 4),
}
_TOLERANCE = (0, 1)


def relation(expr: Relation, scope: Scope) -> Term | None:
    """Return the term of a temporal relation."""
    sides = [occurrence(name, scope) for name in (expr.left, expr.right)]
    if not _check_bounds(expr, scope) or sides[0] is None or sides[1] is None:
        return None
    if sides[0] is sides[1]:
        scope.report.error(f"`{expr.op}` compares `{expr.left}` with itself", expr.span)
        return None
    bounds_ms = tuple(None if bound is None else bound.ms for bound in expr.bounds)
    return Related(expr.op.value, sides[0].index, sides[1].index, bounds_ms)


def _check_bounds(expr: Relation, scope: Scope) -> bool:
    allowed = _BOUNDS.get(expr.op, _TOLERANCE)
    bounds = expr.bounds
    if len(bounds) not in allowed:
        most = "one bound" if allowed == _TOLERANCE else f"{' or '.join(str(n) for n in allowed[1:])} bounds"
        scope.report.error(f"`{expr.op}` takes at most {most}, not {len(bounds)}", expr.span)
        return False
    if expr.op not in _DISTANCES:
        negative = [bound for bound in bounds if bound is not None and bound.ms < 0]
        if negative:
            message = f"a bound of `{expr.op}` is a length of time, which cannot be negative"
            scope.report.error(message, negative[0].span)
        return not negative
    match bounds:
        case (low, high) if low is not None and high is not None and low.ms > high.ms:
            message = f"nothing lies between {scope.snippet(low)} and {scope.snippet(high)}"
            scope.report.error(message, low.span, "the smaller bound comes first")
            return False
    return True
