"""Avro object container files."""

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


class AvroRows:
    """The records of a container file, each with its bytes."""

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
            yield Row(number, values, body)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


class _Sliced(DatumReader):
    """Gives the bytes of a value along with it."""

    def read(self, decoder: BinaryDecoder) -> object:
        start = decoder.reader.tell()
        value = super().read(decoder)
        end = decoder.reader.tell()
        decoder.reader.seek(start)
        return value, decoder.reader.read(end - start)
