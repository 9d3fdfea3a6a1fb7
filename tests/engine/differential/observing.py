"""Programs that tell more than they say: which rules fired, and which facts there are in the end.

The engine writes complex events and published ones. So every rule publishes an event of its own when it
fires, and for every fact there is a rule that publishes it when it is asked, by an event behind all others.
"""

from dataclasses import replace
from functools import lru_cache

from tests.oracle.run import parse
from tocsin.topology import tree

FIRED = "_fired"
HELD = "_held"
ASKED = "asked"
"""The event that asks which facts there are; its topic is its name."""


@lru_cache(maxsize=8)
def parsed(text: str) -> tree.Program:
    """Return the tree of a program."""
    return parse(text)


def rules_of(program: tree.Program) -> list[tree.Rule]:
    """Return the rules of a program."""
    return [declaration for declaration in program.declarations if isinstance(declaration, tree.Rule)]


def facts_of(program: tree.Program) -> list[tree.Fact]:
    """Return the facts of a program."""
    return [declaration for declaration in program.declarations if isinstance(declaration, tree.Fact)]


@lru_cache(maxsize=8)
def observed(text: str) -> str:
    """Return the program in which every rule tells that it fired, and every fact can be asked for."""
    program = parsed(text)
    rules, facts = rules_of(program), facts_of(program)
    if not rules:
        return text
    declared = [tree.Event(tree.Name(rule.name.text + FIRED), ()) for rule in rules]
    declared += [tree.Event(tree.Name(fact.name.text + HELD), fact.attributes) for fact in facts]
    if facts:
        declared.append(tree.Event(tree.Name(ASKED), ()))
    changed = (_telling(d) if isinstance(d, tree.Rule) else d for d in program.declarations)
    return str(replace(program, declarations=(*declared, *changed, *map(_asking, facts))))


def _telling(rule: tree.Rule) -> tree.Rule:
    """Return the rule with the action that tells of it, and without what leads out of the engine."""
    inside = tuple(a for a in rule.actions if not isinstance(a, tree.Invoke | tree.Webhook))
    told = tree.Publish(tree.Name(rule.name.text + FIRED), ())
    return replace(rule, actions=(*inside, told), coupling=None)


def _asking(fact: tree.Fact) -> tree.Rule:
    """Return the rule that publishes every fact of a type when it is asked for."""
    role = tree.Name("held")
    values = tuple(
        tree.Assignment(attribute.name, tree.Reference(attribute.name, role)) for attribute in fact.attributes
    )
    conditions = (
        tree.FactCondition(tree.Occurrence(fact.name, alias=role)),
        tree.EventCondition(tree.Occurrence(tree.Name(ASKED))),
    )
    published = tree.Publish(tree.Name(fact.name.text + HELD), values)
    name = tree.Name(f"{fact.name}{HELD}_rule")
    return tree.Rule(name, tree.When(conditions), (published,), unbounded=True)
