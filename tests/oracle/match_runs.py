"""Runs: what comes of a match expression after it was started."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.oracle.history import Occurrence, Position, Value, in_order
from tests.oracle.values import Scope
from tocsin.topology import tree
from tocsin.topology.tree import Take


@dataclass(frozen=True, slots=True)
class Env:
    """What was taken so far, with the roles it plays, and the parameters it bound."""

    taken: tuple[tuple[str, Occurrence], ...] = ()
    parameters: tuple[tuple[str, Value], ...] = ()

    def with_taken(self, role: str, occurrence: Occurrence, parameters: Mapping[str, Value]) -> "Env":
        return Env((*self.taken, (role, occurrence)), (*self.parameters, *parameters.items()))

    def joined(self, envs: Iterable["Env"]) -> "Env":
        """With what others, which started from this one, took beyond it."""
        taken, parameters = list(self.taken), list(self.parameters)
        for env in envs:
            taken += env.taken[len(self.taken) :]
            parameters += env.parameters[len(self.parameters) :]
        return Env(tuple(taken), tuple(parameters))

    @property
    def roles(self) -> Mapping[str, tuple[Occurrence, ...]]:
        players: dict[str, list[Occurrence]] = {}
        for role, occurrence in self.taken:
            players.setdefault(role, []).append(occurrence)
        return {role: in_order(collected) for role, collected in players.items()}

    def scope(self) -> Scope:
        return Scope(roles=self.roles, parameters=dict(self.parameters))


@dataclass(frozen=True, slots=True)
class Start:
    """Where and how an expression is started. `condition` compares its first step with `previous`."""

    at: Position
    env: Env
    take: Take = Take.FIRST
    previous: Occurrence | None = None
    condition: tree.Expr | None = None

    def behind(self, match: "Match") -> "Start":
        """The start of what comes after a Match; where that took nothing, the first step is still to come."""
        return self if match == Match(self.at, self.env) else Start(match.at, match.env)


@dataclass(frozen=True, slots=True)
class Match:
    """An expression came true."""

    at: Position
    env: Env


@dataclass(frozen=True, slots=True)
class Run:
    """What comes of an expression after it was started; without an `end` something may still come."""

    matches: Sequence[Match] = ()
    end: Position | None = None
    failed: bool = False


def failure(at: Position, matches: Sequence[Match] = ()) -> Run:
    return Run(matches, at, failed=True)


def through(match: Match) -> Run:
    return Run([match], match.at)


def in_time(matches: Iterable[Match]) -> list[Match]:
    """In the order of positions; those of one position stay as they are."""
    return sorted(matches, key=lambda match: match.at)


def united(runs: Sequence[Run]) -> Run:
    """The Matches of all of them. It ends with the last, and as the last did: a Match there is no Fail."""
    together = in_time(match for run in runs for match in run.matches)
    ends = [run.end for run in runs if run.end is not None]
    if not runs or len(ends) < len(runs):
        return Run(together)
    return Run(together, max(ends), failed=all(run.failed for run in runs if run.end == max(ends)))


def succeeded(first: Run, rest: Sequence[Run]) -> Run:
    """The Matches of what the Matches of the first have started. It ends when nothing is left running."""
    run = united(rest)
    if first.end is None or (rest and run.end is None):
        return Run(run.matches)
    if run.end is not None and run.end >= first.end:
        return run
    return Run(run.matches, first.end, first.failed)


def cut(run: Run, offending: Match | None) -> Run:
    """The run in which this Match is a Fail instead, and the last that comes."""
    if offending is None:
        return run
    before = next(i for i, match in enumerate(run.matches) if match is offending)
    return failure(offending.at, run.matches[:before])
