"""Certainty: what a condition proves to be there, because a comparison with what is absent never holds."""

from collections.abc import Iterator
from dataclasses import replace

from tocsin.topology.model import Constituent, Rule
from tocsin.topology.terms import Apply, Computed, Field, Term, conjuncts

_STRICT = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "div", "mod", "neg", "cast"})


def note_own(condition: Term, constituent: Constituent) -> None:
    """Note which attributes a constituent has if it is there at all."""
    for conjunct in conjuncts(condition):
        for term in _proved(conjunct):
            if isinstance(term, Field) and term.constituent == constituent.index:
                constituent.present.add(term.field)


def note_certain(condition: Term, rule: Rule) -> None:
    """Note which attributes and aggregates have a value in every occurrence of a rule."""
    for conjunct in conjuncts(condition):
        for term in _proved(conjunct):
            if isinstance(term, Field):
                rule.certain |= {(term.constituent, term.field), (term.constituent, None)}
            else:
                _prove_aggregate(term, rule)


def _prove_aggregate(term: Computed, rule: Rule) -> None:
    for parameter in rule.parameters.values():
        if isinstance(parameter.value, Computed) and parameter.value.aggregate == term.aggregate:
            parameter.value = replace(parameter.value, optional=False)


def _proved(term: Term) -> Iterator[Field | Computed]:
    match term:
        case Field() | Computed():
            yield term
        case Apply(op="not", args=(Apply(op="is_null", args=(Field() | Computed() as operand,)),)):
            yield operand
        case Apply(op="in", args=(operand, *_)):
            yield from _proved(operand)
        case Apply(op=op) if op in _STRICT:
            for arg in term.args:
                yield from _proved(arg)
