"""Seed after seed, in one process or several: cases that were clean, and programs that failed.

It is a module of its own because processes that are started for it import what they run by its name.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing import get_context

from .generate import cases, drives
from .run import Case, differences

PROGRESS_SECONDS = 60
AT_ONCE = 10
"""How many seeds a process is given at a time."""


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


def tell(line: str) -> None:
    """Print a line at once: a soak is watched."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
