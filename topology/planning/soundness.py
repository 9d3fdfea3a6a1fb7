"""Which rules can be judged though others are wrong: those in which nothing was reported so far."""

from bisect import bisect_left

from tocsin.topology.model import Compilation, Rule
from tocsin.topology.sources import Pattern
from tocsin.topology.tree import Pattern as PatternTree


def sound_rules(compilation: Compilation) -> list[Rule]:
    """Return the rules that rest on nothing that was reported."""
    reported = sorted(diagnostic.span.start for diagnostic in compilation.report.diagnostics)
    if not reported:
        return compilation.rules
    return [rule for rule in compilation.rules if _is_sound(rule, reported, compilation.doubtful)]


def _is_sound(rule: Rule, reported: list[int], doubtful: set[str]) -> bool:
    span = rule.declaration.span
    untouched = bisect_left(reported, span.start) == bisect_left(reported, span.end)
    complete = bool(rule.constituents) and all(
        constituent.sound and constituent.event.name not in doubtful for constituent in rule.constituents
    )
    # A named expression that could not be expanded leaves no source behind.
    typed = not isinstance(rule.source, Pattern) or isinstance(rule.written, PatternTree)
    return untouched and complete and typed
