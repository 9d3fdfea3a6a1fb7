"""Random matches of every construct, each part knowing what was taken before it, and what of that is certain.

Where `matches` writes what people write, this nests anything in anything: it finds what happens at one
position.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .patterns import Made
from .terms import Kind, Schema, Scope, Terms

DURATIONS = (0, 1, 2, 5, 10, 40)


@dataclass(frozen=True)
class Role:
    """What can be named of a role: attributes, whether it may stand for several events, or for none.

    `tied` tells that its event mentions the parameter, which has a value from then on.
    """

    schema: Schema
    several: bool = False
    optional: bool = False
    tied: bool = False


Roles = Mapping[str, Role]


@dataclass(frozen=True)
class Part:
    """A part of a match: how it is written, what it takes, and whether it can come true where it starts."""

    text: str
    roles: Roles = field(default_factory=dict)
    empty: bool = False
    step: Schema | None = None
    """The attributes of the event, if it is a single one."""
    tied: bool = False
    """Whether something that mentions `$k` is taken, however it comes true."""


@dataclass
class MatchPrograms:
    """Makes one match over event types."""

    terms: Terms
    types: Mapping[str, Schema]
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tied: float = 0.0
    """How often a step mentions the parameter `$k`."""
    count: int = 0
    repeats: int = 0
    parameters: dict[str, Kind] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)

    def make(self) -> Made:
        """Return a match, and a clause on what is passed on."""
        random = self.terms.random
        self.tied = random.choice((0.0, 0.0, 0.7, 1.0))
        part = self.part(random.choice((1, 2, 2, 3, 3, 4)), {})
        if not part.tied:
            # What could come true without a value of the parameter is refused.
            part = replace(part, text=part.text.replace("k = $k", 'k = "a"').replace("$k", '"a"'))
            self.parameters.clear()
        clauses = self.passing(part.roles)
        return Made(f"match {part.text}", self.scope(part.roles), unbounded=True, clauses=clauses)

    def passing(self, roles: Roles) -> tuple[str, ...]:
        """Return a clause on which occurrences are passed on, or none."""
        random = self.terms.random
        choice = random.random()
        if choice < 0.1:
            return (self.noted("disjoint"),)
        if choice < 0.15:
            return (self.noted("skip to next"),)
        if choice < 0.25 and roles:
            skip = self.noted(random.choice(("skip to first", "skip to last")))
            return (f"{skip} {random.choice([*roles])}",)
        return ()

    def noted(self, construct: str) -> str:
        """Count a construct."""
        self.terms.used[f"match {construct}"] += 1
        return construct

    def scope(self, roles: Roles) -> Scope:
        """Return what conditions can name."""
        schemas = {
            name: {a: replace(k, optional=k.optional or role.optional) for a, k in role.schema.items()}
            for name, role in roles.items()
        }
        several = frozenset(name for name, role in roles.items() if role.several)
        valued = any(role.tied and not role.optional for role in roles.values())
        parameters = dict(self.parameters) if valued else {}
        return Scope(roles=schemas, parameters=parameters, aggregating=True, several=several)

    # --- parts ----------------------------------------------------------------------------------------------

    def part(self, depth: int, known: Roles) -> Part:
        """Return a part that sees what is known."""
        if depth == 0:
            return self.step(0, known)
        makers = {
            self.step: 1.0,
            self.then: 4.0,
            self.together: 1.6,
            self.one_of: 1.2,
            self.alternatives: 0.8,
            self.every: 1.8,
            self.taking: 1.8,
            self.repeat: 2.0,
            self.collect: 1.2,
            self.denied: 0.7,
            self.absent: 0.8,
            self.wait: 0.5,
            self.within: 1.2,
            self.at_most: 0.5,
            self.during: 0.5,
        }
        maker = self.terms.random.choices(list(makers), list(makers.values()))[0]
        return maker(depth - 1, known)

    def step(self, _depth: int, known: Roles) -> Part:
        terms, random = self.terms, self.terms.random
        name = random.choice([*self.types])
        schema = self.types[name]
        role = self.role(name, known)
        conditions = []
        tied = "k" in schema and terms.chance(self.tied)
        if tied:
            conditions.append("k = $k")
            self.parameters.setdefault("k", Kind("string"))
        scope = self.scope({**known, role: Role({}, tied=tied)})
        scope = replace(scope, roles=self.scope(known).roles, aggregating=terms.chance(0.3)).with_own(schema)
        if role in known or (self.repeats and terms.chance(0.15)):
            conditions.append(self.own_role(role, schema))
        conditions += [terms.condition(scope) for _ in range(random.choice((0, 0, 0, 0, 1, 1)))]
        phase = ""
        if self.phases.get(name):
            phase = random.choice(("", *(f"{word} " for word in self.phases[name])))
        text = f"{phase}{name}" + (f"({', '.join(conditions)})" if conditions else "")
        roles = {role: Role(schema, several=role in known, tied=tied)}
        return Part(f"{text} as {role}", roles, step=schema, tied=tied)

    def role(self, name: str, known: Roles) -> str:
        """Return a new role, or now and then one that was given to such an event before."""
        again = [role for role in known if self.named.get(role) == name]
        if again and self.terms.chance(0.1):
            self.noted("role again")
            return self.terms.random.choice(again)
        self.count += 1
        role = f"r{self.count}"
        self.named[role] = name
        return role

    def own_role(self, role: str, schema: Schema) -> str:
        """Return a condition on what was taken before in the same role."""
        random = self.terms.random
        self.noted("own role")
        numbers = [name for name, kind in schema.items() if kind.wide == "long"]
        if not numbers or self.terms.chance(0.4):
            return f"count({role}) < {random.choice((1, 2, 3))}"
        name = random.choice(numbers)
        function = random.choice(("sum", "sum", "max", "last"))
        return f"coalesce({function}({role}.{name}), 0) {random.choice('<>')} {name} + 1"

    def then(self, depth: int, known: Roles) -> Part:
        self.noted("then")
        left = self.part(depth, known)
        right = self.part(depth, {**known, **left.roles})
        text, empty = f"({left.text} then {right.text})", left.empty and right.empty
        return Part(text, merged(left, right), empty, tied=left.tied or right.tied)

    def together(self, depth: int, known: Roles) -> Part:
        self.noted("and")
        parts = [self.part(depth, known) for _ in range(self.terms.random.choice((2, 2, 3)))]
        if self.terms.chance(0.35):
            parts.append(self.denied(depth, known))
        self.terms.random.shuffle(parts)
        text, empty = f"({' and '.join(p.text for p in parts)})", all(p.empty for p in parts)
        return Part(text, merged(*parts), empty, tied=any(p.tied for p in parts))

    def one_of(self, depth: int, known: Roles) -> Part:
        return self.choice(self.noted("or"), depth, known)

    def alternatives(self, depth: int, known: Roles) -> Part:
        return self.choice(self.noted("|"), depth, known)

    def choice(self, word: str, depth: int, known: Roles) -> Part:
        parts = [self.part(depth, known) for _ in range(self.terms.random.choice((2, 2, 3)))]
        roles = {name: replace(role, optional=True) for name, role in merged(*parts).items()}
        text, empty = f"({f' {word} '.join(p.text for p in parts)})", any(p.empty for p in parts)
        return Part(text, roles, empty, tied=all(p.tied for p in parts))

    def every(self, depth: int, known: Roles) -> Part:
        part = self.part(depth, known)
        return replace(part, text=f"({self.noted('every')} {part.text})", step=None)

    def taking(self, depth: int, known: Roles) -> Part:
        part = self.part(self.terms.random.choice((0, depth)), known)
        word = self.noted(self.terms.random.choice(("each", "each", "next")))
        return replace(part, text=f"({word} {part.text})", step=None)

    def repeat(self, depth: int, known: Roles) -> Part:
        self.noted("repeat")
        low, part, text = self.repeated(depth, known, until=False)
        return Part(f"({text})", part.roles, low == 0 or part.empty, tied=part.tied and low > 0)

    def collect(self, depth: int, known: Roles) -> Part:
        self.noted("until")
        low, part, text = self.repeated(depth, known, until=True)
        end = self.part(self.terms.random.choice((0, 0, depth)), known)
        tied = end.tied or (part.tied and low > 0)
        return Part(f"({text} until {end.text})", {**part.roles, **end.roles}, end.empty, tied=tied)

    def repeated(self, depth: int, known: Roles, *, until: bool) -> tuple[int, Part, str]:
        """Return how often at least, what is repeated, and how the whole is written."""
        random = self.terms.random
        self.repeats += 1
        part = self.part(random.choice((0, 0, 0, depth)), known)
        self.repeats -= 1
        low = random.choice((0, 0, 1, 1, 2))
        high = random.choice((low or 1, low + 1, low + 2, 3 if part.empty and not until else None))
        numbers = f"{low}" if high == low else f"{low},{'' if high is None else f' {high}'}"
        take = random.choice(("", "", "", " each", " next"))
        between = ""
        names = [name for name, kind in (part.step or {}).items() if kind.wide == "long"]
        if names and self.terms.chance(0.35):
            name = random.choice(names)
            between = f" while {name} {random.choice(('<', '<=', '>=', '!='))} previous.{name}"
            self.noted("previous")
        several = high is None or high > 1
        roles = {
            name: replace(role, several=role.several or several, optional=role.optional or low == 0)
            for name, role in part.roles.items()
        }
        return low, replace(part, roles=roles), f"{part.text}{{{numbers}{take}{between}}}"

    def denied(self, depth: int, known: Roles) -> Part:
        part = self.part(self.terms.random.choice((0, 0, depth)), known)
        return Part(f"({self.noted('not')} {part.text})", {}, empty=True)

    def absent(self, depth: int, known: Roles) -> Part:
        part = self.part(self.terms.random.choice((0, 0, depth)), known)
        self.noted("not for")
        return Part(f"(not {part.text} for {self.terms.duration(*DURATIONS)}{self.since(known)})")

    def wait(self, _depth: int, _known: Roles) -> Part:
        text = f"{self.noted('wait')} {self.terms.duration(*DURATIONS)}"
        if self.terms.chance(0.5):
            return Part(f"({text})")
        self.count += 1
        role = f"w{self.count}"
        return Part(f"({text} as {role})", {role: Role({})})

    def within(self, depth: int, known: Roles) -> Part:
        part = self.part(depth, known)
        # In a repeat, an event of an earlier iteration counts: the compiler does not keep that apart yet.
        since = self.since(known if self.repeats else {**known, **part.roles})
        self.noted(f"within{' from' * bool(since)}")
        return replace(part, text=f"({part.text} within {self.terms.duration(*DURATIONS)}{since})", step=None)

    def at_most(self, depth: int, known: Roles) -> Part:
        part = self.part(depth, known)
        count = self.terms.random.choice((0, 1, 1, 2, 3))
        return replace(part, text=f"({part.text} {self.noted('at most')} {count})", step=None)

    def during(self, depth: int, known: Roles) -> Part:
        part = self.part(depth, known)
        condition = self.terms.condition(self.scope({**known, **part.roles}))
        self.noted("while")
        return replace(part, text=f"({part.text} while {condition})", step=None)

    def since(self, known: Roles) -> str:
        """Return what a time is counted from, if not from the start."""
        certain = [name for name, role in known.items() if not role.optional]
        return f" from {self.terms.random.choice(certain)}" if certain and self.terms.chance(0.5) else ""


def merged(*parts: Part) -> dict[str, Role]:
    """Return the roles of parts; one that several of them have stands for several events."""
    roles: dict[str, Role] = {}
    for part in parts:
        for name, role in part.roles.items():
            roles[name] = replace(role, several=True) if name in roles else role
    return roles
