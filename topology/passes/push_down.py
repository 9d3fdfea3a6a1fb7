"""Predicate push-down: every condition goes to the earliest place that can decide it."""

from tocsin.topology.model import Compilation, Constituent
from tocsin.topology.plan import Match
from tocsin.topology.planning.conditions import by_own_values, decides, tie
from tocsin.topology.planning.soundness import sound_rules
from tocsin.topology.sources import Pattern, When
from tocsin.topology.terms import Term, join, relocate


def push_down(compilation: Compilation) -> None:
    """Split the conditions of every constituent into its source's filter, equalities, and the rest.

    Equalities with other constituents stand out where constituents are looked up by them: in patterns and
    joins.
    """
    for rule in sound_rules(compilation):
        looked_up = isinstance(rule.source, Pattern | When)
        for constituent in rule.constituents:
            _split(constituent, looked_up=looked_up)


def _split(constituent: Constituent, *, looked_up: bool) -> None:
    own: list[Term] = []
    matches: dict[Match, None] = {}
    rest: list[Term] = []
    for condition in constituent.conditions:
        match = tie(condition, constituent.index) if looked_up else None
        if decides(constituent, condition):
            own.append(relocate(by_own_values(condition, constituent), 0))
        elif match is not None:
            matches[match] = None
        else:
            rest.append(condition)
    constituent.filter = join("and", own) if own else None
    constituent.match = tuple(matches)
    constituent.where = join("and", rest) if rest else None
