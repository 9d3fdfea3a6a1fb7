"""Random programs with facts: rules over facts and events, what they do, and histories in which facts change.

Rules that facts alone set off change only facts of a higher level, and events are published only for rules
further down, so that everything comes to an end. What happens in a later round of a position is not denied,
and not counted: the oracle looks at a position as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from tests.oracle.history import Change, Value, fact, retraction

from .algebra import Expressions
from .matches import Matches
from .patterns import Patterns
from .terms import LEVELS as SYMBOLS
from .terms import Kind, Schema, Scope, Terms


def _kinds(**named: str) -> Schema:
    return {name: Kind(kind.rstrip("?"), kind.endswith("?")) for name, kind in named.items()}


KEY = Kind("string", whole=True)
FACTS: Mapping[str, tuple[Schema, str | None]] = {
    "F": ({"k": KEY, **_kinds(n="long", s="string?")}, "k"),
    "G": ({"j": KEY, **_kinds(k="string", m="long?", x="double", c="Level")}, "j"),
    "H": (_kinds(k="string", n="long", f="boolean"), None),
}
"""Attributes and key; the level of a fact is its place here."""

LEVELS = {name: level for level, name in enumerate(FACTS, 1)}
SHAPES: Sequence[tuple[str, ...]] = (
    ("event", "fact"),
    ("event", "event"),
    ("event", "event", "fact"),
    ("event", "not_fact"),
    ("event", "not_fact"),
    ("event", "event", "not_fact"),
    ("event", "event", "not_event"),
    ("event", "fact", "not_event"),
    ("fact", "not_fact"),
    ("fact", "fact"),
    ("change", "event"),
    ("change", "fact"),
    ("change", "not_fact"),
    ("change", "not_fact"),
)
"""What plain rules ask for: with few conditions, so that they fire often."""

PUBLISHED = _kinds(k="string", n="long?", s="string?")


@dataclass
class Whens:
    """Makes rules over events and facts, one after the other."""

    terms: Terms
    events: Mapping[str, Schema]
    keys: Mapping[str, str | None]
    levels: dict[str, int] = field(default_factory=dict)
    """The published events so far, and how deep the rules are that publish them."""
    apart: set[str] = field(default_factory=set)
    """Those of them of which no two are alike in their place, so that one of them is the last."""
    roles: dict[str, Schema] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    """The roles of facts, and their types."""
    kept: list[str] = field(default_factory=list)
    """The roles of events that can be retracted."""
    parameters: dict[str, Kind] = field(default_factory=dict)
    level: int = 0
    plain: bool = False
    """Whether the rule at hand has few conditions."""
    published: bool = False
    """Whether the rule at hand takes published events."""

    def declarations(self) -> list[str]:
        """Return the facts, and what tells at some time which there are."""
        found = []
        for name, (schema, key) in FACTS.items():
            attributes = ", ".join(f"{n}: {k.written}" for n, k in schema.items())
            clause = f" key {key}" if key else ""
            found.append(f'fact {name} ({attributes}){clause} on "t.{name}";')
            found.append(f"event Seen{name} ({attributes});")
        return [*found, 'event Ask (k: string) on "t.Ask" key k;', "priorities low, high;"]

    def probes(self) -> list[str]:
        """Return the rules that tell which facts there are."""
        return [
            f"rule See{name} when fact {name}() as f event Ask() as q "
            f"then publish Seen{name}({', '.join(f'{n} = f.{n}' for n in schema)});"
            for name, (schema, _) in FACTS.items()
        ]

    # --- rules ----------------------------------------------------------------------------------------------

    def rule(self, number: int) -> str:
        """Return a rule, and what it publishes before it."""
        self._begin()
        random = self.terms.random
        self.plain = self.terms.chance(0.5)
        asked = random.choice(SHAPES) if self.plain else self._shape()
        facts_only = not {"event", "change"} & set(asked)
        self.terms.used["rule on facts" if facts_only else "rule with events"] += 1
        parts = [getattr(self, f"_{kind}")(facts_only=facts_only) for kind in asked]
        lines = [f"rule W{number}", "when " + "\n     ".join(parts)]
        if not self.plain:
            scope = self._scope()
            further = [self._condition(scope) for _ in range(random.choice((0, 0, 0, 1, 1, 2)))]
            lines[-1] += "".join(f",\n     {condition}" for condition in further)
            if self.terms.chance(0.1):
                lines.append(f"if {self.terms.condition(scope)}")
        published: list[str] = []
        actions = [
            self._action(number, published, facts_only=facts_only) for _ in range(random.choice((1, 1, 2, 3)))
        ]
        actions.append(self._publish(number, published))
        lines.append(f"then {', '.join(action for action in actions if action)}")
        if self.level == 0 and self.terms.chance(0.12):
            self.terms.used["rule rate"] += 1
            per = random.choice((f"per {self.terms.duration(1, 5, 20)}", "ever"))
            lines.append(f"at most {random.choice((1, 1, 2, 3))} {per}")
        if self.terms.chance(0.2 if self.plain else 0.5):
            lines.append("unbounded")
        if self.terms.chance(0.3):
            self.terms.used["priority"] += 1
            lines.append(f"priority {random.choice(('-1', '1', '2', 'low', 'high'))}")
        once = sum(line.count(f"publish P{number}(") for line in lines) == 1
        if once and len(self.kept) == len(self.roles) and self.level == 0 and not self.published:
            self.apart.add(f"P{number}")
        return "\n".join([*published, "\n".join(lines) + ";"])

    def _shape(self) -> list[str]:
        """Return the conditions of a rule: some of what must be there, and then some of what must not."""
        random = self.terms.random
        facts_only = self.terms.chance(0.3)
        kinds = ["fact"] if facts_only else ["event", "event", "fact", "fact", "change"]
        asked = [random.choice(kinds) for _ in range(random.choice((1, 2, 2, 3, 3, 4)))]
        if not facts_only and not {"event", "change"} & set(asked):
            asked[random.randrange(len(asked))] = "event"
        for _ in range(random.choice((0, 0, 0, 1, 1, 2))):
            asked.insert(random.randint(1, len(asked)), random.choice(("not_fact", "not_fact", "not_event")))
        return asked

    def reaction(self, number: int) -> str:
        """Return a rule on a pattern, an expression or a match."""
        self._begin()
        types = {**self.events, **dict.fromkeys(sorted(self.apart), PUBLISHED)}
        kind = self.terms.random.choice(("pattern", "pattern", "expression", "match"))
        self.terms.used[f"rule on a {kind}"] += 1
        if kind == "pattern":
            made = Patterns(self.terms, types, self.keys).make()
        elif kind == "expression":
            made = Expressions(self.terms, self.events, self.keys).make()
        else:
            made = Matches(self.terms, self.events, self.keys).make()
        single = {name: own for name, own in made.scope.roles.items() if name not in made.scope.several}
        self.roles, self.parameters = single, dict(made.scope.parameters)
        published: list[str] = []
        # Of simultaneous occurrences in which one event plays other roles it is not said which comes first.
        acting = self.terms.random.choice((1, 2)) if kind != "expression" else 0
        actions = [self._action(number, published, facts_only=False) for _ in range(acting)]
        actions.append(self._publish(number, published))
        lines = [f"rule W{number}", f"on {made.text}", f"do {', '.join(actions)}", *made.clauses]
        if made.unbounded:
            lines.append("unbounded")
        return "\n".join([*published, "\n".join(lines) + ";"])

    def _begin(self) -> None:
        self.roles, self.facts, self.kept, self.parameters = {}, {}, [], {}
        self.level, self.published = 0, False

    def _simultaneous(self) -> dict[str, Schema]:
        """Return the events that occur in the first round of a position, if they do."""
        return {**self.events, **{name: PUBLISHED for name, level in self.levels.items() if level == 0}}

    def forget(self, number: int) -> None:
        """Take back what a rule published."""
        self.levels.pop(f"P{number}", None)
        self.apart.discard(f"P{number}")

    def _scope(self, own: Schema | None = None, *, timed: bool = True) -> Scope:
        return Scope(
            own=own or {},
            roles=dict(self.roles),
            parameters=dict(self.parameters),
            this=own is not None and timed,
            timeless=frozenset(self.facts),
        )

    # --- conditions -----------------------------------------------------------------------------------------

    def _fact(self, *, facts_only: bool) -> str:
        self.terms.used["condition fact"] += 1
        name = self.terms.random.choice(list(FACTS))
        if facts_only:
            self.level = max(self.level, LEVELS[name])
        written = self._conditions(name, FACTS[name][0], FACTS[name][1], timed=False)
        self.facts[f"r{len(self.roles) - 1}"] = name
        return f"fact {written}"

    def _event(self, *, facts_only: bool) -> str:
        del facts_only
        self.terms.used["condition event"] += 1
        published = bool(self.levels) and self.terms.chance(0.35)
        name = self.terms.random.choice([*(self.levels if published else self.events)])
        self.level = max(self.level, self.levels.get(name, 0))
        self.published = self.published or name in self.levels
        schema = self.events.get(name, PUBLISHED)
        written = self._conditions(name, schema, self.keys.get(name), timed=True)
        self.kept.append(f"r{len(self.roles) - 1}")
        return f"event {written}"

    def _change(self, *, facts_only: bool) -> str:
        del facts_only
        self.terms.used["condition change"] += 1
        name = self.terms.random.choice(list(FACTS))
        self.level = max(self.level, LEVELS[name])
        schema = FACTS[name][0]
        before = self.terms.comparison(Scope(own=schema)) if self.terms.chance(0.6) else ""
        if self.terms.chance(0.3):
            before = "n = $before" if "n" in schema else "x = $before"
        after = self.terms.comparison(Scope(own=schema)) if self.terms.chance(0.5) else ""
        if before and "$before" in before and self.terms.chance(0.7):
            after = before.replace("=", self.terms.random.choice(("<", "!=", ">")))
        role, event = f"r{len(self.roles)}", f"r{len(self.roles) + 1}"
        self.roles[role] = self.roles[event] = schema
        self.facts[role] = name
        return f"event change {name}({before or ''}) as {role} to ({after or ''}) as {event}"

    def _not_fact(self, *, facts_only: bool) -> str:
        self.terms.used["condition not fact"] += 1
        name = self.terms.random.choice(list(FACTS))
        if facts_only:
            self.level = max(self.level, LEVELS[name])
        return f"not fact {self._conditions(name, *FACTS[name], timed=False, taken=False)}"

    def _not_event(self, *, facts_only: bool) -> str:
        self.terms.used["condition not event"] += 1
        name = self.terms.random.choice([*(self.events if facts_only else self._simultaneous())])
        schema = self.events.get(name, PUBLISHED)
        return f"not event {self._conditions(name, schema, self.keys.get(name), timed=True, taken=False)}"

    def _conditions(
        self, name: str, schema: Schema, key: str | None, *, timed: bool, taken: bool = True
    ) -> str:
        terms, random = self.terms, self.terms.random
        conditions: list[str] = []
        local: dict[str, Kind] = {}
        texts = [n for n, kind in schema.items() if kind.name == "string" and not kind.optional]
        for attribute in texts:
            others = [f"{r}.{n}" for r, s in self.roles.items() for n, k in s.items() if k.name == "string"]
            if others and terms.chance(0.2 if self.plain else 0.35):
                conditions.append(f"{attribute} = {random.choice(others)}")
            elif terms.chance(0.15 if self.plain else 0.25):
                known = [f"${p}" for p, kind in self.parameters.items() if kind.name == "string"]
                new = f"${'pqrs'[len(self.parameters) % 4]}{len(self.parameters)}"
                chosen = random.choice([*known, *known, new])
                if chosen == new:
                    local[new[1:]] = schema[attribute]
                alone = attribute == key and terms.chance(0.3)
                conditions.append(chosen if alone else f"{attribute} = {chosen}")
        if taken:
            self.parameters |= local
        scope = self._scope(schema, timed=timed)
        if self.plain:
            conditions += self._window(scope)
        else:
            conditions += [self._condition(scope) for _ in range(random.choice((0, 0, 0, 1)))]
        random.shuffle(conditions)
        written = f"{name}({', '.join(conditions)})"
        if not taken:
            return written
        role = f"r{len(self.roles)}"
        self.roles[role] = schema
        return f"{written} as {role}"

    def _window(self, scope: Scope) -> list[str]:
        """Return how long after another event an event must come."""
        if not scope.this or not scope.timed or self.terms.chance(0.1):
            return []
        low, high = self.terms.random.choice(((0, 1), (0, 2), (1, 5), (0, 15), (0, 60), (-2, 2)))
        return [f"this after [{low} ms, {high} ms] {self.terms.random.choice(scope.timed)}"]

    def _condition(self, scope: Scope) -> str:
        """Return a condition, half of them such that many fulfil it."""
        random, terms = self.terms.random, self.terms
        if scope.timed and terms.chance(0.4):
            left = "this" if scope.this else random.choice(scope.timed)
            others = [role for role in scope.timed if role != left]
            if others:
                low, high = sorted(random.choice((-60, -10, -3, 0, 0, 1, 3, 10, 40, 100)) for _ in range(2))
                terms.used["relation after"] += 1
                return f"{left} after [{low} ms, {high} ms] {random.choice(others)}"
        if terms.chance(0.5):
            value = terms.named(scope, "long")
            if value is not None:
                return f"{value.text} {random.choice(('<', '>=', '!='))} {random.choice((0, 1, 2))}"
        return terms.condition(scope)

    # --- actions --------------------------------------------------------------------------------------------

    def _action(self, number: int, published: list[str], *, facts_only: bool) -> str:
        random = self.terms.random
        higher = [name for name in FACTS if LEVELS[name] > self.level]
        held = [role for role, name in self.facts.items() if name in higher]
        choices = [
            "publish",
            *["add"] * 3 * bool(higher),
            *["modify"] * 4 * bool(held),
            *["retract"] * bool(held),
        ]
        if not facts_only and self.kept and self.level == 0:
            choices += ["retract event"] * 2
        match random.choice(choices):
            case "add":
                name = random.choice(higher)
                verb = random.choice(("assert", "update"))
                self.terms.used[f"action {verb}"] += 1
                return f"{verb} {name}({self._assigned(FACTS[name][0])})"
            case "modify":
                role = random.choice(held)
                schema, key = FACTS[self.facts[role]]
                free = [name for name in schema if name != key]
                chosen = {name: schema[name] for name in random.sample(free, random.choice((1, 1, 2)))}
                self.terms.used["action modify"] += 1
                return f"modify {role} ({self._assigned(chosen)})"
            case "retract":
                self.terms.used["action retract"] += 1
                return f"retract {random.choice(held)}"
            case "retract event":
                self.terms.used["action retract event"] += 1
                return f"retract {random.choice(self.kept)}"
            case _:
                return self._publish(number, published)

    def _publish(self, number: int, published: list[str]) -> str:
        self.terms.used["action publish"] += 1
        name = f"P{number}"
        if not published:
            attributes = ", ".join(f"{n}: {k.written}" for n, k in PUBLISHED.items())
            published.append(f"event {name} ({attributes}) key k;")
            self.levels[name] = self.level
        return f"publish {name}({self._assigned(PUBLISHED)})"

    def _assigned(self, schema: Schema) -> str:
        return ", ".join(f"{name} = {self._value(name, kind)}" for name, kind in schema.items())

    def _value(self, name: str, kind: Kind) -> str:
        """Return a value from what matched, or one of few constants."""
        scope = self._scope()
        if name in {"k", "j"} and self.terms.chance(0.3):
            return self.terms.random.choice(('"a"', '"b"'))
        value = self.terms.named(scope, kind.wide) if self.terms.chance(0.7) else None
        if value is None:
            value = self.terms.value(scope, kind.wide) or self.terms.constant(kind.wide)
        assert value is not None
        if value.optional and not kind.optional:
            other = self.terms.constant(kind.wide)
            assert other is not None
            return f"coalesce({value.text}, {other.text})"
        return value.text


def changes(random: Random, times: Sequence[int]) -> tuple[Change, ...]:
    """Return changes of facts at some of the times of a history."""
    found: list[Change] = []
    for _ in range(random.choice((0, 4, 8, 16, 24))):
        name = random.choice(list(FACTS))
        schema, key = FACTS[name]
        time = random.choice(times)
        own = random.choice("ab" if key else "xyz")
        if random.random() < 0.2:
            found.append(retraction(name, t=time, key=own))
            continue
        state: dict[str, Value] = {n: _value(random, n, kind) for n, kind in schema.items()}
        if key:
            state[key] = own
        found.append(fact(name, t=time, key=None if key else own, **state))
    return tuple(sorted(found, key=lambda change: change.position))


def _value(random: Random, name: str, kind: Kind) -> Value:
    if kind.optional and random.random() < 0.35:
        return None
    match kind.name:
        case "boolean":
            return random.random() < 0.5
        case "long":
            return random.choice((0, 1, 1, 2, 3))
        case "double":
            return random.choice((-0.5, 0.0, 0.25, 1.0))
        case "Level":
            return random.choice(SYMBOLS)
        case _:
            return random.choice(("a", "b") if name in {"k", "j"} else ("", "a", "ab"))
