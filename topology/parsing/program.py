"""A whole file, and the recovery from one mistake to the next."""

from bisect import bisect_left, bisect_right

from tocsin.topology.errors import Report
from tocsin.topology.parsing.comments import attach
from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.declarations import parse_declaration
from tocsin.topology.parsing.words import OPENERS
from tocsin.topology.tokens import Token, tokenize
from tocsin.topology.tree import Declaration, Program


def parse_program(report: Report) -> Program:
    """Read a whole file; every declaration that cannot be read is reported and left out."""
    tokens, comments = tokenize(report)
    lexical = [diagnostic.span.start for diagnostic in report.diagnostics]
    cursor = Cursor(tokens, report.source)
    declarations: list[Declaration] = []
    broken: set[str] = set()
    while not cursor.ended:
        start = cursor.token
        try:
            declarations.append(parse_declaration(cursor, broken))
        except ParseError as error:
            found = error.diagnostic
            # A mistake inside a token has been reported already, and is the likely cause of this one.
            if bisect_left(lexical, start.span.start) == bisect_right(lexical, found.span.end):
                report.error(found.message, found.span, found.hint)
            _recover(cursor, start)
    commented, rest = attach(declarations, comments, report.source)
    return Program(commented, frozenset(broken), rest)


def _recover(cursor: Cursor, start: Token) -> None:
    """Go to where the next declaration seems to start: a `;` alone does not tell, it also joins events."""
    if cursor.token.span == start.span:
        cursor.advance()
    margin = _column(cursor, start)
    while not cursor.ended:
        # Any two of the three will do: behind a `;`, not indented, a word that opens a declaration.
        outermost = cursor.starts_line() and _column(cursor, cursor.token) <= margin
        if [cursor.previous.text == ";", outermost, cursor.at(*OPENERS)].count(True) > 1:
            return
        cursor.advance()


def _column(cursor: Cursor, token: Token) -> int:
    return cursor.source.position(token.span.start)[1]
