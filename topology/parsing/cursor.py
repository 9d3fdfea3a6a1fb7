"""A place in the tokens, and the sentences said when they are not what was expected."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tocsin.topology.errors import Diagnostic, Source, Span, did_you_mean
from tocsin.topology.tokens import Kind, Token
from tocsin.topology.tree import Duration, Name, Unit

MAX_NESTING = 40
MAX_NAME_LENGTH = 100
MAX_DURATION_MS = 36_500 * Unit.DAY.value

UNITS = {
    "ms": Unit.MILLISECOND,
    "millisecond": Unit.MILLISECOND,
    "milliseconds": Unit.MILLISECOND,
    "s": Unit.SECOND,
    "second": Unit.SECOND,
    "seconds": Unit.SECOND,
    "min": Unit.MINUTE,
    "minute": Unit.MINUTE,
    "minutes": Unit.MINUTE,
    "h": Unit.HOUR,
    "hour": Unit.HOUR,
    "hours": Unit.HOUR,
    "day": Unit.DAY,
    "days": Unit.DAY,
    "week": Unit.WEEK,
    "weeks": Unit.WEEK,
}

_TEXTUAL = (Kind.WORD, Kind.SYMBOL)
_OPERATORS = frozenset({"and", "or", "not", "true", "false"})
_KEYWORDS = _OPERATORS | {"as", "define", "event", "from", "last", "where", "within"}


class ParseError(Exception):
    """The declaration at hand cannot be read on; carries the diagnostic to the place of recovery."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.diagnostic = Diagnostic(message, span, hint)


class Cursor:
    """Walks over the tokens of a source."""

    def __init__(self, tokens: Sequence[Token], source: Source) -> None:
        self._tokens = tokens
        self._index = 0
        self._nesting = 0
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
        choices = [f"`{choice}`" for choice in (*alternatives, text)]
        wanted = " or ".join([", ".join(choices[:-1]), choices[-1]] if alternatives else choices)
        similar = did_you_mean(self.token.text, [c for c in (*alternatives, text) if c.isalpha()])
        raise self.unexpected(wanted, hint=similar or hint)

    def unexpected(self, wanted: str, hint: str | None = None) -> ParseError:
        """Return the error that something else was expected here."""
        return ParseError(f"expected {wanted}, found {self.token}", self._blame(), hint)

    def since(self, start: Span) -> Span:
        """Return the span from the start of another one up to what was read last."""
        return Span(start.start, max(start.end, self.previous.span.end))

    def starts_line(self) -> bool:
        """Whether the next token is the first of its line."""
        between = self.source.text[self.previous.span.end : self.token.span.start]
        return self._index == 0 or "\n" in between

    def name(self, what: str) -> Name:
        """Read the name of an event, a definition or a role; keywords are not allowed."""
        return self._name(what, _KEYWORDS)

    def attribute_name(self, what: str) -> Name:
        """Read the name of an attribute; only words that mean something in an expression are not allowed."""
        return self._name(what, _OPERATORS)

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
    def nested(self) -> Iterator[None]:
        """Count one more level of parentheses or prefixes while inside."""
        if self._nesting >= MAX_NESTING:
            raise self.too_deep(self.token.span)
        self._nesting += 1
        try:
            yield
        finally:
            self._nesting -= 1

    def too_deep(self, span: Span) -> ParseError:
        """Return the error that an expression is nested too deeply."""
        return ParseError("this expression is nested too deeply", span, f"at most {MAX_NESTING} levels")

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
        opens_line = self._index > 0 and self.starts_line() and self.token.text in _KEYWORDS
        if self.previous.text != ";" and (self.ended or opens_line):
            end = self.previous.span.end
            return Span(end, end)
        return self.token.span
