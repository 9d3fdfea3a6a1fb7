"""Attribute values: from text, checked against their declared type, and as a record's key."""

import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

from tocsin.errors import InputError
from tocsin.topology import EventType, PlanField
from tocsin.vocabulary import suggestion

Value = bool | int | float | str | bytes | None

_INT_LIMIT = 2**31
_LONG_LIMIT = 2**63


def time_ms(text: str) -> int:
    """Read a time: milliseconds since 1970, or ISO 8601, in UTC unless it says otherwise.

    >>> time_ms("2024-02-29T12:00:00.5Z")
    1709208000500
    >>> time_ms("1709208000500")
    1709208000500
    """
    with suppress(ValueError):
        return int(text)
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"'{text}' is not a time: give milliseconds since 1970, or ISO 8601 as in 2024-02-29T12:00:00Z."
        ) from None
    return round((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)


def time_text(ms: int) -> str:
    """Write a time in ISO 8601, or as the number it is where the calendar ends.

    >>> time_text(1709208000500)
    '2024-02-29T12:00:00.500Z'
    """
    try:
        parsed = datetime.fromtimestamp(ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return str(ms)
    return f"{parsed:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def from_text(event: EventType, attributes: Mapping[str, str]) -> dict[str, Value]:
    """Read the attributes of an event from text, each as its declared type; an empty optional one is null."""
    return {name: _read(event, _declared(event, name), text) for name, text in attributes.items()}


def checked(event: EventType, attributes: Mapping[str, object]) -> dict[str, Value]:
    """Return the value of every declared attribute, or raise a sentence that says which one is wrong."""
    for name in attributes:
        _declared(event, name)
    missing = [
        field.name for field in event.fields if not field.optional and attributes.get(field.name) is None
    ]
    if missing:
        raise InputError(f"{event.name} needs a value for {', '.join(missing)}.")
    return {field.name: _check(event, field, attributes.get(field.name)) for field in event.fields}


def key_bytes(event: EventType, values: Mapping[str, Value]) -> bytes | None:
    """Return the key of an event's record: the text of its key attribute.

    What another application detects has its identity for a key, which nobody can make up.
    """
    value = (
        None
        if event.key is None or event.application is not None
        else values.get(event.fields[event.key].name)
    )
    if value is None:
        return None
    return (str(value).lower() if isinstance(value, bool) else str(value)).encode()


def _declared(event: EventType, name: str) -> PlanField:
    index = event.index_of(name)
    if index is None:
        known = [field.name for field in event.fields]
        raise InputError(f"{event.name} has no attribute '{name}'{suggestion(name, known)}")
    return event.fields[index]


def _read(event: EventType, field: PlanField, text: str) -> Value:
    if field.optional and not text:
        return None
    readers: dict[str, Callable[[str], Value]] = {
        "boolean": lambda text: {"true": True, "false": False}[text.lower()],
        "int": int,
        "long": int,
        "float": float,
        "double": float,
        "timestamp": time_ms,
        "string": str,
        "bytes": str.encode,
    }
    try:
        return readers[field.type](text)
    except (ValueError, KeyError, InputError):
        raise _wrong(event, field, f"'{text}'") from None


def _check(event: EventType, field: PlanField, value: object) -> Value:
    if value is None:
        return None
    accepted = _ACCEPT[field.type](value)
    if accepted is None or (field.enum and accepted not in field.enum.symbols):
        raise _wrong(event, field, repr(value))
    return accepted


def _boolean(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _whole(value: object, *, limit: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -limit <= value < limit else None


def _real(value: object, *, layout: str) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        struct.pack(layout, value)
    except (OverflowError, struct.error):
        return None
    return float(value)


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _raw(value: object) -> bytes | None:
    """Text stands for its UTF-8, as it does in records that are JSON."""
    if isinstance(value, str):
        return None if _text(value) is None else value.encode()
    return value if isinstance(value, bytes) else None


def _time(value: object) -> int | None:
    if isinstance(value, datetime) and value.tzinfo:
        return round(value.timestamp() * 1000)
    if isinstance(value, str):
        return time_ms(value)
    return _whole(value, limit=_LONG_LIMIT)


_ACCEPT: dict[str, Callable[[object], Value]] = {
    "boolean": _boolean,
    "int": partial(_whole, limit=_INT_LIMIT),
    "long": partial(_whole, limit=_LONG_LIMIT),
    "float": partial(_real, layout="<f"),
    "double": partial(_real, layout="<d"),
    "string": _text,
    "bytes": _raw,
    "timestamp": _time,
}
"""What a value becomes, by its declared type; None if it is not of the type."""


def _wrong(event: EventType, field: PlanField, shown: str) -> InputError:
    hint = f" It has {', '.join(field.enum.symbols)}." if field.enum else ""
    return InputError(f"{event.name}.{field.name} is of type {field.kind}; {shown} is not.{hint}")
