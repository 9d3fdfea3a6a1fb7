"""Absolute temporal events, Snoop §2.1.1 and TESLA's Timer: the points in time that match some fields."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from itertools import product
from zoneinfo import ZoneInfo

from tocsin.topology import tree
from tocsin.topology.tree import TimeField

FINEST_LAST = (
    TimeField.YEAR,
    TimeField.MONTH,
    TimeField.DAY,
    TimeField.HOUR,
    TimeField.MINUTE,
    TimeField.SECOND,
)
MARGIN_MS = 7_200_000
"""An hour of the clock is over within two of real time, even where the clock is changed in it."""

SMALLEST = {TimeField.MONTH: 1, TimeField.DAY: 1, TimeField.HOUR: 0, TimeField.MINUTE: 0, TimeField.SECOND: 0}


def points(timer: tree.Timer, since: int, until: int) -> Iterator[int]:
    """Every matching second in [since, until], in milliseconds, in order.

    The points are those of the zone's own clock. What a change of the clock skips does not occur on that day;
    what it repeats occurs twice.
    """
    zone = ZoneInfo(timer.zone or "UTC")
    wanted = requirements(timer)
    day = datetime.fromtimestamp(since // 1000, zone).date()
    last = datetime.fromtimestamp(until // 1000, zone).date()
    while day <= last:
        fields = {TimeField.YEAR: day.year, TimeField.MONTH: day.month, TimeField.DAY: day.day}
        if agrees(wanted, fields | {TimeField.WEEKDAY: day.isoweekday()}):
            yield from points_of_day(wanted, day, zone, since, until)
        day += timedelta(days=1)


def requirements(timer: tree.Timer) -> dict[TimeField, int]:
    """The value each field must have; a field that is missing here may have any.

    What is not written is any value where it is coarser than the finest field written, and the smallest
    otherwise. The weekday is as coarse as a day.
    """
    written = {time.field: time.value for time in timer.fields}
    ranks = [FINEST_LAST.index(TimeField.DAY if f is TimeField.WEEKDAY else f) for f in written]
    defaults = {f: SMALLEST[f] for f in FINEST_LAST[max(ranks) + 1 :]}
    return defaults | {f: value for f, value in written.items() if value is not None}


def agrees(wanted: dict[TimeField, int], fields: dict[TimeField, int]) -> bool:
    return all(wanted.get(f, value) == value for f, value in fields.items())


def points_of_day(
    wanted: dict[TimeField, int], day: date, zone: ZoneInfo, since: int, until: int
) -> list[int]:
    """The matching seconds of one day of the zone, in milliseconds."""
    found = set()
    for hour, fold in product(values(wanted, TimeField.HOUR), (0, 1)):
        begin_ms = (
            int(datetime(day.year, day.month, day.day, hour, tzinfo=zone, fold=fold).timestamp()) * 1000
        )
        if not since - MARGIN_MS <= begin_ms <= until + MARGIN_MS:
            continue
        for minute, second in product(values(wanted, TimeField.MINUTE), values(wanted, TimeField.SECOND)):
            local = datetime(day.year, day.month, day.day, hour, minute, second, tzinfo=zone, fold=fold)
            due = int(local.timestamp())
            if datetime.fromtimestamp(due, zone) == local:
                found.add(due * 1000)
    return sorted(due for due in found if since <= due <= until)


def values(wanted: dict[TimeField, int], of: TimeField) -> Iterable[int]:
    return [wanted[of]] if of in wanted else range(24 if of is TimeField.HOUR else 60)
