"""Attribute values: what is accepted as which type, and what is said otherwise."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tocsin.errors import InputError
from tocsin.topology import EventType, compile_rules
from tocsin.values import checked, from_text, key_bytes, time_ms, time_text

PLAN = compile_rules(
    """
    enum Side { BUY, SELL };
    event All (b: boolean, i: int, l: long, f: float, d: double, s: string, t: timestamp, o: double?)
      on "all" key i;
    event Raw (side: Side?, raw: bytes) on "raw";
    event Flag (on: boolean) on "flags" key on;
    event Bare (s: string) on "bare";
    define Any from All;
    """,
    app="values",
)


def event(name: str) -> EventType:
    found = PLAN.type_named(name)
    assert found is not None
    return found


ALL = event("All")
VALUES: dict[str, Any] = {"b": True, "i": 1, "l": 2, "f": 0.5, "d": 1.5, "s": "x", "t": 1_709_208_000_000}


def test_right_values_pass_and_an_optional_one_is_null() -> None:
    assert checked(ALL, VALUES) == {**VALUES, "o": None}


@pytest.mark.parametrize(
    ("name", "given", "becomes"),
    [
        ("d", 3, 3.0),
        ("o", 3, 3.0),
        ("t", "2024-02-29T12:00:00Z", 1_709_208_000_000),
        ("t", datetime(2024, 2, 29, 12, tzinfo=UTC), 1_709_208_000_000),
        ("d", float("inf"), float("inf")),
        ("i", -(2**31), -(2**31)),
        ("l", 2**63 - 1, 2**63 - 1),
    ],
)
def test_values_take_the_form_of_their_type(name: str, given: object, becomes: object) -> None:
    value = checked(ALL, {**VALUES, name: given})[name]
    assert value == becomes
    assert type(value) is type(becomes)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("b", 1),
        ("b", "true"),
        ("i", True),
        ("i", 2**31),
        ("i", 1.0),
        ("l", 2**63),
        ("l", "2"),
        ("f", 1e39),
        ("f", False),
        ("d", 10**400),
        ("d", "1.5"),
        ("s", 5),
        ("s", "\ud800"),
        ("t", 1.5),
        ("t", datetime(2024, 2, 29)),  # noqa: DTZ001 – a time without a zone is no moment
        ("o", "none"),
    ],
)
def test_wrong_values_are_named(name: str, given: object) -> None:
    with pytest.raises(InputError, match=rf"^All\.{name} is of type \w+; .* is not\.$"):
        checked(ALL, {**VALUES, name: given})


def test_missing_and_unknown_attributes_are_named() -> None:
    with pytest.raises(InputError, match=r"^All needs a value for b, s\.$"):
        checked(ALL, {name: value for name, value in VALUES.items() if name not in "bs"})
    with pytest.raises(InputError, match=r"^Bare has no attribute 'string'; there are s\.$"):
        checked(event("Bare"), {"string": "x"})


def test_text_is_read_as_the_declared_type() -> None:
    texts = {"b": "True", "i": "-1", "l": "7", "f": "0.5", "d": "1e3", "s": "", "t": "2024-02-29", "o": ""}
    assert from_text(ALL, texts) == {
        "b": True,
        "i": -1,
        "l": 7,
        "f": 0.5,
        "d": 1000.0,
        "s": "",
        "t": 1_709_164_800_000,
        "o": None,
    }


@pytest.mark.parametrize(
    ("name", "text"), [("b", "yes"), ("i", "1.5"), ("d", "hot"), ("t", "noon"), ("l", "")]
)
def test_text_that_is_not_of_the_type_is_named(name: str, text: str) -> None:
    with pytest.raises(InputError, match=rf"^All\.{name} is of type \w+; '{text}' is not\.$"):
        from_text(ALL, {name: text})


def test_a_key_is_the_text_of_its_attribute() -> None:
    assert key_bytes(ALL, {**VALUES, "i": -7}) == b"-7"
    assert key_bytes(event("Flag"), {"on": True}) == b"true"
    assert key_bytes(event("Bare"), {"s": "x"}) is None


@pytest.mark.parametrize(
    "text", ["2024-02-29T12:00:00Z", "2024-02-29T13:00:00+01:00", "2024-02-29T12:00", "1709208000000"]
)
def test_a_time_can_be_written_in_several_ways(text: str) -> None:
    assert time_ms(text) == 1_709_208_000_000


@pytest.mark.parametrize("ms", [0, 1, -1, 999, 1_709_208_000_500, -86_400_001])
def test_times_survive_their_text(ms: int) -> None:
    assert time_ms(time_text(ms)) == ms


def test_a_time_beyond_the_calendar_is_a_number() -> None:
    assert time_text(2**62) == str(2**62)


def test_an_enumeration_has_its_symbols_only() -> None:
    raw = event("Raw")
    assert checked(raw, {"side": "BUY", "raw": b""})["side"] == "BUY"
    assert checked(raw, {"raw": b""})["side"] is None
    with pytest.raises(InputError, match=r"^Raw\.side is of type Side; 'buy' is not\. It has BUY, SELL\.$"):
        checked(raw, {"side": "buy", "raw": b""})


def test_bytes_are_bytes_or_the_utf_8_of_text() -> None:
    raw = event("Raw")
    assert checked(raw, {"raw": b"\xff\0"})["raw"] == b"\xff\0"
    assert checked(raw, {"raw": "é"})["raw"] == "é".encode()
    assert from_text(raw, {"raw": "é"}) == {"raw": "é".encode()}
    with pytest.raises(InputError, match=r"^Raw\.raw is of type bytes; 5 is not\.$"):
        checked(raw, {"raw": 5})
