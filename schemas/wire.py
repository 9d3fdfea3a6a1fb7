"""Frames that name the schema of a record's value, and an Avro codec for paths that are not hot.

Two frames are understood. Confluent's, where a registry numbers the schemas:

    00 | schema id, 4 bytes, big endian | Avro

and Avro's single-object encoding, which needs no registry:

    c3 01 | CRC-64-AVRO of the schema, 8 bytes, little endian | Avro
"""

import io
import struct
from dataclasses import dataclass

import avro.errors
from avro.io import BinaryDecoder, BinaryEncoder, DatumReader, DatumWriter, validate
from avro.schema import UnionSchema

from tocsin.schemas.catalog import fingerprint
from tocsin.schemas.errors import FrameError, SchemaError
from tocsin.schemas.parsing import parse

CONFLUENT_MAGIC = b"\x00"
SINGLE_OBJECT_MAGIC = b"\xc3\x01"

_CONFLUENT_HEADER = struct.Struct(">cI")
_SINGLE_OBJECT_HEADER = struct.Struct("<2sQ")


@dataclass(frozen=True, slots=True)
class Confluent:
    """A value whose schema a registry knows by number."""

    schema_id: int
    body: bytes


@dataclass(frozen=True, slots=True)
class SingleObject:
    """A value whose schema is named by its fingerprint."""

    fingerprint: int
    body: bytes


def confluent_prefix(schema_id: int) -> bytes:
    """Return what stands before the Avro bytes of a schema that a registry numbered.

    >>> confluent_prefix(7).hex()
    '0000000007'
    """
    return _CONFLUENT_HEADER.pack(CONFLUENT_MAGIC, schema_id)


def single_object_prefix(schema: str) -> bytes:
    """Return what stands before the Avro bytes of a schema in single-object encoding.

    >>> single_object_prefix('"null"').hex()
    'c3018a8f25cce724dd63'
    """
    return _SINGLE_OBJECT_HEADER.pack(SINGLE_OBJECT_MAGIC, fingerprint(schema))


def split(value: bytes) -> Confluent | SingleObject:
    """Take the frame off a record's value."""
    for magic, header, frame in (
        (CONFLUENT_MAGIC, _CONFLUENT_HEADER, Confluent),
        (SINGLE_OBJECT_MAGIC, _SINGLE_OBJECT_HEADER, SingleObject),
    ):
        if value.startswith(magic) and len(value) >= header.size:
            return frame(header.unpack_from(value)[1], value[header.size :])
    raise FrameError(
        f"The value does not name its schema: it begins with {value[:10].hex(' ') or 'nothing'}, where 00 "
        "(Confluent wire format) or c3 01 (Avro single-object encoding) is expected."
    )


def encode(schema: str, datum: object) -> bytes:
    """Encode a value as bare Avro, without a frame. Times are milliseconds since 1970."""
    out = io.BytesIO()
    try:
        _Writer(parse(schema)).write(datum, BinaryEncoder(out))
    except (avro.errors.AvroException, UnicodeError, struct.error, OverflowError) as error:
        raise SchemaError(f"The value does not fit its schema: {error}") from error
    return out.getvalue()


def decode(schema: str, body: bytes, reader: str | None = None) -> object:
    """Decode bare Avro written with `schema`, as `reader` sees it (the same schema unless given).

    Times are milliseconds since 1970.
    """
    stream = io.BytesIO(body)
    try:
        datum = DatumReader(parse(schema), parse(reader or schema)).read(BinaryDecoder(stream))
    except (avro.errors.AvroException, UnicodeError, struct.error, OverflowError, TypeError) as error:
        raise SchemaError(f"The bytes are not what their schema says: {error}") from error
    if stream.tell() != len(body):
        raise SchemaError(
            f"The bytes are not what their schema says: {len(body) - stream.tell()} are left over."
        )
    return datum


class _Writer(DatumWriter):
    """Writes a value of a union as the first branch it fits.

    The `avro` package takes the last, which makes a double of a whole number in the union of the bindings.
    """

    def write_union(self, writers_schema: UnionSchema, datum: object, encoder: BinaryEncoder) -> None:
        for index, branch in enumerate(writers_schema.schemas):
            if validate(branch, datum):
                encoder.write_long(index)
                self.write_data(branch, datum, encoder)
                return
        raise avro.errors.AvroException(f"{datum!r} is none of {writers_schema}.")
