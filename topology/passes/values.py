"""The `where` clause of every definition: each attribute gets one value of its type."""

from tocsin.topology.elaborate import Scope, elaborate
from tocsin.topology.errors import suggest
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.plan import PlanField
from tocsin.topology.terms import Const, Scalar, Term, widen
from tocsin.topology.tree import Assignment

_ACCEPTED = {
    Scalar.BOOLEAN: {Scalar.BOOLEAN},
    Scalar.INT: {Scalar.INT},
    Scalar.LONG: {Scalar.INT, Scalar.LONG, Scalar.TIMESTAMP},
    Scalar.FLOAT: {Scalar.FLOAT},
    Scalar.DOUBLE: {Scalar.INT, Scalar.LONG, Scalar.FLOAT, Scalar.DOUBLE},
    Scalar.STRING: {Scalar.STRING},
    Scalar.TIMESTAMP: {Scalar.TIMESTAMP},
}


def type_values(compilation: Compilation) -> None:
    """Fill the values of every rule, in the order of the attributes."""
    doubtful = frozenset(compilation.doubtful)
    for rule in compilation.rules:
        _type(rule, Scope(rule, doubtful, compilation.report))


def _type(rule: Rule, scope: Scope) -> None:
    given: set[str] = set()
    values: dict[str, Term] = {}
    for assignment in rule.define.assignments:
        name = assignment.attribute
        if name.text in given:
            scope.report.error(f"attribute `{name}` is given twice", name.span, "leave one of them out")
            continue
        given.add(name.text)
        term = _value(assignment, rule, scope)
        if term is not None:
            values[name.text] = term
    for attribute in rule.define.attributes:
        if attribute.name.text not in given:
            name = attribute.name
            scope.report.error(
                f"attribute `{name}` is given no value", name.span, f"add `{name} = …` to `where`"
            )
            given.add(name.text)
    rule.values = [values[field.name] for field in rule.output.fields if field.name in values]


def _value(assignment: Assignment, rule: Rule, scope: Scope) -> Term | None:
    name = assignment.attribute
    term = elaborate(assignment.value, scope)
    index = rule.output.index_of(name.text)
    if index is None:
        declared = [attribute.name.text for attribute in rule.define.attributes]
        if name.text not in declared:
            message = f"{rule.output.name} has no attribute `{name}`"
            scope.report.error(message, name.span, suggest(name.text, declared, "it has"))
        return None
    return None if term is None else _fit(term, rule.output.fields[index], assignment, scope)


def _fit(term: Term, field: PlanField, assignment: Assignment, scope: Scope) -> Term | None:
    """Return the term as a value of the attribute's type, if it is one."""
    text = scope.snippet(assignment.value)
    number = isinstance(term, Const) and term.scalar in {Scalar.INT, Scalar.LONG, Scalar.DOUBLE}
    if term.scalar not in _ACCEPTED[field.type] and not (number and field.type is Scalar.FLOAT):
        message = (
            f"attribute `{field.name}` is {field.type.described}, but `{text}` is {term.scalar.described}"
        )
        numbers = {term.scalar.wide, field.type.wide} <= {Scalar.LONG, Scalar.DOUBLE}
        hint = f"declare it as `{field.name}: {term.scalar}`" if numbers else None
        scope.report.error(message, assignment.value.span, hint)
        return None
    if term.optional and not field.optional:
        message = f"`{text}` may be absent, but attribute `{field.name}` must have a value"
        scope.report.error(message, assignment.value.span, f"declare it as `{field.name}: {field.type}?`")
        return None
    return widen(term, field.type.wide)
