"""Leaves: an occurrence, a phase or a timer becomes a constituent with a role and an event type."""

from tocsin.topology.errors import did_you_mean
from tocsin.topology.functions import FUNCTIONS
from tocsin.topology.model import Compilation, Constituent, Part, Rule
from tocsin.topology.passes.timers import check_timer
from tocsin.topology.tree import Constituent as Written
from tocsin.topology.tree import Modified, Modifier, Name, Occurrence, Timer
from tocsin.topology.types import DEFAULT_PHASE, PHASES, Attribute, Kind, Type

_EVENTS = frozenset({Kind.EVENT, Kind.OPERATION, Kind.UNIT, Kind.DEFINED})


def add_leaf(written: Written, part: Part, rule: Rule, compilation: Compilation) -> Constituent:
    """Add the constituent of a leaf to a rule; its conditions come later."""
    if isinstance(written, Timer):
        constituent = add_point(written.alias, "Timer", part, rule)
        constituent.timer = written
        constituent.span = written.span
        check_timer(written, compilation.report)
        return constituent
    occurrence = written.operand if isinstance(written, Modified) else written
    assert isinstance(occurrence, Occurrence)
    before = len(compilation.report.diagnostics)
    event = event_type(occurrence.event, compilation)
    modifier = written.modifier if isinstance(written, Modified) else None
    constituent = Constituent(
        len(rule.constituents),
        occurrence.role,
        event,
        part,
        occurrence,
        phase=_phase(event, modifier, written, compilation),
        span=written.span,
    )
    constituent.point = modifier if constituent.phase is None else None
    constituent.sound = len(compilation.report.diagnostics) == before
    rule.constituents.append(constituent)
    return constituent


def add_point(
    alias: Name | None, word: str, part: Part, rule: Rule, sample: Attribute | None = None
) -> Constituent:
    """Add the constituent of a point in time; what it samples is its only attribute."""
    event = Type("Timer", Kind.TIMER, () if sample is None else (sample,))
    role = alias.text if alias is not None else word
    constituent = Constituent(len(rule.constituents), role, event, part, named=alias is not None)
    rule.constituents.append(constituent)
    return constituent


def check_role(name: Name, rule: Rule, compilation: Compilation) -> bool:
    """Hold that nothing that can be mentioned has a role yet."""
    if not any(c.role == name.text and c.named and _is_mentioned(c) for c in rule.constituents):
        return True
    compilation.report.error(
        f"two constituents are called `{name}`", name.span, "give each its own name with `as`"
    )
    return False


def _is_mentioned(constituent: Constituent) -> bool:
    """Tell whether a role is more than the name of a type that must not occur or is measured."""
    occurrence = constituent.occurrence
    return constituent.part is Part.TAKEN or occurrence is None or occurrence.alias is not None


def event_type(name: Name, compilation: Compilation) -> Type:
    """Look up an event; what is none stands for one with unknown attributes."""
    type_ = compilation.types.get(name.text)
    if type_ is not None and type_.kind in _EVENTS:
        return type_
    if type_ is not None:
        message = f"`{name}` is a fact, not an event"
        compilation.report.error(message, name.span, f"facts are looked for with `when fact {name}(…)`")
    elif name.text not in compilation.program.broken | compilation.doubtful:
        events = [t.name for t in compilation.types.values() if t.kind in _EVENTS]
        known = did_you_mean(name.text, [*events, *compilation.named])
        hint = known or f'declare it: `event {name} (…) on "…" key …;`'
        if name.text in FUNCTIONS:
            hint = "it is a function: put the condition into an event's parentheses, or behind `if`"
        compilation.report.error(f"there is no event `{name}`", name.span, hint)
    return _unknown(name, compilation)


def fact_type(name: Name, compilation: Compilation) -> Type:
    """Look up a fact; what is none stands for one with unknown attributes."""
    type_ = compilation.types.get(name.text)
    if type_ is not None and type_.kind is Kind.FACT:
        return type_
    if type_ is not None or name.text in compilation.named:
        message = f"`{name}` is an event, not a fact"
        compilation.report.error(message, name.span, f"events are looked for with `event {name}(…)`")
    elif name.text not in compilation.program.broken | compilation.doubtful:
        facts = [t.name for t in compilation.types.values() if t.kind is Kind.FACT]
        hint = did_you_mean(name.text, facts) or f"declare it: `fact {name} (…) key …;`"
        compilation.report.error(f"there is no fact `{name}`", name.span, hint)
    return _unknown(name, compilation, Kind.FACT)


def _unknown(name: Name, compilation: Compilation, kind: Kind = Kind.EVENT) -> Type:
    # The mark keeps a sound type of that name from being doubted.
    doubted = f"{name.text}?" if name.text in compilation.types else name.text
    compilation.doubtful.add(doubted)
    return Type(doubted, kind)


def _phase(
    event: Type, modifier: Modifier | None, written: Written, compilation: Compilation
) -> Modifier | None:
    """Return the phase of an operation or a unit of work that is meant."""
    if modifier is None:
        return DEFAULT_PHASE.get(event.kind)
    phases = PHASES.get(event.kind, ())
    if modifier in phases:
        return modifier
    if event.name in compilation.doubtful:
        return None
    if phases:
        names = ", ".join(f"`{phase} {event.name}`" for phase in phases)
        message = f"{event.described} has no `{modifier}`"
        compilation.report.error(message, written.span, f"it has {names}")
    elif modifier not in {Modifier.BEGIN, Modifier.END}:
        message = f"`{modifier}` is said of units of work, but {event.name} is none"
        compilation.report.error(message, written.span, f"declare it with `unit {event.name} …`")
    return None
