"""The meaning of expressions, with null: what conditions, assignments and constraints come to.

A comparison with null is false, `!=` too; arithmetic with null is null. Logic has two values: what is null is
not true, so `not` of it holds.
"""

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tests.oracle import relations
from tests.oracle.aggregates import aggregate
from tests.oracle.history import Occurrence, Value
from tocsin.topology import tree
from tocsin.topology.tree import COMPARISONS, BinaryOp, JunctionOp, UnaryOp

REMEMBERED = 2000
"""Of how many expressions it is remembered what they speak of."""

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

AGGREGATES = frozenset(
    {"count", "sum", "avg", "min", "max", "stddev", "distinct", "first", "last", "percentile", "list"}
)
MOMENTS = frozenset({"timeof", "startof"})


@dataclass(frozen=True, slots=True)
class Scope:
    """What names mean: the event whose conditions these are, roles, parameters, the element before."""

    own: Occurrence | None = None
    roles: Mapping[str, tuple[Occurrence, ...]] = field(default_factory=dict)
    parameters: Mapping[str, Value] = field(default_factory=dict)
    previous: Occurrence | None = None

    def of(self, own: Occurrence) -> "Scope":
        """The scope of an event's own conditions."""
        return replace(self, own=own)

    def player(self, role: str) -> Occurrence | None:
        """The occurrence in that role: the latest, where it collected several; None where it is not bound."""
        if role == "this":
            return self.own
        if role == "previous":
            return self.previous
        players = self.roles.get(role, ())
        return players[-1] if players else None


def holds(expr: tree.Expr | None, scope: Scope) -> bool:
    """Whether a condition is true; what is null is not, and what was not written is."""
    return expr is None or evaluate(expr, scope) is True


def evaluate(expr: tree.Expr, scope: Scope) -> Value:  # noqa: C901, PLR0911, PLR0912 (one case a kind)
    """The value of an expression."""
    match expr:
        case tree.Literal(value=value):
            return value
        case tree.Duration():
            return expr.ms
        case tree.Parameter(name=name):
            return scope.parameters.get(name)
        case tree.Reference(of=None, attribute=attribute):
            return scope.own.attributes.get(attribute.text) if scope.own else None
        case tree.Reference(of=tree.Name(text=role), attribute=attribute):
            player = scope.player(role)
            return player.attributes.get(attribute.text) if player else None
        case tree.Unary(op=UnaryOp.NOT, operand=operand):
            return evaluate(operand, scope) is not True
        case tree.Unary(op=UnaryOp.NEG, operand=operand):
            value = evaluate(operand, scope)
            return None if value is None else bounded(-value)
        case tree.Binary(op=op, left=left, right=right) if op in COMPARISONS:
            return compare(op, evaluate(left, scope), evaluate(right, scope))
        case tree.Binary(op=op, left=left, right=right):
            return calculate(op, evaluate(left, scope), evaluate(right, scope))
        case tree.Junction(op=JunctionOp.AND, operands=operands):
            return all(evaluate(operand, scope) is True for operand in operands)
        case tree.Junction(op=JunctionOp.OR, operands=operands):
            return any(evaluate(operand, scope) is True for operand in operands)
        case tree.IsNull(operand=operand, negated=negated):
            return (evaluate(operand, scope) is None) is not negated
        case tree.OneOf(operand=operand, options=options):
            value = evaluate(operand, scope)
            return any(compare(BinaryOp.EQ, value, option.value) for option in options)
        case tree.Call(function=function, arguments=arguments):
            return call(function.text, arguments, scope)
        case tree.Relation(left=left, right=right):
            one, other = scope.player(left.text), scope.player(right.text)
            return one is not None and other is not None and relations.holds(expr, one, other)
        case _:
            raise AssertionError(expr)


def compare(op: BinaryOp, left: Value, right: Value) -> bool:
    """What is null, or not a number, is neither equal nor unequal nor ordered to anything.

    Numbers compare by value, whatever their types; a boolean is no number.
    """
    if any(value is None or (isinstance(value, float) and math.isnan(value)) for value in (left, right)):
        return False
    if isinstance(left, bool) is not isinstance(right, bool):
        return op is BinaryOp.NE
    return ORDERINGS[op](left, right)


ORDERINGS: dict[BinaryOp, Callable[[Value, Value], bool]] = {
    BinaryOp.EQ: operator.eq,
    BinaryOp.NE: operator.ne,
    BinaryOp.LT: operator.lt,
    BinaryOp.LE: operator.le,
    BinaryOp.GT: operator.gt,
    BinaryOp.GE: operator.ge,
}


