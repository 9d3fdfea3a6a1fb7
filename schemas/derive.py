"""Avro schema of an event type, derived from its declaration in the plan."""

import json
import re
from collections.abc import Mapping
from typing import Any

from tocsin.schemas.catalog import load
from tocsin.schemas.errors import SchemaError
from tocsin.schemas.parsing import parse

DETECTION = "detection"
"""Last field of every complex event; see `complex_event.avsc`."""

EVENTS = "tocsin.events"
"""Namespace of input events."""

_AVRO_TYPES: dict[str, object] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "bytes": "bytes",
    "timestamp": {"type": "long", "logicalType": "timestamp-millis"},
}


def event_schema(type_: Mapping[str, Any], app: str) -> str:
    """Return the schema of an event type of a plan (an entry of its `types`), as text.

    >>> fields = [{"name": "area", "type": "string", "optional": False}]
    >>> schema = event_schema({"name": "Temp", "origin": "input", "fields": fields}, "fire")
    >>> json.loads(schema)["fields"]
    [{'name': 'area', 'type': 'string'}]
    """
    fields = [_field(field) for field in type_["fields"]]
    if type_["origin"] == "defined":
        if any(field["name"] == DETECTION for field in fields):
            raise SchemaError(
                f"{type_['name']} cannot have an attribute '{DETECTION}': complex events keep their identity "
                "and provenance under that name."
            )
        fields.append({"name": DETECTION, "type": json.loads(load("complex_event"))})
    # Input events belong to no application: several may read a topic, and all must find its schema.
    space = namespace(app) if type_["origin"] == "defined" else EVENTS
    schema = json.dumps({"type": "record", "name": type_["name"], "namespace": space, "fields": fields})
    parse(schema)
    return schema


def namespace(app: str) -> str:
    """Return the Avro namespace of an application.

    >>> namespace("9-to-5.night shift")
    'tocsin._9_to_5.night_shift'
    """
    parts = (re.sub(r"\W", "_", part, flags=re.ASCII) for part in app.split("."))
    return ".".join(["tocsin", *(f"_{part}" if part[:1].isdigit() else part or "_" for part in parts)])


def _field(field: Mapping[str, Any]) -> dict[str, object]:
    # A name of an enumeration is written as text: one more of them is no change of the schema.
    avro_type = _AVRO_TYPES[field["type"]]
    if field.get("many"):
        avro_type = {"type": "array", "items": avro_type}
    if field.get("optional"):
        return {"name": field["name"], "type": ["null", avro_type], "default": None}
    return {"name": field["name"], "type": avro_type}
