"""The demo's own idea of which fires there are, and how it compares with what was detected."""

from collections.abc import Callable

import pytest

from tocsin.complex_event import ComplexEvent
from tocsin.demo.expectation import Fire, Verdict, detected, expected, judge
from tocsin.demo.feed import Published
from tocsin.publisher import Coordinates

MINUTE_MS = 60_000


@pytest.fixture
def temp() -> Callable[..., Published]:
    """Makes temperatures, each at the next offset."""
    offsets = iter(range(100))

    def make(time_ms: int, value: float, area: str = "hall") -> Published:
        return Published(area, value, time_ms, Coordinates("temps", 0, next(offsets)))

    return make


@pytest.fixture
def smoke() -> Callable[..., Published]:
    """Makes smoke, each at the next offset."""
    offsets = iter(range(100))

    def make(time_ms: int, area: str = "hall") -> Published:
        return Published(area, None, time_ms, Coordinates("smoke", 0, next(offsets)))

    return make


Make = Callable[..., Published]


def pairs(*record: Published) -> list[tuple[int, float]]:
    """Return the offset of the smoke and the value of each expected fire."""
    return sorted((fire.smoke.offset, fire.value) for fire in expected(record))


def test_smoke_after_heat_is_fire(temp: Make, smoke: Make) -> None:
    heat, cloud = temp(1, 50), smoke(2)
    assert expected([heat, cloud]) == {Fire("hall", 50, cloud.at, heat.at)}


def test_the_order_of_arrival_does_not_matter(temp: Make, smoke: Make) -> None:
    assert pairs(smoke(2), temp(1, 50)) == [(0, 50)]


def test_heat_must_be_above_45(temp: Make, smoke: Make) -> None:
    assert pairs(temp(1, 45.0), smoke(2)) == []
    assert pairs(temp(1, 45.1), smoke(2)) == [(1, 45.1)]


def test_heat_after_the_smoke_does_not_count(temp: Make, smoke: Make) -> None:
    assert pairs(smoke(1), temp(2, 50)) == []


def test_heat_elsewhere_does_not_count(temp: Make, smoke: Make) -> None:
    assert pairs(temp(1, 50, "attic"), smoke(2)) == []


def test_the_last_heat_is_taken_and_what_is_cold_is_passed_over(temp: Make, smoke: Make) -> None:
    assert pairs(temp(1, 50), temp(2, 60), temp(3, 20), smoke(4)) == [(0, 60)]


def test_of_the_same_time_the_later_offset_is_the_last(temp: Make, smoke: Make) -> None:
    assert pairs(temp(1, 50), temp(1, 60), smoke(4)) == [(0, 60)]


def test_smoke_comes_before_heat_of_the_same_time(temp: Make, smoke: Make) -> None:
    """Because its topic does."""
    assert pairs(temp(1, 50), smoke(1)) == []


def test_three_minutes_include_their_end(temp: Make, smoke: Make) -> None:
    assert pairs(temp(0, 50), smoke(3 * MINUTE_MS)) == [(0, 50)]
    assert pairs(temp(0, 50), smoke(3 * MINUTE_MS + 1)) == []


def test_heat_serves_every_smoke_after_it(temp: Make, smoke: Make) -> None:
    assert pairs(temp(1, 50), smoke(2), smoke(3)) == [(0, 50), (1, 50)]


def test_what_was_detected_takes_the_form_of_what_was_expected() -> None:
    def constituent(role: str, topic: str, offset: int) -> dict[str, object]:
        return {
            "role": role,
            "type": topic,
            "time": 1,
            "topic": topic,
            "partition": 3,
            "offset": offset,
            "label": "",
        }

    event = ComplexEvent.from_datum(
        "Fire",
        {
            "area": "hall",
            "value": 50.0,
            "detection": {
                "identity": "00",
                "rule": "Fire",
                "version": 1,
                "context": "SELECTION",
                "start": 1,
                "end": 2,
                "bindings": {},
                "provenance": [constituent("s", "smoke", 1), constituent("t", "temps", 2)],
            },
        },
    )
    assert detected(event) == Fire("hall", 50.0, Coordinates("smoke", 3, 1), Coordinates("temps", 3, 2))


def test_every_kind_of_difference_is_told_apart() -> None:
    a, b, c = (Fire(area, 50.0, Coordinates("smoke", 0, 1), Coordinates("temps", 0, 1)) for area in "abc")
    assert judge({a, b}, [b, a]) == Verdict([], [], [])
    assert judge({a, b}, [b, a]).is_exact
    assert judge({a, b}, [b, b, c]) == Verdict(missing=[a], unexpected=[c], doubled=[b])
    assert not judge({a}, []).is_exact
    assert not judge(set(), [a]).is_exact
    assert not judge({a}, [a, a]).is_exact
