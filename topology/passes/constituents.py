"""The constituents of every pattern: which event each is, its role, and what its bound counts from."""

from tocsin.topology.errors import did_you_mean, suggest
from tocsin.topology.model import Compilation, Constituent, Rule
from tocsin.topology.plan import EventType, Origin
from tocsin.topology.tree import Name, Occurrence


def resolve_constituents(compilation: Compilation) -> None:
    """Fill the constituents of every rule."""
    for rule in compilation.rules:
        pattern = rule.define.pattern
        _add(pattern.terminator, rule, compilation)
        for item in pattern.items:
            anchor = _anchor(item.anchor, rule, compilation)
            constituent = _add(item.occurrence, rule, compilation)
            constituent.within_ms = item.within.ms
            constituent.anchor = anchor.index if anchor else 0
            constituent.sound = constituent.sound and anchor is not None


def _add(occurrence: Occurrence, rule: Rule, compilation: Compilation) -> Constituent:
    before = len(compilation.report.diagnostics)
    constituent = Constituent(len(rule.constituents), occurrence, _event(occurrence.event, compilation))
    role = constituent.occurrence.alias or constituent.occurrence.event
    if any(other.role == role.text for other in rule.constituents):
        message = f"two constituents are called `{role}`"
        compilation.report.error(message, role.span, "give each its own name with `as`")
    constituent.sound = len(compilation.report.diagnostics) == before
    rule.constituents.append(constituent)
    return constituent


def _anchor(name: Name, rule: Rule, compilation: Compilation) -> Constituent | None:
    anchor = rule.named(name)
    if anchor is None:
        roles = [constituent.role for constituent in rule.constituents]
        hint = suggest(name.text, roles, "earlier ones are")
        if any(constituent.occurrence.event == name for constituent in rule.constituents):
            hint = "there are several of this type: use the name given with `as`"
        compilation.report.error(f"no earlier constituent is called `{name}`", name.span, hint)
    return anchor


def _event(name: Name, compilation: Compilation) -> EventType:
    event = compilation.types.get(name.text)
    if event is None:
        if name.text not in compilation.program.broken:
            inputs = [t.name for t in compilation.types.values() if t.origin is Origin.INPUT]
            hint = did_you_mean(name.text, inputs) or f'declare it: `event {name} (…) on "…" key …;`'
            compilation.report.error(f"there is no event `{name}`", name.span, hint)
        compilation.doubtful.add(name.text)
        return EventType(name.text, Origin.INPUT, fields=(), topic="")
    if event.origin is Origin.DEFINED:
        message = f"`{name}` is defined by a rule; a constituent must be declared with `event`"
        compilation.report.error(message, name.span)
    return event
