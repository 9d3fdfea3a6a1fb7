"""What is written as plain Python and becomes a name or a duration of the tree."""

import re
from datetime import timedelta
from enum import StrEnum
from typing import TypeVar

from tocsin.topology import tree as ast
from tocsin.topology.errors import TocsinError, did_you_mean
from tocsin.topology.parsing.cursor import MAX_DURATION_MS, MAX_NAME_LENGTH
from tocsin.topology.parsing.words import NOT_ATTRIBUTES, NOT_EVENTS, NOT_ROLES, UNITS

Length = str | timedelta | ast.Duration
"""A length of time: `"5 min"`, as the language writes it, or `timedelta(minutes=5)`."""

Choice = TypeVar("Choice", bound=StrEnum)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LENGTH = re.compile(r"\s*(-?)\s*([0-9]+)\s*([A-Za-z]+)\s*")
_MILLISECOND = timedelta(milliseconds=1)


class BuildingError(TocsinError):
    """A rule was put together in a way that the language has no text for."""


class Undecided:
    """What is joined by `&`, `|` and `~`: Python's `and`, `or` and `not` would silently drop a part of it."""

    __slots__ = ()

    def __bool__(self) -> bool:
        message = (
            "A part of a rule is neither true nor false in Python: join parts with `&`, `|` and `~` instead "
            "of `and`, `or` and `not`."
        )
        raise BuildingError(message)


def attribute_name(text: str) -> ast.Name:
    """Return the name of an attribute, a parameter or a type."""
    return _name(text, NOT_ATTRIBUTES)


def event_name(text: str) -> ast.Name:
    """Return the name of an event, a fact or a rule."""
    return _name(text, NOT_EVENTS)


def named_role(text: str) -> ast.Name:
    """Return the name of a role."""
    return _name(text, NOT_ROLES)


def _name(text: str, reserved: frozenset[str]) -> ast.Name:
    if text in reserved:
        raise BuildingError(f"`{text}` is a word of the language and cannot be a name here.")
    if not _NAME.fullmatch(text):
        message = (
            f"{text!r} cannot be a name: use the letters a to z, digits and `_`, and start with a letter."
        )
        raise BuildingError(message)
    if len(text) > MAX_NAME_LENGTH:
        raise BuildingError(f"`{text}` is too long for a name: at most {MAX_NAME_LENGTH} characters.")
    return ast.Name(text)


def duration(length: object, *, negative: bool = False) -> ast.Duration:
    """Return a length of time as the tree has it, in the largest unit that leaves no remainder.

    >>> duration("90 s")
    Duration(span=Span(start=0, end=0), amount=90, unit=<Unit.SECOND: 1000>)
    >>> duration(timedelta(minutes=5)) == duration("5 min")
    True
    """
    match length:
        case ast.Duration():
            found = length
        case timedelta():
            found = _from_timedelta(length)
        case str():
            found = _from_text(length)
        case _:
            message = f'{length!r} is not a length of time: write "5 min" or timedelta(minutes=5).'
            raise BuildingError(message)
    if found.amount < 0 and not negative:
        raise BuildingError(f"{length!r} cannot be negative here.")
    if abs(found.ms) > MAX_DURATION_MS:
        raise BuildingError(f"{length!r} is too long: at most 36500 days.")
    return found


def choice(kind: type[Choice], text: str, what: str) -> Choice:
    """Return the member of an enumeration that a word stands for."""
    try:
        return kind(text)
    except ValueError:
        known = [str(member) for member in kind]
        hint = did_you_mean(text, known) or f"known are `{'`, `'.join(known)}`"
        raise BuildingError(f"`{text}` is no {what}; {hint.removesuffix('.')}") from None


def whole(number: object, what: str, least: int = 1) -> int:
    """Return a whole number that is not less than the least one with a meaning."""
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise BuildingError(f"{what} must be a whole number from {least} on, not {number!r}.")
    return number


def _from_timedelta(length: timedelta) -> ast.Duration:
    amount_ms, rest = divmod(length, _MILLISECOND)
    if rest:
        raise BuildingError(f"{length!r} has a fraction of a millisecond.")
    unit = max((u for u in ast.Unit if amount_ms % u.value == 0), key=lambda u: u.value)
    return ast.Duration(amount_ms // unit.value, unit) if amount_ms else ast.Duration(0, ast.Unit.SECOND)


def _from_text(text: str) -> ast.Duration:
    found = _LENGTH.fullmatch(text)
    if not found or found[3] not in UNITS:
        hint = (
            found and did_you_mean(found[3], UNITS)
        ) or "units are `ms`, `s`, `min`, `h`, `days` and `weeks`"
        raise BuildingError(f'{text!r} is not a length of time such as "5 min"; {hint}')
    return ast.Duration(int(found[1] + found[2]), UNITS[found[3]])
