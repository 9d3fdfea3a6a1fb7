"""What the engine's tests share: records of a history, and an engine driven as a worker drives one."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tocsin._engine import Batch, Commit, Engine
from tocsin.schemas import decode, encode, event_schema, load, single_object_prefix, split
from tocsin.topology import Plan, compile_rules

if TYPE_CHECKING:  # names of the stub only
    from tocsin._engine import Output

NOW_MS = 1_000_000_000
"""The worker's clock, unless a test says otherwise."""

END_MS = NOW_MS * 2

Headers = list[tuple[str, bytes]]


class Record(NamedTuple):
    """A record of a topic, as the client gives it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers | None = None


class Rejected(NamedTuple):
    """A reject of the engine, by name."""

    reason: str
    message: str
    topic: str
    partition: int
    offset: int
    timestamp: int
    size: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def rejected(body: bytes) -> Rejected:
    """Decode a letter of the engine."""
    letter = decode(load("dead_letter"), body)
    assert isinstance(letter, dict)
    del letter["app"]
    return Rejected(**letter | {"headers": sorted(letter["headers"].items())})


class Detected(NamedTuple):
    """An output of the engine, decoded by the schema of its type."""

    topic: str
    partition: int
    key: str
    value: dict[str, Any]
    timestamp: int

    @property
    def provenance(self) -> tuple[tuple[str, str, int, int], ...]:
        """Where the constituents lie: role, topic, partition, offset."""
        keys = ("role", "topic", "partition", "offset")
        constituents = self.value["detection"]["provenance"]
        return tuple(tuple(c[key] for key in keys) for c in constituents)


def rules(text: str, app: str = "test") -> Plan:
    """Compile a rule file."""
    return compile_rules(text, app=app)


def schema_of(plan: Plan, name: str) -> str:
    """Return the Avro schema of one of the plan's types."""
    event_type = plan.type_named(name)
    assert event_type is not None
    return event_schema(event_type.to_dict(), plan.app)


def avro(schema: str, values: object, frame: bytes | None = None) -> bytes:
    """Encode a value as a record carries it: in single-object encoding, unless another frame is given."""
    return (single_object_prefix(schema) if frame is None else frame) + encode(schema, values)


def as_json(values: Mapping[str, object]) -> bytes:
    """Encode a value as a JSON record."""
    return json.dumps(values).encode()


def by_topic(places: Mapping[tuple[str, int], int]) -> dict[str, int]:
    """Return what is said of the partitions of a task that reads one of each topic."""
    return {topic: value for (topic, _), value in places.items()}


def read_on(commit: Commit) -> dict[str, int]:
    """Return where a task that reads one partition of each topic reads on."""
    return {topic: offset for topic, _, offset in commit.offsets}


def engine_of(plan: Plan | Mapping[str, Any], *, partition: int = 0, **limits: int | None) -> Engine:
    """Return an engine for a plan, or for a plan's plain data that a test has changed."""
    data = plan.to_dict() if isinstance(plan, Plan) else plan
    frames = {
        t["name"]: (t["topic"], single_object_prefix(event_schema(t, data["app"])), 4)
        for t in data["types"]
        if t["origin"] == "defined"
    }
    return Engine(json.dumps(data), "local", partition, frames, **limits)


@dataclass
class Task:
    """An engine with what stands around it: the schemas it may ask for, and what was committed.

    `crash` forgets what was not committed and begins again from the committed state, as a worker does.
    """

    plan: Plan | Mapping[str, Any]
    schemas: dict[bytes, str] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    partition: int = 0
    state: dict[bytes, bytes] = field(default_factory=dict)
    outputs: list["Output"] = field(default_factory=list)
    rejects: list[Rejected] = field(default_factory=list)
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        self.engine = engine_of(self.plan, partition=self.partition, **self.limits)
        self.data = self.plan.to_dict() if isinstance(self.plan, Plan) else self.plan
        for event_type in self.data["types"]:
            self.know(event_schema(event_type, self.data["app"]))

    def know(self, schema: str, frame: bytes | None = None) -> bytes:
        """Let the engine learn a writer's schema when it asks; return the frame of its records."""
        frame = single_object_prefix(schema) if frame is None else frame
        self.schemas[frame] = schema
        return frame

    def feed(self, topic: str, records: Iterable[Record], *, now_ms: int = NOW_MS) -> None:
        """Feed a batch, after the schemas the engine asks for."""
        batch = Batch.build(topic, self.partition, list(records))
        for frame in self.engine.missing_schemas(batch):
            if frame in self.schemas:
                self.engine.add_schema(frame, self.schemas[frame])
            else:
                self.engine.refuse_schema(frame, "nobody knows this schema")
        self.engine.feed(batch, now_ms)

    def commit(self) -> Commit:
        """Make permanent what was done since the last commit."""
        commit = self.engine.take()
        for key, value in commit.state:
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = value
        self.outputs += commit.outputs
        self.rejects += [rejected(body) for _, _, body in commit.letters]
        return commit

    def crash(self, entries: Sequence[tuple[bytes, bytes]] | None = None) -> dict[str, int]:
        """Begin again from the committed state, in the order given; return where each topic is read on."""
        self.engine = engine_of(self.plan, partition=self.partition, **self.limits)
        self.engine.load(list(self.state.items()) if entries is None else entries)
        resume = self.engine.resume
        return dict.fromkeys(self.engine.topics, 0) if resume is None else by_topic(resume)

    def finish(self) -> None:
        """Release everything that waits, and commit."""
        for topic in self.engine.topics:
            self.engine.advance(topic, END_MS)
        while self.engine.is_behind:
            self.engine.run()
        self.commit()

    @property
    def detected(self) -> list[Detected]:
        """What was committed, decoded."""
        schemas = {
            t["topic"]: event_schema(t, self.data["app"])
            for t in self.data["types"]
            if t["origin"] == "defined"
        }
        return [decoded(output, schemas[output[0]]) for output in self.outputs]

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """Why records were rejected, each with its offset."""
        return [(reject.reason, reject.offset) for reject in self.rejects]


def decoded(output: "Output", schema: str) -> Detected:
    """Decode an output by its schema with the `avro` package."""
    topic, partition, key, value, timestamp = output
    datum = cast("dict[str, Any]", decode(schema, split(value).body))
    return Detected(topic, partition, key.decode(), datum, timestamp)
