"""Random patterns: a terminator, and what it asks of the past and of the time ahead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .terms import NUMBERS, Kind, Schema, Scope, Terms

WINDOWS = (0, 1, 2, 5, 10, 40, 200)
AGGREGATES = ("count", "sum", "avg", "min", "max", "stddev", "distinct", "first", "last", "percentile")


@dataclass(frozen=True)
class Made:
    """A source, and what clauses behind it can name."""

    text: str
    scope: Scope
    taken: tuple[str, ...] = ()
    unbounded: bool = False
    clauses: tuple[str, ...] = ()


@dataclass
class Patterns:
    """Makes one pattern over event types; those of `earlier` can only be selected from the past."""

    terms: Terms
    types: Mapping[str, Schema]
    keys: Mapping[str, str | None]
    earlier: Mapping[str, Schema] = field(default_factory=dict)
    phases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    timers: bool = False
    roles: dict[str, Schema] = field(default_factory=dict)
    parameters: dict[str, Kind] = field(default_factory=dict)
    unbounded: bool = False
    count: int = 0

    def make(self, items: int | None = None) -> Made:
        """Return a pattern with so many items, or with up to five."""
        random = self.terms.random
        parts = [self.constituent(random.choice([*self.types]), taken=True)]
        for _ in range(random.choice((0, 1, 1, 2, 2, 3, 3, 4, 5)) if items is None else items):
            item = self.item()
            if item is not None:
                parts.append(item)
        scope = Scope(roles=dict(self.roles), parameters=dict(self.parameters), aggregating=True)
        return Made("\n  and ".join(parts), scope, tuple(self.roles), self.unbounded)

    # --- constituents ---------------------------------------------------------------------------------------

    def constituent(self, name: str, *, taken: bool, alias: bool = True) -> str:
        """Return an occurrence with conditions; what is taken plays a role from then on."""
        if self.timers and self.terms.chance(0.15):
            return self.timer(taken=taken)
        terms, schema = self.terms, {**self.types, **self.earlier}[name]
        role = f"r{len(self.roles)}"
        phase = ""
        if self.phases.get(name):
            phase = terms.random.choice(("", *(f"{word} " for word in self.phases[name])))
            terms.used[f"phase {phase or 'default'}"] += 1
        elif terms.chance(0.06):
            phase = terms.random.choice(("begin ", "end "))
            terms.used["point"] += 1
        group = ""
        if "call" in schema and terms.chance(0.3):
            group = f"[{terms.random.choice((1, 2))}]"
            terms.used["group"] += 1
        local: dict[str, Kind] = {}
        conditions = [*self.ties(name, schema, taken=taken), *self.bindings(schema, local)]
        scope = Scope(roles=dict(self.roles), parameters={**self.parameters, **local}).with_own(schema)
        conditions += [terms.condition(scope) for _ in range(terms.random.choice((0, 0, 0, 0, 1, 1, 2)))]
        terms.random.shuffle(conditions)
        if taken:
            self.parameters |= local
            self.roles[role] = schema
        asked = f"({', '.join(conditions)})" if conditions or terms.chance(0.2) else ""
        written = f"{phase}{name}{group}{asked}"
        return f"{written} as {role}" if taken and alias else written

    def timer(self, *, taken: bool) -> str:
        self.terms.used["timer"] += 1
        random = self.terms.random
        shown = random.choice(("second = *", "second = 3", "second = *", "minute = *, second = 12"))
        role = f"r{len(self.roles)}"
        if taken:
            self.roles[role] = {}
        return f"Timer({shown})" + (f" as {role}" if taken else "")

    def ties(self, name: str, schema: Schema, *, taken: bool) -> list[str]:
        """Return equalities with parameters that have a value; the first of the key gives it one."""
        terms = self.terms
        found = []
        if "k" in schema and ("k" in self.parameters or taken) and terms.chance(0.75):
            alone = self.keys.get(name) == "k" and terms.chance(0.3)
            found.append("$k" if alone else terms.random.choice(("k = $k", "k = $k", "$k = k")))
            self.parameters.setdefault("k", Kind("string"))
        for parameter, kind in self.parameters.items():
            same = [a for a, own in schema.items() if own.wide == kind.wide and parameter != "k"]
            if same and not kind.optional and terms.chance(0.25):
                found.append(f"{terms.random.choice(same)} = ${parameter}")
        if self.roles and terms.chance(0.15):
            role = terms.random.choice(list(self.roles))
            same = [a for a in schema if a in self.roles[role]]
            if same:
                attribute = terms.random.choice(same)
                found.append(f"{attribute} = {role}.{attribute}")
        return found

    def bindings(self, schema: Schema, local: dict[str, Kind]) -> list[str]:
        """Return equalities that give new parameters their values."""
        terms = self.terms
        numbers = {name: kind for name, kind in schema.items() if kind.wide in NUMBERS}
        certain = [name for name, kind in numbers.items() if not kind.optional]
        if not certain or not terms.chance(0.25):
            return []
        self.count += 1
        parameter = f"p{self.count}"
        attribute = terms.random.choice(certain)
        local[parameter] = schema[attribute]
        return [f"{attribute} = ${parameter}"]

    # --- items ----------------------------------------------------------------------------------------------

    def item(self) -> str | None:
        choice = self.terms.random.random()
        if choice < 0.45:
            return self.selected()
        if choice < 0.53:
            return self.bounded()
        if choice < 0.73:
            return self.negated()
        if choice < 0.9:
            return self.aggregated()
        return self.filtered()

    def role(self) -> str:
        return self.terms.random.choice(["r0", *self.roles])

    def backward(self) -> str:
        if self.terms.chance(0.12):
            self.terms.used["before"] += 1
            self.unbounded = True
            return f"before {self.role()}"
        return f"within {self.terms.duration(*WINDOWS)} from {self.role()}"

    def selected(self) -> str:
        terms = self.terms
        selection = terms.random.choice(("each", "last", "last", "first"))
        count = terms.random.choice(("", "", "", "2 ", "3 ")) if selection != "each" else ""
        terms.used[f"{count and 'k '}{selection}"] += 1
        backward = self.backward()
        pool = [*self.types, *self.types, *self.earlier, *self.earlier, *self.earlier]
        name = terms.random.choice(pool)
        if name in self.earlier:
            terms.used["recursion"] += 1
        return f"{count}{selection} {self.constituent(name, taken=True)} {backward}"

    def bounded(self) -> str | None:
        if len(self.roles) < 2:
            return None
        role, anchor = self.terms.random.sample(list(self.roles), 2)
        self.terms.used["bounded"] += 1
        return f"{role} within {self.terms.duration(*WINDOWS)} from {anchor}"

    def range(self) -> str:
        if len(self.roles) > 1 and self.terms.chance(0.5):
            first, last = self.terms.random.sample(list(self.roles), 2)
            if self.terms.chance(0.8):
                # What is selected later stands mostly before.
                first, last = sorted((first, last), reverse=True)
            return f"between {first} and {last}"
        return self.backward()

    def negated(self) -> str:
        terms = self.terms
        ahead = terms.chance(0.35)
        place = f"within {terms.duration(*WINDOWS)} after {self.role()}" if ahead else self.range()
        terms.used["not ahead" if ahead else f"not {place.split()[0]}"] += 1
        name = terms.random.choice([*self.types])
        return f"not {self.constituent(name, taken=False)} {place}"

    def aggregated(self) -> str | None:
        terms = self.terms
        function = terms.random.choice(AGGREGATES)
        name = terms.random.choice([*self.types])
        numbers = [a for a, kind in self.types[name].items() if kind.wide in {"long", "double"}]
        if not numbers:
            return None
        attribute = terms.random.choice(numbers)
        place = self.range()
        occurrence = self.constituent(name, taken=False)
        limit = f"{terms.random.choice((1, 2, 3))} last " if terms.chance(0.2) else ""
        terms.used[f"aggregate {function}"] += 1
        terms.used["aggregate limit"] += bool(limit)
        if occurrence.startswith("Timer"):
            function, operand = "count", occurrence
        elif function == "count" and terms.chance(0.5):
            operand = occurrence
        else:
            operand = f"{occurrence}.{attribute}"
        argument = f", {terms.random.choice((0, 10, 50, 90, 100))}" if function == "percentile" else ""
        self.count += 1
        parameter = f"a{self.count}"
        kind = self.types[name][attribute]
        if function in {"count", "distinct"}:
            kind = Kind("long")
        elif function in {"avg", "stddev"}:
            kind = Kind("double", optional=True)
        elif function != "sum":
            kind = Kind(kind.name, optional=True)
        self.parameters[parameter] = Kind(kind.wide, kind.optional and function != "sum")
        return f"${parameter} = {function}({limit}{operand}{argument}) {place}"

    def filtered(self) -> str | None:
        """A condition on parameters, with which it begins."""
        scope = Scope(roles=dict(self.roles), parameters=dict(self.parameters))
        numbers = [name for name, kind in self.parameters.items() if kind.wide in {"long", "double"}]
        if not numbers:
            return None
        terms = self.terms
        name = terms.random.choice(numbers)
        right = terms.value(scope, self.parameters[name].wide)
        if right is None:
            return None
        terms.used["condition"] += 1
        text = f"${name} {terms.random.choice(('=', '!=', '<', '<=', '>', '>='))} {right.text}"
        return f"not {text}" if terms.chance(0.2) else text
