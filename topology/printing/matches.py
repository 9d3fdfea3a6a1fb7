"""Match expressions."""

from tocsin.topology.parsing.matches import ALTERNATIVES, AND, OR, POSTFIX, PREFIX, PRIMARY, THEN
from tocsin.topology.printing.events import alias, event
from tocsin.topology.printing.expressions import print_duration, print_expression
from tocsin.topology.printing.layout import Chain, Listed, Piece, Row, Trailed
from tocsin.topology.tree import (
    Absent,
    All,
    Alternatives,
    AtMost,
    Denied,
    Every,
    InTime,
    MatchExpr,
    Modified,
    Name,
    Occurrence,
    OneOfMatches,
    Repeat,
    Step,
    Take,
    Taking,
    Then,
    Wait,
    While,
)

_JOINTS = {Alternatives: ("|", ALTERNATIVES), OneOfMatches: ("or", OR), All: ("and", AND)}


def match_expression(expr: MatchExpr, power: int = 0, *, root: bool = False) -> Piece:
    """Return a match expression, in parentheses if it binds less tightly than `power`.

    What is joined by one operator and part of another is set in parentheses even where it need not be.
    """
    piece, own = _match(expr, root=root)
    return Listed([piece]) if own < power else piece


def _match(expr: MatchExpr, *, root: bool) -> tuple[Piece, int]:  # noqa: PLR0911 (one case a kind)
    match expr:
        case InTime() | While() | AtMost():
            return Trailed(match_expression(expr.operand, POSTFIX, root=root), _limit(expr)), POSTFIX
        case Then():
            return Chain("then", _steps(expr), hanging=root), THEN
        case Alternatives() | OneOfMatches() | All():
            word, power = _JOINTS[type(expr)]
            parts = [match_expression(part, PREFIX) for part in expr.parts]
            return Chain(word, parts, hanging=root), power
        case Denied() | Absent() | Every() | Taking():
            return _prefixed(expr), PREFIX
        case Repeat():
            return _repeat(expr), PREFIX if expr.until else PRIMARY
        case Step():
            return event(expr.occurrence), PRIMARY
        case Wait():
            return Piece(f"wait {print_duration(expr.duration)}{alias(expr.alias)}"), PRIMARY
        case _:
            raise TypeError(expr)


def _steps(then: Then) -> list[Piece]:
    left = _steps(then.left) if isinstance(then.left, Then) else [match_expression(then.left, PREFIX)]
    return [*left, match_expression(then.right, PREFIX)]


def _limit(expr: InTime | While | AtMost) -> str:
    match expr:
        case InTime():
            return f"within {print_duration(expr.duration)}{_since(expr.since)}"
        case While():
            return f"while {print_expression(expr.condition)}"
        case AtMost():
            return f"at most {expr.count}"


def _prefixed(expr: Denied | Absent | Every | Taking) -> Piece:
    # The time stands behind the innermost `not` that has none.
    operand = match_expression(expr.operand, PRIMARY if isinstance(expr, Absent) else PREFIX)
    match expr:
        case Denied():
            return Row(Piece("not "), operand)
        case Absent():
            time = f" for {print_duration(expr.duration)}{_since(expr.since)}"
            return Row(Piece("not "), operand, Piece(time))
        case Every():
            return Row(Piece("every "), operand)
        case Taking():
            return Row(Piece(f"{expr.take} "), operand)


def _repeat(repeat: Repeat) -> Piece:
    bounds = f"{repeat.low}"
    if repeat.high != repeat.low:
        bounds += "," if repeat.high is None else f",{repeat.high}"
    take = "" if repeat.take is Take.FIRST else f" {repeat.take}"
    condition = f" while {print_expression(repeat.condition)}" if repeat.condition else ""
    operand = match_expression(repeat.operand, PRIMARY if isinstance(repeat.operand, Step) else PRIMARY + 1)
    space = " " if isinstance(repeat.operand, Step) and _has_alias(repeat.operand) else ""
    parts = [operand, Piece(f"{space}{{{bounds}{take}{condition}}}")]
    if repeat.until:
        parts += [Piece(" until "), match_expression(repeat.until, PREFIX)]
    return Row(*parts)


def _has_alias(step: Step) -> bool:
    occurrence = step.occurrence.operand if isinstance(step.occurrence, Modified) else step.occurrence
    return isinstance(occurrence, Occurrence) and occurrence.alias is not None


def _since(name: Name | None) -> str:
    return f" from {name}" if name else ""
