"""What the engine wrote, as the oracle says it: occurrences with constituents."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tests.oracle.history import BEGINNING, Found, Occurrence, Position, Value, composite, timer
from tests.oracle.run import Detected
from tests.oracle.world import World
from tocsin.topology import tree

from .decoding import ComplexEvent, Constituent
from .observing import FIRED, HELD

UNNAMED = frozenset({"", "Timer", "plus", "periodic", "wait"})
"""What the engine calls points in time that have no name; the oracle gives them none."""


@dataclass(frozen=True, slots=True)
class WithFacts(Detected):
    """What was detected; the facts at the end are those that the engine tells of."""

    held: tuple[ComplexEvent, ...] = ()

    def facts(self, name: str) -> list[Mapping[str, Value]]:
        """The facts of a type at the end, in the order of their appearance."""
        return [output.attributes for output in self.held if output.type == name + HELD]


class Reading:
    """Turns complex events into occurrences with constituents: the oracle's own where they are inputs."""

    def __init__(self, world: World, inputs: Mapping[tuple[str, int], Occurrence]) -> None:
        self._world = world
        self._inputs = inputs
        self._made: dict[str, Occurrence] = {}
        self._labels: dict[Hashable, str] = {}

    def of(self, outputs: Sequence[ComplexEvent]) -> Detected:
        names = [
            d.name.text for d in self._world.program.declarations if isinstance(d, tree.Define | tree.Rule)
        ]
        held = [output for output in outputs if output.type.endswith(HELD)]
        made: dict[str, list[Found]] = {}
        for output in outputs:
            # What the engine is asked behind the end of the history is no part of it.
            if output in held or output.end > self._world.until:
                continue
            occurrence = self._occurrence(output)
            self._made[output.identity] = occurrence
            made.setdefault(occurrence.type, []).append(Found(occurrence, output.bindings))
        world = self._world
        for name, found in made.items():
            world = world.with_derived(name, [one.occurrence for one in found])
        return WithFacts(world, {name: tuple(made.get(name, ())) for name in names}, tuple(held))

    def _occurrence(self, output: ComplexEvent) -> Occurrence:
        roles: dict[str, list[Occurrence]] = {}
        for constituent in output.provenance:
            if constituent.topic:
                player = self._inputs[constituent.topic, constituent.offset]
                role = constituent.role
            elif constituent.label in self._made:
                player, role = self._made[constituent.label], constituent.role
            elif constituent.type in self._world.facts:
                player, role = _state(constituent)
            else:
                position = Position(constituent.time, 1, (0, 0, BEGINNING))
                player = timer(position, ("Timer", constituent.time, constituent.label))
                role = "" if constituent.role in UNNAMED else constituent.role
            roles.setdefault(role, []).append(player)
        last = max((player.position for players in roles.values() for player in players), default=BEGINNING)
        position = last if last.time >= output.end else Position(output.end, 1, (0, 0, last))
        name = output.type.removesuffix(FIRED)
        made = composite(name, roles, position, start=output.start, end=output.end)
        # Only what has the same constituents is told apart by the identity, which depends on the whole rule.
        known = self._labels.setdefault(made.label, output.identity)
        label = made.label if known == output.identity else (made.label, output.identity)
        return replace(made, attributes=MappingProxyType(dict(output.attributes)), label=label)


def _state(constituent: Constituent) -> tuple[Occurrence, str]:
    """Return a fact as a constituent, or the event of its change, and its role."""
    position, time = Position(constituent.time, -1), constituent.time
    if not constituent.label.startswith("change "):
        label = ("fact", constituent.label)
        return Occurrence(constituent.type, position, time, time, label=label), constituent.role
    name = f"change {constituent.type}"
    role = name if constituent.role == "change" else constituent.role
    return Occurrence(name, position, time, time, label=("change", constituent.label)), role
