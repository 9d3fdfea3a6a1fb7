"""Random rules of the language's slice, and random histories for them, from a seeded source of randomness."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

from tocsin.schemas import confluent_prefix, event_schema
from tocsin.topology import Plan

from .history import Record, as_json, avro, rules
from .reference import (
    COMPARISONS,
    LONG_MAX,
    Apply,
    Attribute,
    Constant,
    Constituent,
    Event,
    Expr,
    Given,
    Parameter,
    Rule,
    Value,
)

WIDE: Final = {"int": "long", "float": "double"}

FIELDS: Final = {
    "A": {"k": "string", "n": "long", "x": "double", "m": "long?", "u": "string?", "f": "boolean"},
    "B": {"f": "boolean?", "x": "float", "k": "string", "n": "int", "u": "string"},
    "C": {"k": "string", "at": "timestamp", "n": "long", "x": "double?", "m": "int?"},
}
"""Attributes of the events, in different orders, so that equal names lie at different places."""

STEPS_MS: Final = (0, 0, 0, 1, 1, 2, 5, 40)
WITHIN_MS: Final = (0, 1, 3, 10, 50)
LATENESS_MS: Final = (0, 1, 6)
START_MS: Final = 10_000


@dataclass(frozen=True)
class Typed:
    """An expression with its type, and whether it may be absent."""

    expr: Expr
    type: str
    optional: bool


@dataclass
class RuleMaker:
    """Makes one rule; knows what its conditions may refer to."""

    random: Random
    name: str
    parameters: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)

    def rule(self) -> Rule:
        """Return a rule of one to four constituents."""
        constituents = [self.constituent(i) for i in range(self.random.choice((1, 2, 2, 2, 3, 3, 4)))]
        attributes = {"k": Given("string", False, Parameter("k"))}
        for i in range(self.random.randrange(4)):
            value = self.value(None, self.random.choice(("long", "double", "string", "boolean")))
            if value is not None:
                optional = value.optional or self.random.random() < 0.3
                attributes[f"v{i}"] = Given(value.type, optional, value.expr)
        return Rule(self.name, tuple(constituents), attributes)

    def constituent(self, index: int) -> Constituent:
        event_type, role = self.random.choice("AABBC"), f"r{index}"
        anchor = self.random.choice((*self.roles, "r0", "r0")) if index else ""
        self.roles[role] = event_type
        binds: dict[str, str] = {}
        conditions: list[Expr] = []
        if index == 0:
            binds["k"] = "k"
            self.parameters["k"] = "string"
        else:
            tie = Parameter("k") if self.random.random() < 0.8 else Attribute("k", "r0")
            conditions.append(Apply("=", (Attribute("k"), tie)))
        if self.random.random() < 0.3:
            certain = [
                n for n, kind in FIELDS[event_type].items() if kind in {"int", "long", "double", "float"}
            ]
            attribute, parameter = self.random.choice(certain), f"p{index}"
            binds[parameter] = attribute
            self.parameters[parameter] = wide(FIELDS[event_type][attribute])
        if index and self.random.random() < 0.3:
            other = self.random.choice(list(self.roles))
            conditions.append(Apply("=", (Attribute("n"), Attribute("n", other))))
        conditions += [self.condition(role) for _ in range(self.random.choice((0, 0, 0, 1, 1, 2)))]
        self.random.shuffle(conditions)
        return Constituent(event_type, role, binds, tuple(conditions), self.random.choice(WITHIN_MS), anchor)

    def condition(self, own: str, depth: int = 0) -> Expr:
        """Return something that is true or false."""
        choice = self.random.random()
        if depth < 2 and choice < 0.15:
            op = self.random.choice(("and", "or"))
            return Apply(op, (self.condition(own, depth + 1), self.condition(own, depth + 1)))
        if depth < 2 and choice < 0.25:
            return Apply("not", (self.condition(own, depth + 1),))
        kind = self.random.choice(("long", "long", "double", "double", "string", "boolean", "timestamp"))
        left, right = self.value(own, kind), self.value(own, kind)
        if left is None or right is None:
            return Apply(">=", (Attribute("n"), Constant(self.random.randrange(-1, 3))))
        op = self.random.choice(("=", "!=") if kind == "boolean" else ("=", *COMPARISONS))
        return Apply(op, (left.expr, right.expr))

    def value(self, own: str | None, kind: str, depth: int = 0) -> Typed | None:
        """Return an expression of a wide type over what is bound, or None where there is none."""
        known = self.known(own, kind)
        if kind in {"long", "double"} and depth < 2 and self.random.random() < 0.3:
            return self.calculation(own, kind, depth)
        if kind == "timestamp" or self.random.random() < 0.7:
            return self.random.choice(known) if known else None
        return Typed(Constant(self.constant(kind)), kind, False)

    def calculation(self, own: str | None, kind: str, depth: int) -> Typed | None:
        op = self.random.choice("+-*/%")
        left = self.value(own, kind, depth + 1)
        right = self.value(own, self.random.choice(("long", kind)), depth + 1)
        times = self.known(own, "timestamp")
        if kind == "long" and len(times) > 1 and self.random.random() < 0.5:
            first, second = self.random.sample(times, 2)
            return Typed(Apply("-", (first.expr, second.expr)), "long", first.optional or second.optional)
        # The compiler refuses to divide by a constant zero.
        if left is None or right is None or (op in "/%" and not isinstance(right.expr, Attribute)):
            return left
        if self.random.random() < 0.2:
            return Typed(Apply("-", (left.expr,)), kind, left.optional)
        return Typed(Apply(op, (left.expr, right.expr)), kind, left.optional or right.optional)

    def known(self, own: str | None, kind: str) -> list[Typed]:
        """Return the attributes and parameters of a wide type that may be named here."""
        found = [
            Typed(Attribute(name, None if role == own else role), kind, declared.endswith("?"))
            for role, event_type in self.roles.items()
            for name, declared in FIELDS[event_type].items()
            if wide(declared) == kind
        ]
        return found + [Typed(Parameter(n), kind, False) for n, k in self.parameters.items() if k == kind]

    def constant(self, kind: str) -> bool | int | float | str:
        match kind:
            case "long":
                return self.random.choice((-1, 0, 1, 2, 3, 2**62, LONG_MAX))
            case "double":
                return self.random.choice((-0.5, 0.0, 0.25, 1.0, 1.5))
            case "string":
                return self.random.choice(("", "a", "ab", "é\n"))
            case _:
                return self.random.random() < 0.5


def wide(declared: str) -> str:
    """Return the type that operators see."""
    bare = declared.rstrip("?")
    return WIDE.get(bare, bare)


@dataclass(frozen=True)
class Case:
    """Rules, their plan, and a history with the records that carry it, by topic."""

    rules: tuple[Rule, ...]
    plan: dict[str, Any]
    history: list[Event]
    records: dict[str, list[Record]]
    frames: dict[bytes, str]
    text: str


def case(seed: int) -> Case:
    """Return the case of a seed."""
    random = Random(seed)
    made = tuple(RuleMaker(random, name).rule() for name in random.choice((["R"], ["R"], ["R", "Q"])))
    events = "".join(
        f"event {name} ({', '.join(f'{n}: {t}' for n, t in fields.items())}) "
        f'on "t.{name}" key k {"time at" if "at" in fields else ""} '
        f"lateness {random.choice(LATENESS_MS)} ms;\n"
        for name, fields in FIELDS.items()
    )
    text = events + "".join(map(str, made))
    plan = rules(text)
    data = share_topic(plan) if random.random() < 0.3 else plan.to_dict()
    history, records, frames = HistoryMaker(random, data).make()
    return Case(made, data, history, records, frames, text)


def share_topic(plan: Plan) -> dict[str, Any]:
    """Let A and C come on one topic."""
    data = plan.to_dict()
    for event_type in data["types"]:
        if event_type["name"] == "C":
            event_type["topic"] = "t.A"
    for sub in data["subtopologies"]:
        sub["topics"] = sorted({"t.A" if topic == "t.C" else topic for topic in sub["topics"]})
    return data


class HistoryMaker:
    """Makes events that are out of order within their topics' lateness, and the records that carry them."""

    def __init__(self, random: Random, plan: dict[str, Any]) -> None:
        self.random = random
        self.types = [t for t in plan["types"] if t["origin"] == "input"]
        self.topics: Sequence[str] = plan["subtopologies"][0]["topics"]
        self.schemas = {t["name"]: event_schema(t, plan["app"]) for t in self.types}
        self.frames = {
            confluent_prefix(i): self.schemas[t["name"]] for i, t in enumerate(self.types, start=1)
        }
        self.confluent = dict(zip(self.schemas, self.frames, strict=True))

    def make(self) -> tuple[list[Event], dict[str, list[Record]], dict[bytes, str]]:
        history: list[Event] = []
        records: dict[str, list[Record]] = {topic: [] for topic in self.topics}
        for topic in self.topics:
            carried = [t for t in self.types if t["topic"] == topic]
            lateness_ms = max(t["lateness_ms"] for t in carried)
            time, offset = START_MS + self.random.randrange(10), self.random.randrange(3)
            for _ in range(self.random.randrange(2, 22)):
                time += self.random.choice(STEPS_MS)
                event_type = self.random.choice(carried)
                event, record = self.event(
                    event_type, time - self.random.randint(0, lateness_ms), offset, len(carried) > 1
                )
                history.append(event)
                records[topic].append(record)
                offset += self.random.choice((1, 1, 1, 2, 5))
        return history, records, self.frames

    def event(self, event_type: dict[str, Any], time: int, offset: int, shared: bool) -> tuple[Event, Record]:
        name, topic = event_type["name"], event_type["topic"]
        values = {
            f["name"]: self.value(f["name"], f["type"], f["optional"], time) for f in event_type["fields"]
        }
        key = self.random.choice((str(values["k"]).encode(), b"", b"\xff"))
        label, timestamp = f"{topic}/0/{offset}", time
        as_text = all(not isinstance(v, float) or abs(v) < 100 for v in values.values())
        in_json = as_text and self.random.random() < 0.3
        headers: list[tuple[str, bytes]] | None = None
        if self.random.random() < 0.3 or (shared and in_json):
            source = f"//{topic}"
            label, timestamp = f"{source}#{offset}", self.random.choice((time, time + 7, -1))
            moment = datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")
            headers = [
                ("ce_specversion", b"1.0"),
                ("ce_id", str(offset).encode()),
                ("ce_source", source.encode()),
                ("ce_type", f"com.example.{name}".encode()),
                ("ce_time", moment.encode()),
            ]
        if in_json:
            shown = {n: v for n, v in values.items() if v is not None or self.random.random() < 0.5}
            value = as_json({**shown, "unknown": [1, {"a": None}]})
        else:
            frame = self.random.choice((None, self.confluent[name]))
            value = avro(self.schemas[name], values, frame)
        record = Record(offset, timestamp, key or self.random.choice((b"", None)), value, headers)
        return Event(name, time, topic, key, offset, values, label), record

    def value(self, name: str, kind: str, optional: bool, time: int) -> Value:
        if optional and self.random.random() < 0.3:
            return None
        match kind:
            case "timestamp":
                return time
            case "boolean":
                return self.random.random() < 0.5
            case "string":
                choices = ("a", "b") if name == "k" else ("", "a", "ab", "é\n", "long " * 20)
                return self.random.choice(choices)
            case "int" | "long":
                large = [] if kind == "int" else [2**62, LONG_MAX, -LONG_MAX - 1]
                return self.random.choice([-1, 0, 0, 1, 1, 2, 3, *large])
            case _:
                return self.random.choice((-0.5, -0.0, 0.0, 0.25, 1.0, 1.5, float("inf"), float("nan")))
