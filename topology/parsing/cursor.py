"""A place in the tokens, and the sentences said when they are not what was expected."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from typing import TypeVar

from tocsin.topology.errors import Diagnostic, Source, Span, did_you_mean
from tocsin.topology.parsing.words import NOT_ATTRIBUTES, NOT_EVENTS, NOT_ROLES, OPENERS, STARTS_LINE, UNITS
from tocsin.topology.tokens import Kind, Token
from tocsin.topology.tree import Duration, Name, Unit

MAX_NESTING = 40
MAX_CONSTITUENTS = 64
MAX_COUNT = 10_000
MAX_RATE = 1_000_000
MAX_NAME_LENGTH = 100
MAX_DURATION_MS = 36_500 * Unit.DAY.value

T = TypeVar("T")

_TEXTUAL = (Kind.WORD, Kind.SYMBOL)


class ParseError(Exception):
    """The declaration at hand cannot be read on; carries the diagnostic to the place of recovery."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)


class Nesting(Enum):
    """What is counted of an expression, apart from its height, so that reading it stays shallow.

    A tree of a given height is printed with at most as many parentheses, and at most as many prefixes.
    """

    PARENTHESES = auto()
    PREFIX = auto()
    EVENT_PARENTHESES = auto()
    EVENT_PREFIX = auto()


