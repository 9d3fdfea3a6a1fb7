"""T-Rex: TESLA rules, in the notation its test rules are told in.

Attributes of the complex event that the rule does not assign are those of a constituent with the same name,
or the measured value of the event that the name ends with (`measuredTemp`: the filtered attribute of Temp).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .cases import Case, Inexpressible, Translation
from .checks import same_bag
from .declare import declare, duration, literal

if TYPE_CHECKING:
    from tests.oracle.run import Detected

RULE = re.compile(
    r"Define (?P<name>\w+)\((?P<head>[^)]*)\)\s+From (?P<source>.*?)"
    r"(?:\s+Where (?P<where>.*?))?(?:\s+Consuming (?P<consuming>.*?))?\s*$"
)
ITEM = re.compile(
    r"(?:(?P<selection>each|last|first|not) )?(?P<event>\w+)\((?P<conditions>[^)]*)\)"
    r"(?: within (?P<within>\d+) from (?P<anchor>\w+)| between (?P<first>\w+) and (?P<last>\w+))?"
)
CONDITION = re.compile(r"(?:\[\w+\]\s*)?(?P<attribute>\w+)\s*(?P<op>[<>]=?|!?=)\s*(?P<value>.+)")
REFERENCE = re.compile(r"(?P<event>\w+)\.(?P<attribute>\w+)")
TYPES = {
    "int": "long",
    "long": "long",
    "float": "double",
    "double": "double",
    "string": "string",
    "bool": "boolean",
}


@dataclass
class Constituent:
    """An event with its conditions, how it is selected, and where from."""

    event: str
    conditions: list[str]
    measured: str | None
    selection: str = ""
    extent: str = ""

    def __str__(self) -> str:
        parts = (self.selection, f"{self.event}({', '.join(self.conditions)})", self.extent)
        return " ".join(filter(None, parts))


@dataclass
class Rule:
    """A rule as it is read, and its complex event's attributes with their types and values."""

    name: str
    head: dict[str, str | None]
    constituents: list[Constituent]
    consuming: str | None
    values: dict[str, str] = field(default_factory=dict)


def translate(case: Case) -> Translation:
    """Translate a rule."""
    rule = _read(str(case.pattern["native"]))
    declared = {
        event.type: {name: type(value) for name, value in event.attrs.items()} for event in case.events
    }
    for attribute in rule.head.keys() - rule.values.keys():
        rule.values[attribute] = _value(rule, attribute, declared)
    head = ", ".join(
        f"{name}: {type_ or _type(rule.values[name], declared)}" for name, type_ in rule.head.items()
    )
    where = ", ".join(f"{name} = {rule.values[name]}" for name in rule.head)
    lines = [
        f"define {rule.name} ({head})",
        "from " + "\n  and ".join(map(str, rule.constituents)),
        *([f"where {where}"] if where else []),
        *([f"consuming {rule.consuming}"] if rule.consuming else []),
    ]
    definition = "\n".join(lines) + ";"

    def check(detected: "Detected") -> str | None:
        expected = ((row["type"], frozenset(row["attrs"].items())) for row in case.expected)
        got = ((o.type, frozenset(o.attributes.items())) for o in detected.of(rule.name))
        return same_bag(expected, got)

    return Translation(f"{declare(case.events)}\n\n{definition}", case.events, check, case.until)


def _value(rule: Rule, attribute: str, declared: Mapping[str, Mapping[str, type]]) -> str:
    for constituent in rule.constituents:
        if constituent.selection != "not":
            if attribute in declared.get(constituent.event, {}):
                return f"{constituent.event}.{attribute}"
            if attribute.endswith(constituent.event) and constituent.measured:
                return f"{constituent.event}.{constituent.measured}"
    raise Inexpressible(f"notation: no value is given for {attribute}")


def _type(value: str, declared: Mapping[str, Mapping[str, type]]) -> str:
    reference = REFERENCE.fullmatch(value)
    python = declared[reference["event"]][reference["attribute"]] if reference else str
    return {int: "long", float: "double", bool: "boolean"}.get(python, "string")


def _read(text: str) -> Rule:
    found = RULE.fullmatch(text)
    if found is None:
        raise Inexpressible(f"notation: {text}")
    head: dict[str, str | None] = {}
    for attribute in filter(None, map(str.strip, found["head"].split(","))):
        name, _, type_ = map(str.strip, attribute.partition(":"))
        head[name] = TYPES.get(type_)
    rule = Rule(found["name"], head, list(_constituents(found["source"])), found["consuming"])
    for clause in filter(None, map(str.strip, re.split(r",| and ", found["where"] or ""))):
        _apply(rule, clause)
    return rule


def _constituents(source: str) -> Iterator[Constituent]:
    at = 0
    while at < len(source):
        found = ITEM.match(source, at)
        if found is None:
            raise Inexpressible(f"notation: {source[at:]}")
        conditions = [_condition(text) for text in found["conditions"].split(",") if text.strip()]
        extent = ""
        if found["within"]:
            extent = f"within {duration(int(found['within']))} from {found['anchor']}"
        elif found["first"]:
            extent = f"between {found['first']} and {found['last']}"
        measured = conditions[0][0] if conditions else None
        written = [" ".join(condition) for condition in conditions]
        yield Constituent(found["event"], written, measured, found["selection"] or "", extent)
        at = found.end() + (len(" and ") if source.startswith(" and ", found.end()) else 0)


def _condition(text: str) -> tuple[str, str, str]:
    found = CONDITION.fullmatch(text.strip())
    if found is None:
        raise Inexpressible(f"notation: {text}")
    value = found["value"]
    is_number = re.fullmatch(r"-?\d+(\.\d+)?", value)
    return found["attribute"], found["op"], value if is_number else literal(value.strip("\"'"))


def _apply(rule: Rule, clause: str) -> None:
    """`area = Temp.area` gives the complex event a value; `Smoke.area = Temp.area` ties two constituents."""
    left, equals, right = map(str.strip, clause.partition("="))
    ends = [REFERENCE.fullmatch(left), REFERENCE.fullmatch(right)]
    if equals and left in rule.head:
        rule.values[left] = right
    elif equals and all(ends):
        parameter = f"${left.replace('.', '_')}"
        for end in filter(None, ends):
            tied = [c for c in rule.constituents if c.event == end["event"]]
            if not tied:
                raise Inexpressible(f"notation: {clause}")
            tied[0].conditions.append(f"{end['attribute']} = {parameter}")
    else:
        raise Inexpressible(f"notation: {clause}")
