"""How much room text takes, without a font at hand: widths on the safe side of the usual fonts."""

import textwrap

MONO = 0.602
"""The advance of a monospaced letter, in ems: that of the widest of the usual fonts."""

_NARROW = frozenset("iIjl.,:;'|!()[] ")
_WIDE = frozenset("mwMW@%")


def sans_width(text: str, size: float) -> float:
    """Return the width of text in a proportional font."""
    return size * sum(0.36 if c in _NARROW else 0.98 if c in _WIDE else 0.66 for c in text)


def mono_width(text: str, size: float) -> float:
    """Return the width of text in a monospaced font."""
    return size * MONO * len(text)


def wrapped(text: str, columns: int, most: int) -> tuple[str, ...]:
    """Return text in lines of so many characters, cut with an ellipsis if they would be too many."""
    lines = textwrap.wrap(text, columns, subsequent_indent="  ", break_on_hyphens=False)
    if len(lines) <= most:
        return tuple(lines)
    last = lines[most - 1][: columns - 2].rstrip()
    return (*lines[: most - 1], f"{last} …")
