"""Lingering: what a match keeps for each value of its parameters goes away again, or it is refused.

The engine is the judge: the values that it has seen are to leave nothing behind, or else the match must not
be accepted without `unbounded`.
"""

import json
import random

import pytest

from tests.engine.differential.records import in_one_task
from tests.topology.planned import messages
from tocsin._engine import Batch, Engine
from tocsin.topology import compile_rules

DECLARED = """
event A (k: string, m: string, n: long) on "a" key k;
event B (k: string, m: string, n: long) on "b" key k;
event C (k: string, m: string, n: long) on "c" key k;
event U (n: long) on "u";
define D (k: string) from A(k = $k) as a where k = $k;
"""

FORGOTTEN = [
    "every (A($k) as a then B($k) within 1 s from a)",
    "every (A($k) as a then B($k) then C($k) within 1 s from a)",
    "every (A($k) as a then next B($k) within 1 s from a)",
    "every (A($k) as a then (B($k) or C($k)) within 1 s from a)",
    "every (A($k) as a then (B($k){2,} until C($k)) within 1 s from a)",
    "every (A($k) then not B($k) for 1 s)",
    "every A($k) then not B($k) for 1 s",
    "every A($k) then (B($k) within 1 s)",
    "every A($k) then (B($k) within 1 s) disjoint",
    "every A($k) then ((each B($k) as b while b.n > 1) within 1 s)",
    "every A($k) then (wait 500 ms then B($k) within 1 s)",
    "every A($k){1} then (B($k) within 1 s)",
    "every (A($k) as a while a.n > 2) then (B($k) within 1 s)",
    "every (A($k) at most 1) then (B($k) within 1 s)",
    "every (A($k) or U) then (B($k) within 1 s)",
    "every (A($k) and not U) then (B($k) within 1 s)",
    "every (A($k) and not B($k)) then (C($k) within 1 s)",
    "(every A($k) | every B($k)) then (C($k) within 1 s)",
    "each A($k) then (B($k) within 1 s)",
    "each (A($k) as a then B($k) within 1 s from a)",
    "(A($k) then B($k)) within 1 s",
    "every U then (A($k) then B($k) within 1 s)",
    "every U then ((every (A($k) then B($k) within 200 ms)) within 1 s)",
    "every C($k, m = $m) then (A($k) then B($k, m = $m) within 1 s)",
    "every D(k = $k) then (B($k) within 1 s)",
]

KEPT = [
    "every (A($k) then B($k) within 1 s)",
    "every ((A($k) and B($k)) within 1 s)",
    "every (A($k){3} within 1 s)",
    "every (A($k) as a{3} within 1 s from a)",
    "every (A($k) as a{2,} until B($k) within 1 s from a)",
    "every ((A($k) as a then B($k) within 1 s from a) or C($k))",
    "every (A($k) and not (B($k) as b then C($k) within 200 ms from b))",
    "every (U as u then A($k) then B($k) within 1 s from u)",
    "A($k) then (B($k) within 1 s)",
    "(every A($k) then (B($k) within 1 s)) at most 2",
    "(every A($k) as a then (B($k) within 1 s)) while a.n > 2",
    "(each A($k) then (B($k) within 1 s)) and not C($k)",
    "each A($k) as a{2} within 1 s from a",
    "every A($k) then (B($k, m = $m) then C($k, m = $m) within 1 s)",
    "every A($k) then (C($k, m = $m) then B(m = $m) within 1 s)",
    "every D(k = $k) then (B($k) within 1 s) disjoint",
    "every D(k = $k) then (B($k) within 1 s) skip to next",
    "every A($k) then ((B($k) and not D(k = $k)) within 1 s) disjoint",
]


def entries(match: str, keys: int) -> int:
    """Return how many entries the state has after so many keys and then silence."""
    plan = in_one_task(compile_rules(f"{DECLARED} define R from match {match} unbounded;", app="case"))
    engine = Engine(json.dumps(plan), "all", 0, {name: (f"made.{name}", b"", 1) for name in "DR"})
    chance = random.Random(1)
    last = 10_000 + 200 * keys + 10_000
    records = [(time, "u", {"n": 1}) for time in range(10_000, last, 500)]
    for key in range(keys):
        for _ in range(5):
            value = {"k": f"k{key}", "m": f"m{chance.choice([key, key // 3])}", "n": chance.randrange(5)}
            records.append((10_000 + 200 * key + chance.randrange(1500), chance.choice("aabc"), value))
    records.sort(key=lambda record: record[0])
    for topic in engine.topics:
        own = [(time, json.dumps(value).encode()) for time, other, value in records if other == topic]
        batch = [(offset, time, None, body, None) for offset, (time, body) in enumerate(own)]
        engine.feed(Batch.build(topic, 0, batch), last)
    state: set[bytes] = set()
    for time in (*range(10_000, last, 2_000), last + 100_000):
        for topic in engine.topics:
            engine.advance(topic, time)
        engine.run()
        for key_bytes, value_bytes in engine.take().state:
            (state.discard if value_bytes is None else state.add)(key_bytes)
    return len(state)


@pytest.mark.parametrize("match", FORGOTTEN)
def test_what_is_accepted_leaves_nothing_behind(match: str) -> None:
    compile_rules(f"{DECLARED} define R from match {match};", app="case")
    assert entries(match, 60) == entries(match, 20)


@pytest.mark.parametrize("match", KEPT)
def test_what_leaves_something_behind_is_refused(match: str) -> None:
    assert len(messages(f"{DECLARED} define R from match {match};")) == 1
    assert entries(match, 60) > entries(match, 20) + 5
