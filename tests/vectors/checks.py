"""What checks are made of: comparisons that say what differs."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence


def same_bag(expected: Iterable[Hashable], got: Iterable[Hashable]) -> str | None:
    """Compare as multisets."""
    wanted, found = Counter(expected), Counter(got)
    parts = [
        f"{what}: {_listed(difference)}"
        for what, difference in (("missing", wanted - found), ("too many", found - wanted))
        if difference
    ]
    return "; ".join(parts) or None


def same_set(expected: Iterable[Hashable], got: Iterable[Hashable]) -> str | None:
    """Compare as sets."""
    return same_bag(set(expected), set(got))


def same_list(expected: Sequence[object], got: Sequence[object]) -> str | None:
    """Compare in order."""
    return None if list(expected) == list(got) else f"expected {list(expected)}, got {list(got)}"


def _listed(counter: Counter[Hashable]) -> str:
    return ", ".join(
        _shown(item) if count == 1 else f"{count} × {_shown(item)}" for item, count in counter.items()
    )


def _shown(item: object) -> str:
    if isinstance(item, frozenset):
        return f"{{{', '.join(sorted(map(str, item)))}}}"
    if isinstance(item, tuple):
        return f"({', '.join(map(_shown, item))})"
    return str(item)
