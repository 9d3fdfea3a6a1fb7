"""Holds the engine against the oracle for a while: `python -m tests.engine.differential --minutes 5`.

Every seed is a program with a few histories, and for each of them the engine is driven in several ways: a
case each. What is printed: how many cases were clean, what they were made of, and of a case that fails the
seed and a small test that fails too.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from .generate import FAMILIES
from .run import Case, difference
from .shrink import as_test, shrunk
from .soak import Asked, soak, tell

SHRINK_SECONDS = 90


def main(arguments: Sequence[str]) -> int:
    """Run for the time asked for; return how it ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.differential", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1, help="how long")
    parser.add_argument("--seed", type=int, default=None, help="the first seed; without it, the clock's")
    parser.add_argument("--only", action="store_true", help="that seed and no other")
    parser.add_argument("--families", default="", help="such as pattern=1,timers=0.2")
    parser.add_argument("--failures", type=int, default=1, help="go on until so many failed")
    parser.add_argument("--no-shrink", action="store_true", help="show a failing case as it is")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    given = parser.parse_args(arguments)
    families = dict(FAMILIES)
    if given.families:
        families = {name: float(share) for name, share in (f.split("=") for f in given.families.split(","))}
    first = int(time.time()) * 1000 if given.seed is None else given.seed
    asked = Asked(families, first, 1 if given.only else None, given.minutes, given.failures, given.jobs)
    result = soak(asked)
    for seed, case in result.failed:
        show(seed, case, shrink=not given.no_shrink)
    return 1 if result.failed else 0


def show(seed: int, case: Case, *, shrink: bool) -> None:
    """Print a failing case."""
    small = shrunk(case, SHRINK_SECONDS) if shrink else case
    wrong = difference(small)
    tell(f"seed {seed}:")
    tell(as_test(small, str(wrong)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
