"""Damaged records, parcels, schemas, state and plans of the whole language: the engine rejects or goes on.

`python -m tests.engine.fuzz 100000` tries so many, from a seed that is printed; it must not take more memory
than a small engine needs, whatever lengths the bytes speak of.
"""

import json
import resource
import sys
from collections.abc import Callable
from random import Random
from typing import Any

from tocsin._engine import Batch, Engine
from tocsin.schemas import confluent_prefix, decode, encode, load

from .differential.generate import cases
from .differential.records import TASK
from .differential.run import Task
from .differential.worker import PARTITION, Job
from .fleet import Fleet
from .history import NOW_MS
from .test_distribution import history, program
from .test_fuzz import altered, damaged

ROOM = 1 << 30
"""How much memory may be taken beyond what is there at the start."""

MOST = 8
"""How many records of a topic there are."""

PARTITIONS = 2
"""Over how many partitions the topics of those are spread who send each other parcels."""

FAMILIES = {"pattern": 1.0, "expression": 1.0, "match": 1.0, "nested match": 0.3, "facts": 0.2, "timers": 0.1}

State = list[tuple[bytes, bytes]]


class Subject:
    """A program of the whole language, records for it, and the state in the middle of them."""

    def __init__(self, random: Random) -> None:
        _, found = cases(random.randrange(1 << 30), FAMILIES)
        self.job: Job = Task(random.choice(found)).job
        # Few records, for what is altered may match in many more ways.
        self.job.records = {topic: sent[:MOST] for topic, sent in self.job.records.items()}
        self.plan: dict[str, Any] = json.loads(self.job.plan)
        engine = self.engine()
        self.half = {topic: random.randint(0, len(sent)) for topic, sent in self.job.records.items()}
        for topic, sent in self.job.records.items():
            engine.feed(Batch.build(topic, PARTITION, list(sent[: self.half[topic]])), self.job.until)
        engine.run()
        self.state: State = [(key, value) for key, value in engine.take().state if value is not None]
        self.fleet = Fleet(program(random), history(random, PARTITIONS), PARTITIONS)
        for member in self.fleet.members:
            member.finish()

    def engine(self, plan: str | None = None) -> Engine:
        return Engine(plan or self.job.plan, TASK, PARTITION, self.job.frames)

    def go_on(self, engine: Engine) -> None:
        """Let the rest pass through an engine, and take what comes of it."""
        for topic, sent in self.job.records.items():
            if topic in engine.topics:
                engine.feed(Batch.build(topic, PARTITION, list(sent[self.half[topic] :])), self.job.until)
        for topic in engine.topics:
            engine.advance(topic, self.job.until + 1)
        engine.run()
        again = self.engine()
        again.load([(key, value) for key, value in engine.take().state if value is not None])


def state(random: Random, subject: Subject) -> bool:
    """Load state with a few entries that are not as they were written."""
    entries = list(subject.state)
    for _ in range(random.choice((1, 1, 1, 3))):
        at = random.randrange(len(entries))
        key, value = entries[at]
        _, other = random.choice(entries)
        entries[at] = random.choice(
            ((damaged(random, key), value), (key, damaged(random, value)), (key, other), (other, value))
        )
        if random.random() < 0.2:
            entries.append((key, damaged(random, value)))
    engine = subject.engine()
    engine.load(entries)
    subject.go_on(engine)
    return True


def plans(random: Random, subject: Subject) -> bool:
    """Build and use an engine for a plan that no compiler wrote."""
    parts = random.choice(("nodes", "nodes", "types", None))
    if parts is None:
        plan = altered(random, subject.plan)
    else:
        plan = subject.plan | {parts: altered(random, subject.plan[parts])}
    engine = subject.engine(json.dumps(plan))
    for topic, sent in subject.job.records.items():
        if topic in engine.topics:
            engine.feed(Batch.build(topic, PARTITION, list(sent)), subject.job.until)
    engine.run()
    engine.take()
    return True


def records(random: Random, subject: Subject) -> bool:
    """Read records and headers that are damaged."""
    engine = subject.engine()
    for topic, sent in subject.job.records.items():
        broken = [
            (
                offset,
                time,
                key,
                value and damaged(random, value),
                [(random.choice(NAMES), random.randbytes(9))],
            )
            for offset, time, key, value, _ in sent
        ]
        engine.feed(Batch.build(topic, PARTITION, broken), subject.job.until)
    engine.run()
    return not engine.take().letters


def parcels(random: Random, subject: Subject) -> bool:
    """Read parcels that no task has sent, twice: the second time from the state that came of the first."""
    fleet = subject.fleet
    member = random.choice([m for m in fleet.members if not fleet.forwards.keys().isdisjoint(m.sub.topics)])
    state: State = []
    refused = False
    for _ in range(2):
        engine = member.begin()
        engine.load(state)
        for topic in member.sub.topics:
            sent = fleet.logs.get((topic, member.partition), [])
            if topic in fleet.forwards:
                sent = [one._replace(value=_other_parcel(random, one.value or b"")) for one in sent]
            engine.feed(Batch.build(topic, member.partition, sent), NOW_MS)
        engine.run()
        commit = engine.take()
        state = [(key, value) for key, value in commit.state if value is not None]
        refused |= bool(commit.letters)
    return not refused


