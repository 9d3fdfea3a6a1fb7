"""Random matches: every way to look forward for events, step by step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .patterns import Made
from .terms import Schema, Scope, Terms

WINDOWS = (2, 5, 10, 40, 200)
KINDS = (
    *("then", "then", "then", "then", "and", "or", "|", "every", "each", "next"),
    *("repeat", "repeat", "repeat", "until", "not", "for", "within", "from", "at most", "while", "wait"),
)


@dataclass(frozen=True)
class Place:
    """Where a part stands: whether what it takes may be missing, comes several times, or is not taken."""

    optional: bool = False
    several: bool = False
    taken: bool = True

    def maybe(self) -> "Place":
        return Place(optional=True, several=self.several, taken=self.taken)

    def repeated(self) -> "Place":
        return Place(optional=True, several=True, taken=self.taken)


@dataclass
class Matches:
    """Makes one match over event types."""

    terms: Terms
    types: Mapping[str, Schema]
    keys: Mapping[str, str | None]
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    roles: dict[str, Schema] = field(default_factory=dict)
    several: set[str] = field(default_factory=set)
    visible: dict[str, Schema] = field(default_factory=dict)
    """Roles that conditions further on can name."""
    count: int = 0
    tie: float = 0.0

    def make(self) -> Made:
        """Return a match, with what is said about overlaps."""
        terms, random = self.terms, self.terms.random
        self.tie = random.choice((0.0, 0.0, 1.0, 1.0))
        text = self.compound(Place(), 0)
        if terms.chance(0.5):
            text = f"every ({text})"
            terms.used["match every"] += 1
        bounded = terms.chance(0.5)
        if bounded:
            text = f"({text}) within {terms.duration(*WINDOWS)}"
        scope = Scope(roles=dict(self.roles), aggregating=True, several=frozenset(self.several))
        clauses: tuple[str, ...] = ()
        if terms.chance(0.3):
            skips = ["disjoint", "skip to next"]
            skips += [f"skip to {which} {role}" for role in self.roles for which in ("first", "last")]
            clauses = (random.choice(skips),)
            terms.used[" ".join(clauses[0].split()[:3])] += 1
        return Made(f"match {text}", scope, unbounded=True, clauses=clauses)

    def part(self, place: Place, depth: int) -> str:
        if depth > 2 or self.terms.chance(0.3 + 0.2 * depth):
            return self.step(place)
        return f"({self.compound(place, depth)})"

    def compound(self, place: Place, depth: int) -> str:  # noqa: C901, PLR0911, PLR0912 (one case a kind)
        terms, deeper = self.terms, depth + 1
        kind = terms.random.choice(KINDS)
        terms.used[f"match {kind}"] += 1
        match kind:
            case "then":
                left = self.part(place, deeper)
                return f"{left} then {self.part(place, deeper)}"
            case "and" | "or" | "|":
                before = dict(self.visible)
                own = place if kind == "and" else place.maybe()
                parts = []
                for _ in range(terms.random.choice((2, 2, 3))):
                    self.visible = dict(before)
                    parts.append(self.part(own, deeper))
                self.visible = before
                return f" {kind} ".join(parts)
            case "every" | "each" | "next":
                return f"{kind} {self.part(place, deeper)}"
            case "repeat":
                return self.repeat(place, deeper)
            case "until":
                return f"{self.repeat(place, deeper)} until {self.part(place.maybe(), deeper)}"
            case "not":
                denied = self.part(Place(taken=False), deeper)
                return f"{self.part(place, deeper)} and not {denied}"
            case "for":
                first = self.part(place, deeper)
                absent = self.part(Place(taken=False), deeper)
                return f"{first} then not {absent} for {terms.duration(1, 2, 5, 15)}{self.since()}"
            case "within":
                return f"{self.part(place, deeper)} within {terms.duration(*WINDOWS)}"
            case "from":
                first = self.part(place, deeper)
                since = self.since()
                return f"{first} then ({self.part(place, deeper)} within {terms.duration(*WINDOWS)}{since})"
            case "at most":
                return f"{self.part(place, deeper)} at most {terms.random.choice((0, 1, 1, 2))}"
            case "while":
                part = self.part(place, deeper)
                scope = Scope(roles={r: s for r, s in self.visible.items() if r not in self.several})
                return f"{part} while {terms.comparison(scope) or '1 = 1'}"
            case _:
                return f"{self.part(place, deeper)} then wait {terms.duration(1, 2, 5, 15)}"

    def since(self) -> str:
        known = [role for role in self.visible if role not in self.several]
        return f" from {self.terms.random.choice(known)}" if known and self.terms.chance(0.3) else ""

    def repeat(self, place: Place, depth: int) -> str:
        terms, random = self.terms, self.terms.random
        low = random.choice((0, 1, 1, 2, 3))
        high = random.choice((f"{low}", f"{low},", f"{low},{low + random.choice((1, 2))}"))
        if high == "0":
            high = "0,2"
        before = dict(self.visible)
        if terms.chance(0.7):
            name = random.choice(list(self.types))
            part = self.step(place.repeated(), name)
        else:
            name, part = "", f"({self.compound(place.repeated(), depth + 1)})"
        self.visible = before
        take = random.choice(("", "", "", " each", " next"))
        condition = ""
        numbers = [a for a, kind in self.types[name].items() if kind.wide == "long"] if name else []
        if numbers and terms.chance(0.4):
            attribute = random.choice(numbers)
            condition = f" while {attribute} {random.choice(('>', '>=', '!=', '='))} previous.{attribute}"
            terms.used["match while previous"] += 1
        return f"{part}{{{high}{take}{condition}}}"

    # --- steps ----------------------------------------------------------------------------------------------

    def step(self, place: Place, name: str = "") -> str:
        terms = self.terms
        name = name or terms.random.choice(list(self.types))
        schema = self.types[name]
        phase = ""
        if self.phases.get(name):
            phase = terms.random.choice(("", *(f"{word} " for word in self.phases[name])))
        conditions = []
        if "k" in schema and terms.chance(self.tie):
            conditions.append("$k" if self.keys.get(name) == "k" and terms.chance(0.4) else "k = $k")
        known = {r: s for r, s in self.visible.items() if r not in self.several}
        scope = Scope(own=schema, roles=known if terms.chance(0.3) else {})
        if terms.chance(0.3):
            conditions.append(terms.condition(scope))
        written = f"{phase}{name}" + (f"({', '.join(conditions)})" if conditions else "")
        if not place.taken:
            return written
        self.count += 1
        again = [r for r in self.several if set(self.roles[r]) == set(schema)]
        role = terms.random.choice(again) if again and terms.chance(0.1) else f"r{self.count}"
        self.roles[role] = {n: replace(k, optional=k.optional or place.optional) for n, k in schema.items()}
        if place.several:
            self.several.add(role)
        elif not place.optional:
            self.visible[role] = schema
        return f"{written} as {role}"
