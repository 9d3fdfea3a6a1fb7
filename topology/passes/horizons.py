"""Horizons: a proved bound on how long each constituent must be kept for a terminator to come."""

from tocsin.topology.model import Compilation


def bound_horizons(compilation: Compilation) -> None:
    """Bound every constituent's distance from the terminator.

    A constituent lies at most `within` before its anchor, which comes earlier in the pattern, so its own
    bound is known already.
    """
    for rule in compilation.rules:
        for constituent in rule.constituents[1:]:
            constituent.horizon_ms = rule.constituents[constituent.anchor].horizon_ms + constituent.within_ms
