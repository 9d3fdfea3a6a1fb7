"""Event expressions: kinds of events, their occurrences, and the operators of the event algebra."""

from typing import Literal, overload

from tocsin.topology import tree as ast
from tocsin.topology.building.handles import Constituent, Events, Facts, Kind, constituent, events
from tocsin.topology.building.names import BuildingError, Length, attribute_name, duration, event_name, whole

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

TimeField = int | Literal["*"] | None
"""A field of a timer: a value, `"*"` for any, or None where it is not said."""


def kind(text: str) -> Kind:
    """Return a kind of event that is declared elsewhere, such as in a file.

    >>> kind("Temp")(area=7).tree.conditions[0].op
    <BinaryOp.EQ: '='>
    """
    return Kind(ast.Occurrence(event_name(text)))


def facts(text: str) -> Facts:
    """Return a kind of fact that is declared elsewhere."""
    return Facts(ast.Occurrence(event_name(text)))


# --- operators ----------------------------------------------------------------------------------------------


def any_of(count: int, *choices: Events, star: bool = False) -> Events:
    """Return `any(2, E1, E2, E3)`: that many of distinct events; with `star`, `any(3, E*)`: of one event."""
    whole(count, "The number of events")
    operands = tuple(events(choice) for choice in choices)
    if star and len(operands) != 1:
        raise BuildingError(
            f"`any_of(…, star=True)` counts occurrences of one event, not of {len(operands)}."
        )
    if not star and count > len(operands):
        message = f"{count} of {len(operands)} events can never be; for several of one, say `star=True`."
        raise BuildingError(message)
    return Events(ast.AnyOf(count, operands, star))


def aperiodic(first: Events, middle: Events, last: Events, *, star: bool = False) -> Events:
    """Return `aperiodic(E1, E2, E3)`: each E2 between; with `star`, all of them when E3 comes."""
    return Events(ast.Aperiodic(events(first), events(middle), events(last), star))


def periodic(
    first: Events,
    every: Length,
    last: Events,
    *,
    star: bool = False,
    collect: tuple[Constituent, str] | None = None,
) -> Events:
    """Return `periodic(E1, 10 min, E3)`: a tick each so often; with `star`, all of them when E3 comes.

    `collect=(price(oid=x), "value")` gives each tick what the last such event carried.
    """
    collected = None
    if collect is not None:
        occurrence = constituent(collect[0])
        if not isinstance(occurrence, ast.Occurrence):
            raise BuildingError("What a periodic event collects is an occurrence, without a phase.")
        collected = ast.Collected(occurrence, attribute_name(collect[1]))
    return Events(ast.Periodic(events(first), duration(every), events(last), star, collected))


def not_between(absent: Events, first: Events, last: Events) -> Events:
    """Return `not(E2)[E1, E3]`: E1 and then E3, and no E2 between them."""
    return Events(ast.Not(events(absent), events(first), events(last)))


@overload
def begin(of: Constituent) -> Constituent: ...
@overload
def begin(of: Events) -> Events: ...
def begin(of: Events) -> Events:
    """Return `begin E`: the begin of an operation or a unit of work, or of any event."""
    return _modified(ast.Modifier.BEGIN, of)


@overload
def end(of: Constituent) -> Constituent: ...
@overload
def end(of: Events) -> Events: ...
def end(of: Events) -> Events:
    """Return `end E`: the end of an operation, or of any event."""
    return _modified(ast.Modifier.END, of)


def precommit(unit: Constituent) -> Constituent:
    """Return `precommit U`: the moment before a unit of work commits."""
    return Constituent(constituent(_modified(ast.Modifier.PRECOMMIT, unit)))


def commit(unit: Constituent) -> Constituent:
    """Return `commit U`."""
    return Constituent(constituent(_modified(ast.Modifier.COMMIT, unit)))


def abort(unit: Constituent) -> Constituent:
    """Return `abort U`."""
    return Constituent(constituent(_modified(ast.Modifier.ABORT, unit)))


def timer(
    *,
    year: TimeField = None,
    month: TimeField = None,
    day: TimeField = None,
    weekday: TimeField | str = None,
    hour: TimeField = None,
    minute: TimeField = None,
    second: TimeField = None,
    zone: str | None = None,
) -> Constituent:
    """Return the points in time that match: `timer(hour=9, weekday="Friday", zone="Europe/Rome")`."""
    if isinstance(weekday, str) and weekday != "*":
        weekday = _weekday(weekday)
    given = zip(ast.TimeField, (year, month, day, weekday, hour, minute, second), strict=True)
    values = tuple(
        ast.TimeValue(field, None if value == "*" else whole(value, f"The {field}", least=0))
        for field, value in given
        if value is not None
    )
    if not values:
        raise BuildingError("A timer needs at least one field, such as `hour=9`.")
    return Constituent(ast.Timer(values, zone))


def _modified(modifier: ast.Modifier, of: Events) -> Events:
    modified = ast.Modified(modifier, events(of))
    return Constituent(modified) if isinstance(modified.operand, ast.Occurrence) else Events(modified)


def _weekday(text: str) -> int:
    if text.capitalize() not in WEEKDAYS:
        raise BuildingError(f"`{text}` is no day of the week; known are `{'`, `'.join(WEEKDAYS)}`")
    return WEEKDAYS.index(text.capitalize()) + 1
