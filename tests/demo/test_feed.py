"""The demo's feed and rules."""

from importlib.resources import files
from itertools import islice
from pathlib import Path

from tocsin.demo.feed import MAX_DISORDER_MS, readings
from tocsin.topology import compile_rules

EXAMPLE = Path(__file__).parents[2] / "examples" / "fire" / "fire.tocsin"


def rules() -> str:
    return files("tocsin.demo").joinpath("fire.tocsin").read_text(encoding="utf-8")


def test_the_demo_runs_the_example() -> None:
    assert rules() == EXAMPLE.read_text(encoding="utf-8")


def test_a_seed_decides_the_readings() -> None:
    assert list(islice(readings(1), 1000)) == list(islice(readings(1), 1000))
    assert list(islice(readings(1), 1000)) != list(islice(readings(2), 1000))


def test_there_is_something_of_everything() -> None:
    some = list(islice(readings(1), 2000))
    temperatures = [reading.value for reading in some if reading.value is not None]
    assert len(temperatures) < len(some)
    assert min(temperatures) < 45 < max(temperatures)
    assert len({reading.area for reading in some}) == 100


def test_nothing_is_so_much_out_of_order_that_it_would_be_late() -> None:
    plan = compile_rules(rules(), app="fire")
    assert min(event.lateness_ms for event in plan.input_types) > MAX_DISORDER_MS
    assert max(reading.delay_ms for reading in islice(readings(1), 2000)) < MAX_DISORDER_MS
