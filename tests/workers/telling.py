"""Occurrences as the oracle and a reader of the workers' topics both tell them: what is told alike is one."""

from collections.abc import Iterable, Sequence
from typing import Any

from tests.oracle.history import Occurrence
from tocsin.complex_event import ComplexEvent, Constituent

Told = tuple[Any, ...]
"""Type, attributes, interval and, by role, what it is made of, down to the ids that events declare."""

OWN_ID = "id"
"""The attribute that is declared as the id of an event, where one is."""


def by_oracle(found: Occurrence) -> Told:
    """Tell an occurrence that the oracle detected."""
    players = [(role, player) for role, of_role in found.roles.items() for player in of_role]
    made_of = [
        ("" if player.type == "Timer" else role, player.type, player.time, _named(player))
        for role, player in players
    ]
    return _told(found.type, found.attributes.items(), found.start, found.end, made_of)


def by_workers(found: Sequence[ComplexEvent]) -> list[tuple[str, Told]]:
    """Tell what workers committed, each with its identity."""
    known = {event.identity: event for event in found}

    def named(player: Constituent) -> object:
        if player.label in known:
            return tell(known[player.label])
        return "" if player.label.startswith(f"{player.topic}/") else player.label

    def tell(event: ComplexEvent) -> Told:
        made_of = [
            (player.role, player.type, player.time_ms, named(player))
            if player.topic or player.label in known
            else ("", "Timer", player.time_ms, "")
            for player in event.provenance
        ]
        return _told(event.type, event.attributes.items(), event.start_ms, event.end_ms, made_of)

    return [(event.identity, tell(event)) for event in found]


def _named(player: Occurrence) -> object:
    if player.roles:
        return by_oracle(player)
    return f"{player.type}#{player.attributes[OWN_ID]}" if OWN_ID in player.attributes else ""


def _told(
    name: str, attributes: Iterable[tuple[str, Any]], start: int, end: int, made_of: Iterable[Told]
) -> Told:
    values = sorted((n, tuple(v) if isinstance(v, list) else v) for n, v in attributes)
    return name, tuple(values), start, end, tuple(sorted(made_of, key=str))
