"""The schemas Tocsin itself writes, by name, and the fingerprint of any schema."""

from functools import cache
from importlib.resources import files

from tocsin.schemas.errors import SchemaError
from tocsin.schemas.parsing import parse

NAMES = ("complex_event", "dead_letter", "event", "parcel", "rule")


@cache
def load(name: str) -> str:
    """Return the text of a schema of the catalog.

    >>> '"name": "Parcel"' in load("parcel")
    True
    """
    if name not in NAMES:
        raise SchemaError(f"There is no schema '{name}'; there are {', '.join(NAMES)}.")
    text = files(__package__).joinpath("avro", f"{name}.avsc").read_text(encoding="utf-8")
    parse(text)
    return text


def fingerprint(schema: str) -> int:
    """Return the CRC-64-AVRO fingerprint of a schema, equal to that of Avro's other implementations.

    >>> hex(fingerprint('"null"'))
    '0x63dd24e7cc258f8a'
    """
    return int.from_bytes(parse(schema).fingerprint(), "little")