def _other_parcel(random: Random, value: bytes) -> bytes:
    """Return a parcel as it is, or with other bytes, or one that says something else."""
    if random.random() < 0.5:
        return value
    if random.random() < 0.3:
        return damaged(random, value)
    parcel: Any = decode(PARCEL, value)
    for part in random.sample([parcel, *parcel["records"]], 1 + len(parcel["records"]) // 2):
        name = random.choice([name for name in part if name not in {"records", "headers"}])
        match part[name]:
            case str():
                part[name] = random.choice(("temps", "smoke", "badges", "é", ""))
            case int() as number if name == "partition":
                part[name] = random.choice((0, 1, -1, 2**31 - 1, number))
            case int() as number:
                part[name] = random.choice((0, 1, -1, number - 1, number + 1, 2**63 - 1, -(2**63)))
            case value:
                part[name] = random.choice((None, b"", b"{}", damaged(random, value or b"")))
    random.shuffle(parcel["records"])
    return encode(PARCEL, parcel)


PARCEL = load("parcel")
NAMES = ("ce_id", "ce_source", "ce_type", "ce_time", "ce_specversion", "x")


# --- Avro ---------------------------------------------------------------------------------------------------


Typed = tuple[Any, Callable[[], Any]]
"""A type of a writer's schema, and what makes values of it."""


def _leaf(random: Random) -> Typed:
    number = random.randrange(1 << 30)
    leaves: list[Typed] = [
        ("null", lambda: None),
        ("boolean", lambda: random.random() < 0.5),
        ("int", lambda: random.randrange(-(2**31), 2**31)),
        ("long", lambda: random.randrange(-(2**63), 2**63)),
        ("float", lambda: 0.5),
        ("double", random.random),
        ("string", lambda: "é" * random.randrange(4)),
        ("bytes", lambda: random.randbytes(random.randrange(4))),
        ({"type": "enum", "name": f"E{number}", "symbols": ["A", "B"]}, lambda: random.choice("AB")),
        ({"type": "fixed", "name": f"F{number}", "size": 3}, lambda: random.randbytes(3)),
        ({"type": "long", "logicalType": "time-micros"}, lambda: random.randrange(1 << 30)),
    ]
    return random.choice(leaves)


def _schema(random: Random, depth: int = 0) -> Typed:
    kind = random.choice(("leaf", "leaf", "array", "map", "union", "record")) if depth < 4 else "leaf"
    if kind == "leaf":
        return _leaf(random)
    if kind == "record":
        fields = {f"f{i}": _schema(random, depth + 1) for i in range(random.randrange(4))}
        listed = [{"name": name, "type": of} for name, (of, _) in fields.items()]
        record = {"type": "record", "name": f"R{random.randrange(1 << 30)}", "fields": listed}
        return record, lambda: {name: make() for name, (_, make) in fields.items()}
    of, make = _schema(random, depth + 1)
    if kind == "array":
        return {"type": "array", "items": of}, lambda: [make() for _ in range(random.randrange(3))]
    if kind == "map":
        return {"type": "map", "values": of}, lambda: {str(i): make() for i in range(random.randrange(3))}
    if of == "null" or isinstance(of, list):
        return of, make
    return ["null", of], lambda: random.choice((None, make()))


def avro(random: Random, subject: Subject) -> bool:
    """Read Avro by a schema of anything, in which the attributes of a type may stand."""
    described = random.choice([t for t in subject.plan["types"] if t["origin"] == "input"])
    fields = [{"name": f["name"], "type": ATTRIBUTES.get(f["type"], f["type"])} for f in described["fields"]]
    more = {f"f{i}": _schema(random) for i in range(random.randrange(4))}
    listed = fields + [{"name": name, "type": of} for name, (of, _) in more.items()]
    random.shuffle(listed)
    of = {"type": "record", "name": "W", "fields": listed}
    values = {f["name"]: VALUES[f["type"]] for f in described["fields"]}
    body = encode(json.dumps(of), values | {name: make() for name, (_, make) in more.items()})
    frame = confluent_prefix(7)
    text = json.dumps(altered(random, of) if random.random() < 0.3 else of)
    engine = subject.engine()
    engine.add_schema(frame, text)
    sent = [frame + body, *(frame + damaged(random, body) for _ in range(20))]
    found = [(offset, 1, b"k", value, None) for offset, value in enumerate(sent)]
    engine.feed(Batch.build(described["topic"], PARTITION, found), subject.job.until)
    for topic in engine.topics:
        engine.advance(topic, subject.job.until)
    engine.run()
    return len(engine.take().letters) < len(sent)


ATTRIBUTES = {"timestamp": "long"}
NUMBERS = {"int": 1, "long": 2, "float": 1.5, "double": 2.5, "timestamp": 3}
VALUES = {"boolean": True, "string": "k", "bytes": b"\xff", **NUMBERS}

KINDS = (state, state, plans, records, parcels, avro)


def fuzz(count: int, seed: int) -> dict[str, tuple[int, int]]:
    """Try so many; return for each kind how many were taken and how many refused."""
    random = Random(seed)
    outcome = {kind.__name__: [0, 0] for kind in KINDS}
    for number in range(count):
        if number % 50 == 0:
            subject = Subject(random)
        kind = random.choice(KINDS)
        try:
            taken = kind(random, subject)
        except ValueError:
            taken = False
        except BaseException:
            sys.stderr.write(f"{kind.__name__}, number {number} of seed {seed}:\n{subject.job.plan}\n")
            raise
        outcome[kind.__name__][not taken] += 1
    return {kind: (taken, refused) for kind, (taken, refused) in outcome.items()}


def bound_memory() -> None:
    """Let a process that asks for a length it has not checked come to its end."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 (no path of ours)
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))


def main(arguments: list[str]) -> None:
    """Try as many as are asked for."""
    count = int(arguments[0]) if arguments else 1000
    seed = int(arguments[1]) if len(arguments) > 1 else Random().randrange(1 << 30)
    bound_memory()
    for kind, (taken, refused) in fuzz(count, seed).items():
        sys.stdout.write(f"{kind}: {taken} taken, {refused} refused\n")
    sys.stdout.write(f"seed {seed}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
