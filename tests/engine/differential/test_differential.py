"""The engine detects what the oracle detects: random programs, histories, cuts, and losses of state.

`python -m tests.engine.differential --minutes 60` goes on for longer, with other seeds.
"""

import time
from collections.abc import Mapping

import pytest

from .generate import FAMILIES, cases
from .run import difference
from .shrink import as_test, shrunk

SECONDS = 20
"""How long each family is given; the seeds are the same in every run, and only how many differs."""

SHRINK_SECONDS = 60


RUNS = {
    "patterns": {"pattern": 1.0},
    "expressions": {"expression": 1.0},
    "matches": {"match": 1.0, "nested match": 1.0},
    "facts": {"facts": 1.0},
    "timers": {"pattern": 1.0, "expression": 1.0, "timers": 1.0},
    "all": FAMILIES,
}


@pytest.mark.parametrize("families", RUNS.values(), ids=RUNS)
def test_engine_and_oracle_detect_the_same(families: Mapping[str, float]) -> None:
    deadline = time.monotonic() + SECONDS
    seed = 0
    while seed == 0 or time.monotonic() < deadline:
        _, found = cases(seed, families)
        for case in found:
            if difference(case) is not None:
                small = shrunk(case, SHRINK_SECONDS)
                pytest.fail(f"seed {seed}:\n{as_test(small, str(difference(small)))}")
        seed += 1


def test_a_seed_always_gives_the_same_cases() -> None:
    assert cases(7) == cases(7)


def test_programs_are_made_of_everything() -> None:
    """Each construct is met within a few hundred programs, so that a soak meets it often."""
    met = {construct for seed in range(300) for construct in cases(seed, {"pattern": 1.0})[0].used}
    wanted = {"each", "last", "first", "k last", "k first", "before", "bounded", "recursion", "hierarchy"}
    wanted |= {"not ahead", "not between", "not within", "not before", "consuming", "rate", "if", "condition"}
    wanted |= {"aggregate avg", "aggregate percentile", "aggregate limit", "several definitions", "extends"}
    wanted |= {"operation", "unit", "start", "id", "time"}
    assert wanted <= met
