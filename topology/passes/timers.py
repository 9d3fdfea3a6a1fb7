"""Timers: a zone that is known, and a day that comes."""

from calendar import monthrange
from datetime import MAXYEAR, MINYEAR
from functools import cache
from zoneinfo import available_timezones

from tocsin.topology.errors import Report, did_you_mean
from tocsin.topology.tree import TimeField, Timer

_LEAP_YEAR = 2000


def check_timer(timer: Timer, report: Report) -> None:
    """Report a timer that could never be due."""
    if timer.zone is not None and _zones() and timer.zone not in _zones():
        hint = did_you_mean(timer.zone, sorted(_zones())) or 'zones are named like "Europe/Rome"'
        report.error(f'there is no time zone "{timer.zone}"', timer.span, hint)
    given = {value.field: value.value for value in timer.fields}
    day, month = given.get(TimeField.DAY), given.get(TimeField.MONTH)
    year = given.get(TimeField.YEAR)
    if day is None or month is None or not MINYEAR <= (year or _LEAP_YEAR) <= MAXYEAR:
        return
    last = monthrange(year or _LEAP_YEAR, month)[1]
    if day > last:
        when = f"month {month}" if year is None else f"month {month} of {year}"
        report.error(f"this is never due: {when} has no day {day}", timer.span, f"its last day is {last}")


@cache
def _zones() -> frozenset[str]:
    """Return the names that this machine knows; none if it has no such list."""
    return frozenset(available_timezones())
