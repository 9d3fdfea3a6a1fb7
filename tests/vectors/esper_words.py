"""Esper's patterns as the cases tell them in words, read into a tree.

    every occurrence of [a B event (as b), then later [a D event] finishing strictly less than 2001 ms after
    this step starts] (the search for it restarts each time it completes or fails)

Conditions keep the source's own notation, with spaces between the signs; they are read into Tocsin's.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from .cases import Inexpressible


@dataclass(frozen=True)
class Filter:
    """`a B event with id = 'B1' (as b)`; `attributes` are those of its own that the condition names."""

    type: str
    condition: str | None
    tag: str | None
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sequence:
    """`X, then later Y`."""

    parts: tuple["Pattern", ...]


@dataclass(frozen=True)
class Conjunction:
    """`all of, in any order: {X; Y}`."""

    parts: tuple["Pattern", ...]


@dataclass(frozen=True)
class Disjunction:
    """`the first to happen of: {X; Y}`."""

    parts: tuple["Pattern", ...]


@dataclass(frozen=True)
class Every:
    """`every occurrence of [X] (the search for it restarts …)`."""

    operand: "Pattern"


@dataclass(frozen=True)
class Negation:
    """`no [X] so far`."""

    operand: "Pattern"


@dataclass(frozen=True)
class Interval:
    """`2000 ms pass from the start of this step`."""

    ms: int


@dataclass(frozen=True)
class Guarded:
    """`[X] finishing strictly less than 2000 ms after this step starts, at most 10 times`."""

    operand: "Pattern"
    ms: int
    times: int | None


@dataclass(frozen=True)
class Lasting:
    """`[X] for as long as b.id ! = "B3" holds (the first violation ends it)`."""

    operand: "Pattern"
    condition: str


@dataclass(frozen=True)
class Collection:
    """`collect 0 to 3 of [X] until [Y] (the ending event wins over a collected one)`."""

    operand: "Pattern"
    low: int
    high: int | None
    until: "Pattern | None"


Pattern = (
    Filter
    | Sequence
    | Conjunction
    | Disjunction
    | Every
    | Negation
    | Interval
    | Guarded
    | Lasting
    | Collection
)

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'[^']*'|"[^"]*")|(?P<number>\d+(?:\.\d+)?)|(?P<word>\w+)|(?P<sign>[^\s\w]))""",
    re.VERBOSE,
)
_SIGNS = {"=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_UNITS_MS = {"ms": 1, "msec": 1, "milliseconds": 1, "s": 1_000, "sec": 1_000, "seconds": 1_000, "min": 60_000}


def read(words: str) -> Pattern:
    """Read a whole pattern."""
    reader = _Patterns(words)
    pattern = reader.sequence()
    if not reader.at_end:
        reader.fail()
    return pattern


class _Tokens:
    """The tokens of a text, and where reading stands."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_TOKEN.finditer(text))
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def kind(self) -> str | None:
        return None if self.at_end else self._tokens[self._next].lastgroup

    def advance(self) -> str:
        if self.at_end:
            self.fail()
        self._next += 1
        return self._tokens[self._next - 1][0].strip()

    def at(self, *texts: str) -> bool:
        coming = self._tokens[self._next : self._next + len(texts)]
        return [token[0].strip() for token in coming] == list(texts)

    def take(self, phrase: str) -> bool:
        """Take a phrase, all of it or nothing."""
        texts = [token[0].strip() for token in _TOKEN.finditer(phrase)]
        found = self.at(*texts)
        if found:
            self._next += len(texts)
        return found

    def expect(self, phrase: str) -> None:
        if not self.take(phrase):
            self.fail()

    def fail(self) -> NoReturn:
        at = len(self._text) if self.at_end else self._tokens[self._next].start()
        raise Inexpressible(f"notation: {self._text[at:].strip() or self._text}")


class _Conditions(_Tokens):
    """Reads conditions into Tocsin's notation."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.attributes: dict[str, None] = {}

    def conditions(self) -> str:
        """Read conditions with commas between them; a comma may also go on with the pattern."""
        found = [self.disjunction()]
        while self.at(",") and not self.at(",", "then", "later"):
            self.advance()
            found.append(self.disjunction())
        return ", ".join(found)

    def disjunction(self) -> str:
        return self._chain(self._conjunction, ("or",))

    def _conjunction(self) -> str:
        return self._chain(self._negation, ("and",))

    def _negation(self) -> str:
        return f"not ({self._negation()})" if self.take("not") else self._comparison()

    def _comparison(self) -> str:
        left = self._sum()
        negated = self.take("not")
        if self.take("in"):
            return self._range(left, negated=negated)
        if self.take("between"):
            low = self._sum()
            self.expect("and")
            return _between(left, low, self._sum(), negated=negated)
        if self.take("is"):
            absent = "is not null" if self.take("not") else "is null"
            self.expect("null")
            return f"{left} {absent}"
        sign = self._sign()
        return left if sign is None else f"{left} {sign} {self._sum()}"

    def _sign(self) -> str | None:
        sign = ""
        while sign + self._peek() in {"!", *_SIGNS}:
            sign += self.advance()
        if sign and sign not in _SIGNS:
            self.fail()
        return _SIGNS.get(sign)

    def _peek(self) -> str:
        return "" if self.at_end else self._tokens[self._next][0].strip()

    def _range(self, value: str, *, negated: bool) -> str:
        """`( 1 , 2 )` is a list of values; `[ 1 : 5 )` goes from one to another, each included or not."""
        opening = self.advance()
        low = self._sum()
        if opening == "(" and not self.at(":"):
            options = [low]
            while self.take(","):
                options.append(self._sum())
            self.expect(")")
            sign, word = ("!=", "and") if negated else ("=", "or")
            return "(" + f" {word} ".join(f"{value} {sign} {option}" for option in options) + ")"
        self.expect(":")
        high = self._sum()
        closing = self.advance()
        if opening not in "[(" or closing not in "])":
            self.fail()
        return _between(value, low, high, ends=(opening == "[", closing == "]"), negated=negated)

    def _sum(self) -> str:
        return self._chain(self._product, ("+", "-"))

    def _product(self) -> str:
        return self._chain(self._atom, ("*", "/", "%"))

    def _chain(self, operand: Callable[[], str], operators: tuple[str, ...]) -> str:
        text = operand()
        while operator := next((one for one in operators if self.take(one)), None):
            text = f"({text} {operator} {operand()})"
        return text

    def _atom(self) -> str:
        if self.take("("):
            inner = self.disjunction()
            self.expect(")")
            return f"({inner})"
        if self.take("-"):
            return f"-{self._atom()}"
        if self.kind() == "string":
            return json.dumps(self.advance()[1:-1])
        if self.kind() == "number":
            return self.advance()
        return self._name() if self.kind() == "word" else self.fail()

    def _name(self) -> str:
        name = self.advance()
        if name in {"true", "false"}:
            return name
        if self.take("."):
            return f"{name}.{self.advance()}"
        if self.at("(") or self.at("["):
            self.fail()
        self.attributes[name] = None
        return name


class _Patterns(_Conditions):
    """Reads patterns."""

    def sequence(self) -> Pattern:
        parts = [self._one()]
        while self.take(", then later"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _one(self) -> Pattern:  # noqa: PLR0911 (one case a kind)
        if self.take("every occurrence of"):
            every = Every(self._bracketed())
            self.expect("(the search for it restarts each time it completes or fails)")
            return every
        if self.take("all of, in any order:"):
            return Conjunction(self._braced())
        if self.take("the first to happen of:"):
            return Disjunction(self._braced())
        if self.take("no"):
            negation = Negation(self._bracketed())
            self.expect("so far")
            return negation
        if self.take("collect"):
            return self._collection()
        if self.at("["):
            return self._guarded()
        if self.kind() == "number":
            interval = Interval(self._duration_ms())
            self.expect("pass from the start of this step")
            return interval
        return self._filter()

    def _bracketed(self) -> Pattern:
        self.expect("[")
        pattern = self.sequence()
        self.expect("]")
        return pattern

    def _braced(self) -> tuple[Pattern, ...]:
        self.expect("{")
        parts = [self.sequence()]
        while self.take(";"):
            parts.append(self.sequence())
        self.expect("}")
        return tuple(parts)

    def _guarded(self) -> Pattern:
        operand = self._bracketed()
        if self.take("for as long as"):
            lasting = Lasting(operand, self.disjunction())
            self.expect("holds (the first violation ends it)")
            return lasting
        if not self.take("finishing strictly less than"):
            return operand
        ms = self._duration_ms()
        self.expect("after this step starts")
        times = None
        if self.take(", at most"):
            times = int(self.advance())
            self.expect("times")
        return Guarded(operand, ms, times)

    def _collection(self) -> Pattern:
        low, high = self._bounds()
        self.take("of")
        operand = self._bracketed()
        until = None
        if self.take("until"):
            until = self._bracketed()
            self.expect("(the ending event wins over a collected one)")
        return Collection(operand, low, high, until)

    def _bounds(self) -> tuple[int, int | None]:
        if self.take("any number"):
            return 0, None
        if self.take("at least"):
            return int(self.advance()), None
        if self.take("at most"):
            return 0, int(self.advance())
        if self.take("exactly"):
            low = int(self.advance())
            return low, low
        if self.kind() != "number":
            self.fail()
        low = int(self.advance())
        self.expect("to")
        return low, int(self.advance())

    def _filter(self) -> Pattern:
        if not self.take("a"):
            self.expect("an")
        type_ = self.advance()
        self.expect("event")
        self.attributes = {}
        condition = self.conditions() if self.take("with") else None
        attributes = tuple(self.attributes)
        tag = None
        if self.take("(as"):
            tag = self.advance()
            self.expect(")")
        return Filter(type_, condition, tag, attributes)

    def _duration_ms(self) -> int:
        amount = float(self.advance())
        return round(amount * _UNITS_MS[self.advance()])


def _between(
    value: str, one: str, other: str, *, ends: tuple[bool, bool] = (True, True), negated: bool = False
) -> str:
    """Esper takes the ends of a range in either order. What is null is neither in a range nor outside."""
    if negated:
        below, above = ("<" if ends[0] else "<="), (">" if ends[1] else ">=")
        forth = f"({value} {below} {one} or {value} {above} {other})"
        back = f"({value} {below} {other} or {value} {above} {one})"
        return f"({forth} and {back})"
    above, below = (">=" if ends[0] else ">"), ("<=" if ends[1] else "<")
    forth = f"({value} {above} {one} and {value} {below} {other})"
    back = f"({value} {above} {other} and {value} {below} {one})"
    return f"({forth} or {back})"
