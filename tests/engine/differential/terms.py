"""Random values and conditions that type-check, over what can be named at one place of a rule.

Values are of a wide type: `int` is a `long` and `float` a `double` to every operator. Nothing here gives a
real number that is none, for which the functions of many values have no order to speak of.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random

WIDE = {"int": "long", "float": "double"}
NUMBERS = ("long", "double")
COMPARISONS = ("=", "=", "!=", "<", "<=", ">", ">=")
RELATIONS = {
    "after": (0, 1, 2),
    "before": (0, 1, 2),
    "coincides": (0, 1, 2),
    "overlaps": (0, 1, 2),
    "overlappedby": (0, 1, 2),
    "during": (0, 1, 2, 4),
    "includes": (0, 1, 2, 4),
    "meets": (0, 1),
    "metby": (0, 1),
    "starts": (0, 1),
    "startedby": (0, 1),
    "finishes": (0, 1),
    "finishedby": (0, 1),
}
LEVEL = "Level"
LEVELS = ("low", "mid", "high")
"""An enumeration, and its symbols."""

CONSTANTS = {
    "long": ("-1", "0", "1", "1", "2", "3", "4611686018427387904"),
    "double": ("-0.5", "0.0", "0.25", "1.0", "1.5"),
    "string": ('""', '"a"', '"b"', '"ab"'),
    "boolean": ("true", "false"),
    LEVEL: tuple(f'"{symbol}"' for symbol in LEVELS),
}


@dataclass(frozen=True)
class Kind:
    """The type of a value, and whether it may be null."""

    name: str
    optional: bool = False
    many: bool = False
    whole: bool = False
    """Whether an event or a fact stands for it, where it is named alone."""

    @property
    def wide(self) -> str:
        """The type that operators see."""
        return f"{self.name}[]" if self.many else WIDE.get(self.name, self.name)

    @property
    def written(self) -> str:
        """The type as a declaration has it."""
        return f"{self.name}{'[]' * self.many}{'?' * self.optional}"


Schema = Mapping[str, Kind]
"""Attributes and their types."""


@dataclass(frozen=True)
class Typed:
    """The text of a value, and whether it may be null."""

    text: str
    optional: bool = False


@dataclass(frozen=True)
class Scope:
    """What can be named: own attributes, roles, parameters; and whether roles can be taken together."""

    own: Schema = field(default_factory=dict)
    roles: Mapping[str, Schema] = field(default_factory=dict)
    parameters: Mapping[str, Kind] = field(default_factory=dict)
    this: bool = False
    aggregating: bool = False
    several: frozenset[str] = frozenset()
    """Roles that can stand for several events, and so can only be taken together."""
    timeless: frozenset[str] = frozenset()
    """Roles of facts, which have no place in time."""

    @property
    def timed(self) -> list[str]:
        """The roles of single events."""
        return [role for role in self.roles if role not in self.several | self.timeless]

    def with_own(self, own: Schema) -> "Scope":
        """Return the scope of the conditions of an event."""
        return replace(self, own=own, this=True)


@dataclass
class Terms:
    """Makes values and conditions; `scale` is the length in milliseconds of what a history calls a moment."""

    random: Random
    used: Counter[str]
    scale: int = 1

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def duration(self, *lengths: int) -> str:
        """Return a duration of one of some lengths."""
        return f"{self.random.choice(lengths) * self.scale} ms"

    # --- conditions -----------------------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int = 0) -> str:
        """Return something that is true or false."""
        choice = self.random.random()
        if depth < 2 and choice < 0.12:
            word = self.random.choice((" and ", " or "))
            self.used[f"expression{word}"] += 1
            return f"({word.join(self.condition(scope, depth + 1) for _ in range(2))})"
        if depth < 2 and choice < 0.18:
            self.used["expression not"] += 1
            return f"not ({self.condition(scope, depth + 1)})"
        made = None
        if choice < 0.26:
            made = self.null_test(scope)
        elif choice < 0.34:
            made = self.one_of(scope)
        elif choice < 0.42:
            made = self.relation(scope)
        elif choice < 0.47:
            made = self.truth(scope)
        elif choice < 0.55:
            made = self.alike(scope)
        return made or self.comparison(scope) or "1 = 1"

    def comparison(self, scope: Scope) -> str | None:
        kind = self.random.choice(("long", "long", "double", "string", "boolean", "timestamp"))
        left = self.named(scope, kind) if self.chance(0.8) else self.value(scope, kind)
        right_kind = self.random.choice(NUMBERS) if kind in NUMBERS else kind
        right = self.value(scope, right_kind)
        if left is None or right is None:
            return None
        op = self.random.choice(COMPARISONS if kind != "boolean" else ("=", "!="))
        return f"{left.text} {op} {right.text}"

    def alike(self, scope: Scope) -> str | None:
        """A comparison of symbols, or of bytes, which have no constants."""
        kind = self.random.choice((LEVEL, LEVEL, "bytes"))
        left = self.named(scope, kind)
        right = self.named(scope, kind) if kind == "bytes" else self.value(scope, kind)
        if left is None or right is None:
            return None
        self.used[f"expression of {kind}"] += 1
        return f"{left.text} {self.random.choice(('=', '!='))} {right.text}"

    def null_test(self, scope: Scope) -> str | None:
        kind = self.random.choice(("long", "string", "bytes"))
        value = self.named(scope, kind, optional=True)
        if value is None:
            return None
        self.used["expression is null"] += 1
        return f"{value.text} is {self.random.choice(('null', 'not null'))}"

    def one_of(self, scope: Scope) -> str | None:
        kind = self.random.choice(("long", "string"))
        value = self.named(scope, kind)
        if value is None:
            return None
        self.used["expression in"] += 1
        options = self.random.sample(CONSTANTS[kind][:-1], k=2)
        return f"{value.text} in ({', '.join(options)})"

    def relation(self, scope: Scope) -> str | None:
        names = scope.timed
        left = "this" if scope.this and self.chance(0.7) else None
        if left is None:
            if len(names) < 2:
                return None
            left = self.random.choice(names)
            names.remove(left)
        if not names:
            return None
        op = self.random.choice(list(RELATIONS))
        count = self.random.choice(RELATIONS[op])
        bounds = sorted(self.random.choice((0, 1, 3, 10, 60)) * self.scale for _ in range(count))
        if count == 4:
            bounds = [*sorted(bounds[:2]), *sorted(bounds[2:])]
        if op in {"after", "before"} and count and self.chance(0.3):
            bounds[0] = -bounds[0]
        texts = [f"{bound} ms" for bound in bounds]
        if op in {"after", "before"} and count == 2 and self.chance(0.3):
            texts[1] = "*"
        self.used[f"relation {op}"] += 1
        shown = f" [{', '.join(texts)}]" if texts else ""
        return f"{left} {op}{shown} {self.random.choice(names)}"

    def truth(self, scope: Scope) -> str | None:
        left, right = self.named(scope, "string"), self.value(scope, "string")
        if left is None or right is None:
            return None
        function = self.random.choice(("contains", "starts_with", "ends_with"))
        self.used[f"function {function}"] += 1
        return f"{function}({left.text}, {right.text})"

    # --- values ---------------------------------------------------------------------------------------------

    def value(self, scope: Scope, kind: str, depth: int = 0) -> Typed | None:
        """Return a value of a wide type, or None where there is none."""
        choice = self.random.random()
        made = None
        if depth < 2 and choice < 0.2:
            made = self.calculation(scope, kind, depth)
        elif depth < 2 and choice < 0.3:
            made = self.function(scope, kind, depth)
        elif scope.aggregating and choice < 0.5:
            made = self.collected(scope, kind)
        elif choice > 0.85:
            made = self.constant(kind)
        return made or self.named(scope, kind) or self.constant(kind)

    def constant(self, kind: str) -> Typed | None:
        if kind not in CONSTANTS:
            return None
        large = self.chance(0.03)
        return Typed(self.random.choice(CONSTANTS[kind] if large else CONSTANTS[kind][:4]))

    def named(self, scope: Scope, kind: str, optional: bool | None = None) -> Typed | None:
        """Return an attribute or a parameter of a wide type."""
        own = [Typed(name, k.optional) for name, k in scope.own.items() if k.wide == kind]
        others = [
            Typed(text, k.optional)
            for role, schema in scope.roles.items()
            if role not in scope.several
            for name, k in schema.items()
            if k.wide == kind
            for text in (f"{role}.{name}", *([role] if k.whole else []))
        ]
        given = [Typed(f"${name}", k.optional) for name, k in scope.parameters.items() if k.wide == kind]
        pools = [
            [one for one in pool if optional is None or one.optional is optional]
            for pool in (own, own, others, given)
        ]
        full = [pool for pool in pools if pool]
        chosen = self.random.choice(self.random.choice(full)) if full else None
        self.used["role alone"] += chosen is not None and chosen.text in scope.roles
        return chosen

    def calculation(self, scope: Scope, kind: str, depth: int) -> Typed | None:
        times = scope.timed + ["this"] * scope.this
        if kind == "timestamp" or (kind == "long" and self.chance(0.3)):
            if not scope.timed:
                return None
            functions = ("timeof", "timeof", "startof")
            first, second = (f"{self.random.choice(functions)}({self.random.choice(times)})" for _ in "12")
            self.used["function timeof"] += 1
            return Typed(first if kind == "timestamp" else f"({first} - {second})")
        if kind not in NUMBERS:
            return None
        if self.chance(0.15):
            operand = self.named(scope, kind)
            return operand and Typed(f"(-{operand.text})", operand.optional)
        op = self.random.choice("+-*/%")
        left = self.value(scope, kind, depth + 1)
        if op in "/%":
            # Of real numbers, what is divided by nothing is no number; of whole ones it is null.
            right = Typed("2.0") if kind == "double" else self.named(scope, "long")
        else:
            right = self.value(scope, kind, depth + 1)
        if left is None or right is None:
            return left
        self.used[f"expression {op}"] += 1
        return Typed(f"({left.text} {op} {right.text})", left.optional or right.optional)

    def function(self, scope: Scope, kind: str, depth: int) -> Typed | None:
        match kind:
            case "long" if self.chance(0.3):
                name, argument = "length", self.named(scope, "string")
            case "long" | "double":
                name = self.random.choice(("abs", "round", "floor", "ceil", "coalesce"))
                argument = self.value(scope, kind, depth + 1)
                if kind == "double" and self.chance(0.2) and argument is not None:
                    self.used["function sqrt"] += 1
                    return Typed(f"sqrt(abs({argument.text}))", argument.optional)
            case "string":
                name = self.random.choice(("lower", "upper", "coalesce"))
                argument = self.named(scope, kind)
            case _:
                return None
        if argument is None:
            return None
        self.used[f"function {name}"] += 1
        if name == "coalesce":
            other = self.constant(kind)
            assert other is not None
            return Typed(f"coalesce({argument.text}, {other.text})")
        return Typed(f"{name}({argument.text})", argument.optional)

    def collected(self, scope: Scope, kind: str) -> Typed | None:
        """A function of what a role stands for."""
        if kind not in NUMBERS or not scope.roles:
            return None
        role = self.random.choice(list(scope.roles))
        if kind == "long" and self.chance(0.4):
            self.used["collected count"] += 1
            return Typed(f"count({role})")
        numbers = [name for name, k in scope.roles[role].items() if k.wide == kind]
        if not numbers:
            return None
        name = self.random.choice(numbers)
        if kind == "long" and self.chance(0.15):
            self.used["collected distinct"] += 1
            return Typed(f"distinct({role}.{name})")
        further = ("avg", "stddev", "percentile") if kind == "double" else ()
        function = self.random.choice(("sum", "min", "max", "first", "last", *further, *further))
        self.used[f"collected {function}"] += 1
        argument = f", {self.random.choice((0, 50, 90, 100))}" * (function == "percentile")
        return Typed(f"{function}({role}.{name}{argument})", function != "sum")

    def listed(self, scope: Scope, kind: Kind) -> str | None:
        """A list of what a role stands for, or one that an event has."""
        has = self.named(scope, kind.wide)
        found = [
            f"list({role}.{name})"
            for role, schema in scope.roles.items()
            for name, own in schema.items()
            if own.name == kind.name and not own.many
        ]
        if has is not None and not has.optional and self.chance(0.5):
            return has.text
        if not found:
            return None
        self.used["collected list"] += 1
        return self.random.choice(found)
