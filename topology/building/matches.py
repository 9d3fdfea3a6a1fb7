"""Matches: patterns that are looked for forward, from where they were started."""

from tocsin.topology import tree as ast
from tocsin.topology.building.handles import Constituent, Steps, match_of
from tocsin.topology.building.names import BuildingError, Length, duration
from tocsin.topology.building.values import RoleLike, role_name


def every(of: Steps | Constituent) -> Steps:
    """Return `every M`: it is started again each time it comes true or fails."""
    return Steps(ast.Every(match_of(of)))


def one_of(*parts: Steps | Constituent) -> Steps:
    """Return `M1 or M2`: until one of them is through, where `M1 | M2` goes on with each on its own."""
    if not parts[1:]:
        raise BuildingError("`one_of` needs at least two parts.")
    return Steps(ast.OneOfMatches(tuple(match_of(part) for part in parts)))


def take_each(of: Steps | Constituent) -> Steps:
    """Return `each M`: its first step takes each event that fits."""
    return Steps(ast.Taking(ast.Take.EACH, match_of(of)))


def take_next(of: Steps | Constituent) -> Steps:
    """Return `next M`: its first step takes the very next event, or the match fails."""
    return Steps(ast.Taking(ast.Take.NEXT, match_of(of)))


def wait(length: Length, *, as_: RoleLike | None = None) -> Steps:
    """Return `wait 5 min`: true that long after it was started."""
    return Steps(ast.Wait(duration(length), None if as_ is None else role_name(as_)))


def absent(of: Steps | Constituent, length: Length, *, from_: RoleLike | None = None) -> Steps:
    """Return `not M for 1 s`: true when the time is up and M has not come true."""
    since = None if from_ is None else role_name(from_)
    return Steps(ast.Absent(match_of(of), duration(length), since))
