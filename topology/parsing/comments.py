"""Comments to the declarations they belong to, so that printing a file loses none of them."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from tocsin.topology.errors import Source
from tocsin.topology.tokens import Comment
from tocsin.topology.tree import Declaration, Trivia


def attach(
    declarations: Iterable[Declaration], comments: Iterable[Comment], source: Source
) -> tuple[tuple[Declaration, ...], tuple[str, ...]]:
    """Return the declarations with their comments, and the comments that follow the last one.

    A comment inside a declaration moves above it; one on the line where a declaration ends stays behind it.
    """
    attached: list[Declaration] = []
    pending = deque(comments)
    end = 0
    for declaration in declarations:
        mine = []
        while pending and pending[0].span.start < declaration.span.end:
            mine.append(pending.popleft())
        above = _lines(mine, end, declaration.span.start, source.text)
        end = declaration.span.end
        behind = None
        if pending and "\n" not in source.text[end : pending[0].span.start]:
            comment = pending.popleft()
            behind, end = comment.text, comment.span.end
        attached.append(replace(declaration, trivia=Trivia(above, behind)))
    return tuple(attached), _lines(pending, end, len(source.text), source.text)


def _lines(comments: Iterable[Comment], start: int, end: int, text: str) -> tuple[str, ...]:
    """Return the comments as lines, with an empty one wherever the source has blank lines before `end`."""
    lines: list[str] = []
    inside: list[str] = []
    for comment in comments:
        if comment.span.start > end:
            inside.append(comment.text)
            continue
        if _blank(text[start : comment.span.start]):
            lines.append("")
        lines.append(comment.text)
        start = comment.span.end
    if _blank(text[start:end]):
        lines.append("")
    return (*lines, *inside)


def _blank(between: str) -> bool:
    return between.count("\n") > 1
