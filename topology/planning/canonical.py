"""Conditions in canonical form: however they are written, what says the same is found to be the same.

It is the plain data of nodes that is rewritten, to compare them by; the plan has conditions as written.
"""

import json
from collections.abc import Iterator
from typing import Any

_MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def canonical(data: Any) -> Any:  # noqa: ANN401 (plain data)
    """Return data in which comparisons and what they join have one order, whatever the written one."""
    match data:
        case dict():
            found = {name: canonical(value) for name, value in data.items()}
            if "match" in found:
                found["match"] = sorted(found["match"], key=_text)
            return found
        case ["and" | "or" as op, kind, *args] if isinstance(kind, str):
            parts = {_text(part): part for arg in args for part in _flat(op, canonical(arg))}
            return [op, kind, *(parts[text] for text in sorted(parts))]
        case [str() as op, str() as kind, left, right] if op in _MIRRORED:
            left, right = canonical(left), canonical(right)
            if _text(left) <= _text(right):
                return [op, kind, left, right]
            return [_MIRRORED[op], kind, right, left]
        case list():
            return [canonical(part) for part in data]
        case _:
            return data


def canonical_pairs(where: Any, of: list[int]) -> Any:  # noqa: ANN401 (plain data)
    """Return the conditions of an operator, each with the slot it is of, in one order."""
    written = [] if where is None else list(_flat("and", where))
    pairs = {_text(pair): pair for pair in zip(of, map(canonical, written), strict=True)}
    return [pairs[text] for text in sorted(pairs)]


def _flat(op: str, term: Any) -> Iterator[Any]:  # noqa: ANN401 (plain data)
    if isinstance(term, list) and term[0] == op:
        for arg in term[2:]:
            yield from _flat(op, arg)
    else:
        yield term


def _text(data: Any) -> str:  # noqa: ANN401 (plain data)
    return json.dumps(data, sort_keys=True)
