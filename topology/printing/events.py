"""Constituents, and the event algebra."""

from collections.abc import Iterator

from tocsin.topology.parsing.events import AND, MODIFIED, OR, PLUS, SEQ, WITHIN
from tocsin.topology.parsing.occurrences import WEEKDAYS
from tocsin.topology.printing.expressions import print_duration, print_expression, print_string
from tocsin.topology.printing.layout import Chain, Listed, Piece, Row, Trailed
from tocsin.topology.tree import (
    And,
    AnyOf,
    Aperiodic,
    EventExpr,
    Expr,
    Modified,
    Name,
    Not,
    Occurrence,
    Or,
    Pair,
    Periodic,
    Plus,
    Seq,
    TimeField,
    Timer,
    TimeValue,
    Within,
)

_PRIMARY = MODIFIED + 1
_PAIRS: dict[type[Pair], tuple[str, int]] = {Seq: (";", SEQ), Or: ("or", OR), And: ("and", AND)}


def event(expr: EventExpr, power: int = 0, *, root: bool = False) -> Piece:
    """Return an event expression, in parentheses if it binds less tightly than `power`.

    What is joined by one operator and part of another is set in parentheses even where it need not be.
    """
    piece, own = _event(expr, root=root)
    return Listed([piece]) if own < power else piece


def occurrence(occurrence: Occurrence) -> Piece:
    """Return `Temp(area = $a) as t`."""
    group = "" if occurrence.group is None else f"[{occurrence.group}]"
    return Row(
        Piece(f"{occurrence.event}{group}"), conditions(occurrence.conditions), Piece(alias(occurrence.alias))
    )


def conditions(exprs: tuple[Expr, ...]) -> Piece:
    """Return conditions in parentheses, or nothing if there are none."""
    return Listed([Piece(print_expression(expr)) for expr in exprs]) if exprs else Piece("")


def alias(name: Name | None) -> str:
    """Return ` as t`, or nothing."""
    return f" as {name}" if name else ""


def _event(expr: EventExpr, *, root: bool) -> tuple[Piece, int]:
    match expr:
        case Within():
            bound = f"within {print_duration(expr.duration)}"
            return Trailed(event(expr.operand, WITHIN, root=root), bound), WITHIN
        case Seq() | Or() | And():
            word, power = _PAIRS[type(expr)]
            return Chain(word, list(_operands(expr)), hanging=root), power
        case Plus():
            delay = f" + {print_duration(expr.delay)}{alias(expr.alias)}"
            return Row(event(expr.operand, PLUS), Piece(delay)), PLUS
        case Modified():
            return Row(Piece(f"{expr.modifier} "), event(expr.operand, MODIFIED)), MODIFIED
        case Occurrence():
            return occurrence(expr), _PRIMARY
        case _:
            return _primary(expr), _PRIMARY


def _operands(pair: Pair) -> Iterator[Piece]:
    if type(pair.left) is type(pair):
        yield from _operands(pair.left)
    else:
        yield event(pair.left, PLUS)
    yield event(pair.right, PLUS)


def _primary(expr: EventExpr) -> Piece:
    match expr:
        case Timer():
            zone = f" zone {print_string(expr.zone)}" if expr.zone is not None else ""
            fields = Listed([Piece(_time_value(value)) for value in expr.fields])
            return Row(Piece("Timer"), fields, Piece(f"{zone}{alias(expr.alias)}"))
        case AnyOf(star=True):
            starred = Row(event(expr.choices[0], _PRIMARY), Piece("*"))
            return Row(Piece("any"), Listed([Piece(str(expr.count)), starred]))
        case AnyOf():
            return Row(Piece("any"), Listed([Piece(str(expr.count)), *map(event, expr.choices)]))
        case Aperiodic():
            word = "aperiodic*" if expr.star else "aperiodic"
            return Row(Piece(word), Listed([event(expr.first), event(expr.middle), event(expr.last)]))
        case Periodic():
            word = "periodic*" if expr.star else "periodic"
            parts = [event(expr.first), _period(expr), event(expr.last)]
            return Row(Piece(word), Listed(parts), Piece(alias(expr.alias)))
        case Not():
            between = Listed([event(expr.first), event(expr.last)], "[]")
            return Row(Piece("not"), Listed([event(expr.absent)]), between)
        case _:
            raise TypeError(expr)


def _period(periodic: Periodic) -> Piece:
    every = print_duration(periodic.every)
    if periodic.collect is None:
        return Piece(every)
    collected = periodic.collect
    return Row(Piece(f"{every} collect "), occurrence(collected.occurrence), Piece(f".{collected.attribute}"))


def _time_value(value: TimeValue) -> str:
    if value.value is None:
        return f"{value.field} = *"
    if value.field is TimeField.WEEKDAY:
        return f"{value.field} = {WEEKDAYS[value.value - 1]}"
    return f"{value.field} = {value.value}"
