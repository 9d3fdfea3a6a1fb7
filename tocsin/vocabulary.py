"""The names of a plan, looked up for people who mistype them."""

import difflib
from collections.abc import Iterable

from tocsin.errors import InputError
from tocsin.topology import EventType, Plan


def input_type(plan: Plan, name: str) -> EventType:
    """Return the declared event type of that name."""
    event = _find(plan, name)
    if event not in plan.input_types:
        raise InputError(
            f"{name} events are made by the rules; those to publish are {_names(plan.input_types)}."
        )
    return event


def complex_type(plan: Plan, name: str) -> EventType:
    """Return the defined event type of that name."""
    event = _find(plan, name)
    if event not in plan.defined_types:
        raise InputError(f"{name} events are input; the complex ones are {_names(plan.defined_types)}.")
    return event


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence about an unknown name: the closest known one, or all there are.

    >>> suggestion("Tmep", ["Temp", "Smoke"])
    '; did you mean Temp?'
    >>> suggestion("X", ["Temp", "Smoke"])
    '; there are Temp, Smoke.'
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]}?"
    return f"; there are {', '.join(names)}." if names else "."


def _find(plan: Plan, name: str) -> EventType:
    event = plan.type_named(name)
    if event is None:
        known = [type_.name for type_ in plan.types]
        raise InputError(f"The rules know no event '{name}'{suggestion(name, known)}")
    return event


def _names(events: Iterable[EventType]) -> str:
    return ", ".join(event.name for event in events) or "none"
