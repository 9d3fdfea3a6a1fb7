"""The driver for users' tests: what workers would do, without a broker."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from tocsin.errors import InputError
from tocsin.testing import Driver

RULES = """
event Temp (area: string, value: double) on "temps" key area lateness 2 s;
event Smoke (area: string) on "smoke" key area;

define Fire (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > 45) as t within 3 min from s
where  area = $a, value = t.value;

define Unseen (area: string)
from   match every Smoke($a) then not Temp($a) for 10 s
where  area = $a;
"""


def test_what_is_published_is_detected() -> None:
    driver = Driver(RULES)
    for area in ("hall", "attic", "cellar"):
        driver.publish("Temp", {"area": area, "value": 51.5}, at="2026-01-02T09:00:00Z")
        driver.publish("Smoke", {"area": area}, at=datetime(2026, 1, 2, 9, 1, tzinfo=UTC))
    assert driver.detected() == []  # a Temp of the same time may still come
    driver.advance("2026-01-02T09:01:05Z")
    assert {fire.attributes["area"] for fire in driver.detected("Fire")} == {"hall", "attic", "cellar"}
    assert driver.detected("Unseen") == []
    driver.advance("2026-01-02T09:01:10Z")
    assert len(driver.detected("Unseen")) == 3
    assert {fire.attributes["value"] for fire in driver.detected("Fire")} == {51.5}


def test_what_other_applications_detect_is_published_by_the_test() -> None:
    driver = Driver("""
        event Fire (area: string) of "plant" key area;
        define Twice (area: string)
        from   (Fire($a) ; Fire($a)) within 1 min context recent where area = $a;
        """)
    driver.publish("Fire", {"area": "hall"}, at=1_000)
    driver.publish("Fire", {"area": "hall"}, at=2_000)
    driver.advance(3_000)
    assert [(found.start_ms, found.end_ms) for found in driver.detected()] == [(1_000, 2_000)]


def test_what_crosses_the_keys_is_detected_too() -> None:
    driver = Driver(RULES + "define Twice from Smoke as s ; Smoke(area != s.area) as t within 1 min;")
    driver.publish("Smoke", {"area": "hall"}, at=0)
    driver.publish("Smoke", {"area": "attic"}, at=1_000)
    driver.advance(2_000)
    (twice,) = driver.detected("Twice")
    assert [part.time_ms for part in twice.provenance] == [0, 1_000]


def test_a_restart_changes_nothing() -> None:
    plain, restarted = Driver(RULES), Driver(RULES)
    for driver in (plain, restarted):
        for second in range(60):
            driver.publish("Temp", {"area": "hall", "value": second}, at=second * 1000)
            if second % 7 == 0:
                driver.publish("Smoke", {"area": "hall"}, at=second * 1000 + 500)
            if driver is restarted:
                driver.restart()
        driver.advance(100_000)
    assert plain.detected("Fire")
    assert restarted.detected() == plain.detected()
    assert {key for key, _ in restarted.state()} == {key for key, _ in plain.state()}


def test_what_is_late_or_no_event_becomes_a_letter() -> None:
    driver = Driver(RULES)
    driver.publish("Temp", {"area": "hall", "value": 50}, at=60_000)
    driver.advance(60_000)
    driver.publish("Temp", {"area": "hall", "value": 50}, at=59_000)
    driver.publish_raw("smoke", b"hall", b"garbage", at=61_000)
    late, dead = driver.letters()
    assert (late.late, late.topic, late.offset) == (True, "temps", 1)
    assert (dead.late, dead.topic, dead.reason) == (False, "smoke", "UNDECODABLE")


def test_what_expires_is_not_kept() -> None:
    driver = Driver(RULES[: RULES.index("define Unseen")])
    driver.publish("Temp", {"area": "hall", "value": 50}, at=0)
    driver.advance(1_000)
    assert driver.stored
    driver.advance(400_000)
    assert not driver.stored


def test_mistakes_are_told() -> None:
    driver = Driver(RULES)
    driver.advance(1_000)
    mistakes: dict[str, Callable[[], object]] = {
        "Temp has no attribute 'aera'": lambda: driver.publish("Temp", {"aera": "hall"}),
        "The clock stands at 1000 ms and does not go back to 5 ms": lambda: driver.advance(5),
        "No complex event is called 'Fier'": lambda: driver.detected("Fier"),
        "is published to 'tepms'": lambda: driver.publish_raw("tepms", None, b"", 1),
        "The file defines nothing": lambda: Driver("event A on 'a';".replace("'", '"')),
        "is no moment": lambda: driver.advance(datetime(2026, 1, 2)),  # noqa: DTZ001
    }
    for message, mistake in mistakes.items():
        with pytest.raises(InputError, match=message):
            mistake()
