"""The engine detects what the oracle detects: random programs, histories, cuts, and losses of state.

These are a few seeds of each family. `make soak MINUTES=60` goes on for longer, with other ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest

from .generate import FAMILIES, Programs, cases, drives
from .run import Case, difference, differences
from .shrink import as_test, candidates, shrunk

SHRINK_SECONDS = 60


class Family(NamedTuple):
    """Some kinds of programs, and how many of them are tried."""

    shares: Mapping[str, float]
    seeds: int


RUNS = {
    "patterns": Family({"pattern": 1.0}, 200),
    "expressions": Family({"expression": 1.0}, 150),
    "matches": Family({"match": 1.0}, 100),
    "nested matches": Family({"nested match": 1.0}, 100),
    "facts": Family({"facts": 1.0}, 60),
    "timers": Family({"pattern": 1.0, "expression": 1.0, "timers": 1.0}, 80),
    "all": Family(FAMILIES, 100),
}


def _seeds() -> Iterator[object]:
    for name, family in RUNS.items():
        yield from (pytest.param(family.shares, seed, id=f"{name} {seed}") for seed in range(family.seeds))


@pytest.mark.parametrize(("families", "seed"), list(_seeds()))
def test_engine_and_oracle_detect_the_same(families: Mapping[str, float], seed: int) -> None:
    _, found = cases(seed, families)
    for case in found:
        ways = drives(seed)
        for drive, wrong in zip(ways, differences(case, ways), strict=False):
            if wrong is not None:
                small = shrunk(replace(case, drive=drive), SHRINK_SECONDS)
                pytest.fail(f"seed {seed}:\n{as_test(small, str(difference(small)))}")


def test_a_seed_always_gives_the_same_cases() -> None:
    assert cases(7) == cases(7)


def test_every_step_to_a_smaller_program_can_be_written() -> None:
    rules = """
    event A (k: string, n: long) on "a" key k;
    define R (n: long) from any(2, (A as r)*) within 5 s if 1 = 1 where n = 1 context chronicle;
    """
    steps = [case.text for case in candidates(Case(rules, ()))]
    assert any("from   A" in text for text in steps)
    assert all("any(2, A" in text or "any" not in text for text in steps)


CONTEXTS = ("unrestricted", "recent", "chronicle", "continuous", "cumulative")
OPERATORS = ("or", "and", ";", "any", "any*", "A", "A*", "P", "P*", "not", "+", "within", "point")
STEPS = ("then", "and", "or", "|", "every", "each", "next", "not", "not for", "wait", "within", "at most")
AGGREGATES = ("count", "sum", "avg", "min", "max", "stddev", "distinct", "first", "last", "percentile")
EXPRESSIONS = ("and ", "or ", "not", "in", "is null", "+", "-", "*", "/", "%", "of Level", "of bytes")

WANTED: Mapping[str, set[str]] = {
    "pattern": {
        *("each", "last", "first", "k last", "k first", "before", "bounded", "recursion", "hierarchy"),
        *("not ahead", "not between", "not within", "not before", "consuming", "rate", "if", "condition"),
        *("several definitions", "extends", "operation", "unit", "start", "id", "time", "group", "point"),
        *(f"aggregate {what}" for what in (*AGGREGATES, "limit")),
        *(f"expression {what}" for what in EXPRESSIONS),
        "role alone",
    },
    "expression": {
        *(f"operator {operator} {context}" for operator in OPERATORS for context in CONTEXTS),
        *(f"disjoint {context}" for context in CONTEXTS),
        *("within", "collect", "group", "named expression", "collected list", "collected avg", "role alone"),
    },
    "match": {f"match {what}" for what in ("repeat", "until", "for", "from", "while previous")}
    | {"role alone"},
    "nested match": {f"match {what}" for what in (*STEPS, "while", "own role", "previous", "role again")},
    "facts": {
        *("rule on facts", "rule with events", "rule on a pattern", "rule on a match"),
        *(f"condition {what}" for what in ("fact", "event", "change", "not fact", "not event")),
        *(f"action {what}" for what in ("publish", "assert", "update", "modify", "retract", "retract event")),
        *("rule rate", "relation after", "priority", "role alone"),
    },
}
"""By family: what programs are made of."""


@pytest.mark.parametrize("family", WANTED)
def test_programs_are_made_of_everything(family: str) -> None:
    """Each construct is met within a few hundred programs, so that a soak meets it often."""
    met: set[str] = set()
    for seed in range(300):
        met |= {what for what, number in Programs(Random(seed), {family: 1.0}).make().used.items() if number}
        if WANTED[family] <= met:
            return
    assert not WANTED[family] - met
