"""Denials that wait for nothing: `A then not B within 5 s` comes true with the A, which is hardly meant."""

from tocsin.topology.model import Compilation
from tocsin.topology.printer import print_ms
from tocsin.topology.tree import (
    All,
    Alternatives,
    AtMost,
    Denied,
    InTime,
    Match,
    MatchExpr,
    OneOfMatches,
    Taking,
    Then,
    While,
)

_FAILING_WITH_IT = (Then, OneOfMatches, Alternatives, InTime, AtMost, While, Taking)
"""What can fail after it came true, because a part of it does."""


def warn_of_denials(compilation: Compilation) -> None:
    """Warn where a match goes on with a denial that nothing heeds once it has come true."""
    for rule in compilation.rules:
        if isinstance(rule.written, Match):
            _check(rule.written.expr, None, compilation, heeded=False)


def _check(expr: MatchExpr, limit_ms: int | None, compilation: Compilation, *, heeded: bool) -> None:
    if isinstance(expr, InTime):
        limit_ms = expr.duration.ms
    if isinstance(expr, Then) and not heeded:
        _check_end(expr.right, limit_ms, compilation)
    # An `and` fails with its parts, also when they came true before.
    heeded = isinstance(expr, All) or (heeded and isinstance(expr, _FAILING_WITH_IT))
    for operand in expr.operands:
        _check(operand, limit_ms, compilation, heeded=heeded)


def _check_end(expr: MatchExpr, limit_ms: int | None, compilation: Compilation) -> None:
    while isinstance(expr, InTime | While | AtMost):
        limit_ms = expr.duration.ms if isinstance(expr, InTime) else limit_ms
        expr = expr.operand
    if isinstance(expr, Denied):
        denied = " ".join(compilation.report.source[expr.span].split())
        length = "…" if limit_ms is None else print_ms(limit_ms)
        compilation.report.warn(
            f"`{denied}` comes true at once, and what comes later is not heeded",
            expr.span,
            f"write `{denied} for {length}` to wait so long, or `A and {denied}` for an A before any",
        )
