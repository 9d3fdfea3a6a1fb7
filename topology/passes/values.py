"""The `where` clause of every definition: each attribute gets one value of its type."""

from collections.abc import Sequence

from tocsin.topology.elaborate import elaborate, fits_enum
from tocsin.topology.errors import suggest
from tocsin.topology.model import Compilation
from tocsin.topology.passes.filters import outcome_scope
from tocsin.topology.scopes import Scope
from tocsin.topology.terms import Const, Scalar, Term, described, widen
from tocsin.topology.tree import Assignment, Define
from tocsin.topology.types import Attribute, Type

_ACCEPTED = {
    Scalar.BOOLEAN: {Scalar.BOOLEAN},
    Scalar.INT: {Scalar.INT},
    Scalar.LONG: {Scalar.INT, Scalar.LONG, Scalar.TIMESTAMP},
    Scalar.FLOAT: {Scalar.FLOAT},
    Scalar.DOUBLE: {Scalar.INT, Scalar.LONG, Scalar.FLOAT, Scalar.DOUBLE},
    Scalar.STRING: {Scalar.STRING},
    Scalar.BYTES: {Scalar.BYTES},
    Scalar.TIMESTAMP: {Scalar.TIMESTAMP},
}


def type_values(compilation: Compilation) -> None:
    """Fill the values of every definition, in the order of the attributes."""
    for rule in compilation.rules:
        define = rule.declaration
        if not isinstance(define, Define) or rule.output is None:
            continue
        with compilation.judging(rule):
            scope = outcome_scope(rule, compilation)
            declared = [attribute.name.text for attribute in define.attributes]
            values, given = assigned(define.assignments, rule.output, declared, scope)
            for attribute in define.attributes:
                name = attribute.name
                if name.text not in given:
                    message = f"attribute `{name}` is given no value"
                    scope.report.error(message, name.span, f"add `{name} = …` to `where`")
                    given.add(name.text)
            rule.values = [values[own.name] for own in rule.output.attributes if own.name in values]


def assigned(
    assignments: Sequence[Assignment], type_: Type, declared: Sequence[str], scope: Scope
) -> tuple[dict[str, Term], set[str]]:
    """Return the values that assignments give to attributes of a type, and the attributes they name.

    `declared` are the attributes it was written with: one whose type is wrong is among them all the same.
    """
    given: set[str] = set()
    values: dict[str, Term] = {}
    for assignment in assignments:
        name = assignment.attribute
        if name.text in given:
            scope.report.error(f"attribute `{name}` is given twice", name.span, "leave one of them out")
            continue
        given.add(name.text)
        term = elaborate(assignment.value, scope)
        index = type_.index_of(name.text)
        if index is None:
            if name.text not in declared and type_.name not in scope.compilation.doubtful:
                message = f"{type_.name} has no attribute `{name}`"
                scope.report.error(message, name.span, suggest(name.text, declared, "it has"))
        elif term is not None:
            value = _fit(term, type_.attributes[index], assignment, scope)
            if value is not None:
                values[name.text] = value
    return values, given


def _fit(term: Term, attribute: Attribute, assignment: Assignment, scope: Scope) -> Term | None:
    """Return the term as a value of the attribute's type, if it is one."""
    expr = assignment.value
    text = scope.snippet(expr)
    if term.many is not attribute.many or not _accepted(term, attribute):
        message = f"attribute `{attribute.name}` is {attribute.described}, but `{text}` is {described(term)}"
        scope.report.error(message, expr.span, _hint(term, attribute))
        return None
    if attribute.enum is not None and not fits_enum(term, expr, attribute.enum.name, scope):
        return None
    if term.optional and not attribute.optional:
        message = f"`{text}` may be absent, but attribute `{attribute.name}` must have a value"
        other = f"declare it as `{attribute.name}: {attribute.type_text}?`"
        scope.report.error(
            message, expr.span, f"{other}, or give it another value for that case: `coalesce({text}, …)`"
        )
        return None
    return term if term.many else widen(term, attribute.scalar.wide)


def _accepted(term: Term, attribute: Attribute) -> bool:
    if attribute.many:
        return term.scalar is attribute.scalar
    number = isinstance(term, Const) and term.scalar in {Scalar.INT, Scalar.LONG, Scalar.DOUBLE}
    return term.scalar in _ACCEPTED[attribute.scalar] or (number and attribute.scalar is Scalar.FLOAT)


def _hint(term: Term, attribute: Attribute) -> str | None:
    numbers = {term.scalar.wide, attribute.scalar.wide} <= {Scalar.LONG, Scalar.DOUBLE}
    if attribute.many and not term.many:
        return "a list is what a role collected: `list(t.value)`"
    if term.many is attribute.many and not numbers:
        return None
    return f"declare it as `{attribute.name}: {term.enum or term.scalar}{'[]' * term.many}`"
