"""How long the ids of events are remembered: two records of a type with one id are one event, the first.

That is as long as any rule keeps its events, so that none has one of them twice, and long enough for what is
sent again because an answer was lost.
"""

from collections.abc import Mapping

from tocsin.topology.model import Compilation

LEAST_MS = 10 * 60 * 1000


def remembered(compilation: Compilation) -> Mapping[str, int | None]:
    """Return by type for how long its ids are known: for ever, where a rule keeps it without a bound."""
    known: dict[str, int | None] = {
        name: LEAST_MS
        for name, event in compilation.types.items()
        if event.id is not None or event.application is not None
    }
    for rule in compilation.rules if known else ():
        for constituent in rule.constituents:
            for name in constituent.event.with_subtypes:
                known_ms = known.get(name)
                if known_ms is None:
                    continue
                if constituent.horizon_ms is not None:
                    known[name] = max(known_ms, constituent.horizon_ms)
                elif rule.unbounded:
                    known[name] = None
    return known
