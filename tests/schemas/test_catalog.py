"""The schemas Tocsin writes: they parse, are documented, and have the layout the engine writes."""

import json
from importlib.resources import files

import avro.schema
import pytest

from tocsin.schemas import SchemaError, fingerprint, load
from tocsin.schemas.catalog import NAMES


def test_the_catalog_is_the_folder() -> None:
    folder = files("tocsin.schemas").joinpath("avro")
    assert sorted(f"{name}.avsc" for name in NAMES) == sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_every_record_and_field_is_documented(name: str) -> None:
    schema = json.loads(load(name))
    assert schema["namespace"] == "tocsin"
    assert schema["doc"]
    assert [field["name"] for field in schema["fields"] if not field.get("doc")] == []


def test_the_detection_has_the_layout_the_engine_writes() -> None:
    """The engine writes these fields by hand: a change here without one there corrupts the output."""
    detection = json.loads(load("complex_event"))
    assert [field["name"] for field in detection["fields"]] == [
        "identity",
        "rule",
        "version",
        "context",
        "start",
        "end",
        "bindings",
        "provenance",
    ]
    types = {field["name"]: field["type"] for field in detection["fields"]}
    assert types["context"]["symbols"] == [
        "SELECTION",
        "UNRESTRICTED",
        "RECENT",
        "CHRONICLE",
        "CONTINUOUS",
        "CUMULATIVE",
    ]
    assert types["bindings"]["values"] == ["null", "boolean", "long", "double", "string"]
    assert [(field["name"], field["type"]) for field in types["provenance"]["items"]["fields"]] == [
        ("role", "string"),
        ("type", "string"),
        ("time", {"type": "long", "logicalType": "timestamp-millis"}),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "long"),
        ("label", "string"),
    ]


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(SchemaError, match=r"no schema 'fire'; there are complex_event, dead_letter"):
        load("fire")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ('"null"', 0x63DD24E7CC258F8A),
        ('"int"', 0x7275D51A3F395C8F),
        ('"long"', 0xD054E14493F41DB7),
        ('"string"', 0x8F014872634503C7),
        ('{"type": "long", "logicalType": "timestamp-millis"}', 0xD054E14493F41DB7),
        ('{"type": "string", "avro.java.string": "String"}', 0x8F014872634503C7),
    ],
)
def test_fingerprints_are_those_of_avros_own_test_data(schema: str, expected: int) -> None:
    """The first four are in Avro's schema-tests.txt; annotations do not take part in the canonical form."""
    assert fingerprint(schema) == expected


def test_a_fingerprint_ignores_documentation_but_not_names() -> None:
    plain = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
    documented = (
        '{"type": "record", "doc": "d", "name": "R", "fields": [{"name": "a", "type": "int", "doc": "d"}]}'
    )
    renamed = plain.replace('"R"', '"S"')
    assert fingerprint(plain) == fingerprint(documented)
    assert fingerprint(plain) != fingerprint(renamed)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '"area"', '{"name": "R"}', '{"type": "record", "name": "R"}', "3"]
)
def test_text_that_is_no_schema_is_said_to_be_none(text: str) -> None:
    with pytest.raises(SchemaError, match="not a valid Avro schema"):
        fingerprint(text)


def test_avro_itself_reads_the_files_as_they_are() -> None:
    for name in NAMES:
        assert avro.schema.parse(load(name)).type == "record"
