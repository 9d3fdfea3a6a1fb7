"""Which records can be read as which event type, and what users are told when they cannot."""

import json

import pytest

from tocsin.schemas import incompatibilities, load


def record(*fields: dict[str, object], name: str = "Temp") -> str:
    return json.dumps({"type": "record", "name": name, "fields": fields})


AREA: dict[str, object] = {"name": "area", "type": "string"}
VALUE: dict[str, object] = {"name": "value", "type": "double"}
OPTIONAL_VALUE: dict[str, object] = {"name": "value", "type": ["null", "double"], "default": None}


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(AREA, VALUE), record(AREA, VALUE)),
        (record(AREA), record(AREA, VALUE)),
        (record(AREA, VALUE), record(VALUE, AREA)),
        (record(AREA, OPTIONAL_VALUE), record(AREA)),
        (record(AREA, OPTIONAL_VALUE), record(AREA, VALUE)),
        (record(VALUE), record({"name": "value", "type": "int"})),
        (record(VALUE), record({"name": "value", "type": "long"})),
        (record(VALUE), record(VALUE, name="Reading")),
        (load("complex_event"), load("complex_event")),
    ],
)
def test_what_can_be_read_has_no_sentence(reader: str, writer: str) -> None:
    assert incompatibilities(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "sentence"),
    [
        (
            record(AREA, VALUE),
            record(AREA),
            "Attribute 'value' is missing from the written records and is not optional.",
        ),
        (
            record(VALUE),
            record({"name": "value", "type": "string"}),
            "Attribute 'value' is written as string and cannot be read as double.",
        ),
        (
            record({"name": "value", "type": "int"}),
            record({"name": "value", "type": "long"}),
            "Attribute 'value' is written as long and cannot be read as int.",
        ),
        (
            record(VALUE),
            record(OPTIONAL_VALUE),
            "Attribute 'value' may be null in the written records; declare it optional.",
        ),
        (
            record(OPTIONAL_VALUE),
            record({"name": "value", "type": ["null", "string"]}),
            "Attribute 'value' is written as null or string and cannot be read as null or double.",
        ),
        (record(AREA), '"string"', "The records are written as string and cannot be read as record Temp."),
        (
            load("dead_letter"),
            load("dead_letter").replace('"LATE", ', '"LATE", "STOLEN", '),
            "Attribute 'reason' may be written as STOLEN, which its reader does not know.",
        ),
        (
            record({"name": "detection", "type": json.loads(record(AREA, VALUE, name="Inner"))}),
            record({"name": "detection", "type": json.loads(record(VALUE, name="Inner"))}),
            "Attribute 'detection.area' is missing from the written records and is not optional.",
        ),
    ],
)
def test_what_cannot_be_read_has_a_sentence(reader: str, writer: str, sentence: str) -> None:
    assert incompatibilities(reader, writer) == [sentence]


def test_all_differences_are_named_at_once() -> None:
    assert len(incompatibilities(record(AREA, VALUE), record())) == 2
