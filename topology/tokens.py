"""Text to tokens: one regular expression, and a sentence for every habit brought from other languages."""

import math
import re
from enum import Enum, auto
from typing import NamedTuple

from tocsin.topology.errors import Report, Span

_MAX_DIGITS = 19  # of 2**63, the largest magnitude an integer can have


class Kind(Enum):
    """What sort of token it is."""

    WORD = auto()
    PARAMETER = auto()
    INTEGER = auto()
    FLOAT = auto()
    STRING = auto()
    SYMBOL = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the source; `value` is what a literal stands for."""

    kind: Kind
    text: str
    span: Span
    value: int | float | str | None = None

    def __str__(self) -> str:
        return "the end of the file" if self.kind is Kind.END else f"`{self.text}`"


class Comment(NamedTuple):
    """A comment, from `--` to the end of its line."""

    text: str
    span: Span


_PATTERN = re.compile(
    r"""
      (?P<space>     [\s\ufeff]+ )
    | (?P<comment>   --[^\n]* )
    | (?P<FLOAT>     [0-9]+ (?: \.[0-9]+ (?: [eE][+-]?[0-9]+ )? | [eE][+-]?[0-9]+ ) )
    | (?P<INTEGER>   [0-9]+ )
    | (?P<WORD>      \w+ )
    | (?P<PARAMETER> \$\w+ )
    | (?P<STRING>    "(?: [^"\\\n] | \\[^\n] )*" )
    | (?P<open>      "(?: [^"\\\n] | \\[^\n] )*\\? )
    | (?P<quoted>    '[^'\n]*'? )
    | (?P<remark>    //[^\n]* | \#[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<habit>     == | <> | && | \|\| | !(?!=) )
    | (?P<SYMBOL>    <= | >= | != | [-+*/%=<>(),;:.?|\[\]{}] )
    | (?P<strange>   . )
    """,
    re.VERBOSE | re.DOTALL,
)

_HABITS = {
    "==": Token(Kind.SYMBOL, "=", Span(0, 0)),
    "<>": Token(Kind.SYMBOL, "!=", Span(0, 0)),
    "&&": Token(Kind.WORD, "and", Span(0, 0)),
    "||": Token(Kind.WORD, "or", Span(0, 0)),
    "!": Token(Kind.WORD, "not", Span(0, 0)),
}

_NAME = re.compile(r"\$?[A-Za-z_][A-Za-z0-9_]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def tokenize(report: Report) -> tuple[list[Token], list[Comment]]:
    """Cut the source into tokens, the last of kind END, and comments; mistakes are reported and repaired."""
    tokens: list[Token] = []
    comments: list[Comment] = []
    for match in _PATTERN.finditer(report.source.text):
        kind, text, span = match.lastgroup or "", match.group(), Span(*match.span())
        if kind == "SYMBOL":
            tokens.append(Token(Kind.SYMBOL, text, span))
        elif kind == "comment":
            comments.append(Comment(text.rstrip(), span))
        elif kind != "space" and (token := _token(kind, text, span, report)):
            tokens.append(token)
    end = len(report.source.text)
    tokens.append(Token(Kind.END, "", Span(end, end)))
    return tokens, comments


def _token(kind: str, text: str, span: Span, report: Report) -> Token | None:  # noqa: PLR0911 (one case a kind)
    match kind:
        case "WORD" | "PARAMETER":
            return _word(Kind[kind], text, span, report)
        case "INTEGER" | "FLOAT":
            return _number(Kind[kind], text, span, report)
        case "STRING":
            return Token(Kind.STRING, text, span, _unescape(text[1:-1], span.start + 1, report))
        case "open":
            report.error("this string is not closed", span, 'end it with `"` on the same line')
            return Token(Kind.STRING, text, span, "")
        case "quoted":
            report.error("strings are written with double quotes", span, f'write `"{text.strip(chr(39))}"`')
            return Token(Kind.STRING, text, span, text.strip("'"))
        case "remark":
            report.error("a comment starts with `--`", span._replace(end=span.start + 1))
            return None
        case "habit":
            meant = _HABITS[text]
            report.error(f"`{text}` is written `{meant.text}` here", span)
            return meant._replace(span=span)
        case _:
            shown = f"`{text}`" if text.isprintable() else f"the character U+{ord(text):04X}"
            hint = "a parameter is a `$` and a name, like `$area`" if text == "$" else None
            report.error(f"{shown} has no meaning here", span, hint)
            return None


def _word(kind: Kind, text: str, span: Span, report: Report) -> Token:
    if not _NAME.fullmatch(text):
        report.error("a name is made of the letters a to z, digits and `_`, and starts with a letter", span)
    return Token(kind, text, span)


def _number(kind: Kind, text: str, span: Span, report: Report) -> Token:
    if kind is Kind.INTEGER:
        if len(text.lstrip("0")) <= _MAX_DIGITS:
            return Token(kind, text, span, int(text))
    elif math.isfinite(value := float(text)):
        return Token(kind, text, span, value)
    report.error("this number is too large", span)
    return Token(kind, text, span, 0)


def _unescape(text: str, start: int, report: Report) -> str:
    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape in _ESCAPES:
            return _ESCAPES[escape]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        span = Span(start + match.start(), start + match.end())
        report.error(
            "this escape is not known",
            span,
            r"known are `\"`, `\\`, `\n`, `\r`, `\t` and `\u` with four hex digits",
        )
        return ""

    value = _ESCAPE.sub(replace, text)
    if _SURROGATE.search(value):
        report.error(
            "this string holds half of a character (a lone surrogate)", Span(start, start + len(text))
        )
    return value
