"""When rules run: coupling, priority, trigger mode, activation."""

from tocsin.topology.errors import suggest
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.tree import Coupling, Invoke, Name, TriggerMode, Webhook
from tocsin.topology.tree import Rule as RuleDeclaration
from tocsin.topology.types import Kind

_OUTSIDE = frozenset({Coupling.DETACHED, Coupling.DEPENDENT})
_IN_UNIT = frozenset({Coupling.DEFERRED, Coupling.DEPENDENT})


def couple_rules(compilation: Compilation) -> None:
    """Fill what the clauses about the running of rules say."""
    in_units = _in_units(compilation)
    for rule in compilation.rules:
        declaration = rule.declaration
        if isinstance(declaration, RuleDeclaration):
            with compilation.judging(rule):
                rule.active = not declaration.inactive
                _couple(rule, declaration, compilation, in_units)
                _set_priority(rule, declaration, compilation)
                _set_trigger(rule, declaration, compilation)


def _couple(rule: Rule, declaration: RuleDeclaration, compilation: Compilation, in_units: set[str]) -> None:
    outside = next((a for a in declaration.actions if isinstance(a, Invoke | Webhook)), None)
    if declaration.coupling is None:
        rule.coupling = Coupling.IMMEDIATE if outside is None else Coupling.DETACHED
        return
    rule.coupling = declaration.coupling
    if outside is not None and rule.coupling not in _OUTSIDE:
        verb = "call" if isinstance(outside, Invoke) else "webhook"
        compilation.report.error(
            f"a `{verb}` cannot be undone, so it cannot be {rule.coupling}, in a transaction that might be",
            outside.span,
            "write `coupling detached`, or `coupling dependent` to wait for the unit of work to commit",
        )
    if rule.coupling in _IN_UNIT and rule.sound and not _events(rule) & in_units:
        compilation.report.error(
            f"`coupling {rule.coupling}` needs a unit of work, but no event of {rule.name} belongs to one",
            declaration.name.span,
            "declare to which an event belongs: `event Order (…, tx: string) … unit Transaction by tx`",
        )


def _events(rule: Rule) -> set[str]:
    return {constituent.event.name for constituent in rule.constituents}


def _in_units(compilation: Compilation) -> set[str]:
    """Return the events that belong to a unit of work, those defined by way of them included."""
    found = {t.name for t in compilation.types.values() if t.kind is Kind.UNIT or t.unit is not None}
    pending = [rule for rule in compilation.rules if rule.output is not None]
    grown = True
    while grown:
        reached = {rule.name for rule in pending if _events(rule) & found}
        pending = [rule for rule in pending if rule.name not in reached]
        found |= reached
        grown = bool(reached)
    return found


def _set_priority(rule: Rule, declaration: RuleDeclaration, compilation: Compilation) -> None:
    match declaration.priority:
        case Name() as name if name.text in compilation.priorities:
            rule.priority = compilation.priorities[name.text]
        case Name() as name:
            known = list(compilation.priorities)
            hint = suggest(name.text, known, "there are") or f"declare it: `priorities …, {name};`"
            compilation.report.error(f"there is no priority class `{name}`", name.span, hint)
        case int() as number:
            rule.priority = number


def _set_trigger(rule: Rule, declaration: RuleDeclaration, compilation: Compilation) -> None:
    mode = declaration.mode
    if mode is None:
        return
    rule.trigger = mode.mode
    rule.back_ms = None if mode.back is None else mode.back.ms
    if mode.mode is TriggerMode.PREVIOUS and mode.back is None and declaration.unbounded:
        message = "an unbounded rule must say how far back it looks"
        compilation.report.error(message, mode.span, "like `trigger previous 1 day`")
