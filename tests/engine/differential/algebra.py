"""Random event expressions: every operator of the event algebra, in every context."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .patterns import Made
from .terms import Kind, Schema, Scope, Terms

WINDOWS = (2, 5, 10, 40, 200)
OPERATORS = (
    *("or", "and", "and", ";", ";", ";", "any", "any*"),
    *("A", "A*", "A*", "P", "P*", "not", "not", "+", "within", "point"),
)
CONTEXTS = ("unrestricted", "recent", "chronicle", "continuous", "cumulative")


@dataclass(frozen=True)
class Place:
    """Where an operand stands: whether it is a constituent, may be missing, or is taken several times."""

    taken: bool = True
    optional: bool = False
    several: bool = False


@dataclass
class Expressions:
    """Makes one event expression over event types."""

    terms: Terms
    types: Mapping[str, Schema]
    keys: Mapping[str, str | None]
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    timers: bool = False
    named: dict[str, str] = field(default_factory=dict)
    """The expressions that have a name; there may come more."""
    roles: dict[str, Schema] = field(default_factory=dict)
    several: set[str] = field(default_factory=set)
    parameters: dict[str, Kind] = field(default_factory=dict)
    count: int = 0
    tie: float = 0.0
    grouped: bool = False
    deepest: int = 2
    """How deep operators stand in each other; what has few of them occurs often."""
    context: str = ""
    name: str = ""
    """A named expression that is to be used once."""

    def make(self) -> Made:
        """Return an expression with a context, bounded in time or said to be unbounded."""
        terms, random = self.terms, self.terms.random
        self.tie = random.choice((0.0, 0.5, 0.8, 1.0))
        self.grouped = "Op" in self.types and terms.chance(0.2)
        self.deepest = random.choice((0, 0, 1, 1, 2))
        context = self.context = random.choice(CONTEXTS)
        if terms.chance(0.15):
            self.name = self.new_name()
        text = self.operator(Place(), 0)
        bounded = terms.chance(0.6)
        if bounded:
            terms.used["within"] += 1
            text = f"({text}) within {terms.duration(*WINDOWS)}"
        several = set(self.roles) if context == "cumulative" else self.several
        scope = Scope(
            roles=dict(self.roles),
            parameters=dict(self.parameters),
            aggregating=True,
            several=frozenset(several),
        )
        disjoint = terms.chance(0.2)
        terms.used[f"disjoint {context}"] += disjoint
        clause = f"context {context}{' disjoint' * disjoint}"
        return Made(text, scope, unbounded=not bounded, clauses=(clause,))

    def expression(self, place: Place, depth: int) -> str:
        """Return an operand, in parentheses where it needs them."""
        if depth > self.deepest or self.terms.chance(0.25 * depth):
            return self.leaf(place)
        return f"({self.operator(place, depth)})"

    def operator(self, place: Place, depth: int) -> str:  # noqa: C901, PLR0911 (one case an operator)
        terms = self.terms
        kind = terms.random.choice(OPERATORS)
        terms.used[f"operator {kind} {self.context}"] += 1
        deeper = depth + 1
        maybe = Place(place.taken, optional=True, several=place.several)
        aside = Place(taken=False)
        match kind:
            case "or":
                return f"{self.expression(maybe, deeper)} or {self.expression(maybe, deeper)}"
            case "and" | ";":
                left = self.expression(place, deeper)
                return f"{left} {kind} {self.expression(place, deeper)}"
            case "any":
                size = terms.random.choice((2, 3))
                count = terms.random.randint(1, size)
                return f"any({count}, {', '.join(self.expression(maybe, deeper + 1) for _ in range(size))})"
            case "any*":
                several = Place(place.taken, place.optional, several=True)
                return f"any({terms.random.choice((1, 2, 3))}, {self.expression(several, deeper + 1)}*)"
            case "A":
                first, middle = self.expression(place, deeper), self.expression(place, deeper)
                return f"aperiodic({first}, {middle}, {self.expression(aside, deeper)})"
            case "A*":
                several = Place(place.taken, optional=True, several=True)
                first, middle = self.expression(place, deeper), self.expression(several, deeper)
                return f"aperiodic*({first}, {middle}, {self.expression(place, deeper)})"
            case "P" | "P*":
                return self.periodic(kind, place, deeper)
            case "not":
                absent, first = self.expression(aside, deeper), self.expression(place, deeper)
                return f"not({absent})[{first}, {self.expression(place, deeper)}]"
            case "+":
                tick = self.point(place)
                return f"{self.expression(place, deeper)} + {terms.duration(1, 2, 5, 15)}{tick}"
            case "within":
                return f"({self.operator(place, deeper)}) within {terms.duration(*WINDOWS)}"
            case _:
                return f"{terms.random.choice(('begin', 'end'))} ({self.operator(place, deeper)})"

    def periodic(self, kind: str, place: Place, depth: int) -> str:
        terms, star = self.terms, "*" * (kind == "P*")
        first = self.expression(place, depth)
        last = self.expression(place if star else Place(taken=False), depth)
        collect = ""
        sampled: Schema = {}
        name = terms.random.choice(list(self.types))
        numbers = [a for a, own in self.types[name].items() if own.wide in {"long", "double"}]
        if star and numbers and terms.chance(0.4):
            attribute = terms.random.choice(numbers)
            collect = f" collect {self.occurrence(name)}.{attribute}"
            sampled = {attribute: Kind(self.types[name][attribute].name, optional=True)}
            terms.used["collect"] += 1
        tick = self.point(Place(place.taken, optional=bool(star), several=bool(star)), sampled)
        return f"periodic{star}({first}, {terms.duration(1, 2, 5)}{collect}, {last}){tick}"

    # --- leaves ---------------------------------------------------------------------------------------------

    def point(self, place: Place, schema: Schema | None = None) -> str:
        """Give a point in time a role, or none."""
        if not place.taken or self.terms.chance(0.4):
            return ""
        return f" as {self.role(place, schema or {})}"

    def role(self, place: Place, schema: Schema) -> str:
        self.count += 1
        role = f"r{self.count}"
        if place.taken:
            self.roles[role] = {
                name: replace(kind, optional=kind.optional or place.optional) for name, kind in schema.items()
            }
            if place.several:
                self.several.add(role)
        return role

    def new_name(self) -> str:
        """Give an expression a name; each type plays its own role in it."""
        terms = self.terms
        if self.named and terms.chance(0.3):
            return terms.random.choice(list(self.named))
        types = terms.random.sample(list(self.types), min(2, len(self.types)))
        left, right = (self.occurrence(name) for name in (types[0], types[-1]))
        word = terms.random.choice(("and", ";", "or"))
        name = f"N{len(self.named)}"
        self.named[name] = left if len(types) == 1 else f"{left} {word} {right}"
        return name

    def leaf(self, place: Place) -> str:
        terms = self.terms
        if self.name and place == Place():
            name, self.name = self.name, ""
            terms.used["named expression"] += 1
            return name
        if self.timers and terms.chance(0.15):
            terms.used["timer"] += 1
            shown = terms.random.choice(("second = *", "second = 3", "minute = *, second = 12"))
            return f"Timer({shown}){self.point(place)}"
        name = "Op" if self.grouped and terms.chance(0.7) else terms.random.choice(list(self.types))
        written = self.occurrence(name, place)
        return f"{written} as {self.role(place, self.types[name])}" if place.taken else written

    def occurrence(self, name: str, place: Place | None = None) -> str:
        terms, schema = self.terms, self.types[name]
        phase = ""
        if self.phases.get(name):
            phase = terms.random.choice(("", *(f"{word} " for word in self.phases[name])))
            terms.used[f"phase {phase or 'default'}"] += 1
        group = ""
        if self.grouped and name == "Op" and place is not None:
            terms.used["group"] += 1
            group = f"[{terms.random.choice((1, 2))}]"
        conditions = []
        if "k" in schema and terms.chance(self.tie):
            conditions.append("$k" if self.keys.get(name) == "k" and terms.chance(0.4) else "k = $k")
            if place is not None and place.taken and not place.optional and not place.several:
                self.parameters["k"] = Kind("string")
        numbers = [a for a, own in schema.items() if own.wide == "long" and not own.optional]
        if numbers and terms.chance(0.12):
            op = terms.random.choice(("=", "=", ">=", "!="))
            conditions.append(f"{terms.random.choice(numbers)} {op} $q")
        if terms.chance(0.3):
            conditions.append(terms.condition(Scope(own=schema)))
        return f"{phase}{name}{group}" + (f"({', '.join(conditions)})" if conditions else "")
