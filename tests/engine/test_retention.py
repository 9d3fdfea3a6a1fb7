"""What is past every horizon is gone, from memory and from the changelog, for keys that never come again."""

import pytest

from tocsin.testing import Driver

EVENTS = """
event A (k: string, m: string) on "a" key k;
event B (k: string, m: string) on "b" key k;
event C (k: string, m: string) on "c" key k;
"""

SOURCES = {
    "seq": "(A(k = $k) ; B(k = $k)) within 1 s",
    "continuous": "(A(k = $k) ; B(k = $k)) within 1 s context continuous",
    "disjoint": "(A(k = $k) ; B(k = $k)) within 1 s context continuous disjoint",
    "and": "(A(k = $k) and B()) within 1 s context chronicle",
    "not": "not(C())[A(k = $k), B(k = $k)] within 1 s",
    "plus": "((A(k = $k) + 5 ms) ; B(k = $k)) within 2 s",
    "periodic": "periodic(A(k = $k), 5 ms, C(k = $k)) within 1 s",
    "aperiodic*": "aperiodic*(A(k = $k), B(k = $k), C(k = $k)) within 1 s",
    "last": "B(k = $k) as b and last A(k = $k) within 1 s from b",
    "each, consuming": "B(k = $k) as b and each A(k = $k) as a within 1 s from b consuming a",
    "ahead": "A(k = $k) as a and not C(k = $k) within 5 ms after a",
    "aggregate": "A(k = $k) as a and $c = count(B(k = $k)) within 1 s from a",
    "rate": "A(k = $k) as a at most 2 per 1 s",
    "match": "match every A(k = $k) as a then B(k = $k) within 1 s from a",
    "absent": "match every A(k = $k) as a then not C(k = $k) for 5 ms",
}


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_stays_of_keys_that_are_gone(source: str) -> None:
    driver = Driver(f"{EVENTS} define R from {SOURCES[source]};")
    at = 0
    rest = None
    for block in range(3):
        for number in range(20):
            key = f"{block}-{number}"
            for name in ("A", "B", "C"):
                at += 10
                if f"{name}(" in SOURCES[source]:
                    driver.publish(name, {"k": key, "m": key}, at)
        at += 100_000
        driver.advance(at)
        at += 100_000
        driver.advance(at)
        left = len(driver.state()), driver.stored
        rest = rest or left
        assert left == rest
    assert driver.detected("R")
