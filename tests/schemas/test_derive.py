"""Schemas derived from the plan's event types."""

import json
from typing import Any

import pytest

from tocsin.schemas import SchemaError, event_schema
from tocsin.schemas.derive import namespace


def declared(origin: str, **fields: str) -> dict[str, Any]:
    """Build a plan's event type; a `?` after an attribute's type makes it optional."""
    return {
        "name": "Temp",
        "origin": origin,
        "fields": [
            {"name": name, "type": type_.rstrip("?"), "optional": type_.endswith("?")}
            for name, type_ in fields.items()
        ],
    }


def test_every_type_of_the_language_has_an_avro_type() -> None:
    types = ["boolean", "int", "long", "float", "double", "string", "bytes"]
    schema = json.loads(event_schema(declared("input", **{f"a_{name}": name for name in types}), "fire"))
    assert [field["type"] for field in schema["fields"]] == types


def test_a_timestamp_is_a_long_of_milliseconds() -> None:
    schema = json.loads(event_schema(declared("input", at="timestamp"), "fire"))
    assert schema["fields"] == [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ]


def test_an_optional_attribute_is_null_unless_written() -> None:
    schema = json.loads(event_schema(declared("input", value="double?"), "fire"))
    assert schema["fields"] == [{"name": "value", "type": ["null", "double"], "default": None}]


def test_a_list_is_an_array() -> None:
    event = declared("defined", values="double?", names="string")
    for field in event["fields"]:
        field["many"] = True
    schema = json.loads(event_schema(event, "fire"))
    assert schema["fields"][:2] == [
        {"name": "values", "type": ["null", {"type": "array", "items": "double"}], "default": None},
        {"name": "names", "type": {"type": "array", "items": "string"}},
    ]


def test_a_complex_event_ends_with_its_detection() -> None:
    schema = json.loads(event_schema(declared("defined", area="string"), "fire"))
    assert [field["name"] for field in schema["fields"]] == ["area", "detection"]
    detection = schema["fields"][-1]["type"]
    assert (detection["namespace"], detection["name"]) == ("tocsin", "Detection")


def test_a_complex_event_cannot_have_an_attribute_named_detection() -> None:
    with pytest.raises(SchemaError, match="Temp cannot have an attribute 'detection'"):
        event_schema(declared("defined", detection="string"), "fire")
    event_schema(declared("input", detection="string"), "fire")


@pytest.mark.parametrize(
    ("app", "expected"),
    [
        ("fire", "tocsin.fire"),
        ("site-7/fire", "tocsin.site_7_fire"),
        ("eu.fire", "tocsin.eu.fire"),
        ("7th", "tocsin._7th"),
        ("a..b", "tocsin.a._.b"),
        ("brûlé", "tocsin.br_l_"),
    ],
)
def test_any_application_name_becomes_a_legal_namespace(app: str, expected: str) -> None:
    assert namespace(app) == expected
    assert json.loads(event_schema(declared("defined", area="string"), app))["namespace"] == expected
    assert event_schema(declared("input", area="string"), app) == event_schema(
        declared("input", area="string"), "x"
    )