def calculate(op: BinaryOp, left: Value, right: Value) -> Value:  # noqa: PLR0911 (one case an operator)
    """Arithmetic: whole numbers with 64 bits, where division truncates and what has no result is null.

    Real numbers as IEEE 754 says.
    """
    if left is None or right is None:
        return None
    whole = isinstance(left, int) and isinstance(right, int)
    match op:
        case BinaryOp.ADD:
            return bounded(left + right)
        case BinaryOp.SUB:
            return bounded(left - right)
        case BinaryOp.MUL:
            return bounded(left * right)
        case BinaryOp.DIV if whole:
            return bounded(truncated(left, right)) if right else None
        case BinaryOp.MOD if whole:
            return left - truncated(left, right) * right if right else None
        case BinaryOp.DIV if right == 0:
            no_sign = left == 0 or math.isnan(left)
            return math.nan if no_sign else math.copysign(math.inf, left) * math.copysign(1, right)
        case BinaryOp.DIV:
            return left / right
        case BinaryOp.MOD:
            return math.nan if math.isinf(left) or right == 0 else math.fmod(left, right)
        case _:
            raise AssertionError(op)


def truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def bounded(value: Value) -> Value:
    """A whole number that does not fit into 64 bits is null."""
    return None if isinstance(value, int) and not LONG_MIN <= value <= LONG_MAX else value


# --- functions ----------------------------------------------------------------------------------------------


def call(function: str, arguments: Sequence[tree.Expr], scope: Scope) -> Value:
    """A function of a role, of what a role collected, or of values (of null it is null)."""
    if function in MOMENTS:
        player = scope.player(named_role(arguments[0]))
        return None if player is None else player.time if function == "timeof" else player.start
    if function in AGGREGATES:
        percentage = evaluate(arguments[1], scope) if len(arguments) > 1 else None
        return aggregate(function, collected(arguments[0], scope), percentage)
    values = [evaluate(argument, scope) for argument in arguments]
    if function == "coalesce":
        return next((value for value in values if value is not None), None)
    return None if None in values else FUNCTIONS[function](*values)


def named_role(argument: tree.Expr) -> str:
    """The role in `timeof(c)`, `count(x)`."""
    assert isinstance(argument, tree.Reference)
    assert argument.of is None
    return argument.attribute.text


def collected(argument: tree.Expr, scope: Scope) -> list[Value]:
    """What a role collected, in order: the values of `x.v`, or for `x` alone the occurrences."""
    assert isinstance(argument, tree.Reference)
    if argument.of is None:
        return list(scope.roles.get(argument.attribute.text, ()))
    attribute = argument.attribute.text
    return [player.attributes.get(attribute) for player in scope.roles.get(argument.of.text, ())]


def nearest(value: float) -> float:
    """Halves are rounded away from zero."""
    return value if isinstance(value, int) else math.copysign(math.floor(abs(value) + 0.5), value)


FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": lambda value: bounded(abs(value)),
    "round": nearest,
    "floor": lambda value: value if isinstance(value, int) else float(math.floor(value)),
    "ceil": lambda value: value if isinstance(value, int) else float(math.ceil(value)),
    "sqrt": lambda value: math.sqrt(value) if value >= 0 else math.nan,
    "length": len,
    "lower": str.lower,
    "upper": str.upper,
    "contains": lambda text, part: part in text,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
}


# --- what an expression speaks of ---------------------------------------------------------------------------


def parts(expr: tree.Expr) -> Iterator[tree.Expr]:
    """The expression and everything in it."""
    yield expr
    for child in expr.children:
        yield from parts(child)


def mentions(expr: tree.Expr) -> frozenset[str]:
    """The parameters (`$p`) and roles (`t`) an expression speaks of, its own event not included."""
    known = _mentioned.get(id(expr))
    if known is None:
        if len(_mentioned) >= REMEMBERED:
            _mentioned.clear()
        known = _mentioned[id(expr)] = expr, _mentions(expr)
    return known[1]


_mentioned: dict[int, tuple[tree.Expr, frozenset[str]]] = {}
"""What was asked for lately, by expression, each of which it keeps alive."""


def _mentions(expr: tree.Expr) -> frozenset[str]:
    names: set[str] = set()
    for part in parts(expr):
        match part:
            case tree.Parameter(name=name):
                names.add(f"${name}")
            case tree.Reference(of=tree.Name(text=role)):
                names.add(role)
            case tree.Relation(left=left, right=right):
                names |= {left.text, right.text}
            case tree.Call(function=function, arguments=(tree.Reference(of=None) as role, *_)) if (
                function.text in AGGREGATES | MOMENTS
            ):
                names.add(role.attribute.text)
    return frozenset(names - {"this", "previous"})
