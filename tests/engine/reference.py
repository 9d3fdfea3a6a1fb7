"""The slice of the language that the engine runs, straight from its definition: slow, and without state.

A rule is data here that prints as the language's text and knows its own meaning over a whole history, so that
neither the compiler nor the engine has a part in what is expected of them.
"""

import json
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Value = bool | int | float | str | None

LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Event:
    """An event of the history: its attributes, and where its record lies."""

    type: str
    time: int
    topic: str
    key: bytes
    offset: int
    values: Mapping[str, Value]
    label: str
    partition: int = 0

    @property
    def position(self) -> tuple[int, str, bytes, int, int]:
        """The place in the total order."""
        return self.time, self.topic, self.key, self.partition, self.offset


@dataclass(frozen=True)
class Scene:
    """What an expression is evaluated over: the events bound so far, and whose condition it is."""

    bound: Mapping[str, Event]
    own: str
    parameters: Mapping[str, Value]


@dataclass(frozen=True)
class Attribute:
    """An attribute of the own event, or of the constituent named."""

    name: str
    of: str | None = None

    def __str__(self) -> str:
        return f"{self.of}.{self.name}" if self.of else self.name

    def value(self, scene: Scene) -> Value:
        return scene.bound[self.of or scene.own].values[self.name]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the rule."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"

    def value(self, scene: Scene) -> Value:
        return scene.parameters[self.name]


@dataclass(frozen=True)
class Constant:
    """A literal."""

    literal: bool | int | float | str

    def __str__(self) -> str:
        return json.dumps(self.literal, ensure_ascii=False)

    def value(self, _scene: Scene) -> Value:
        return self.literal


@dataclass(frozen=True)
class Apply:
    """An operator on its operands."""

    op: str
    args: tuple["Expr", ...]

    def __str__(self) -> str:
        if len(self.args) == 1:
            return f"({self.op} ({self.args[0]}))"
        return f"({f' {self.op} '.join(map(str, self.args))})"

    def value(self, scene: Scene) -> Value:
        values = [arg.value(scene) for arg in self.args]
        if self.op in CONNECTIVES:
            return CONNECTIVES[self.op](value is True for value in values)
        if self.op in COMPARISONS:
            # What is absent is neither equal nor unequal nor ordered to anything, nor is what is no number.
            comparable = not any(value is None or value != value for value in values)  # noqa: PLR0124
            return comparable and COMPARISONS[self.op](*values)
        present = [value for value in values if value is not None]
        if len(present) < len(values):
            return None
        if self.op == "not":
            return not present[0]
        if all(isinstance(value, int) for value in present):
            return whole(self.op, [int(value) for value in present])
        return real(self.op, [float(value) for value in present])


Expr = Attribute | Parameter | Constant | Apply

CONNECTIVES: dict[str, Callable[[Iterable[bool]], bool]] = {"and": all, "or": any}

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def whole(op: str, args: list[int]) -> int | None:
    """Calculate with 64 bits; division truncates, and what has no result is absent."""
    if len(args) == 1:
        result = -args[0]
    elif op in "/%":
        a, b = args
        if b == 0 or (a, b) == (LONG_MIN, -1):
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        result = quotient if op == "/" else a - quotient * b
    else:
        a, b = args
        result = {"+": a + b, "-": a - b, "*": a * b}[op]
    return result if LONG_MIN <= result <= LONG_MAX else None


def real(op: str, args: list[float]) -> float:
    """Calculate as IEEE 754 says."""
    if len(args) == 1:
        return -args[0]
    a, b = args
    if op == "/" and b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    if op == "%":
        return math.nan if math.isinf(a) or b == 0 else math.fmod(a, b)
    calculate: dict[str, Callable[[float, float], float]] = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": operator.truediv,
    }
    return calculate[op](a, b)