class Cursor:
    """Walks over the tokens of a source."""

    def __init__(self, tokens: Sequence[Token], source: Source) -> None:
        self._tokens = tokens
        self._index = 0
        self._nesting = dict.fromkeys(Nesting, 0)
        self._constituents = 0
        self.source = source

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self._tokens[self._index]

    @property
    def previous(self) -> Token:
        """The token read last."""
        return self._tokens[max(0, self._index - 1)]

    @property
    def ended(self) -> bool:
        """Whether everything is read."""
        return self.token.kind is Kind.END

    def peek(self, ahead: int = 1) -> Token:
        """The token that many behind the next one."""
        return self._tokens[min(self._index + ahead, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """Read one token."""
        token = self.token
        if not self.ended:
            self._index += 1
        return token

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these words or symbols."""
        return self.token.text in texts and self.token.kind in _TEXTUAL

    def accept(self, text: str) -> Token | None:
        """Read this word or symbol if it is next."""
        return self.advance() if self.at(text) else None

    def expect(self, text: str, *alternatives: str, hint: str | None = None) -> Token:
        """Read this word or symbol, or fail naming it and what else could have stood there."""
        if self.at(text):
            return self.advance()
        raise self._none_of((*alternatives, text), hint)

    def choose(self, *texts: str, hint: str | None = None) -> str:
        """Read one of these words."""
        if self.at(*texts):
            return self.advance().text
        raise self._none_of(texts, hint)

    def unexpected(self, wanted: str, hint: str | None = None) -> ParseError:
        """Return the error that something else was expected here."""
        return ParseError(f"expected {wanted}, found {self.token}", self._blame(), hint)

    def since(self, start: Span) -> Span:
        """Return the span from the start of another one up to what was read last."""
        return Span(start.start, max(start.end, self.previous.span.end))

    def starts_line(self, ahead: int = 0) -> bool:
        """Whether the next token, or the one that many behind it, is the first of its line."""
        before = self._tokens[self._index + ahead - 1].span.end if self._index + ahead else None
        return before is None or "\n" in self.source.text[before : self.peek(ahead).span.start]

    def ends_declaration(self) -> bool:
        """Whether a `;` is next that ends the declaration: behind it, another is opened or meant to be."""
        if not self.at(";"):
            return False
        word, behind = self.peek(1), self.peek(2)
        if word.kind is not Kind.WORD or word.text in NOT_EVENTS:
            return word.kind is Kind.END or word.text in OPENERS
        # No event is followed by a name, so this is something like `evnet Temp`.
        return behind.kind is Kind.WORD and behind.text[:1].isupper()

    def name(self, what: str) -> Name:
        """Read the name of something declared; words that open something else are not allowed."""
        return self._name(what, NOT_EVENTS)

    def role(self, what: str) -> Name:
        """Read the name of a constituent."""
        return self._name(what, NOT_ROLES)

    def attribute_name(self, what: str) -> Name:
        """Read the name of an attribute; only words that mean something in an expression are not allowed."""
        return self._name(what, NOT_ATTRIBUTES)

    def count(self, what: str, hint: str | None = None, *, low: int = 0, high: int = MAX_COUNT) -> int:
        """Read a whole number of things."""
        token = self.token
        if token.kind is not Kind.INTEGER:
            raise self.unexpected(what, hint)
        value = int(token.value or 0)
        if not low <= value <= high:
            raise self.unexpected(f"a number from {low} to {high}")
        self.advance()
        return value

    def text(self, what: str, hint: str | None = None) -> str:
        """Read a string."""
        token = self.token
        if token.kind is not Kind.STRING:
            raise self.unexpected(what, hint)
        self.advance()
        return str(token.value)

    def several(self, read: Callable[["Cursor"], T]) -> tuple[T, ...]:
        """Read one or more things separated by commas."""
        things = [read(self)]
        while self.accept(","):
            things.append(read(self))
        return tuple(things)

    def duration(self, what: str) -> Duration:
        """Read a duration such as `3 min`."""
        token = self.token
        if token.kind is not Kind.INTEGER:
            raise self.unexpected(what, hint="write a whole number and a unit, like `250 ms` or `3 min`")
        self.advance()
        if self.token.text not in UNITS:
            similar = did_you_mean(self.token.text, UNITS) if self.token.kind is Kind.WORD else None
            hint = similar or "units are `ms`, `s`, `min`, `h`, `days` and `weeks`"
            raise self.unexpected("a unit of time", hint)
        return self.duration_after(token)

    def duration_after(self, amount: Token) -> Duration:
        """Read the unit that follows the number just read."""
        unit = UNITS[self.advance().text]
        duration = Duration(int(amount.value or 0), unit, span=self.since(amount.span))
        if duration.ms > MAX_DURATION_MS:
            raise ParseError("this duration is too long", duration.span, "at most 36500 days")
        return duration

    @contextmanager
    def nested(self, kind: Nesting) -> Iterator[None]:
        """Count one more level while inside."""
        if self._nesting[kind] >= MAX_NESTING:
            raise self.too_deep(self.token.span)
        self._nesting[kind] += 1
        try:
            yield
        finally:
            self._nesting[kind] -= 1

    def too_deep(self, span: Span) -> ParseError:
        """Return the error that an expression is nested too deeply."""
        return ParseError("this expression is nested too deeply", span, f"at most {MAX_NESTING} levels")

    def begin_source(self) -> None:
        """Count constituents anew."""
        self._constituents = 0

    def count_constituent(self, span: Span) -> None:
        """Count one more constituent of the source at hand."""
        self._constituents += 1
        if self._constituents > MAX_CONSTITUENTS:
            raise ParseError("this pattern is too long", span, f"at most {MAX_CONSTITUENTS} constituents")

    def _none_of(self, texts: Sequence[str], hint: str | None) -> ParseError:
        choices = [f"`{text}`" for text in texts]
        wanted = " or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices)
        similar = did_you_mean(self.token.text, [text for text in texts if text.isalpha()])
        return self.unexpected(wanted, hint=similar or hint)

    def _name(self, what: str, reserved: frozenset[str]) -> Name:
        token = self.token
        if token.kind is not Kind.WORD:
            raise self.unexpected(what)
        if token.text in reserved:
            raise self.unexpected(what, hint=f"`{token.text}` is a word of the language and cannot be a name")
        if len(token.text) > MAX_NAME_LENGTH:
            raise ParseError("this name is too long", token.span, f"at most {MAX_NAME_LENGTH} characters")
        self.advance()
        return Name(token.text, token.span)

    def _blame(self) -> Span:
        """Point behind the line that lacks its end rather than at the keyword that opens the next."""
        opens_line = self._index > 0 and self.starts_line() and self.token.text in STARTS_LINE
        if self.previous.text != ";" and (self.ended or opens_line):
            end = self.previous.span.end
            return Span(end, end)
        return self.token.span
