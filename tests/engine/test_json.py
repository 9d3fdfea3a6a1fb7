"""JSON records: the same events as in Avro, and clear refusals."""

from typing import Any

import pytest

from .echo import echo_rules, one_attribute, read, refusal
from .history import as_json

VALUES: dict[str, Any] = {
    "k": "key",
    "b": False,
    "i": 2**31 - 1,
    "l": -(2**63),
    "f": 0.25,
    "d": 1e-300,
    "s": 'q"\\\n\u2028é\0',
    "t": 1_700_000_000_000,
    "unread": "x",
}
READ = {name: value for name, value in VALUES.items() if name != "unread"}


def test_every_type() -> None:
    assert read(echo_rules(), as_json(VALUES)) == READ
    assert read(echo_rules(optional=False), as_json(VALUES)) == READ


def test_space_and_unknown_members_are_passed_over() -> None:
    more = {"other": {"a": [1, 2.5, None, {"b": "c"}]}, "unread": 5}
    assert read(echo_rules(), b" \r\n\t" + as_json({**VALUES, **more}) + b"\n ") == READ


def test_absent_and_null_are_the_same() -> None:
    nothing = {**dict.fromkeys(READ), "k": "key"}
    assert read(echo_rules(), as_json({"k": "key"})) == nothing
    assert read(echo_rules(), as_json(nothing)) == nothing


def test_escapes_in_names() -> None:
    assert read(one_attribute("long"), b'{"\\u006b": "key", "\\u0076": 5}') == {"k": "key", "v": 5}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("double", "5", 5.0),
        ("float", "5", 5.0),
        ("float", "16777217", 16777216.0),
        ("double", "-0.0", 0.0),
        ("long", "-0", 0),
        ("double", "18446744073709551615", 2.0**64),
        ("double", "1e-999", 0.0),
        ("long", "9223372036854775807", 2**63 - 1),
        ("timestamp", "5", 5),
        ("timestamp", '"1970-01-01T00:00:01.5Z"', 1500),
        ("timestamp", '"1970-01-01T01:00:00+01:00"', 0),
        ("timestamp", '"1969-12-31T23:59:59.999999Z"', -1),
        ("timestamp", '"2016-12-31T23:59:60Z"', 1_483_228_800_000),
        ("timestamp", '"0000-02-29t00:00:00z"', -62_162_121_600_000),
        ("string", '"2016-12-31T23:59:60Z"', "2016-12-31T23:59:60Z"),
        ("string", '"\\ud83d\\ude00"', "\U0001f600"),
        ("boolean", "true", True),
    ],
)
def test_values(kind: str, text: str, expected: object) -> None:
    value = f'{{"k": "key", "v": {text}}}'.encode()
    assert read(one_attribute(kind), value) == {"k": "key", "v": expected}


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("long", "null", "attribute `v` is null, and the event does not allow it"),
        ("long", '"5"', "attribute `v` is text"),
        ("long", "5.0", "attribute `v` is a fraction or too large"),
        ("long", "9223372036854775808", "attribute `v` is a fraction or too large"),
        ("long", "true", "attribute `v` is a boolean"),
        ("long", "[5]", "expected a value for attribute `v`"),
        ("long", '{"long": 5}', "expected a value for attribute `v`"),
        ("int", "2147483648", "attribute `v` is too large for an int"),
        ("float", "1e39", "attribute `v` is too large for a float"),
        ("string", "5", "attribute `v` is a number"),
        ("string", "5.5", "attribute `v` is a number"),
        ("string", "false", "attribute `v` is a boolean"),
        ("boolean", "1", "attribute `v` is a number"),
        ("boolean", '"true"', "attribute `v` is text"),
        ("double", "1e999", "number out of range"),
        ("double", "NaN", "expected value"),
        ("double", "Infinity", "expected value"),
        ("timestamp", '"yesterday"', "attribute `v` is not a time"),
        ("timestamp", '"2016-12-31T24:00:00Z"', "attribute `v` is not a time"),
        ("timestamp", '"2016-12-31T23:00:00"', "attribute `v` is not a time"),
        ("timestamp", '"2016-12-31T23:00:00+1:00"', "attribute `v` is not a time"),
        ("timestamp", '"\uff12016-12-31T23:00:00Z"', "attribute `v` is not a time"),
        ("timestamp", "1.5", "attribute `v` is a fraction"),
        ("string", '"\\ud83d"', "hex escape"),
        ("string", '"a\nb"', "control character"),
    ],
)
def test_values_that_do_not_fit(kind: str, text: str, message: str) -> None:
    outcome = read(one_attribute(kind), f'{{"k": "key", "v": {text}}}'.encode())
    reason, sentence = refusal(outcome)
    assert reason == "UNDECODABLE"
    assert message in sentence


@pytest.mark.parametrize(
    "value",
    [
        b"{",
        b"{}",
        b'{"k"}',
        b'{"k": "key"}',
        b'{"k": "key", "v": 5',
        b'{"k": "key", "v": 5}}',
        b'{"k": "key", "v": 5} {}',
        b'{"k": "\xff", "v": 5}',
        b"{'k': 'key', 'v': 5}",
        b'{"k": "key", "v": 5,}',
        b'{"k": "key", "v": 5, "deep": ' + b"[" * 200_000,
    ],
)
def test_what_is_not_the_json_of_the_event(value: bytes) -> None:
    assert refusal(read(one_attribute("long"), value))[0] == "UNDECODABLE"


def test_an_attribute_that_is_missing() -> None:
    outcome = read(one_attribute("long"), b'{"k": "key"}')
    assert refusal(outcome) == ("UNDECODABLE", "the JSON lacks attribute `v`")


def test_deep_nesting_in_what_is_passed_over() -> None:
    value = b'{"k": "key", "v": 5, "deep": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    assert read(one_attribute("long"), value) == {"k": "key", "v": 5}
