"""Files of rows: opened by their extension, read one row after the other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tocsin.errors import InputError

JSON_LINES = frozenset({".jsonl", ".ndjson"})
AVRO = frozenset({".avro"})
PARQUET = frozenset({".parquet"})


class Row(NamedTuple):
    """An object of a file."""

    number: int
    """From 1: the line, or which one it is."""
    values: dict[str, Any]
    body: bytes | None
    """The values as they stand in the file, where the engine can read them from that."""


class Rows(Protocol):
    """A file that is read once from its beginning to its end."""

    path: Path
    unit: str
    """What its numbers count: lines or records."""

    @property
    def schema(self) -> str | None:
        """The Avro schema of the bodies; nothing where they are JSON."""

    @property
    def columns(self) -> frozenset[str] | None:
        """The names that all rows have; nothing where each has its own."""

    @property
    def progress(self) -> tuple[int, int]:
        """How much is read, and how much there is."""

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows; wrong ones are sentences that do not say yet where they are."""

    def close(self) -> None:
        """Let go of the file."""


def open_rows(path: Path) -> Rows:
    """Open a file of rows."""
    suffix = path.suffix.lower()
    try:
        if suffix in JSON_LINES:
            return JsonRows(path)
        if suffix in AVRO:
            from tocsin.replay.avro_rows import AvroRows

            return AvroRows(path)
        if suffix in PARQUET:
            from tocsin.replay.parquet_rows import ParquetRows

            return ParquetRows(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    known = ", ".join(sorted(JSON_LINES | AVRO | PARQUET))
    raise InputError(f"{path} is of no known format: the name of a log ends in one of {known}.")


_decode = json.JSONDecoder().raw_decode


def _object(text: str) -> dict[str, Any]:
    """Read an object; `json.loads` would take twice as long to find its beginning and its end."""
    values, end = _decode(text)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    if not isinstance(values, dict):
        raise TypeError(f"it is of type {type(values).__name__}")
    return values


class JsonRows:
    """JSON lines: an object a line. Empty lines do not count as rows."""

    unit = "line"
    schema = None
    columns = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        self._size = path.stat().st_size

    @property
    def progress(self) -> tuple[int, int]:
        """The bytes."""
        return (self._size if self._file.closed else self._file.tell()), self._size

    def __iter__(self) -> Iterator[Row]:
        """Yield the lines."""
        for number, line in enumerate(self._file, start=1):
            body = line.strip()
            if not body:
                continue
            try:
                yield Row(number, _object(body.decode()), body)
            except (ValueError, TypeError, RecursionError) as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
                raise InputError(
                    f"{self.path}, line {number}: This is not a JSON object: {reason}."
                ) from error

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
