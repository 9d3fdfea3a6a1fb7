"""The one true layout: tree to text, such that reading it back gives the same tree."""

from collections.abc import Iterable, Sequence

from tocsin.topology.parsing.expressions import BINARY_POWER, JUNCTION_POWER, NEGATION, NOT
from tocsin.topology.tree import (
    COMPARISONS,
    Attribute,
    Binary,
    Declaration,
    Define,
    Duration,
    Event,
    Expr,
    Junction,
    Literal,
    Occurrence,
    Parameter,
    PatternItem,
    Program,
    Reference,
    Unary,
    UnaryOp,
    Unit,
)

_WIDTH = 100  # including the `;` that may follow
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


def print_tree(node: Declaration | Program) -> str:
    """Return the canonical text of a declaration, or of a file with all its comments."""
    if isinstance(node, Event):
        return _event(node)
    return _define(node) if isinstance(node, Define) else _program(node)


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


def _expression(expr: Expr) -> tuple[str, int]:  # noqa: PLR0911 (one case a kind)
    match expr:
        case Literal():
            return _literal(expr)
        case Duration():
            return print_duration(expr), _ATOM
        case Parameter():
            return f"${expr.name}", _ATOM
        case Reference():
            return f"{expr.of}.{expr.attribute}" if expr.of else str(expr.attribute), _ATOM
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
        case _:
            raise TypeError(expr)


def _literal(literal: Literal) -> tuple[str, int]:
    value = literal.value
    if isinstance(value, bool):
        return ("true" if value else "false"), _ATOM
    if isinstance(value, str):
        return _string(value), _ATOM
    text = repr(value)
    return text, NEGATION if text.startswith("-") else _ATOM


def _string(value: str) -> str:
    return f'"{"".join(_character(char) for char in value)}"'


def _character(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() or ord(char) > _LAST_OF_BMP else f"\\u{ord(char):04x}"


def _program(program: Program) -> str:
    blocks: list[str] = []
    previous: Declaration | None = None
    for declaration in program.declarations:
        above = list(declaration.trivia.above)
        spaced = isinstance(declaration, Define) or isinstance(previous, Define) or above[:1] == [""]
        while above[:1] == [""]:
            above.pop(0)
        if previous is not None and spaced:
            blocks.append("")
        blocks += above
        behind = declaration.trivia.behind
        blocks.append(f"{declaration}  {behind}" if behind else str(declaration))
        previous = declaration
    rest = list(program.comments)
    while rest[-1:] == [""]:
        rest.pop()
    if not blocks:
        rest = rest[1:] if rest[:1] == [""] else rest
    return "".join(f"{line}\n" for line in (*blocks, *rest))


def _event(event: Event) -> str:
    clauses = [f"on {_string(event.topic.name)}"]
    clauses += [f"key {event.key}"] if event.key else []
    clauses += [f"time {event.time}"] if event.time else []
    clauses += [f"lateness {print_duration(event.lateness)}"] if event.lateness else []
    clauses += [f"idle {print_duration(event.idle)}"] if event.idle else []
    return _list(f"event {event.name} ", _attributes(event.attributes), "", f"{' '.join(clauses)};", indent=2)


def _define(define: Define) -> str:
    head = f"define {define.name}"
    lines = [
        _list(f"{head} ", _attributes(define.attributes), "", "", indent=2) if define.attributes else head
    ]
    lines.append(_occurrence("from   ", define.pattern.terminator, ""))
    lines += [_item(item) for item in define.pattern.items]
    if define.assignments:
        values = [f"{a.attribute} = {print_expression(a.value)}" for a in define.assignments]
        flat = f"where  {', '.join(values)}"
        lines.append(flat if len(flat) < _WIDTH else "where  " + ",\n       ".join(values))
    return "\n".join(lines) + ";"


def _item(item: PatternItem) -> str:
    bound = f"within {print_duration(item.within)} from {item.anchor}"
    return _occurrence(f"  and  {item.selection} ", item.occurrence, bound)


def _occurrence(lead: str, occurrence: Occurrence, bound: str) -> str:
    alias = f" as {occurrence.alias}" if occurrence.alias else ""
    conditions = [print_expression(condition) for condition in occurrence.conditions]
    return _list(f"{lead}{occurrence.event}", conditions, alias, bound, indent=7)


def _attributes(attributes: Iterable[Attribute]) -> list[str]:
    return [f"{a.name}: {a.type}{'?' if a.optional else ''}" for a in attributes]


def _list(before: str, parts: Sequence[str], after: str, rest: str, *, indent: int) -> str:
    """Return a parenthesised list and the rest on one line if they fit.

    Else the rest goes to the next line; and if that is not enough, every part goes to its own.
    """
    flat = f"{before}({', '.join(parts)}){after}"
    tail = f" {rest}" if rest else ""
    if len(flat + tail) < _WIDTH:
        return flat + tail
    margin = "\n" + " " * indent
    if len(flat) < _WIDTH or not parts:
        return f"{flat}{margin}{rest}" if rest else flat
    return f"{before}({margin}  {f',{margin}  '.join(parts)}{margin}){after}{tail}"
