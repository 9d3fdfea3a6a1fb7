"""The `if` of every definition and rule: a condition on whole occurrences."""

from tocsin.topology.elaborate import truth
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.passes.certainty import note_certain
from tocsin.topology.scopes import Scope


def type_filters(compilation: Compilation) -> None:
    """Fill the condition of every rule."""
    for rule in compilation.rules:
        if rule.declaration.condition is not None:
            with compilation.judging(rule):
                rule.condition = truth(rule.declaration.condition, outcome_scope(rule, compilation))
                if rule.condition is not None:
                    note_certain(rule.condition, rule)


def outcome_scope(rule: Rule, compilation: Compilation) -> Scope:
    """Return what can be named of a whole occurrence."""
    return Scope(compilation, rule, tuple(rule.taken()))
