"""Holds the engine against the oracle for a while: `python -m tests.engine.differential --minutes 5`.

Every seed is a program with a few histories, and for each of them the engine is driven in several ways: a
case each. What is printed: how many cases were clean, what they were made of, and of a case that fails the
seed and a small test that fails too.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing import get_context

from .generate import FAMILIES, cases, drives
from .run import Case, difference, differences
from .shrink import as_test, shrunk

SHRINK_SECONDS = 90
PROGRESS_SECONDS = 60
AT_ONCE = 10
"""How many seeds a process is given at a time."""


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


@dataclass(frozen=True)
class Asked:
    """What is to be run: seeds from `first` on, so many or for a time, until too many fail."""

    families: Mapping[str, float]
    first: int
    seeds: int | None
    minutes: float
    failures: int
    jobs: int


@dataclass
class Result:
    """What came out."""

    seeds: int = 0
    clean: int = 0
    failed: list[tuple[int, Case]] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Result") -> None:
        """Put another one beside this."""
        self.seeds += other.seeds
        self.clean += other.clean
        self.failed += other.failed
        self.used += other.used
        self.counts += other.counts


def soak(asked: Asked) -> Result:
    """Run seed after seed until the time is up or too many failed."""
    begin = told = time.monotonic()
    total = Result()
    for result in results(asked):
        total.add(result)
        now = time.monotonic()
        if now - told >= PROGRESS_SECONDS:
            told = now
            tell(f"{now - begin:.0f} s, seed {asked.first + total.seeds - 1}: {total.clean} cases clean")
        if len(total.failed) >= asked.failures or now - begin >= asked.minutes * 60:
            break
    seeds = f"seeds {asked.first} to {asked.first + total.seeds - 1}"
    spent = time.monotonic() - begin
    tell(f"{seeds}: {total.clean} cases clean, {len(total.failed)} programs failed, in {spent:.0f} s")
    tell(", ".join(f"{number} {what}" for what, number in sorted(total.counts.items())))
    for construct, number in sorted(total.used.items()):
        tell(f"  {number:7} programs with {construct}")
    return total


def results(asked: Asked) -> Iterator[Result]:
    """Yield what comes out, some seeds at a time, in their order."""
    if asked.seeds is not None or asked.jobs == 1:
        seeds = count(asked.first) if asked.seeds is None else range(asked.first, asked.first + asked.seeds)
        yield from (run([seed], asked.families) for seed in seeds)
        return
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        running = []
        for first in count(asked.first, AT_ONCE):
            running.append(pool.submit(run, range(first, first + AT_ONCE), asked.families))
            if len(running) > 2 * asked.jobs:
                try:
                    yield running.pop(0).result()
                except GeneratorExit:
                    pool.shutdown(cancel_futures=True)
                    raise


def run(seeds: Sequence[int], families: Mapping[str, float]) -> Result:
    """Run some seeds; of each program that fails, the first case is kept."""
    result = Result(seeds=len(seeds))
    for seed in seeds:
        program, found = cases(seed, families)
        result.used.update({construct for construct, number in program.used.items() if number})
        failing = first_failure(seed, found, result)
        if failing is not None:
            result.failed.append((seed, failing))
    return result


def first_failure(seed: int, found: Sequence[Case], result: Result) -> Case | None:
    """Return the first case that fails, after having counted those that do not."""
    for case in found:
        ways = drives(seed)
        for drive, wrong in zip(ways, differences(case, ways, counts=result.counts), strict=False):
            if wrong is not None:
                return replace(case, drive=drive)
            result.clean += 1
    return None


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
