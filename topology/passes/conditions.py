"""The conditions of every constituent: parameters are bound, everything is typed."""

from collections.abc import Iterator

from tocsin.topology.elaborate import Scope, truth
from tocsin.topology.model import Compilation, Constituent, Rule
from tocsin.topology.terms import conjuncts
from tocsin.topology.tree import Binary, BinaryOp, Expr, Junction, JunctionOp, Parameter, Reference


def type_conditions(compilation: Compilation) -> None:
    """Fill the conditions of every constituent, and the parameters of every rule."""
    doubtful = frozenset(compilation.doubtful)
    for rule in compilation.rules:
        for constituent in rule.constituents:
            _type(constituent, Scope(rule, doubtful, compilation.report, constituent))


def _type(constituent: Constituent, scope: Scope) -> None:
    parts = [part for condition in constituent.occurrence.conditions for part in _conjuncts(condition)]
    # Bindings first, so that the order of conditions within one constituent does not matter.
    rest = [part for part in parts if not _bind(part, constituent, scope)]
    for part in rest:
        term = truth(part, scope)
        if term is None:
            constituent.sound = False
        else:
            constituent.conditions += conjuncts(term)


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Junction) and expr.op is JunctionOp.AND:
        for operand in expr.operands:
            yield from _conjuncts(operand)
    else:
        yield expr


def _bind(part: Expr, constituent: Constituent, scope: Scope) -> bool:
    """Bind a parameter that has no value yet, if that is what the condition does."""
    pair = _binding(part, scope.rule)
    if pair is None:
        return False
    reference, parameter = pair
    field = scope.attribute(constituent, reference.attribute)
    if field is not None and not field.optional:
        scope.rule.parameters[parameter.name] = field
        return True
    constituent.sound = False
    scope.rule.lost.add(parameter.name)
    if field is not None:
        scope.report.error(
            f"`{reference.attribute}` may be absent, so it cannot give `${parameter.name}` its value",
            part.span,
            f"compare with `{constituent.role}.{reference.attribute}` where you need it",
        )
    return True


def _binding(part: Expr, rule: Rule) -> tuple[Reference, Parameter] | None:
    match part:
        case Binary(BinaryOp.EQ, Reference(of=None) as reference, Parameter() as parameter):
            pass
        case Binary(BinaryOp.EQ, Parameter() as parameter, Reference(of=None) as reference):
            pass
        case _:
            return None
    return None if parameter.name in rule.parameters else (reference, parameter)
