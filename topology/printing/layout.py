"""How text is broken that does not fit on a line."""

from collections.abc import Sequence

WIDTH = 100  # including the `;` or `,` that may follow


def fits(text: str, room: int = 0) -> bool:
    """Whether the last line of a text is short enough, with room for so many more characters."""
    return len(text) - text.rfind("\n") - 1 + room < WIDTH


class Piece:
    """A piece of text, by itself one that is never broken."""

    def __init__(self, flat: str) -> None:
        self.flat = flat

    def lay(self, before: str, indent: int, room: int = 0) -> str:
        """Return it behind what stands before it.

        If that does not fit on a line with `room` for what follows, it is broken, and its further lines are
        counted from the column `indent`.
        """
        return before + self.flat if fits(before + self.flat, room) else self._broken(before, indent, room)

    def _broken(self, before: str, _indent: int, _room: int) -> str:
        return before + self.flat


class Listed(Piece):
    """`(a, b)`; broken, one to a line, between brackets on lines of their own."""

    def __init__(self, parts: Sequence[Piece], brackets: str = "()") -> None:
        self._parts, self._brackets = parts, brackets
        super().__init__(f"{brackets[0]}{', '.join(part.flat for part in parts)}{brackets[1]}")

    def _broken(self, before: str, indent: int, _room: int) -> str:
        if not self._parts:
            return before + self.flat
        margin = f"\n{' ' * indent}"
        text = lay_all(f"{before}{self._brackets[0]}{margin}  ", self._parts, indent + 2)
        return f"{text}{margin}{self._brackets[1]}"


class Row(Piece):
    """Pieces directly behind each other; broken within them, from the left."""

    def __init__(self, *parts: Piece) -> None:
        self._parts = parts
        super().__init__("".join(part.flat for part in parts))

    def _broken(self, before: str, indent: int, room: int) -> str:
        text, ahead = before, len(self.flat) + room
        for part in self._parts:
            ahead -= len(part.flat)
            text = part.lay(text, indent, ahead)
        return text


class Chain(Piece):
    """`a and b`; broken, one to a line behind the operator, which may hang before the margin."""

    def __init__(self, operator: str, parts: Sequence[Piece], *, hanging: bool = False) -> None:
        self._operator, self._parts, self._hanging = operator, parts, hanging
        super().__init__(f" {operator} ".join(part.flat for part in parts))

    def _broken(self, before: str, indent: int, room: int) -> str:
        hanging = f"\n{' ' * (indent - 5)}{self._operator:4} "
        lead = hanging if self._hanging else f"\n{' ' * indent}{self._operator} "
        *parts, last = self._parts
        text = before
        for part in parts:
            text = part.lay(text, indent) + lead
        return last.lay(text, indent, room)


class Trailed(Piece):
    """`a within 3 min`; broken before the words, or if that is not enough, in what they follow."""

    def __init__(self, part: Piece, words: str) -> None:
        self._part, self._words = part, words
        super().__init__(f"{part.flat} {words}")

    def _broken(self, before: str, indent: int, room: int) -> str:
        if fits(before + self._part.flat) or isinstance(self._part, Chain | Trailed):
            return f"{self._part.lay(before, indent)}\n{' ' * indent}{self._words}"
        return f"{self._part.lay(before, indent, len(self._words) + 1 + room)} {self._words}"


def lay_all(before: str, parts: Sequence[Piece], indent: int) -> str:
    """Return pieces with commas between them, one to a line."""
    *most, last = parts
    text = before
    for part in most:
        text = f"{part.lay(text, indent, 1)},\n{' ' * indent}"
    return last.lay(text, indent)


def lay_flat(before: str, parts: Sequence[Piece], indent: int) -> str:
    """Return pieces with commas between them, on one line if they fit."""
    flat = before + ", ".join(part.flat for part in parts)
    return flat if fits(flat) else lay_all(before, parts, indent)


def fill(words: Sequence[str]) -> str:
    """Return groups of words on as few lines as fit."""
    text = words[0]
    for group in words[1:]:
        text = f"{text} {group}" if fits(f"{text} {group}") else f"{text}\n{group}"
    return text