@dataclass(frozen=True)
class Constituent:
    """One of the events a rule asks for: `last` within a time before an earlier one, or the terminator."""

    type: str
    role: str
    binds: Mapping[str, str]
    """Parameter → own attribute that gives it its value."""
    conditions: tuple[Expr, ...]
    within_ms: int = 0
    anchor: str = ""

    def __str__(self) -> str:
        bindings = (f"{attribute} = ${name}" for name, attribute in self.binds.items())
        conditions = ", ".join([*bindings, *map(str, self.conditions)])
        text = f"{self.type}({conditions}) as {self.role}"
        return f"last {text} within {self.within_ms} ms from {self.anchor}" if self.anchor else text

    def bind(self, event: Event, scene: Scene) -> Scene | None:
        """Return the scene with the event in this role, if its conditions hold."""
        given = {name: event.values[attribute] for name, attribute in self.binds.items()}
        if any(value != value for value in given.values()):  # noqa: PLR0124 (what is not a number equals nothing)
            return None
        scene = Scene({**scene.bound, self.role: event}, self.role, {**scene.parameters, **given})
        holds = event.type == self.type and all(c.value(scene) is True for c in self.conditions)
        return scene if holds else None


@dataclass(frozen=True)
class Given:
    """An attribute of the complex event: its type, whether it may be absent, and its value."""

    type: str
    optional: bool
    value: Expr


@dataclass(frozen=True)
class Rule:
    """A definition: the terminator comes first."""

    name: str
    constituents: tuple[Constituent, ...]
    attributes: Mapping[str, Given]

    def __str__(self) -> str:
        declared = (f"{name}: {a.type}{'?' * a.optional}" for name, a in self.attributes.items())
        given = (f"{name} = {a.value}" for name, a in self.attributes.items())
        pattern = "\n  and ".join(map(str, self.constituents))
        return f"define {self.name} ({', '.join(declared)})\nfrom {pattern}\nwhere {', '.join(given)};\n"

    def occurrences(self, history: Iterable[Event]) -> Iterator[Scene]:
        """Yield every occurrence in the history."""
        events = sorted(history, key=lambda event: event.position)
        terminator, *others = self.constituents
        for event in events:
            scene = terminator.bind(event, Scene({}, "", {}))
            for constituent in others:
                scene = scene and last(constituent, events, scene)
            if scene:
                yield scene


def last(constituent: Constituent, events: list[Event], scene: Scene) -> Scene | None:
    """Bind the last event that the constituent accepts, if there is one."""
    anchor = scene.bound[constituent.anchor]
    accepted = (
        constituent.bind(event, scene)
        for event in reversed(events)
        if event.position < anchor.position and event.time >= anchor.time - constituent.within_ms
    )
    return next((bound for bound in accepted if bound), None)


def complex_event(rule: Rule, scene: Scene) -> dict[str, Any] | None:
    """Return what the record of an occurrence must hold, but for the identity.

    Nothing where an attribute that must have a value has none.
    """
    record: dict[str, Any] = {}
    for name, attribute in rule.attributes.items():
        value = attribute.value.value(scene)
        if value is None and not attribute.optional:
            return None
        is_real = attribute.type == "double" and value is not None
        record[name] = float(value) if is_real else value  # type: ignore[arg-type]
    events = [(c.role, scene.bound[c.role]) for c in rule.constituents]
    record["detection"] = {
        "rule": rule.name,
        "version": 1,
        "context": "SELECTION",
        "start": min(event.time for _, event in events),
        "end": events[0][1].time,
        "bindings": dict(scene.parameters),
        "provenance": [
            {
                "role": role,
                "type": event.type,
                "time": event.time,
                "topic": event.topic,
                "partition": event.partition,
                "offset": event.offset,
                "label": event.label if event.label != _coordinates(event) else "",
            }
            for role, event in events
        ],
    }
    return record


def _coordinates(event: Event) -> str:
    """What names an event without an id, and is not written again."""
    return f"{event.topic}/{event.partition}/{event.offset}"
