"""Numbers are what was written, whatever they were written in."""

import json
import math
import struct
from random import Random

from tocsin.testing import Driver

ECHO = """
event Thing (v: double) on "things";
define Echo (v: double) from Thing as e where v = e.v;
"""


def doubles(count: int, seed: int) -> list[float]:
    """Return finite doubles, half of them of any bits, half of ordinary sizes."""
    random = Random(seed)
    found = []
    while len(found) < count:
        any_bits = struct.unpack("<d", random.randbytes(8))[0]
        ordinary = random.random() * 10 ** random.randint(-5, 5)
        found += [value for value in (any_bits, ordinary) if math.isfinite(value)]
    return found[:count]


def test_a_double_in_json_is_the_one_that_was_meant() -> None:
    driver = Driver(ECHO)
    values = doubles(5_000, seed=1)
    for at, value in enumerate(values):
        driver.publish_raw("things", None, json.dumps({"v": value}).encode(), at)
    driver.advance(len(values))
    assert [echo.attributes["v"] for echo in driver.detected()] == values


def test_a_constant_in_a_rule_is_the_one_that_was_written() -> None:
    values = [value for value in doubles(300, seed=2) if 1e-6 < abs(value) < 1e7]
    rules = "".join(f"define Found{n} from Thing(v = {value!r});" for n, value in enumerate(values))
    driver = Driver('event Thing (v: double) on "things";' + rules)
    for at, value in enumerate(values):
        driver.publish("Thing", {"v": value}, at)
    driver.advance(len(values))
    assert [found.type for found in driver.detected()] == [f"Found{n}" for n in range(len(values))]


def test_what_is_not_a_number_stands_behind_all_numbers() -> None:
    rules = """
    event Thing (v: double) on "things";
    event Ask on "asks";
    define Told (low: double?, high: double?)
    from   Ask as a
      and  $l = percentile(Thing.v, 50) within 1 h from a
      and  $h = percentile(Thing.v, 100) within 1 h from a
    where  low = $l, high = $h;
    """
    driver, random = Driver(rules), Random(3)
    values = [math.nan if random.random() < 0.3 else random.random() for _ in range(100)]
    for at, value in enumerate(values):
        driver.publish("Thing", {"v": value}, at)
    driver.publish("Ask", {}, 1_000)
    driver.advance(2_000)
    (told,) = driver.detected()
    assert told.attributes["low"] == sorted(value for value in values if not math.isnan(value))[49]
    assert math.isnan(told.attributes["high"])
