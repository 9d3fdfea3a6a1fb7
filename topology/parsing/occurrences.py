"""Constituents: occurrences with their conditions and names, phases, and points in time."""

from collections.abc import Iterable
from typing import TypeGuard

from tocsin.topology.errors import suggest
from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.expressions import parse_conditions
from tocsin.topology.parsing.words import MODIFIERS
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    Constituent,
    EventExpr,
    Modified,
    Name,
    Occurrence,
    TimeField,
    Timer,
    TimeValue,
)

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_SHORT = ("Y", "MO", "DM", "D", "H", "M", "S")
_FIELDS = {f.value: f for f in TimeField} | dict(zip(_SHORT, TimeField, strict=True))
_RANGES = {
    TimeField.YEAR: (1970, 9999),
    TimeField.MONTH: (1, 12),
    TimeField.DAY: (1, 31),
    TimeField.WEEKDAY: (1, 7),
    TimeField.HOUR: (0, 23),
    TimeField.MINUTE: (0, 59),
    TimeField.SECOND: (0, 59),
}
_MAX_GROUP = 99


def parse_occurrence(cursor: Cursor) -> Occurrence:
    """Read `Temp(area = $a, value > 45) as t`, or `Sell[1](…) as s`."""
    start = cursor.token.span
    refuse_when(cursor)
    event = cursor.name("the name of an event")
    group = None
    if cursor.accept("["):
        group = cursor.count("the number of a group", low=1, high=_MAX_GROUP)
        cursor.expect("]")
    conditions = parse_conditions(cursor)
    if group is None and cursor.at("["):
        hint = f"write `{event}[1](…)`"
        raise ParseError("the number of a group stands before the parentheses", cursor.token.span, hint)
    alias = parse_alias(cursor)
    cursor.count_constituent(cursor.since(start))
    return Occurrence(event, conditions, alias, group, span=cursor.since(start))


def refuse_when(cursor: Cursor) -> None:
    """Fail for `and fact F(…)`, which only a rule with `when` can ask for."""
    if cursor.at("fact", "event") and cursor.peek().text[:1].isupper() and not cursor.starts_line():
        hint = f"write `rule … when {cursor.token.text} {cursor.peek().text}(…) … then …`"
        message = f"`{cursor.token.text}` stands in a rule with `when`, which joins facts and events"
        raise ParseError(message, cursor.token.span, hint)


def parse_phase(cursor: Cursor) -> Occurrence | Modified:
    """Read an occurrence, or a phase of one: `begin Sell(…)`."""
    start = cursor.token.span
    modifier = MODIFIERS.get(cursor.token.text)
    if modifier is None:
        return parse_occurrence(cursor)
    cursor.advance()
    return Modified(modifier, parse_occurrence(cursor), span=cursor.since(start))


def parse_constituent(cursor: Cursor) -> Constituent:
    """Read what can stand alone in a pattern: an occurrence, a phase, or a point in time."""
    return parse_timer(cursor) if cursor.at("Timer") else parse_phase(cursor)


def is_constituent(expr: EventExpr) -> TypeGuard[Constituent]:
    """Whether an event expression is one that `parse_constituent` reads."""
    single = expr.operand if isinstance(expr, Modified) else expr
    return isinstance(single, Occurrence) or isinstance(expr, Timer)


def parse_alias(cursor: Cursor) -> Name | None:
    """Read `as name`, if it is there."""
    return cursor.role("a name for this constituent") if cursor.accept("as") else None


def parse_timer(cursor: Cursor) -> Timer:
    """Read `Timer(hour = 9, minute = 0, weekday = Friday) zone "Europe/Rome" as t`."""
    start = cursor.expect("Timer").span
    cursor.expect("(")
    if cursor.at(")"):
        raise cursor.unexpected("a field of time", "write `Timer(minute = *)` for every minute")
    fields = cursor.several(_time_value)
    cursor.expect(")", ",")
    _refuse_twice(fields)
    zone = None
    if cursor.accept("zone"):
        zone = cursor.text("a time zone in double quotes", 'write `zone "Europe/Rome"`')
    alias = parse_alias(cursor)
    cursor.count_constituent(cursor.since(start))
    return Timer(fields, zone, alias, span=cursor.since(start))


def _time_value(cursor: Cursor) -> TimeValue:
    token = cursor.token
    field = _FIELDS.get(token.text)
    if field is None:
        known = [f.value for f in TimeField]
        raise cursor.unexpected("a field of time", suggest(token.text, known, "fields are"))
    cursor.advance()
    cursor.expect("=", hint=f"write `{field} = *` for any {field}")
    value = None if cursor.accept("*") else _number(cursor, field)
    return TimeValue(field, value, cursor.since(token.span))


def _number(cursor: Cursor, field: TimeField) -> int:
    token = cursor.token
    low, high = _RANGES[field]
    if field is TimeField.WEEKDAY and token.kind is Kind.WORD:
        days = {day.lower(): number for number, day in enumerate(WEEKDAYS, start=1)}
        if token.text.lower() not in days:
            raise cursor.unexpected("a day of the week", suggest(token.text, WEEKDAYS, "days are"))
        cursor.advance()
        return days[token.text.lower()]
    if token.kind is not Kind.INTEGER:
        raise cursor.unexpected("a whole number or `*`")
    cursor.advance()
    value = int(token.value or 0)
    if not low <= value <= high:
        raise ParseError(f"there is no {field} {value}", token.span, f"it goes from {low} to {high}")
    return value


def _refuse_twice(fields: Iterable[TimeValue]) -> None:
    seen: set[TimeField] = set()
    for value in fields:
        if value.field in seen:
            raise ParseError(f"`{value.field}` is given twice", value.span, "leave one of them out")
        seen.add(value.field)
