"""What goes wrong, told to people: the root error, diagnostics with a place, and how they are shown."""

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_SHOWN_WIDTH = 140


class TocsinError(Exception):
    """Root of every error that Tocsin raises on purpose; its text is a sentence for the user."""


class AppNameError(TocsinError):
    """The name of the application cannot be part of a topic name."""


class Span(NamedTuple):
    """A range of characters of the source text, the end excluded."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: what is wrong, where, and what to do about it."""

    message: str
    span: Span
    hint: str | None = None


@dataclass(frozen=True)
class Source:
    """A rule file's text and name; knows its lines."""

    text: str
    filename: str = "<rules>"

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """Return the text of a line, from 1, without its end."""
        start = self._line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None].rstrip("\r")

    def place(self, span: Span) -> str:
        """Return where something begins, as it is shown: file, line and column."""
        line, column = self.position(span.start)
        return f"{self.filename}:{line}:{column}"

    def __getitem__(self, span: Span) -> str:
        return self.text[span.start : span.end]


class RuleErrors(TocsinError):
    """All mistakes of one rule file, in the order of the text."""

    def __init__(self, source: Source, diagnostics: Iterable[Diagnostic]) -> None:
        self.source = source
        # What stands in a named expression is judged wherever that is used, and is still one mistake.
        self.diagnostics = tuple(sorted(dict.fromkeys(diagnostics), key=lambda d: d.span))
        super().__init__(source, self.diagnostics)

    def __str__(self) -> str:
        return "\n\n".join(self._render(d) for d in self.diagnostics)

    def to_dict(self) -> dict[str, object]:
        """Return the machine form: file, and for each error its place, message and hint."""
        return {"file": self.source.filename, "errors": [self._to_dict(d) for d in self.diagnostics]}

    def _to_dict(self, diagnostic: Diagnostic) -> dict[str, object]:
        line, column = self.source.position(diagnostic.span.start)
        end_line, end_column = self.source.position(diagnostic.span.end)
        return {
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
            "message": diagnostic.message,
            "hint": diagnostic.hint,
        }

    def _render(self, diagnostic: Diagnostic) -> str:
        line, column = self.source.position(diagnostic.span.start)
        text, shift = _window(_printable(self.source.line(line)), column - 1)
        caret_at = column - 1 - shift
        width = max(1, min(diagnostic.span.end - diagnostic.span.start, len(text) - caret_at))
        gutter = " " * (len(str(line)) + 2)
        shown = [
            f"{self.source.place(diagnostic.span)}: error: {diagnostic.message}",
            f"  {line} | {text}".rstrip(),
            f"{gutter} | {' ' * caret_at}{'^' * width}",
        ]
        if diagnostic.hint:
            shown.append(f"{gutter} = {diagnostic.hint}")
        return "\n".join(shown)


class Report:
    """Collects the diagnostics of one source while it is compiled."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.diagnostics: list[Diagnostic] = []
        self._warnings: list[Diagnostic] = []

    def error(self, message: str, span: Span, hint: str | None = None) -> None:
        """Note a mistake and go on."""
        self.diagnostics.append(Diagnostic(message, span, hint))

    def warn(self, message: str, span: Span, hint: str) -> None:
        """Note what is right, but may surprise."""
        self._warnings.append(Diagnostic(message, span, hint))

    def warnings(self) -> tuple[str, ...]:
        """Return what may surprise, each with its place, in the order of the text."""
        found = sorted(dict.fromkeys(self._warnings), key=lambda d: d.span)
        return tuple(f"{self.source.place(d.span)}: {d.message}; {d.hint}." for d in found)

    def check(self) -> None:
        """Raise everything noted so far, if anything was."""
        if self.diagnostics:
            raise RuleErrors(self.source, self.diagnostics)


def did_you_mean(name: str, known: Iterable[str], *, prefix: str = "") -> str | None:
    """Return a hint naming the known name closest to `name`, if one is close."""
    candidates = list(known)
    same = [candidate for candidate in candidates if candidate.lower() == name.lower()]
    close = same or difflib.get_close_matches(name, candidates, n=1)
    return f"did you mean `{prefix}{close[0]}`?" if close else None


def suggest(name: str, known: Sequence[str], introduction: str) -> str | None:
    """Return a hint naming the closest known name, or else all of them."""
    return did_you_mean(name, known) or (f"{introduction} `{'`, `'.join(known)}`" if known else None)


def _printable(text: str) -> str:
    """Replace what would move the caret or talk to the terminal, one character for one."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text.replace("\t", " "))


def _window(text: str, column: int) -> tuple[str, int]:
    """Cut a long line to what surrounds the column; also return how much was cut on the left."""
    if len(text) <= _SHOWN_WIDTH:
        return text, 0
    start = max(0, min(column - _SHOWN_WIDTH // 2, len(text) - _SHOWN_WIDTH))
    return text[start : start + _SHOWN_WIDTH], start
