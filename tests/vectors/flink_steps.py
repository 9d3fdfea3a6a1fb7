"""Flink's pattern steps, read into elements: what is taken, how often, and what must not come."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .cases import Inexpressible
from .declare import literal

Take = Literal["", "each", "next"]
"""The prefix of a match: the first event that fits has none."""


@dataclass(frozen=True)
class Single:
    """One event: its type, conditions in Tocsin's notation, and the role it plays."""

    type: str
    conditions: tuple[str, ...]
    role: str

    def __str__(self) -> str:
        return f"{self.type}({', '.join(self.conditions)}) as {self.role}"

    def with_conditions(self, *conditions: str) -> "Single":
        return replace(self, conditions=(*self.conditions, *conditions))

    @property
    def first(self) -> "Single":
        """The first in its role, before which there is nothing to sum."""
        conditions = (re.sub(rf"sum\({self.role}\.\w+\)", "0.0", condition) for condition in self.conditions)
        return replace(self, conditions=tuple(conditions))


@dataclass(frozen=True)
class Ban:
    """`notFollowedBy`: none until the next event that is taken; `notNext`: not the very next."""

    banned: str
    strict: bool


@dataclass(frozen=True)
class Element:
    """A step with its quantifier. `inner` finds the second and later ones; `until` is a condition."""

    take: Take
    body: "Single | tuple[Item, ...]"
    low: int = 1
    high: int | None = 1
    inner: Take = ""
    optional: bool = False
    greedy: bool = False
    until: str | None = None

    @property
    def is_loop(self) -> bool:
        return self.high != 1


Item = Element | Ban


@dataclass(frozen=True)
class Window:
    """`within`: from the first event to the last, or from each event to the next one. Its end is excluded."""

    ms: int
    stepwise: bool


_TAKES: dict[str, Take] = {"begin": "", "followedBy": "", "followedByAny": "each", "next": "next"}
_OPERATORS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_FUNCTIONS = {"contains": "contains", "starts-with": "starts_with", "ends-with": "ends_with"}
_PROPERTIES: dict[str, dict[str, Any]] = {
    "optional": {"optional": True},
    "greedy": {"greedy": True},
    "oneOrMore": {"low": 1, "high": None},
    "consecutive": {"inner": "next"},
    "allowCombinations": {"inner": "each"},
}
_TIMES = re.compile(r"(?P<name>times|timesOrMore)\((?P<from>\d+)(?:, *(?P<to>\d+))?\)")
_NATIVE_STEP = re.compile(
    r"""(?P<op>\w+)\("(?P<name>[^"]*)"\) *(?P<attr>\w+) *(?P<sign>[=!<>]=?) *(?P<value>"[^"]*"|[\d.]+)"""
)
_NATIVE_WINDOW = re.compile(
    r"within\(Duration\.of(?P<unit>Millis|Seconds)\((?P<amount>\d+)\), WithinType\.(?P<type>\w+)\)"
)


