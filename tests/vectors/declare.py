"""Pieces of rule files: declarations for the events of a case, durations, literals."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .cases import Event

_UNITS = ((86_400_000, "day"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


def declare(
    events: Iterable[Event],
    *,
    clauses: str = "",
    types: Mapping[str, Iterable[str]] | None = None,
    timestamps: Collection[str] = (),
) -> str:
    """Declare the types of these events, and those of `types` (with their attributes) even if none occurs.

    Attributes of a type that occur nowhere are doubles; one that some event lacks or has as null is optional.
    `clauses` are added to every declaration; the attributes named in `timestamps` are timestamps. Topics are
    named so that types of the same time stand in the order in which they first occur.
    """
    values: dict[str, dict[str, list[Any]]] = {}
    occurrences: dict[str, int] = {}
    for event in events:
        attributes = values.setdefault(event.type, {})
        occurrences[event.type] = occurrences.get(event.type, 0) + 1
        for name, value in event.attrs.items():
            attributes.setdefault(name, []).append(value)
    for type_, names in (types or {}).items():
        attributes = values.setdefault(type_, {})
        for name in names:
            attributes.setdefault(name, [])
    lines = []
    for rank, (type_, attributes) in enumerate(values.items()):
        head = ", ".join(
            f"{name}: {'timestamp' if name in timestamps else _type(found, occurrences.get(type_, 0))}"
            for name, found in attributes.items()
        )
        head = f" ({head})" if head else ""
        lines.append(f'event {type_}{head} on "{rank:03}-{type_}" {clauses}'.rstrip() + ";")
    return "\n".join(lines)


def duration(ms: int) -> str:
    """Write a duration in the largest unit that holds it in whole numbers."""
    amount, unit = next((ms // size, unit) for size, unit in _UNITS if ms % size == 0 and (ms or size == 1))
    return f"{amount} {unit}"


def literal(value: bool | float | str) -> str:
    """Write a value."""
    return json.dumps(value, ensure_ascii=False)


def _type(values: list[Any], occurrences: int) -> str:
    known = [value for value in values if value is not None]
    optional = "?" if values and len(known) < occurrences else ""
    return _scalar(known) + optional


def _scalar(values: list[Any]) -> str:
    for type_, name in ((str, "string"), (bool, "boolean"), (int, "long")):
        if values and all(type(value) is type_ for value in values):
            return name
    return "double"
