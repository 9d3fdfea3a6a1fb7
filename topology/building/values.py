"""Values and conditions: Python's operators over attributes, parameters and roles."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from tocsin.topology import tree as ast
from tocsin.topology.building.names import BuildingError, Length, attribute_name, choice, duration, named_role
from tocsin.topology.printing.expressions import print_expression

_INTEGERS = range(-(2**63), 2**63)

RelationName = Literal[
    "after", "before", "meets", "metby", "overlaps", "overlappedby", "starts", "startedby",
    "during", "includes", "finishes", "finishedby", "coincides",
]  # fmt: skip


class _Operators:  # noqa: PLW1641 (what `==` does not decide has no hash)
    """What values and roles have in common: an operator gives a value, or a condition, of the language.

    `==` and `!=` compare in the rule, not in Python; `&`, `|` and `~` are `and`, `or` and `not`, and bind
    tighter than a comparison: write `(this.value > 45) & (this.area == a)`.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> "Value":  # type: ignore[override]
        return _binary(ast.BinaryOp.EQ, self, other)

    def __ne__(self, other: object) -> "Value":  # type: ignore[override]
        return _binary(ast.BinaryOp.NE, self, other)

    def __lt__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.LT, self, other)

    def __le__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.LE, self, other)

    def __gt__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.GT, self, other)

    def __ge__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.GE, self, other)

    def __add__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.ADD, self, other)

    def __radd__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.ADD, other, self)

    def __sub__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.SUB, self, other)

    def __rsub__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.SUB, other, self)

    def __mul__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.MUL, self, other)

    def __rmul__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.MUL, other, self)

    def __truediv__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.DIV, self, other)

    def __rtruediv__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.DIV, other, self)

    def __mod__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.MOD, self, other)

    def __rmod__(self, other: object) -> "Value":
        return _binary(ast.BinaryOp.MOD, other, self)

    def __neg__(self) -> "Value":
        return Value(ast.Unary(ast.UnaryOp.NEG, expression(self)))

    def __and__(self, other: object) -> "Value":
        return _junction(ast.JunctionOp.AND, self, other)

    def __or__(self, other: object) -> "Value":
        return _junction(ast.JunctionOp.OR, self, other)

    def __invert__(self) -> "Value":
        return Value(ast.Unary(ast.UnaryOp.NOT, expression(self)))

    def __bool__(self) -> bool:
        message = (
            "A condition of a rule is neither true nor false in Python: join conditions with `&`, `|` and "
            "`~` instead of `and`, `or` and `not`, use `.in_(…)` for `in`, and do not chain comparisons."
        )
        raise BuildingError(message)


@dataclass(frozen=True, slots=True, eq=False)
class Value(_Operators):
    """A value or a condition; `tree` is its expression.

    >>> str((this.value > 45) & this.state.in_("ONLINE", "ACTIVE"))
    'value > 45 and state in ("ONLINE", "ACTIVE")'
    """

    tree: ast.Expr

    def in_(self, *options: bool | float | str) -> "Value":
        """Return the condition that this is one of some literals."""
        if not options:
            raise BuildingError("`in_` needs at least one value to compare with.")
        return Value(ast.OneOf(self.tree, tuple(_literal(option) for option in options)))

    def is_null(self) -> "Value":
        """Return the condition that an optional value is missing."""
        return Value(ast.IsNull(self.tree))

    def is_not_null(self) -> "Value":
        """Return the condition that an optional value is there."""
        return Value(ast.IsNull(self.tree, negated=True))

    def __str__(self) -> str:
        return print_expression(self.tree)


class Role(_Operators):
    """The part that a constituent plays: `t.value` is an attribute of it, `t["value"]` the same.

    The role itself is a value where the language allows one: `fn.timeof(t)`, `this.alarm == a`.
    """

    __slots__ = ("_name",)

    def __init__(self, text: str) -> None:
        self._name = named_role(text)

    def __getattr__(self, attribute: str) -> Value:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return self[attribute]

    def __getitem__(self, attribute: str) -> Value:
        return Value(ast.Reference(attribute_name(attribute), of=None if self is this else self._name))

    def __str__(self) -> str:
        return self._name.text

    def __repr__(self) -> str:
        return f"role({self._name.text!r})"


