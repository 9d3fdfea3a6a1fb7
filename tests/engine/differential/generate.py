"""Random programs that compile, and random histories for them, from a seed.

Few types, keys and values, so that things match; times with ties, gaps and bursts. Which kinds of sources the
definitions have is a matter of `FAMILIES`, each with how often it is taken.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from tests.oracle.history import Change, Input, Value
from tocsin.topology import RuleErrors, compile_rules

from .algebra import Expressions
from .match_programs import MatchPrograms
from .matches import Matches
from .patterns import Made, Patterns
from .run import APP, Case, Drive, planned
from .terms import LEVEL, LEVELS, Kind, Schema, Terms
from .whens import Whens, changes

START = 10_000
STEPS = (0, 0, 0, 1, 1, 2, 2, 5, 15, 60)
"""How many moments lie between two events: ties, bursts and gaps."""

LATENESS = (0, 0, 0, 2, 6)
ATTEMPTS = 200


@dataclass(frozen=True)
class Declared:
    """A declared event: its attributes, the clauses it may have, and the phases of an operation or unit."""

    attributes: Schema
    clauses: tuple[str, ...] = ()
    parent: str | None = None
    word: str = "event"
    phases: tuple[str, ...] = ()


def _kinds(**named: str) -> Schema:
    return {name: Kind(kind.rstrip("?[]"), kind.endswith("?"), "[]" in kind) for name, kind in named.items()}


EVENTS: Mapping[str, Declared] = {
    "A": Declared(_kinds(k="string", n="long", x="double", m="long?", s="string?", f="boolean", c="Level")),
    "B": Declared(_kinds(x="float", j="string", n="int", k="string", s="string", m="int?", b="bytes?")),
    "C": Declared(
        _kinds(k="string", at="timestamp", began="timestamp", n="long", y="double?", c="Level"),
        ("time at", "start began"),
    ),
    "D": Declared(_kinds(z="long", t="string?", b="bytes"), parent="A"),
    "E": Declared(_kinds(uid="string", n="long", k="string", j="string", c="Level?"), ("id uid",)),
    "Op": Declared(_kinds(k="string", n="long"), word="operation", phases=("begin", "end")),
    "U": Declared(_kinds(n="long"), word="unit", phases=("begin", "precommit", "commit", "abort")),
}
IMPLICIT: Mapping[str, Schema] = {
    "event": {},
    "operation": _kinds(call="string", phase="string"),
    "unit": _kinds(id="string", phase="string"),
}


def schema_of(name: str) -> Schema:
    """Return all attributes of a declared event, in their order."""
    event = EVENTS[name]
    inherited = IMPLICIT[event.word] if event.parent is None else schema_of(event.parent)
    return {**inherited, **event.attributes}


@dataclass(frozen=True)
class Program:
    """A program that compiles, what it is made of, and the declared events it uses."""

    text: str
    used: Counter[str]
    events: tuple[str, ...]
    scale: int
    lateness: Mapping[str, int]
    with_facts: bool = False


@dataclass
class Programs:
    """Makes programs; `families` says how often each kind of source is taken."""

    random: Random
    families: Mapping[str, float]
    used: Counter[str] = field(default_factory=Counter)
    attempts: int = 0

    def make(self) -> Program:
        """Return a program that compiles."""
        for _ in range(ATTEMPTS):
            self.attempts += 1
            self.used = Counter()
            program = _Program(self.random, self.families, self.used).make()
            try:
                planned(program.text)
            except RuleErrors as errors:
                self.refused = errors
                continue
            return program
        raise AssertionError(f"no program compiles: {self.refused}\n{program.text}")


class _Program:
    """One attempt."""

    def __init__(self, random: Random, families: Mapping[str, float], used: Counter[str]) -> None:
        self._random = random
        self._families = families
        self._used = used
        timers = "timers" in families and random.random() < families["timers"]
        self._terms = Terms(random, used, scale=1000 if timers else 1)
        self._timers = timers
        pool = list(EVENTS)
        weights = [6, 6, 4, 2, 2, 1.5, 1]
        count = random.choice((1, 2, 2, 3, 3, 4))
        chosen = {random.choices(pool, weights)[0] for _ in range(count)}
        parents = {EVENTS[name].parent or name for name in chosen}
        self._events = tuple(name for name in pool if name in chosen | parents)
        self._keys = {name: self._key(name) for name in self._events}
        self._lateness = {name: random.choice(LATENESS) for name in self._events}
        self._topics = {name: f"t.{name}" for name in self._events}
        if random.random() < 0.1:
            self._topics = dict.fromkeys(self._events, "t.all")
        self._heads: dict[str, Schema] = {}
        self._named: dict[str, str] = {}

    def make(self) -> Program:
        with_facts = self._random.random() < self._families.get("facts", 0)
        definitions = self._rules() if with_facts else []
        if not with_facts:
            definitions = [self._define() for _ in range(self._random.choice((1, 1, 2, 2, 3, 4)))]
        named = [f"event {name} = {written};" for name, written in self._named.items()]
        enum = f"enum {LEVEL} {{ {', '.join(LEVELS)} }};"
        text = "\n".join([enum, *map(self._declaration, self._events), "", *named, *definitions])
        lateness: Counter[str] = Counter()
        for name in self._events:
            topic = self._topics[name]
            lateness[topic] = max(lateness[topic], self._lateness[name] * self._terms.scale)
        by_name = {name: lateness[self._topics[name]] for name in self._events}
        return Program(text, self._used, self._events, self._terms.scale, by_name, with_facts)

    def _key(self, name: str) -> str | None:
        keys = [key for key in ("k", "j") if key in schema_of(name)]
        return self._random.choice([*keys, *keys, "k" if "k" in keys else None]) if keys else None

    def _schema(self, name: str) -> Schema:
        """Return the attributes of a declared event; its id, or else its key, stands for the whole."""
        root = EVENTS[name].parent or name
        ids = [clause.split()[1] for clause in EVENTS[root].clauses if clause.startswith("id ")]
        whole = next(iter(ids), self._keys[root])
        return {n: replace(kind, whole=n == whole) for n, kind in schema_of(name).items()}

    def _declaration(self, name: str) -> str:
        event = EVENTS[name]
        self._used[event.word if event.parent is None else "extends"] += 1
        attributes = ", ".join(f"{n}: {k.written}" for n, k in event.attributes.items())
        extends = "" if event.parent is None else f" extends {event.parent}"
        clauses = [f'on "{self._topics[name]}"', *event.clauses]
        key = self._keys[name]
        if key is not None and event.parent is None:
            clauses.append(f"key {key}")
        if self._lateness[name]:
            clauses.append(f"lateness {self._lateness[name] * self._terms.scale} ms")
        for clause in event.clauses:
            self._used[clause.split()[0]] += 1
        return f"{event.word} {name}{extends} ({attributes}) {' '.join(clauses)};"

    # --- definitions and rules ------------------------------------------------------------------------------

    def _rules(self) -> list[str]:
        """Return rules over facts and events, and what they rest on."""
        self._terms = Terms(self._random, self._used)
        whens = Whens(self._terms, {name: self._schema(name) for name in self._events}, self._keys)
        enum = f"enum {LEVEL} {{ {', '.join(LEVELS)} }};"
        declared = [enum, *map(self._declaration, self._events), *whens.declarations()]
        rules: list[str] = []
        wanted = self._random.choice((1, 2, 3, 4, 6))
        for _ in range(ATTEMPTS):
            kind = whens.reaction if self._terms.chance(0.2) else whens.rule
            rule = kind(len(rules))
            try:
                compile_rules("\n".join([*declared, *rules, rule]), app=APP)
            except RuleErrors:
                whens.forget(len(rules))
                continue
            rules.append(rule)
            if len(rules) == wanted:
                break
        return [*whens.declarations(), *rules, *whens.probes()]

    def _define(self) -> str:
        """Return a definition of something new, or one more of something that is there."""
        random = self._random
        again = bool(self._heads) and random.random() < 0.25
        name = random.choice(list(self._heads)) if again else f"R{len(self._heads)}"
        if again:
            self._used["several definitions"] += 1
            head = self._heads[name]
        else:
            head = self._head()
        known = {**{event: self._schema(event) for event in self._events}, **self._heads}
        types = {other: schema for other, schema in known.items() if other != name}
        if set(types) - set(self._events):
            self._used["hierarchy"] += 1
        family = random.choices(*zip(*self._shares(), strict=True))[0]
        self._used[f"family {family}"] += 1
        phases = {event: EVENTS[event].phases for event in self._events if EVENTS[event].phases}
        given = Given(self._terms, types, self._keys, phases, {name: head}, self._timers, self._named)
        # Something that stands where an event stands, so that there is something simultaneous.
        beside = not self._heads and family != "pattern" and self._terms.chance(0.3)
        made = _beside(given) if beside else MAKERS[family](given)
        values = {attribute: self._given(kind, made) for attribute, kind in head.items()}
        if not again:
            # What nothing can give a value to is left out.
            head = {attribute: kind for attribute, kind in head.items() if values[attribute] is not None}
            self._heads[name] = head
        return self._finished(name, head, made, values)

    def _shares(self) -> list[tuple[str, float]]:
        return [(family, share) for family, share in self._families.items() if family in MAKERS]

    def _head(self) -> Schema:
        """Return attributes with names that mean the same wherever they occur."""
        offered = _kinds(n="long", x="double", m="long?", s="string?", f="boolean", at="timestamp")
        offered = {**offered, **_kinds(c="Level?", b="bytes?", ns="long[]", xs="double[]")}
        rare = {"c", "b", "ns", "xs"}
        chosen = {
            n: kind for n, kind in offered.items() if self._random.random() < (0.1 if n in rare else 0.3)
        }
        return {**(_kinds(k="string") if self._random.random() < 0.7 else {}), **chosen}

    def _finished(self, name: str, head: Schema, made: Made, values: Mapping[str, str | None]) -> str:
        random, terms = self._random, self._terms
        attributes = ", ".join(f"{n}: {k.written}" for n, k in head.items())
        lines = [f"define {name}" + (f" ({attributes})" if head else ""), f"from {made.text}"]
        if random.random() < 0.15:
            self._used["if"] += 1
            lines.append(f"if {terms.condition(made.scope)}")
        if head:
            lines.append(f"where {', '.join(f'{attribute} = {values[attribute]}' for attribute in head)}")
        lines += made.clauses
        if made.taken and random.random() < 0.2:
            self._used["consuming"] += 1
            names = random.sample(made.taken, random.choice((1, 1, min(2, len(made.taken)))))
            lines.append(f"consuming {', '.join(names)}")
        if random.random() < 0.12:
            self._used["rate"] += 1
            per = random.choice((f"per {terms.duration(1, 5, 20)}", "ever"))
            lines.append(f"at most {random.choice((1, 1, 2, 3))} {per}")
        if made.unbounded:
            lines.append("unbounded")
        return "\n".join(lines) + ";"

    def _given(self, kind: Kind, made: Made) -> str | None:
        """Return the value of an attribute; none where there is no such value, which is null then."""
        if kind.many:
            return self._terms.listed(made.scope, kind)
        value = self._terms.value(made.scope, kind.wide)
        if value is None:
            value = self._terms.calculation(made.scope, kind.wide, 0)
        if value is None:
            return None
        if value.optional and not kind.optional and kind.wide in {"long", "double", "string"}:
            other = self._terms.constant(kind.wide)
            assert other is not None
            return f"coalesce({value.text}, {other.text})"
        return value.text


@dataclass(frozen=True)
class Given:
    """What a source can be made of."""

    terms: Terms
    types: Mapping[str, Schema]
    keys: Mapping[str, str | None]
    phases: Mapping[str, Sequence[str]]
    itself: Mapping[str, Schema]
    timers: bool
    named: dict[str, str]
    """The expressions that have a name; there may come more."""


def _beside(given: Given) -> Made:
    given.terms.used["definition of one event"] += 1
    return Patterns(given.terms, given.types, given.keys).make(items=0)


def _pattern(given: Given) -> Made:
    earlier = given.itself if given.terms.chance(0.5) else {}
    return Patterns(given.terms, given.types, given.keys, earlier, given.phases, given.timers).make()


def _expression(given: Given) -> Made:
    types = {**given.types, **(given.itself if given.terms.chance(0.2) else {})}
    made = Expressions(given.terms, types, given.keys, given.phases, given.timers, given.named).make()
    if any(f"{name} " in made.text or f"{name}(" in made.text for name in given.itself):
        given.terms.used["recursion"] += 1
    return made


def _match(given: Given) -> Made:
    return Matches(given.terms, given.types, given.keys, given.phases).make()


def _nested_match(given: Given) -> Made:
    return MatchPrograms(given.terms, given.types, given.phases).make()


MAKERS: Mapping[str, Callable[[Given], Made]] = {
    "pattern": _pattern,
    "expression": _expression,
    "match": _match,
    "nested match": _nested_match,
}
"""By family: what makes a source."""

FAMILIES: Mapping[str, float] = {
    "pattern": 3,
    "expression": 3,
    "match": 1,
    "nested match": 1,
    "facts": 0.2,
    "timers": 0.15,
}
"""How often each family is taken; `facts` and `timers` are shares of programs: with rules over facts, and on
the calendar, where a moment is a second."""


# --- histories ----------------------------------------------------------------------------------------------


def history(random: Random, program: Program) -> tuple[tuple[Input, ...], int]:
    """Return events, within the lateness of their topics, and how far time goes."""
    events: list[Input] = []
    time = START
    length = random.choice((3, 8, 12, 18, 25))
    for number in range(length):
        time += random.choice(STEPS) * program.scale
        name = random.choice(program.events)
        late = random.choice((0, 0, program.lateness[name]))
        events.append(_event(random, name, time - random.randint(0, late), number))
    return tuple(events), time + random.choice((0, 0, 1, 10, 100)) * program.scale


def _event(random: Random, name: str, time: int, number: int) -> Input:
    values: dict[str, Value] = {
        attribute: _value(random, attribute, kind) for attribute, kind in schema_of(name).items()
    }
    if name == "C":
        values |= {"at": time, "began": time - random.choice((0, 0, 1, 5, 12))}
    if name == "E":
        # Some are sent again.
        values["uid"] = f"u{random.choice((number, number, max(number - 2, 0)))}"
    if "phase" in values:
        values["phase"] = random.choice(EVENTS[name].phases)
        values["call" if "call" in values else "id"] = random.choice("pq")
    return Input(name, time, values, f"e{number}")


VALUES: Mapping[str, tuple[Value, ...]] = {
    "boolean": (True, False),
    "long": (-1, 0, 0, 1, 1, 2, 3),
    "double": (-0.5, 0.0, 0.25, 1.0, 1.5),
    "bytes": (b"", b"a", b"ab"),
    LEVEL: LEVELS,
    "string": ("", "a", "b", "ab"),
}


def _value(random: Random, name: str, kind: Kind) -> Value:
    if kind.optional and random.random() < 0.35:
        return None
    return random.choice(("a", "b") if name in {"k", "j"} else VALUES.get(kind.wide, VALUES["string"]))


HISTORIES = 4
"""A program is compiled once and run on so many histories."""

DRIVES = 3
"""An engine is driven over each history at once, and in so many ways more."""


def cases(seed: int, families: Mapping[str, float] | None = None) -> tuple[Program, list[Case]]:
    """Return the program and the histories of a seed."""
    random = Random(seed)
    program = Programs(random, families or FAMILIES).make()
    found = []
    for _ in range(HISTORIES):
        events, until = history(random, program)
        facts: tuple[Change, ...] = ()
        if program.with_facts:
            facts = changes(random, [event.t for event in events])
            asked = sorted(random.randint(START, until) for _ in range(random.choice((1, 2, 4))))
            events += tuple(Input("Ask", t, {"k": "a"}, f"q{t}.{i}") for i, t in enumerate([*asked, until]))
        found.append(Case(program.text, events, until, facts=facts))
    return program, found


def drives(seed: int) -> list[Drive]:
    """Return the ways in which the engines of a seed are driven."""
    random = Random(seed)
    seeds = range(seed * DRIVES, (seed + 1) * DRIVES)
    return [Drive(), *(Drive(number, random.choice((None, 0, 0, 2_000))) for number in seeds)]
