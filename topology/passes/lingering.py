"""Lingering: a match keeps nothing for ever for each value of its parameters, unless it says `unbounded`."""

from tocsin.topology.model import Compilation, Rule
from tocsin.topology.planning.lifetimes import lifetime
from tocsin.topology.planning.lingering import Why, lingering, partial
from tocsin.topology.planning.soundness import sound_rules
from tocsin.topology.sources import Match, MatchNode
from tocsin.topology.types import Kind

_OR_SAY_SO = "or say `unbounded` if that is meant"

_MESSAGES = {
    Why.ENDED: (
        "that this has come true or failed is remembered for each value of `{name}`, without a bound",
        "put `every (…)` around it, so that it starts again",
    ),
    Why.CLOCK: (
        "`every` starts this again, with a limit that counts from then: forever, and for each `{name}`",
        "let the limit count from the first event, like `within … from {role}`",
    ),
    Why.PHASE: (
        "`every` starts this again with another `{role}` for each `{name}`: which one would be kept forever",
        "begin with an event that has `{name}`, or put `every` before `{role}` alone",
    ),
    Why.STUCK: (
        "nothing bounds how long this goes on once begun, and it would be kept forever for each `{name}`",
        "give each alternative an `every` of its own, like `(every …) | (every …)`",
    ),
}

_OF_SEVERAL = "take the first one on its own, like `{event} as a then {event}{{2}} within … from a`"
"""How to give a limit to events that are collected; none of them stands for the first."""


def refuse_lingering(compilation: Compilation) -> None:
    """Report what every value of a parameter that a match has seen would leave behind."""
    for rule in sound_rules(compilation):
        match rule.source:
            case Match(root) if not rule.unbounded and rule.equality_parameters():
                if lifetime(root).life is None:
                    _check(root, rule, compilation)


def _check(root: MatchNode, rule: Rule, compilation: Compilation) -> None:
    names = [parameter.name for parameter in rule.equality_parameters()]
    mentions = {c.index: [name for name in names if name in c.equalities] for c in rule.constituents}
    found = lingering(root, [index for index, own in mentions.items() if own])
    some = partial(root, mentions, len(names))
    if found is not None:
        constituent = rule.constituents[found.constituent]
        message, hint = _MESSAGES[found.why]
        if found.why is not Why.PHASE and constituent.several:
            hint = _OF_SEVERAL
        words = {"name": _shown(names[0]), "role": constituent.role, "event": constituent.event.name}
        compilation.report.error(
            message.format(**words), constituent.span, f"{hint.format(**words)}, {_OR_SAY_SO}"
        )
    elif some is not None:
        constituent = rule.constituents[some]
        missing = next(name for name in names if name not in mentions[some])
        compilation.report.error(
            f"`{constituent.role}` has no value for `{_shown(missing)}`: what it begins is kept for all that "
            "may come, and nothing bounds how long",
            constituent.span,
            f"begin with an event that has all of `{'`, `'.join(map(_shown, names))}`, {_OR_SAY_SO}",
        )
    elif rule.disjoint or rule.skip is not None:
        _check_overlaps(rule, names[0], compilation)


def _check_overlaps(rule: Rule, name: str, compilation: Compilation) -> None:
    """Report complex events where overlaps are dropped: they may begin before what was passed on ended."""
    types = compilation.types
    for constituent in rule.constituents:
        if any(types[sub].kind is Kind.DEFINED for sub in constituent.event.with_subtypes):
            word = "disjoint" if rule.disjoint else "skip"
            compilation.report.error(
                f"`{constituent.role}` is a complex event, which may have begun long ago: where the last "
                f"occurrence for each `{_shown(name)}` ended would be kept forever",
                constituent.span,
                f"leave `{word}` out, {_OR_SAY_SO}",
            )
            return


def _shown(name: str) -> str:
    """Return a parameter as it is written; the number of a group stands for itself."""
    return name if name.startswith("[") else f"${name}"