RoleLike = Role | str
"""A role, or its name."""

Operand = Value | Role | bool | int | float | str | timedelta
"""What can stand in an expression: Python's own values become literals, a `timedelta` a duration."""

this = Role("this")
"""The event whose conditions are written: `this.value` is its attribute `value`."""

previous = Role("previous")
"""In the condition of a repetition, the element before: `previous.value`."""


def role(text: str) -> Role:
    """Return the role of that name.

    >>> str(role("t").value / 2)
    't.value / 2'
    """
    return Role(text)


def roles(texts: str) -> tuple[Role, ...]:
    """Return several roles at once, by their names: `"s t"` for two of them."""
    return tuple(Role(text) for text in texts.split())


def param(text: str) -> Value:
    """Return the parameter of that name, `$a` for `param("a")`."""
    return Value(ast.Parameter(attribute_name(text).text))


def params(texts: str) -> tuple[Value, ...]:
    """Return several parameters at once, by their names: `"x y"` for two of them."""
    return tuple(param(text) for text in texts.split())


class _Functions:
    """The functions of the language, as attributes.

    >>> str(fn.avg(role("t").value) > fn.abs(this.limit))
    'avg(t.value) > abs(limit)'
    """

    def __getattr__(self, function: str) -> Callable[..., Value]:
        if function.startswith("__"):
            raise AttributeError(function)

        def call(*arguments: Operand) -> Value:
            return Value(
                ast.Call(attribute_name(function), tuple(expression(argument) for argument in arguments))
            )

        return call


fn = _Functions()
"""`fn.round(x)`, `fn.timeof(c)`, `fn.percentile(t.value, 95)`: the functions of the language."""


def relation(left: RoleLike, op: RelationName, right: RoleLike, *bounds: Length | None) -> Value:
    """Return how two occurrences lie to each other in time; a bound of None is `*`.

    >>> str(relation("c", "after", "a", "1 s", "5 s"))
    'c after [1 s, 5 s] a'
    """
    lengths = tuple(None if bound is None else duration(bound, negative=True) for bound in bounds)
    found = choice(ast.RelationOp, op, "relation in time")
    return Value(ast.Relation(found, role_name(left), role_name(right), lengths))


def role_name(given: object) -> ast.Name:
    """Return the name of a role."""
    if isinstance(given, Role):
        return given._name  # noqa: SLF001 (every other attribute of a role is one of its event)
    if isinstance(given, str):
        return named_role(given)
    raise BuildingError(f'{given!r} is not a role: use role("t"), or its name "t".')


def expression(operand: object) -> ast.Expr:
    """Return what an operand is in the tree."""
    match operand:
        case Value():
            return operand.tree
        case Role():
            return ast.Reference(role_name(operand))
        case timedelta():
            return duration(operand, negative=True)
        case ast.Expr():
            return operand
        case _:
            return _literal(operand)


def _literal(value: object) -> ast.Literal:
    match value:
        case bool():
            return ast.Literal(value)
        case int() if value in _INTEGERS:
            return ast.Literal(int(value))
        case float() if math.isfinite(value):
            return ast.Literal(float(value))
        case str():
            return ast.Literal(str.__str__(value))  # of a member of an enumeration, its value
        case int() | float():
            raise BuildingError(f"{value!r} is beyond the numbers of the language.")
        case None:
            raise BuildingError("Nothing equals null: use `.is_null()` or `.is_not_null()`.")
        case _:
            message = (
                f"{value!r} cannot stand in a condition: use an attribute, a parameter or a plain value."
            )
            raise BuildingError(message)


def _binary(op: ast.BinaryOp, left: object, right: object) -> Value:
    return Value(ast.Binary(op, expression(left), expression(right)))


def _junction(op: ast.JunctionOp, left: object, right: object) -> Value:
    """Join conditions; `a & b & c` is one conjunction of three, as it is in a file."""
    first, second = expression(left), expression(right)
    joined = first.operands if isinstance(first, ast.Junction) and first.op is op else (first,)
    return Value(ast.Junction(op, (*joined, second)))
