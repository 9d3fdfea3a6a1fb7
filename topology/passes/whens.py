"""Conditions over facts and events: `when fact … event … , …`."""

from dataclasses import replace

from tocsin.topology import sources
from tocsin.topology.elaborate import truth
from tocsin.topology.model import Compilation, Constituent, Part, Rule
from tocsin.topology.passes.certainty import note_certain
from tocsin.topology.passes.conditions import type_conditions
from tocsin.topology.passes.leaves import add_leaf, check_role, fact_type
from tocsin.topology.scopes import Scope
from tocsin.topology.terms import Term, conjuncts, constituents
from tocsin.topology.tree import (
    ChangeCondition,
    Constraint,
    EventCondition,
    Expr,
    FactCondition,
    Modified,
    Name,
    Occurrence,
    When,
)
from tocsin.topology.types import Kind, Type


def type_whens(compilation: Compilation) -> None:
    """Fill constituents, parameters and source of every rule with conditions over facts and events."""
    for rule in compilation.rules:
        if isinstance(rule.written, When):
            with compilation.judging(rule):
                _WhenTyping(rule, rule.written, compilation).run()


class _WhenTyping:
    """The typing of one `when`."""

    def __init__(self, rule: Rule, when: When, compilation: Compilation) -> None:
        self._rule = rule
        self._when = when
        self._compilation = compilation
        self._report = compilation.report
        self._roles = frozenset(name.text for item in when.items for name in _names(item))

    def run(self) -> None:
        """Fill the rule; constraints come last, for they may name anything."""
        conditions = [self._condition(item) for item in self._when.items if not isinstance(item, Constraint)]
        constraints = [
            (term, item.span)
            for item in self._when.items
            if isinstance(item, Constraint)
            for term in self._constraint(item.expr)
        ]
        self._rule.source = sources.When(
            tuple(conditions),
            tuple(term for term, _ in constraints),
            tuple(span for _, span in constraints),
        )
        if not any(c.part is Part.TAKEN for c in self._rule.constituents):
            message = "a rule needs a fact or an event that is there"
            self._report.error(message, self._when.span, "absence alone holds at all times")

    def _condition(
        self, item: FactCondition | EventCondition | ChangeCondition
    ) -> sources.Held | sources.Changed:
        match item:
            case FactCondition():
                part = Part.ABSENT if item.negated else Part.TAKEN
                constituent = self._fact(item.occurrence, part)
                return sources.Held(constituent.index, event=False, negated=item.negated)
            case EventCondition():
                part = Part.ABSENT if item.negated else Part.TAKEN
                free = check_role(_role(item.occurrence), self._rule, self._compilation)
                constituent = add_leaf(item.occurrence, part, self._rule, self._compilation)
                constituent.sound = constituent.sound and free
                if constituent.occurrence is not None:
                    self._type(constituent, constituent.occurrence.conditions)
                return sources.Held(constituent.index, event=True, negated=item.negated)
            case ChangeCondition():
                return self._changed(item)

    def _fact(self, occurrence: Occurrence, part: Part) -> Constituent:
        free = check_role(occurrence.alias or occurrence.event, self._rule, self._compilation)
        type_ = fact_type(occurrence.event, self._compilation)
        constituent = self._add(occurrence.role, type_, part, occurrence)
        constituent.sound = free
        self._type(constituent, occurrence.conditions)
        return constituent

    def _changed(self, item: ChangeCondition) -> sources.Changed:
        """Add the fact before and after, and the event; the conditions of each state are on its own."""
        for name in (item.fact, item.alias):
            if name is not None:
                check_role(name, self._rule, self._compilation)
        type_ = fact_type(item.type, self._compilation)
        change = replace(type_, kind=Kind.CHANGE)
        written = Occurrence(item.type, span=item.span)
        before = self._add("before", type_, Part.MEASURED, replace(written, alias=Name("before")))
        after = self._add(item.fact.text if item.fact else type_.name, type_, Part.TAKEN, written)
        event = self._add(item.alias.text if item.alias else "change", change, Part.TAKEN, written)
        event.named = item.alias is not None
        self._type(before, item.before, lasting=True)
        self._type(after, item.after)
        return sources.Changed(before.index, after.index, event.index)

    def _add(self, role: str, type_: Type, part: Part, occurrence: Occurrence) -> Constituent:
        index = len(self._rule.constituents)
        constituent = Constituent(index, role, type_, part, occurrence, span=occurrence.span)
        self._rule.constituents.append(constituent)
        return constituent

    def _type(self, constituent: Constituent, conditions: tuple[Expr, ...], *, lasting: bool = False) -> None:
        """Type conditions; parameters of what a fact was are good for all that follows (`lasting`)."""
        visible = [c for c in self._rule.taken() if c.index < constituent.index]
        part = constituent.part
        constituent.part = Part.TAKEN if lasting else part
        others = self._roles - {c.role for c in visible}
        scope = Scope(
            self._compilation, self._rule, tuple(visible), constituent, others=others, aggregating=False
        )
        type_conditions(constituent, conditions, scope)
        constituent.part = part

    def _constraint(self, expr: Expr) -> tuple[Term, ...]:
        """Return the terms of a constraint; one on what must not be there belongs to its conditions."""
        named = tuple(c for c in self._rule.constituents if c.part is not Part.MEASURED)
        term = truth(expr, Scope(self._compilation, self._rule, named, aggregating=False))
        if term is None:
            return ()
        absent = [i for i in constituents(term) if self._rule.constituents[i].part is Part.ABSENT]
        if not absent:
            note_certain(term, self._rule)
            return conjuncts(term)
        if len(absent) > 1:
            roles = " and ".join(f"`{self._rule.constituents[i].role}`" for i in sorted(absent))
            message = f"neither of {roles} is there, so they cannot be compared"
            self._report.error(message, expr.span)
        self._rule.constituents[absent[0]].conditions += conjuncts(term)
        return ()


def _role(written: Occurrence | Modified) -> Name:
    occurrence = written.operand if isinstance(written, Modified) else written
    assert isinstance(occurrence, Occurrence)
    return occurrence.alias or occurrence.event


def _names(item: FactCondition | EventCondition | ChangeCondition | Constraint) -> list[Name]:
    """Return the roles that a condition introduces."""
    match item:
        case FactCondition() | EventCondition():
            return [_role(item.occurrence)]
        case ChangeCondition():
            return [name for name in (item.fact, item.alias) if name is not None]
        case Constraint():
            return []
