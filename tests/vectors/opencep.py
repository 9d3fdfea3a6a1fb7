"""OpenCEP: sequences, negation, Kleene closure and its policies, over one stream of typed events.

Sequences are ordered by timestamp, whatever the order of arrival: a `when` rule, which compares times.
Contiguity and repetition go by the order of the stream: a match. A type whose events may be used once only is
consumed: TESLA.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .cases import Case, Inexpressible, Translation
from .checks import same_set
from .declare import declare, duration, literal

if TYPE_CHECKING:
    from tests.oracle.run import Detected

STREAM = "Stream"
NAME = "Case"
UNIT_MS = {"second": 1_000, "minute": 60_000, "hour": 3_600_000}

NOTATION = re.compile(
    r"(?P<operator>SEQ|AND|KC)\((?P<items>.*?)\)"
    r"(?: WHERE (?P<where>.*?))? WITHIN (?P<window>\d+) (?P<unit>second|minute|hour)s?(?P<policies>,.*)?$"
)
ITEM = re.compile(
    r"(?P<negated>NOT\()?(?P<type>\w+) (?P<role>\w+)\)?(?:, min (?P<low>\d+))?(?:, max (?P<high>\d+))?"
)
CONDITION = re.compile(
    r"(?P<role>\w+)\.(?P<attribute>\w+) (?P<op>[<>]=?|!?=) (?:(?P<other>\w+)\.)?(?P<value>\S+)"
)
CONTIGUOUS = re.compile(r"contiguous=\[(?P<roles>[\w,\s]*)\]")
SINGLE = re.compile(r"single=(?P<type>\w+), MATCH_SINGLE")
IN_WORDS = re.compile(
    r"(?P<types>\w+(?: then \w+)+) within (?P<window>\d+) (?P<unit>second|minute|hour)s?"
    r"(?: with (?P<where>[^;]*))?"
)
ATTRIBUTE_IN_WORDS = re.compile(r"(\w+)\((\w+)\)")
OPPOSITE = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True)
class Item:
    """A primitive event of a pattern: `AMZN b`, `NOT(AMZN b)`, or repeated."""

    type: str
    role: str
    negated: bool = False
    low: int = 1
    high: int | None = 1

    @property
    def repeated(self) -> bool:
        return (self.low, self.high) != (1, 1)


@dataclass(frozen=True)
class Condition:
    """`a.open > c.open`, or `a.open > 0` without another role."""

    role: str
    attribute: str
    op: str
    value: str
    other: str | None = None

    def on(self, role: str) -> "Condition":
        """The same, seen from that role."""
        if role != self.other:
            return self
        return Condition(role, self.value, OPPOSITE[self.op], self.attribute, self.role)


@dataclass(frozen=True)
class Pattern:
    """A pattern of OpenCEP."""

    operator: str
    items: tuple[Item, ...]
    conditions: tuple[Condition, ...]
    window_ms: int
    contiguous: frozenset[str] = frozenset()
    single: str | None = None


def translate(case: Case) -> Translation:
    """Translate a pattern, by what it asks for."""
    pattern = _read(case)
    negated = any(item.negated for item in pattern.items)
    if pattern.single:
        if negated or pattern.operator != "SEQ" or pattern.contiguous:
            raise Inexpressible("consumption of one type in other patterns than plain sequences")
        rule = _consuming(pattern)
    elif pattern.contiguous or any(item.repeated for item in pattern.items):
        if negated or pattern.operator == "AND":
            raise Inexpressible("contiguity or repetition together with negation or AND")
        rule = _match(pattern)
    else:
        rule = _when(pattern)
    events = tuple(
        replace(event, type=STREAM, attrs={**event.attrs, "kind": event.type}) for event in case.events
    )

    def check(detected: "Detected") -> str | None:
        expected = (frozenset(match["events"]) for match in case.expected)
        return same_set(expected, (frozenset(c.label for c in o.constituents) for o in detected.of(NAME)))

    return Translation(f"{declare(events)}\n\n{rule}", events, check)


# --- the three forms ----------------------------------------------------------------------------------------


def _when(pattern: Pattern) -> str:
    """All combinations that lie right in time."""
    window = duration(pattern.window_ms)
    positive = [item for item in pattern.items if not item.negated]
    lines: list[str] = []
    known: list[Item] = []
    for item in positive:
        if pattern.operator == "AND":
            relations = [f"this after [-{window}, {window}] {other.role}" for other in known]
        else:
            relations = [f"this after [0 ms, {window}] {other.role}" for other in known]
        known.append(item)
        lines.append(f"event {_occurrence(item, pattern, known, relations)} as {item.role}")
    for place, item in enumerate(pattern.items):
        if item.negated:
            relations = list(_between(pattern, place, window))
            lines.append(f"not event {_occurrence(item, pattern, [*positive, item], relations)}")
    conditions = "\n      ".join(lines)
    return f'rule {NAME}\nwhen  {conditions}\nthen  call "vectors:found";'


def _between(pattern: Pattern, place: int, window: str) -> Iterator[str]:
    """Where a negated event must not lie: ties count as between."""
    before = [item for item in pattern.items[:place] if not item.negated]
    after = [item for item in pattern.items[place + 1 :] if not item.negated]
    if pattern.operator == "AND" or not after:
        raise Inexpressible("negation at the end of a sequence, or in AND")
    yield (
        f"this after [0 ms, *] {before[-1].role}" if before else f"this after [-{window}, *] {after[-1].role}"
    )
    yield f"this before [0 ms, *] {after[0].role}"


def _match(pattern: Pattern) -> str:
    """Steps one after the other; a repeated first one is taken once, and then again within the window."""
    first, *rest = pattern.items
    steps = [
        (item, "next" if item.role in pattern.contiguous else "each", item.low, item.high) for item in rest
    ]
    if first.repeated:
        high = None if first.high is None else first.high - 1
        steps.insert(0, (first, "each", first.low - 1, high))
    known = [first]
    start = f"each {_occurrence(first, pattern, known)} as {first.role}"
    parts = []
    for item, take, low, high in steps:
        known.append(item)
        times = "" if (low, high) == (1, 1) else f"{{{low},{'' if high is None else high} each}}"
        parts.append(f"{take} {_occurrence(item, pattern, known)} as {item.role}{times}")
    inner = " then ".join(parts)
    within = f" then ({inner} within {duration(pattern.window_ms)})" if parts else ""
    return f"define {NAME}\nfrom match {start}{within};"


def _consuming(pattern: Pattern) -> str:
    """Each event of the one type with the first that fit of the others."""
    *others, last = pattern.items
    single = [item for item in pattern.items if item.type == pattern.single]
    if len(single) != 1:
        raise Inexpressible("consumption of a type that occurs twice in a pattern")
    known, lines = [last], [f"{_occurrence(last, pattern, [last])} as {last.role}"]
    for item in sorted(others, key=lambda item: item not in single):
        place = pattern.items.index(item)
        relations = [
            f"this {'before' if place < pattern.items.index(other) else 'after'} [0 ms, *] {other.role}"
            for other in known
            if other is not last
        ]
        known.append(item)
        selection = "each" if item in single else "first"
        occurrence = _occurrence(item, pattern, known, relations)
        lines.append(
            f"{selection} {occurrence} as {item.role} within {duration(pattern.window_ms)} from {last.role}"
        )
    source = "\n  and ".join(lines)
    return f"define {NAME}\nfrom {source}\nconsuming {single[0].role};"


def _occurrence(item: Item, pattern: Pattern, known: Sequence[Item], relations: Sequence[str] = ()) -> str:
    """The event with its conditions: those that can be decided once these items are known."""
    roles = {other.role for other in known}
    own = [
        condition.on(item.role)
        for condition in pattern.conditions
        if item.role in {condition.role, condition.other}
        and {condition.role, condition.other} <= {*roles, None}
    ]
    compared = [f"{c.attribute} {c.op} {f'{c.other}.' if c.other else ''}{c.value}" for c in own]
    conditions = ", ".join([f"kind = {literal(item.type)}", *compared, *relations])
    return f"{STREAM}({conditions})"


# --- reading ------------------------------------------------------------------------------------------------


def _read(case: Case) -> Pattern:
    native = str(case.pattern["native"])
    if native.startswith("same "):
        return _read_words(str(case.pattern["words"]), native)
    found = NOTATION.match(native)
    if found is None:
        raise Inexpressible(f"notation: {native}")
    policies = found["policies"] or ""
    contiguous = CONTIGUOUS.search(policies)
    return Pattern(
        found["operator"],
        tuple(_item(item) for item in ITEM.finditer(found["items"])),
        tuple(_conditions(found["where"])),
        int(found["window"]) * UNIT_MS[found["unit"]],
        frozenset(re.findall(r"\w+", contiguous["roles"])) if contiguous else frozenset(),
        _single(policies),
    )


def _read_words(words: str, policies: str) -> Pattern:
    """`AAPL then AMZN within 5 minutes with open(AAPL) > open(AMZN); …`: the types are the roles."""
    found = IN_WORDS.match(words)
    if found is None:
        raise Inexpressible(f"notation: {words}")
    where = ATTRIBUTE_IN_WORDS.sub(r"\2.\1", found["where"] or "").replace(" and ", " AND ")
    return Pattern(
        "SEQ",
        tuple(Item(type_, type_) for type_ in found["types"].split(" then ")),
        tuple(_conditions(where)),
        int(found["window"]) * UNIT_MS[found["unit"]],
        single=_single(policies),
    )


def _single(policies: str) -> str | None:
    found = SINGLE.search(policies)
    if "Policy" in policies and not found:
        raise Inexpressible(f"notation: {policies}")
    return found["type"] if found else None


def _item(found: re.Match[str]) -> Item:
    low = int(found["low"] or 1)
    high = int(found["high"]) if found["high"] else (None if found["low"] else 1)
    return Item(found["type"], found["role"], bool(found["negated"]), low, high)


def _conditions(where: str | None) -> Iterator[Condition]:
    for text in (where or "").split(" AND "):
        found = CONDITION.fullmatch(text.strip())
        if found:
            yield Condition(found["role"], found["attribute"], found["op"], found["value"], found["other"])
        elif text.strip():
            raise Inexpressible(f"notation: {text}")
