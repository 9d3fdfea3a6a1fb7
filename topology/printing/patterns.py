"""Patterns: the terminator, and each item on a line of its own."""

from tocsin.topology.parsing.expressions import NOT
from tocsin.topology.printing.events import event
from tocsin.topology.printing.expressions import print_duration, print_expression
from tocsin.topology.printing.layout import Piece, Row, Trailed
from tocsin.topology.tree import (
    Aggregated,
    Ahead,
    Backward,
    Between,
    Bounded,
    Condition,
    Negated,
    Pattern,
    PatternItem,
    Selected,
)


def pattern(pattern: Pattern, before: str, indent: int) -> str:
    """Return a pattern behind what stands before it."""
    lines = [event(pattern.terminator).lay(before, indent)]
    lines += [_item(item).lay("  and  ", indent) for item in pattern.items]
    return "\n".join(lines)


def _item(item: PatternItem) -> Piece:
    match item:
        case Selected():
            count = f"{item.count} " if item.count > 1 else ""
            selected = Row(Piece(f"{count}{item.selection} "), event(item.occurrence))
            return Trailed(selected, _backward(item))
        case Bounded():
            return Piece(f"{item.role} {_backward(item)}")
        case Negated():
            return Trailed(Row(Piece("not "), event(item.occurrence)), _range(item.range))
        case Aggregated():
            return Trailed(_aggregate(item), _range(item.range))
        case Condition():
            return Piece(print_expression(item.expr, NOT))


def _aggregate(item: Aggregated) -> Piece:
    limit = "" if item.limit is None else f"{item.limit} last "
    attribute = f".{item.attribute}" if item.attribute else ""
    argument = "" if item.argument is None else f", {item.argument!r}"
    return Row(
        Piece(f"${item.parameter} = {item.function}({limit}"),
        event(item.occurrence),
        Piece(f"{attribute}{argument})"),
    )


def _range(when: Between | Backward | Ahead) -> str:
    match when:
        case Between():
            return f"between {when.first} and {when.last}"
        case Backward():
            return _backward(when)
        case Ahead():
            return f"within {print_duration(when.within)} after {when.anchor}"


def _backward(bound: Selected | Bounded | Backward) -> str:
    if bound.within is None:
        return f"before {bound.anchor}"
    return f"within {print_duration(bound.within)} from {bound.anchor}"
