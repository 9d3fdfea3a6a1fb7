"""Parquet files, which need pyarrow."""

from collections.abc import Iterator
from pathlib import Path

from tocsin.errors import InputError, UnavailableError
from tocsin.replay.rows import Row

try:
    import pyarrow as pa
    from pyarrow import parquet
except ModuleNotFoundError as error:
    if error.name != "pyarrow":
        raise
    raise UnavailableError(
        "Parquet files need pyarrow, which is not installed: `pip install 'tocsin[parquet]'`."
    ) from error

_ROWS = 10_000


class ParquetRows:
    """The rows of a Parquet file; times are milliseconds since 1970."""

    unit = "record"
    schema = None

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = parquet.ParquetFile(path)
        except pa.ArrowException as error:
            raise InputError(f"{path} is not a Parquet file: {error}") from error
        self._read = 0
        self.columns: frozenset[str] | None = frozenset(self._file.schema_arrow.names)

    @property
    def progress(self) -> tuple[int, int]:
        """The rows."""
        return self._read, self._file.metadata.num_rows

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows."""
        batches = self._file.iter_batches(_ROWS)
        while True:
            try:
                batch = next(batches, None)
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"{self.path}, record {self._read + 1}: This cannot be read: {error}"
                ) from error
            if batch is None:
                return
            for values in _in_milliseconds(batch).to_pylist():
                self._read += 1
                yield Row(self._read, values, None)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _in_milliseconds(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    columns = [
        column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
        if pa.types.is_timestamp(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
