"""Avro object container files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import avro.errors
from avro.datafile import DataFileReader
from avro.io import BinaryDecoder, DatumReader
from avro.schema import RecordSchema

from tocsin.errors import InputError
from tocsin.replay.rows import Row
from tocsin.schemas import SchemaError
from tocsin.schemas.parsing import parse

_MICROS = "timestamp-micros"
_MICROS_A_MS = 1_000


class AvroRows:
    """The records of a container file, each with its bytes; times are milliseconds since 1970."""

    unit = "record"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        self._size = path.stat().st_size
        try:
            self._reader = DataFileReader(self._file, _Sliced())
            self.schema: str | None = self._reader.schema
            schema = parse(self._reader.schema)
        except (avro.errors.AvroException, SchemaError, ValueError, TypeError) as error:
            self._file.close()
            raise InputError(f"{path} is not an Avro object container file: {error}") from error
        self._reader.datum_reader.writers_schema = schema
        if not isinstance(schema, RecordSchema):
            self._file.close()
            raise InputError(f"{path} holds values of type {schema.type}, and no records.")
        self._in_micros = _in_micros(self._reader.schema)
        self.columns: frozenset[str] | None = frozenset(field.name for field in schema.fields)

    @property
    def progress(self) -> tuple[int, int]:
        """The bytes."""
        return (self._size if self._file.closed else self._file.tell()), self._size

    def __iter__(self) -> Iterator[Row]:
        """Yield the records."""
        number = 0
        while True:
            number += 1
            try:
                values, body = cast("tuple[dict[str, object], bytes]", next(self._reader))
            except StopIteration:
                return
            except Exception as error:  # a damaged file fails in as many ways as there are bytes
                raise InputError(f"{self.path}, record {number}: This cannot be read: {error}") from error
            for name in self._in_micros:
                at = values[name]
                values[name] = at // _MICROS_A_MS if isinstance(at, int) else at
            yield Row(number, values, body)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _in_micros(schema: str) -> list[str]:
    """Return the fields that are times in microseconds, as Spark writes them."""
    kinds = {field["name"]: field["type"] for field in json.loads(schema)["fields"]}
    branches = {name: kind if isinstance(kind, list) else [kind] for name, kind in kinds.items()}
    return [
        name
        for name, kinds_ in branches.items()
        if any(isinstance(kind, dict) and kind.get("logicalType") == _MICROS for kind in kinds_)
    ]


class _Sliced(DatumReader):
    """Gives the bytes of a value along with it."""

    def read(self, decoder: BinaryDecoder) -> object:
        start = decoder.reader.tell()
        value = super().read(decoder)
        end = decoder.reader.tell()
        decoder.reader.seek(start)
        return value, decoder.reader.read(end - start)
