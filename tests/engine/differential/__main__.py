"""Holds the engine against the oracle for a while: `python -m tests.engine.differential --minutes 5`.

Every seed is a program with a few histories. What is printed: how many cases were clean, what they were made
of, and of a case that fails the seed and a small test that fails too.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence

from .generate import FAMILIES, cases
from .run import Case, difference
from .shrink import as_test, shrunk

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
    given = parser.parse_args(arguments)
    families = dict(FAMILIES)
    if given.families:
        families = {name: float(share) for name, share in (f.split("=") for f in given.families.split(","))}
    first = int(time.time()) * 1000 if given.seed is None else given.seed
    minutes = 0 if given.only else given.minutes
    return soak(first, minutes, families, given.failures, shrink=not given.no_shrink)


def soak(
    seed: int, minutes: float, families: Mapping[str, float], failures: int, *, shrink: bool = True
) -> int:
    """Run seed after seed until the time is up or too many failed."""
    begin = time.monotonic()
    used: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    clean = failed = 0
    first = seed
    while True:
        program, found = cases(seed, families)
        used.update({construct for construct, count in program.used.items() if count})
        for case in found:
            wrong = difference(case, counts=counts)
            if wrong is None:
                clean += 1
                continue
            failed += 1
            show(seed, case, shrink=shrink)
            break
        seed += 1
        if failed >= failures or time.monotonic() - begin >= minutes * 60:
            break
    spent = time.monotonic() - begin
    tell(f"seeds {first} to {seed - 1}: {clean} cases clean, {failed} programs failed, in {spent:.0f} s")
    tell(", ".join(f"{count} {what}" for what, count in counts.items()))
    for construct, count in sorted(used.items()):
        tell(f"  {count:7} programs with {construct}")
    return 1 if failed else 0


def show(seed: int, case: Case, *, shrink: bool) -> None:
    """Print a failing case."""
    small = shrunk(case, SHRINK_SECONDS) if shrink else case
    wrong = difference(small)
    tell(f"seed {seed}:")
    tell(as_test(small, str(wrong)))


def tell(line: str) -> None:
    """Print a line at once: a soak is watched."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
