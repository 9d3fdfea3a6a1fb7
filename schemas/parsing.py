"""Schema text to a parsed schema, without the annotations that do not change the bytes."""

import json
from functools import lru_cache

import avro.errors
import avro.schema

from tocsin.schemas.errors import SchemaError

_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


@lru_cache(maxsize=1024)
def parse(schema: str) -> avro.schema.Schema:
    """Parse and check a schema; primitives lose their logical types and other annotations.

    Two reasons. Times stay the milliseconds they are on the wire, where the `avro` package would make them
    `datetime`, which does not cover the range of a long. And the canonical form of an annotated primitive is
    its bare name, where the `avro` package keeps an object and so gets a fingerprint no other language gets.
    """
    try:
        return avro.schema.parse(json.dumps(_bare(json.loads(schema))))
    except (avro.errors.AvroException, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"This is not a valid Avro schema: {error}.") from error


def _bare(node: object) -> object:
    if isinstance(node, list):
        return [_bare(branch) for branch in node]
    if not isinstance(node, dict):
        return node
    kind = node["type"]
    if not isinstance(kind, str):
        return _bare(kind)
    if kind in _PRIMITIVES:
        return kind
    bare = {name: value for name, value in node.items() if name != "logicalType"}
    for inner in ("items", "values"):
        if inner in bare:
            bare[inner] = _bare(bare[inner])
    if "fields" in bare:
        bare["fields"] = [{**field, "type": _bare(field["type"])} for field in bare["fields"]]
    return bare
