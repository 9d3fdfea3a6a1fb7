"""The aggregate functions: Fun(Set) = Y of TESLA's aggregates, over values in the order of their occurrences.

TESLA's Set is one of couples (label, value), so equal values of different events all count. Nulls are left
out. Of nothing, count, distinct and sum are 0 and everything else is null.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate

from tests.oracle.history import Value


def aggregate(function: str, values: Sequence[Value], argument: float | None = None) -> Value:
    """Fun(values). `argument` is the percentage of a percentile.

    >>> aggregate("avg", [48, None, 50])
    49.0
    """
    present = [value for value in values if value is not None]
    if function == "list":
        return tuple(present)
    if function in OF_NOTHING:
        return OF_NOTHING[function](present)
    if not present:
        return None
    if function == "percentile":
        assert argument is not None
        return percentile(present, argument)
    return OF_SOMETHING[function](present)


def total(values: Sequence[Value]) -> Value:
    """The sum; null where whole numbers have none with 64 bits, added in their order."""
    whole = accumulate(value for value in values if isinstance(value, int))
    fits = all(-(2**63) <= partial < 2**63 for partial in whole)
    return sum(values) if fits or any(isinstance(value, float) for value in values) else None


def mean(values: Sequence[Value]) -> float:
    return float(sum(values) / len(values))


def deviation(values: Sequence[Value]) -> float:
    """The standard deviation of the values themselves, not an estimate from a sample: 0 for one value."""
    middle = mean(values)
    return math.sqrt(mean([(value - middle) ** 2 for value in values]))


def percentile(values: Sequence[Value], percentage: float) -> Value:
    """By nearest rank: the ⌈p × n / 100⌉-th smallest value, so always one of them; for p = 0 the smallest.

    What is not a number stands behind all numbers.

    >>> [percentile([15, 20, 35, 40, 50], p) for p in (5, 30, 40, 50, 100)]
    [15, 20, 20, 35, 50]
    """
    rank = math.ceil(percentage * len(values) / 100)
    return sorted(values, key=lambda value: (value != value, value))[max(rank, 1) - 1]  # noqa: PLR0124


OF_NOTHING: dict[str, Callable[[Sequence[Value]], Value]] = {
    "count": len,
    "distinct": lambda values: len(set(values)),
    "sum": total,
}

OF_SOMETHING: dict[str, Callable[[Sequence[Value]], Value]] = {
    "avg": mean,
    "min": min,
    "max": max,
    "stddev": deviation,
    "first": lambda values: values[0],
    "last": lambda values: values[-1],
}
