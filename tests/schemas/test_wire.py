"""Frames and the cold-path codec: what is written is read, what is broken is refused."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.schemas import (
    Confluent,
    FrameError,
    SchemaError,
    SingleObject,
    confluent_prefix,
    decode,
    encode,
    event_schema,
    fingerprint,
    load,
    single_object_prefix,
    split,
)

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)))
DETECTIONS = st.fixed_dictionaries(
    {
        "identity": TEXTS,
        "rule": TEXTS,
        "version": st.integers(0, 2**31 - 1),
        "context": st.sampled_from(["SELECTION", "RECENT", "CUMULATIVE"]),
        "start": LONGS,
        "end": LONGS,
        "bindings": st.dictionaries(
            TEXTS, st.none() | st.booleans() | LONGS | st.floats(allow_nan=False) | TEXTS, max_size=3
        ),
        "provenance": st.lists(
            st.fixed_dictionaries(
                {
                    "role": TEXTS,
                    "type": TEXTS,
                    "time": LONGS,
                    "topic": TEXTS,
                    "partition": st.integers(0, 2**31 - 1),
                    "offset": LONGS,
                    "label": TEXTS,
                }
            ),
            max_size=3,
        ),
    }
)

AREA: dict[str, Any] = {"name": "area", "type": "string", "optional": False}
TEMP = event_schema({"name": "Temp", "origin": "input", "fields": [AREA]}, "fire")
FIRE = event_schema({"name": "Fire", "origin": "defined", "fields": [AREA]}, "fire")


@given(DETECTIONS, TEXTS)
def test_a_complex_event_survives_the_wire(detection: dict[str, Any], area: str) -> None:
    fire = {"area": area, "detection": detection}
    assert decode(FIRE, encode(FIRE, fire)) == fire


def test_a_reader_sees_only_its_own_attributes() -> None:
    wide = json.loads(TEMP)
    wide["fields"].append({"name": "value", "type": "double"})
    body = encode(json.dumps(wide), {"area": "a", "value": 1.5})
    assert decode(json.dumps(wide), body, reader=TEMP) == {"area": "a"}


@given(st.integers(0, 2**32 - 1), st.binary())
def test_a_confluent_frame_comes_off_as_it_went_on(schema_id: int, body: bytes) -> None:
    assert split(confluent_prefix(schema_id) + body) == Confluent(schema_id, body)


@given(st.binary())
def test_a_single_object_frame_comes_off_as_it_went_on(body: bytes) -> None:
    assert split(single_object_prefix(TEMP) + body) == SingleObject(fingerprint(TEMP), body)


@pytest.mark.parametrize(
    "value", [b"", b"\x00\x00\x00\x01", b"\xc3\x01\x00", b"\xc3\x02" + bytes(8), b"{}", b"plain"]
)
def test_a_value_without_a_frame_is_refused(value: bytes) -> None:
    with pytest.raises(FrameError, match="does not name its schema"):
        split(value)


@pytest.mark.parametrize("body", [b"", b"\x06ab", b"\x01", b"\x02\xff", b"\x02ab", b"\xff" * 12])
def test_bytes_that_do_not_fit_are_refused(body: bytes) -> None:
    with pytest.raises(SchemaError, match="not what their schema says"):
        decode(TEMP, body)


@given(st.binary(max_size=64))
def test_no_bytes_break_the_decoder(body: bytes) -> None:
    with suppress(SchemaError):
        decode(FIRE, body)


@pytest.mark.parametrize("datum", [{}, {"area": 3}, {"area": None}, 7, {"area": "\ud800"}])
def test_values_that_do_not_fit_are_refused(datum: object) -> None:
    with pytest.raises(SchemaError, match="does not fit its schema"):
        encode(TEMP, datum)


def test_a_dead_letter_carries_bytes() -> None:
    letter = {
        "reason": "UNDECODABLE",
        "message": "The value does not name its schema.",
        "app": "fire",
        "topic": "temps",
        "partition": 3,
        "offset": 17,
        "timestamp": 1_700_000_000_000,
        "key": None,
        "value": b"\x00\xff",
        "size": 2,
        "headers": {"trace": b"\x01"},
    }
    assert decode(load("dead_letter"), encode(load("dead_letter"), letter)) == letter
