"""The rules over a log: all of them in one engine, which reads what is furthest behind first."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tocsin import schemas
from tocsin._engine import Commit, Engine
from tocsin.complex_event import ComplexEvent
from tocsin.errors import InputError
from tocsin.letters import Letter
from tocsin.replay.streams import Place, Stream
from tocsin.topology import Plan
from tocsin.topology.plan import Origin
from tocsin.workers.formats import Formats, InputSchemas

_UNSEEN_MS = -(2**63)
"""The watermark of a source that has brought nothing yet."""

_NO_PATIENCE = threading.Event()
"""A registry that is away ends a replay: its log will still be there tomorrow."""
_NO_PATIENCE.set()


@dataclass(slots=True)
class Summary:
    """What a replay has come to."""

    detected: dict[str, int]
    read: int = 0
    late: int = 0
    refused: int = 0
    first_refused: Letter | None = None
    until_ms: int | None = None
    """How far time went, once it is over."""
    _began_s: float = field(default_factory=time.monotonic)
    _ended_s: float | None = None

    @property
    def seconds(self) -> float:
        """How long it took, or takes so far."""
        return (self._ended_s or time.monotonic()) - self._began_s

    def end(self, until_ms: int) -> None:
        """Stop the clock."""
        self.until_ms = until_ms
        self._ended_s = time.monotonic()


class Replay:
    """Detects over streams what workers would have, given them live.

    Time goes on by the events' own times, as far as their lateness allows; at the end it goes on to the last
    event, or to `until_ms`: then no later than that, whatever the log has. What other applications detect has
    no lateness by which time could go on, so it is read first, and waits.
    """

    def __init__(
        self, plan: Plan, streams: Sequence[Stream], schemas_: InputSchemas, *, until_ms: int | None = None
    ) -> None:
        if not plan.nodes:
            raise InputError("The file defines nothing: there is no rule to replay.")
        self._plan = plan.undivided()
        self._streams = list(streams)
        self._inputs = schemas_
        self._until_ms = until_ms
        defined = self._plan.defined_types
        self._schemas = {e.topic: schemas.event_schema(e.to_dict(), plan.app) for e in defined}
        self._names = {event.topic: event.name for event in defined}
        self._lateness_ms = {
            topic: max(e.lateness_ms for e in plan.types if e.origin is Origin.INPUT and e.topic == topic)
            for topic in self._plan.input_topics
        }
        self._taken = {event.topic for event in plan.taken_types}
        self._places = self._all_places()
        self._engine = self._make_engine()
        self._latest_ms = _UNSEEN_MS
        # An event cannot be further ahead of the clock than a worker would have let it be.
        self._now_ms = max(int(time.time() * 1000), until_ms or 0)
        self.summary = Summary(dict.fromkeys(self._names.values(), 0))

    @property
    def progress(self) -> float:
        """How much of the log is read, from 0 to 1."""
        parts = [stream.progress for stream in self._streams]
        return sum(done for done, _ in parts) / max(sum(total for _, total in parts), 1)

    def run(self) -> Iterator[list[ComplexEvent]]:
        """Yield what is detected, in the order of its detection, some at a time."""
        reading = list(self._streams)
        while reading := [stream for stream in reading if stream.places and not self._is_over(stream)]:
            self._follow(reading)
            watermarks = self._engine.source_watermarks_ms
            stream = min(reading, key=lambda s: min((watermarks[place], place) for place in s.places))
            yield self._step(stream)
        if self._latest_ms == _UNSEEN_MS:
            raise InputError("There is nothing to replay: the log holds no event that the rules read.")
        until_ms = self._latest_ms if self._until_ms is None else self._until_ms
        for topic, partition in self._places:
            self._engine.advance(topic, until_ms + 1, partition)
        yield self._detect()
        self.summary.end(until_ms)

    def _all_places(self) -> list[Place]:
        brought = {place for stream in self._streams for place in stream.places}
        topics = {topic for topic, _ in brought}
        return sorted(brought | {(topic, 0) for topic in self._plan.input_topics if topic not in topics})

    def _make_engine(self) -> Engine:
        reads: dict[str, list[int]] = {}
        for topic, partition in self._places:
            reads.setdefault(topic, []).append(partition)
        destinations = Formats(self._plan, None).destinations(dict.fromkeys(self._names, 1))
        (whole,) = self._plan.subtopologies
        return Engine(self._plan.to_json(), whole.name, 0, destinations, reads=reads)

    def _step(self, stream: Stream) -> list[ComplexEvent]:
        """Read the next records of a stream, and handle what that releases."""
        places = list(stream.places)
        for batch in stream.read():
            if batch.topic in self._taken:
                self._latest_ms = max(self._latest_ms, batch.latest_ms)
            self._inputs.supply(self._engine, batch, _NO_PATIENCE)
            self._engine.feed(batch, self._now_ms)
        watermarks = self._engine.source_watermarks_ms
        seen = [(topic, at) for topic, at in places if watermarks[topic, at] > _UNSEEN_MS]
        latest_ms = max(
            (watermarks[place] + self._lateness_ms[place[0]] for place in seen), default=_UNSEEN_MS
        )
        self._latest_ms = max(self._latest_ms, latest_ms)
        if stream.is_sequence and seen:
            for topic, partition in stream.places:
                self._engine.advance(topic, latest_ms - self._lateness_ms[topic], partition)
        return self._detect(stream)

    def _is_over(self, stream: Stream) -> bool:
        """Tell whether all that a stream still has is later than the end."""
        watermarks = self._engine.source_watermarks_ms
        return self._until_ms is not None and all(watermarks[at] > self._until_ms for at in stream.places)

    def _follow(self, reading: Sequence[Stream]) -> None:
        """Let partitions of which there is nothing left go on with the others."""
        watermarks = self._engine.source_watermarks_ms
        open_ = {place for stream in reading for place in stream.places}
        slowest_ms = min((watermarks[place] for place in open_), default=_UNSEEN_MS)
        if slowest_ms > _UNSEEN_MS:
            for topic, partition in self._places:
                if (topic, partition) not in open_:
                    self._engine.advance(topic, slowest_ms, partition)

    def _detect(self, stream: Stream | None = None) -> list[ComplexEvent]:
        found: list[ComplexEvent] = []
        while True:
            self._engine.run()
            commit = self._engine.take()
            found += self._complex_events(commit)
            self._count(commit, stream)
            if not self._engine.is_behind:
                return found

    def _complex_events(self, commit: Commit) -> Iterator[ComplexEvent]:
        for topic, _, _, value, end_ms in commit.outputs:
            # Later ones depend on later events, and are none of this replay; earlier ones do not.
            if self._until_ms is None or end_ms <= self._until_ms:
                datum = schemas.decode(self._schemas[topic], schemas.split(value).body)
                assert isinstance(datum, dict)
                self.summary.detected[self._names[topic]] += 1
                yield ComplexEvent.from_datum(self._names[topic], datum)

    def _count(self, commit: Commit, stream: Stream | None) -> None:
        counts, summary = self._engine.counts, self.summary
        if stream is not None and counts["rejected"] > summary.refused:
            # What was refused when it was read comes before what could not be written.
            letter = next(Letter.read(body, late=late) for late, _, body in commit.letters if not late)
            stream.refused(letter)
            summary.first_refused = summary.first_refused or letter
        summary.read, summary.late, summary.refused = counts["read"], counts["late"], counts["rejected"]
