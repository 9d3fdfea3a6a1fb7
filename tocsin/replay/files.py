"""Logs in files: events as people write them, or records as they lay on their topics."""

from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain, islice
from pathlib import Path

from tocsin._engine import Batch
from tocsin.errors import InputError
from tocsin.letters import Letter
from tocsin.replay.reading import Events, place_of, record_of
from tocsin.replay.rows import Row, Rows, open_rows
from tocsin.replay.streams import CHUNK, Place, Record, Stream
from tocsin.topology import Plan
from tocsin.workers.formats import InputSchemas

_COORDINATES = frozenset({"topic", "partition", "offset"})


def open_files(
    paths: Sequence[Path], plan: Plan, schemas: InputSchemas, event_name: str | None = None
) -> list[Stream]:
    """Open the files of a log, to be closed by whoever asked.

    With `event_name`, all that is in them are events of that type.
    """
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InputError(f"{twice} is given twice.")
    events: list[Stream] = []
    records: dict[Path, Counter[Place]] = {}
    with ExitStack() as opened:
        for number, path in enumerate(paths):
            rows = open_rows(path)
            opened.callback(rows.close)
            reading = iter(rows)
            first = list(islice(reading, 1))
            if event_name is None and first and _has_coordinates(rows, first[0]):
                records[path] = _scan(rows, chain(first, reading), plan)
                rows.close()
            else:
                kinds = Events(plan, rows, schemas, event_name)
                events.append(EventFile(rows, chain(first, reading), kinds, number))
        _refuse_mixture(paths, records)
        opened.pop_all()
    return events + [RecordFiles(group, plan) for group in _grouped(records)]


def _refuse_mixture(paths: Sequence[Path], records: Collection[Path]) -> None:
    if 0 < len(records) < len(paths):
        plain = next(path for path in paths if path not in records)
        raise InputError(
            f"{next(iter(records))} holds records with their coordinates and {plain} does not: replay "
            "them one after the other, or give all of them coordinates."
        )


class EventFile:
    """A file of events. It is one partition of every topic, and its order is the order they came in."""

    is_sequence = True

    def __init__(self, rows: Rows, reading: Iterator[Row], events: Events, partition: int) -> None:
        self._rows = rows
        self._reading = reading
        self._events = events
        self._partition = partition
        self.places: Collection[Place] = [(topic, partition) for topic in events.topics]

    @property
    def progress(self) -> tuple[int, int]:
        """How much of the file is read."""
        return self._rows.progress

    def read(self) -> list[Batch]:
        """Return the next events."""
        rows = list(islice(self._reading, CHUNK))
        if len(rows) < CHUNK:
            self._rows.close()
            self.places = []
        by_topic: dict[str, list[Record]] = {}
        for row in rows:
            try:
                read = self._events.read(row)
            except InputError as error:
                raise _at(self._rows, row.number, error) from error
            if read is not None:
                topic, record = read
                by_topic.setdefault(topic, []).append(record)
        return [Batch.build(topic, self._partition, records) for topic, records in by_topic.items()]

    def refused(self, letter: Letter) -> None:
        """Say what is wrong: nobody has published it, and whoever wrote the file can correct it."""
        raise _at(self._rows, letter.offset + 1, f"This is no event of the rules: {letter.message}.")

    def close(self) -> None:
        """Let go of the file."""
        self._rows.close()


class RecordFiles:
    """Files of records that share partitions, read one after the other."""

    is_sequence = False

    def __init__(self, files: dict[Path, Counter[Place]], plan: Plan) -> None:
        self._left: Counter[Place] = sum(files.values(), Counter())
        self._total = self._left.total()
        self._topics = frozenset(plan.input_topics)
        self._latest: dict[Place, int] = {}
        self._reading = self._records(list(files))

    @property
    def places(self) -> Collection[Place]:
        """The partitions of which there are records left."""
        return self._left.keys()

    @property
    def progress(self) -> tuple[int, int]:
        """How many records are read."""
        return self._total - self._left.total(), self._total

    def read(self) -> list[Batch]:
        """Return the next records."""
        by_place: dict[Place, list[Record]] = {}
        for place, record in islice(self._reading, CHUNK):
            by_place.setdefault(place, []).append(record)
        for place, records in by_place.items():
            self._left[place] -= len(records)
        self._left = +self._left
        return [Batch.build(topic, at, records) for (topic, at), records in by_place.items()]

    def refused(self, letter: Letter) -> None:
        """Go on, as a worker does."""

    def close(self) -> None:
        """Let go of the file that is being read."""
        self._reading.close()

    def _records(self, paths: Sequence[Path]) -> Generator[tuple[Place, Record], None, None]:
        for path in paths:
            with closing(open_rows(path)) as rows:
                yield from self._records_of(rows)

    def _records_of(self, rows: Rows) -> Iterator[tuple[Place, Record]]:
        for row in rows:
            place = place_of(row.values)
            if place[0] not in self._topics:
                continue
            try:
                record = record_of(row.values)
            except InputError as error:
                raise _at(rows, row.number, error) from error
            offset = record[0]
            if offset <= self._latest.get(place, -1):
                raise _at(
                    rows,
                    row.number,
                    f"Offset {offset} of {place[0]}/{place[1]} comes behind {self._latest[place]}: give "
                    "files in the order of their offsets, and no record twice.",
                )
            self._latest[place] = offset
            yield place, record


def _has_coordinates(rows: Rows, first: Row) -> bool:
    names = first.values.keys() if rows.columns is None else rows.columns
    return names >= _COORDINATES and "type" not in names


def _scan(rows: Rows, reading: Iterator[Row], plan: Plan) -> Counter[Place]:
    """Count the records of each partition that the rules read."""
    topics = frozenset(plan.input_topics)
    found: Counter[Place] = Counter()
    for row in reading:
        try:
            place = place_of(row.values)
        except InputError as error:
            raise _at(rows, row.number, error) from error
        if place[0] in topics:
            found[place] += 1
    return found


def _grouped(files: dict[Path, Counter[Place]]) -> list[dict[Path, Counter[Place]]]:
    """Put files that share a partition together, in the order they are given."""
    groups: list[dict[Path, Counter[Place]]] = []
    for path, places in files.items():
        related = [group for group in groups if any(places.keys() & other.keys() for other in group.values())]
        merged = {known: found for group in related for known, found in group.items()} | {path: places}
        ordered = {known: merged[known] for known in files if known in merged}
        groups = [group for group in groups if group not in related] + [ordered]
    return [group for group in groups if any(group.values())]


def _at(rows: Rows, number: int, what: object) -> InputError:
    return InputError(f"{rows.path}, {rows.unit} {number}: {what}")
