"""SiddhiQL patterns and sequences, read into a tree.

    every (e1=Stream1[price > 20] -> e2=Stream2[price > e1.price]) -> not Stream3 for 1 sec

Conditions are read into Tocsin's notation.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from .cases import Inexpressible


@dataclass(frozen=True)
class Source:
    """`e1=Stream1[price > 20]`, with how often it comes: `<2:5>`, `+`, `*`, `?`."""

    stream: str
    condition: str | None
    role: str | None
    low: int = 1
    high: int | None = 1


@dataclass(frozen=True)
class Absence:
    """`not Stream2[price > 20] for 1 sec`; beside something else by `and` also without a time."""

    source: Source
    ms: int | None


@dataclass(frozen=True)
class Logical:
    """`X and Y`, `X or Y`."""

    operator: str
    parts: tuple["State", ...]


@dataclass(frozen=True)
class Every:
    """`every X`."""

    operand: "State"


@dataclass(frozen=True)
class Chain:
    """`X -> Y`, or `X, Y` where nothing may come between; `within_ms` is from its first event to the last."""

    parts: tuple["State", ...]
    strict: bool = False
    within_ms: int | None = None


State = Source | Absence | Logical | Every | Chain


@dataclass(frozen=True)
class Column:
    """`e1[0].price as price1`: the first of several, where an index is given; `last` is -1."""

    name: str
    role: str
    attribute: str
    index: int | None = None


_TOKEN = re.compile(
    r"""\s*(?:(?P<string>'[^']*'|"[^"]*")|(?P<number>\d+(?:\.\d+)?)[fFlLdD]?\b|(?P<word>\w+)|(?P<sign>->|[=!<>]=|[^\s\w]))""",
)
_SIGNS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_COUNTS: dict[str, tuple[int, int | None]] = {"+": (1, None), "*": (0, None), "?": (0, 1)}
_UNITS_MS = {
    **dict.fromkeys(("ms", "millisec", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("sec", "second", "seconds"), 1_000),
    **dict.fromkeys(("min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("hour", "hours"), 3_600_000),
    **dict.fromkeys(("day", "days"), 86_400_000),
}
_COLUMN = re.compile(r"\s*(\w+)(?:\[(\d+|last)\])?\.(\w+)\s+as\s+(\w+)\s*")


def read(native: str) -> State:
    """Read a pattern or a sequence."""
    return _Reader(native).whole()


def read_columns(text: str) -> list[Column]:
    """Read what a row is made of."""
    return [_column(column) for column in text.split(",")]


def _column(text: str) -> Column:
    column = _COLUMN.fullmatch(text)
    if column is None:
        raise Inexpressible(f"notation: {text.strip()}")
    role, index, attribute, name = column.groups()
    return Column(name, role, attribute, None if index is None else -1 if index == "last" else int(index))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_TOKEN.finditer(text))
        self._next = 0

    def whole(self) -> State:
        state = self._chain()
        if self._next < len(self._tokens):
            self._fail()
        return state

    # --- states

    def _chain(self) -> State:
        parts = [self._every()]
        strict = self._at(",")
        while self._take("," if strict else "->"):
            parts.append(self._every())
        within_ms = self._duration_ms() if self._take("within") else None
        return parts[0] if len(parts) == 1 and within_ms is None else Chain(tuple(parts), strict, within_ms)

    def _every(self) -> State:
        if not self._take("every"):
            return self._logical()
        return Every(self._logical())

    def _logical(self) -> State:
        parts = [self._one()]
        operator = next((word for word in ("and", "or") if self._at(word)), "")
        while operator and self._take(operator):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else Logical(operator, tuple(parts))

    def _one(self) -> State:
        if self._take("("):
            state = self._chain()
            self._expect(")")
            if self._take("within"):
                parts = state.parts if isinstance(state, Chain) else (state,)
                return Chain(parts, isinstance(state, Chain) and state.strict, self._duration_ms())
            return state
        if self._take("not"):
            source = self._source()
            return Absence(source, self._duration_ms() if self._take("for") else None)
        return self._source()

    def _source(self) -> Source:
        stream, role = self._word(), None
        if self._take("="):
            stream, role = self._word(), stream
        condition = None
        if self._take("["):
            condition = self._disjunction()
            self._expect("]")
        low, high = self._count()
        return Source(stream, condition, role, low, high)

    def _count(self) -> tuple[int, int | None]:
        for sign, bounds in _COUNTS.items():
            if self._take(sign):
                return bounds
        if not self._take("<"):
            return 1, 1
        low = int(self._advance()) if not self._at(":") else 0
        high: int | None = low
        if self._take(":"):
            high = None if self._at(">") else int(self._advance())
        self._expect(">")
        return low, high

    def _duration_ms(self) -> int:
        total = 0
        while self._next < len(self._tokens) and self._tokens[self._next].lastgroup == "number":
            amount, unit = int(self._advance()), self._advance()
            total += amount * _UNITS_MS.get(unit, 0)
        if not total:
            self._fail()
        return total

    # --- conditions

    def _disjunction(self) -> str:
        return self._joined(self._conjunctions(), "or")

    def _conjunctions(self) -> Iterator[str]:
        yield self._joined(self._negations(), "and")
        while self._take("or"):
            yield self._joined(self._negations(), "and")

    def _negations(self) -> Iterator[str]:
        yield self._negation()
        while self._take("and"):
            yield self._negation()

    def _negation(self) -> str:
        return f"not ({self._negation()})" if self._take("not") else self._comparison()

    def _comparison(self) -> str:
        left = self._sum()
        if self._take("is"):
            self._expect("null")
            return f"{left} is null"
        sign = next((sign for sign in _SIGNS if self._take(sign)), None)
        return left if sign is None else f"{left} {_SIGNS[sign]} {self._sum()}"

    def _sum(self) -> str:
        text = self._product()
        while sign := next((sign for sign in "+-" if self._take(sign)), None):
            text = f"({text} {sign} {self._product()})"
        return text

    def _product(self) -> str:
        text = self._atom()
        while sign := next((sign for sign in "*/%" if self._take(sign)), None):
            text = f"({text} {sign} {self._atom()})"
        return text

    def _atom(self) -> str:
        if self._take("("):
            inner = self._disjunction()
            self._expect(")")
            return f"({inner})"
        if self._take("-"):
            return f"-{self._atom()}"
        if self._next == len(self._tokens):
            self._fail()
        kind = self._tokens[self._next].lastgroup
        if kind == "string":
            return json.dumps(self._advance()[1:-1])
        return self._advance() if kind == "number" else self._reference()

    def _reference(self) -> str:
        name = self._word()
        if self._take("["):
            return self._indexed(name)
        if self._take("."):
            return f"{name}.{self._word()}"
        if self._at("("):
            self._fail()
        return name

    def _indexed(self, role: str) -> str:
        index = self._advance()
        self._expect("]")
        self._expect(".")
        if index not in {"0", "last"}:
            raise Inexpressible("the n-th of the events that a role collected")
        return f"{'first' if index == '0' else 'last'}({role}.{self._word()})"

    @staticmethod
    def _joined(parts: Iterator[str], operator: str) -> str:
        found = list(parts)
        return found[0] if len(found) == 1 else f"({f' {operator} '.join(found)})"

    # --- tokens

    def _at(self, text: str) -> bool:
        if self._next == len(self._tokens):
            return False
        token = self._tokens[self._next]
        return token.lastgroup != "string" and token[0].strip() == text

    def _take(self, text: str) -> bool:
        found = self._at(text)
        self._next += found
        return found

    def _expect(self, text: str) -> None:
        if not self._take(text):
            self._fail()

    def _advance(self) -> str:
        if self._next == len(self._tokens):
            self._fail()
        token = self._tokens[self._next]
        self._next += 1
        return str(token[token.lastgroup or 0])

    def _word(self) -> str:
        if self._next == len(self._tokens) or self._tokens[self._next].lastgroup != "word":
            self._fail()
        return self._advance()

    def _fail(self) -> NoReturn:
        at = len(self._text) if self._next == len(self._tokens) else self._tokens[self._next].start()
        raise Inexpressible(f"notation: {self._text[at:].strip() or self._text}")