def steps_of(pattern: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The steps as the file has them, or else those of the source's own notation."""
    if "steps" in pattern:
        steps: Sequence[Mapping[str, Any]] = pattern["steps"]
        return steps
    found = [
        {
            "op": step["op"],
            "name": step["name"],
            "where": [{"attr": step["attr"], "op": step["sign"], "value": _value(step["value"])}],
        }
        for step in _NATIVE_STEP.finditer(pattern["native"])
    ]
    if not found:
        raise Inexpressible(f"notation: {pattern['native']}")
    return found


def window_of(pattern: Mapping[str, Any]) -> Window | None:
    """The window, likewise."""
    if "steps" in pattern:
        within = pattern.get("within")
        return within and Window(within["ms"], within["type"] == "PREVIOUS_AND_CURRENT")
    within = _NATIVE_WINDOW.search(pattern["native"])
    if within is None:
        return None
    ms = int(within["amount"]) * (1 if within["unit"] == "Millis" else 1_000)
    return Window(ms, within["type"] == "PREVIOUS_AND_CURRENT")


def _value(text: str) -> str | float:
    return text[1:-1] if text.startswith('"') else float(text)


def roles_of(steps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A role for the name of each step; names are free text there."""
    return {name: f"s{i}" for i, name in enumerate(_names(steps), 1)}


def _names(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for step in steps:
        if "group" in step:
            yield from _names(step["group"])
        else:
            yield step["name"]


def subtypes_of(steps: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """The types that steps ask for, with the attributes that they compare."""
    found: dict[str, list[str]] = {}
    for step in steps:
        for type_, attributes in subtypes_of(step.get("group", ())).items():
            found.setdefault(type_, []).extend(attributes)
        where = step.get("where", ())
        for type_ in (condition["type"] for condition in where if "type" in condition):
            found.setdefault(type_, []).extend(c["attr"] for c in where if "attr" in c)
    return found


def elements(steps: Sequence[Mapping[str, Any]], roles: Mapping[str, str]) -> tuple[Item, ...]:
    """Read the steps; a group that is not repeated is as its steps."""
    found: list[Item] = []
    for step in steps:
        if step["op"] in {"notNext", "notFollowedBy"}:
            type_, conditions = _conditions(step.get("where", ()), roles)
            found.append(Ban(f"{type_}({', '.join(conditions)})", step["op"] == "notNext"))
            continue
        if step["op"] not in _TAKES:
            raise Inexpressible(f"notation: {step['op']}")
        element = _quantified(step, roles)
        if isinstance(element.body, tuple) and element == Element(element.take, element.body):
            first, *others = element.body
            found += [replace(first, take=element.take) if isinstance(first, Element) else first, *others]
        else:
            found.append(element)
    return tuple(found)


def _quantified(step: Mapping[str, Any], roles: Mapping[str, str]) -> Element:
    body: Single | tuple[Item, ...]
    if "group" in step:
        body = elements(step["group"], roles)
    else:
        body = Single(*_conditions(step.get("where", ()), roles), roles[step["name"]])
    element = Element(_TAKES[step["op"]], body)
    for word in step.get("quantifier", ()):
        element = _with(element, word)
    if step.get("until"):
        element = replace(element, until=" and ".join(_condition(step["until"], roles)))
    if element.low == 0:
        element = replace(element, low=1, optional=True)
    return element


def _with(element: Element, word: str) -> Element:
    if word in _PROPERTIES:
        return replace(element, **_PROPERTIES[word])
    times = _TIMES.fullmatch(word)
    if times is None:
        raise Inexpressible(f"notation: {word}")
    low = int(times["from"])
    return replace(element, low=low, high=None if times["name"] == "timesOrMore" else int(times["to"] or low))


def _conditions(where: Sequence[Mapping[str, Any]], roles: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    type_ = next((condition["type"] for condition in where if "type" in condition), "Event")
    return type_, tuple(text for condition in where for text in _condition(condition, roles))


def _condition(condition: Mapping[str, Any], roles: Mapping[str, str]) -> Iterator[str]:
    if "attr" in condition:
        yield _comparison(condition["attr"], condition)
    if "plus" in condition:
        plus = condition["plus"]
        total = f"sum({roles[plus['sum_of']]}.{plus['attr']})"
        yield _comparison(f"{total} + {plus['attr']}" if plus["plus_this"] else total, plus)
    unknown = condition.keys() - {"attr", "op", "value", "plus", "type"}
    if unknown:
        raise Inexpressible(f"notation: a condition with {', '.join(sorted(unknown))}")


def _comparison(left: str, condition: Mapping[str, Any]) -> str:
    op, value = condition["op"], literal(condition["value"])
    if op in _FUNCTIONS:
        return f"{_FUNCTIONS[op]}({left}, {value})"
    if op not in _OPERATORS:
        raise Inexpressible(f"notation: {op}")
    return f"{left} {_OPERATORS[op]} {value}"
