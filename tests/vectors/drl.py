"""Reads the part of the Drools rule language that its cases are written in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from tocsin.topology.tree import RelationOp

from .cases import Inexpressible

OPERATORS = frozenset(RelationOp)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<string>\"[^\"]*\"|'[^']*')|(?P<name>\$?[A-Za-z_][\w.]*)"
    r"|(?P<sign>==|!=|<=|>=|&&|[<>()\[\],:*-]))"
)
_COMPARISONS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


@dataclass(frozen=True)
class Temporal:
    """`this not after[5s, 8s] $a`; bounds in milliseconds, None is `*`."""

    op: str
    bounds: tuple[int | None, ...]
    other: str
    negated: bool = False


@dataclass(frozen=True)
class Comparison:
    """`price > $price`: the right side is a literal as written, a variable, or a variable's attribute."""

    attribute: str
    op: str
    value: str


@dataclass(frozen=True)
class Binding:
    """`$price : price`."""

    variable: str
    attribute: str


Constraint = Temporal | Comparison | Binding


@dataclass(frozen=True)
class Window:
    """`window:length(n)` or `window:time(ms)`."""

    kind: str
    size: int


@dataclass(frozen=True)
class Pattern:
    """`$a : StockTick( … ) over window:length(2)`."""

    type: str
    constraints: tuple[Constraint, ...] = ()
    variable: str | None = None
    window: Window | None = None


@dataclass(frozen=True)
class Absence:
    """`not( … )`."""

    pattern: Pattern


@dataclass(frozen=True)
class Accumulation:
    """`Number( $r : intValue >= 50 ) from accumulate( …, average( $amt ) )`; `whole`: truncated."""

    pattern: Pattern
    function: str
    argument: str | None
    whole: bool = False
    comparisons: tuple[tuple[str, str], ...] = ()


Condition = Pattern | Absence | Accumulation


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


def read(text: str) -> list[Condition]:
    """Read the left side of a rule."""
    return _Reader(text).conditions()


def read_operator(text: str) -> Temporal:
    """Read an operator on its own: `not after[1, 5]`."""
    reader = _Reader(text)
    operator = reader.temporal()
    reader.end()
    return operator


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0

    def conditions(self) -> list[Condition]:
        found = []
        while not self._at("end"):
            found.append(self._condition())
        return found

    def end(self) -> None:
        if not self._at("end"):
            self._fail()

    def _condition(self) -> Condition:
        if self._take("not"):
            nested = self._take("(")
            absence = Absence(self._pattern())
            if nested:
                self._expect(")")
            return absence
        if self._token.text == "accumulate":
            return self._accumulation(whole=False, comparisons=())
        pattern = self._pattern()
        if not self._take("from"):
            return pattern
        return self._accumulation_into(pattern)

    def _accumulation_into(self, result: Pattern) -> Accumulation:
        """`Number( … )` holds the conditions on the result, on its value or on its whole part."""
        comparisons = tuple((c.op, c.value) for c in result.constraints if isinstance(c, Comparison))
        read = {c.attribute for c in result.constraints if isinstance(c, Comparison | Binding)}
        if result.type != "Number" or not read <= {"intValue", "longValue", "doubleValue"}:
            self._fail()
        return self._accumulation(whole=bool(read & {"intValue", "longValue"}), comparisons=comparisons)

    def _accumulation(self, *, whole: bool, comparisons: tuple[tuple[str, str], ...]) -> Accumulation:
        self._expect("accumulate")
        self._expect("(")
        pattern = self._pattern()
        self._expect(",")
        function = self._expect_kind("name")
        argument = None
        if self._take("("):
            argument = self._expect_kind("name") if self._token.kind == "name" else None
            self._expect(")")
        self._expect(")")
        return Accumulation(pattern, function, argument, whole, comparisons)

    def _pattern(self) -> Pattern:
        variable = self._variable()
        type_ = self._expect_kind("name")
        self._expect("(")
        constraints: list[Constraint] = []
        while not self._take(")"):
            constraints += self._constraint()
            if not self._at(")") and not self._take(",") and not self._take("&&"):
                self._fail()
        return Pattern(type_, tuple(constraints), variable, self._window())

    def _variable(self) -> str | None:
        if not self._token.text.startswith("$"):
            return None
        name = self._expect_kind("name")[1:]
        self._expect(":")
        return name

    def _constraint(self) -> Iterator[Constraint]:
        if self._take("this"):
            yield self.temporal()
            return
        variable = self._variable()
        attribute = self._expect_kind("name")
        if variable:
            yield Binding(variable, attribute)
        if self._token.text in _COMPARISONS:
            op = _COMPARISONS[self._advance().text]
            yield Comparison(attribute, op, self._value())
        elif not variable:
            self._fail()

    def temporal(self) -> Temporal:
        """An operator, and what stands on its right where that is given."""
        negated = self._take("not")
        if self._token.text not in OPERATORS:
            self._fail()
        op = self._advance().text
        bounds: list[int | None] = []
        if self._take("["):
            while not self._take("]"):
                bounds.append(self._bound())
                self._take(",")
        other = "" if self._at("end") else self._expect_kind("name").removeprefix("$")
        return Temporal(op, tuple(bounds), other, negated)

    def _bound(self) -> int | None:
        sign = -1 if self._take("-") else 1
        return None if self._take("*") else sign * self._duration()

    def _duration(self) -> int:
        """`5s`, `1m30s`, or a number of milliseconds."""
        total = 0
        while self._token.kind == "number":
            amount = int(self._advance().text)
            total += amount * (_UNIT_MS[self._advance().text] if self._token.text in _UNIT_MS else 1)
        return total

    def _window(self) -> Window | None:
        if not self._take("over"):
            return None
        self._expect("window")
        self._expect(":")
        kind = self._expect_kind("name")
        if kind not in {"length", "time"}:
            self._fail()
        self._expect("(")
        size = self._duration()
        self._expect(")")
        return Window(kind, size)

    def _value(self) -> str:
        sign = "-" if self._take("-") else ""
        token = self._advance()
        if token.kind not in {"number", "string", "name"}:
            self._fail()
        return sign + token.text.replace("'", '"')

    # --- tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _advance(self) -> _Token:
        token = self._token
        self._next += token.kind != "end"
        return token

    def _at(self, text: str) -> bool:
        return self._token.text == text if text != "end" else self._token.kind == "end"

    def _take(self, text: str) -> bool:
        found = self._token.kind != "string" and self._at(text)
        if found:
            self._advance()
        return found

    def _expect(self, text: str) -> None:
        if not self._take(text):
            self._fail()

    def _expect_kind(self, kind: str) -> str:
        if self._token.kind != kind:
            self._fail()
        return self._advance().text

    def _fail(self) -> NoReturn:
        raise Inexpressible(f"notation: {self._text[self._token.at :].strip() or self._text}")


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise Inexpressible(f"notation: {text[at:].strip()}")
        yield _Token(match.lastgroup, match[match.lastgroup], match.start())
        at = match.end()
    yield _Token("end", "", at)
