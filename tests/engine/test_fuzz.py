"""Whatever bytes come in, the engine answers with a reject or a `ValueError`, and goes on.

A panic of the engine is a `BaseException` in Python, so that none of these tests lets one pass.
"""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from tocsin._engine import Batch, Engine
from tocsin.schemas import confluent_prefix, encode, single_object_prefix

from .generate import Case, case
from .history import END_MS, NOW_MS, Record, Task

INTERESTING = (
    b"\0",
    b"\xff",
    b"\x80" * 10,
    b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"{",
    b'"',
    b"\xc3\x01",
)
ODD_VALUES: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    1,
    7,
    255,
    2**31,
    2**63 - 1,
    -(2**63),
    2**64,
    1.5,
    "",
    "long",
    "string",
    "A",
    "é" * 9,
    [],
    {},
    ["field", 0, 0],
    ["field", 1, 1],
    ["field", 9, 9],
    ["const", "long", 5],
    ["div", "long", ["const", "long", 1], ["const", "long", 0]],
    {"type": "record", "name": "R", "fields": []},
    {"type": "array", "items": "null"},
)


def damaged(random: Random, data: bytes) -> bytes:
    """Return the bytes with a few changes."""
    for _ in range(random.choice((1, 1, 2, 5))):
        at, length = random.randrange(len(data) + 1), random.choice((1, 1, 2, 8, 40))
        piece = random.choice((*INTERESTING, random.randbytes(length), data[at : at + length], b""))
        data = data[:at] + piece + data[at + random.choice((0, length)) :]
    return data


def places(document: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 (any JSON)
    """Yield every place in a document: what holds it, and its key or index there."""
    if isinstance(document, dict | list):
        for at in list(document) if isinstance(document, dict) else range(len(document)):
            yield document, at
            yield from places(document[at])


def akin(random: Random, value: object) -> object:
    """Return another value of the same kind, which a reader is more likely to swallow."""
    return random.choice([odd for odd in ODD_VALUES if type(odd) is type(value)] or ODD_VALUES)


def altered(random: Random, document: Any) -> Any:  # noqa: ANN401
    """Return the document with a few parts replaced, removed or doubled."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 2, 4))):
        everywhere = list(places(document))
        if not everywhere:
            break
        holder, at = random.choice(everywhere)
        choice = random.random()
        if choice < 0.4:
            holder[at] = copy.deepcopy(akin(random, holder[at]))
        elif choice < 0.5:
            holder[at] = copy.deepcopy(random.choice(ODD_VALUES))
        elif choice < 0.7:
            del holder[at]
        else:
            other, there = random.choice(everywhere)
            with suppress(KeyError, IndexError):
                holder[at] = copy.deepcopy(other[there])
    return document


def begin(of: Case) -> Task:
    task = Task(of.plan)
    for frame, schema in of.frames.items():
        task.know(schema, frame)
    return task


def use(task: Task, of: Case) -> None:
    """Let a history pass through an engine, and take what came of it."""
    for topic in task.engine.topics:
        task.feed(topic, of.records.get(topic, []))
        task.engine.advance(topic, NOW_MS)
    task.engine.run()
    task.commit()


@pytest.mark.parametrize("seed", range(4))
def test_damaged_records(seed: int) -> None:
    """Avro and JSON alike: what is read is read, and what is not is rejected with its place."""
    random = Random(seed)
    of = case(random.randrange(1000))
    task = begin(of)
    fed = 0
    for offset in range(3000):
        topic = random.choice(list(of.records))
        record = random.choice(of.records[topic])
        if record.value is not None:
            headers = [(n, damaged(random, v)) for n, v in record.headers] if record.headers else None
            task.feed(
                topic, [Record(offset, record.timestamp, record.key, damaged(random, record.value), headers)]
            )
            fed += 1
    for topic in task.engine.topics:
        task.engine.advance(topic, END_MS)
    task.engine.run()
    task.commit()
    assert task.engine.counts["read"] == fed
    assert task.rejects
    assert {reject.reason for reject in task.rejects} <= {
        "UNDECODABLE",
        "UNKNOWN_SCHEMA",
        "SCHEMA_MISMATCH",
        "BAD_TIME",
        "NO_VALUE",
    }
    assert all(reject.message and reject.topic in of.records for reject in task.rejects)
    assert task.detected is not None


@pytest.mark.parametrize("seed", range(3))
def test_altered_schemas(seed: int) -> None:
    random = Random(seed)
    of = case(random.randrange(1000))
    schemas = sorted(of.frames.values())
    taken = 0
    for i in range(600):
        task = begin(of)
        schema = random.choice(schemas)
        text = json.dumps(altered(random, json.loads(schema)))
        if random.random() < 0.2:
            text = damaged(random, text.encode()).decode(errors="replace")
        frame = confluent_prefix(1000 + i)
        try:
            task.engine.add_schema(frame, text)
        except ValueError:
            continue
        taken += 1
        for topic, records in of.records.items():
            bodies = [r.value for r in records if r.value]
            values = [frame + body[random.choice((5, 10)) :] for body in bodies] + [
                frame + random.randbytes(30)
            ]
            task.feed(topic, [Record(n, NOW_MS, None, value) for n, value in enumerate(values)])
        task.finish()
    assert 100 < taken < 600


@pytest.mark.parametrize("seed", range(3))
def test_damaged_state(seed: int) -> None:
    random = Random(seed)
    loaded = 0
    for _ in range(15):
        of = case(random.randrange(1000))
        begun = begin(of)
        for topic, records in of.records.items():
            begun.feed(topic, records[: len(records) // 2])
        begun.engine.run()
        begun.commit()
        entries = list(begun.state.items())
        for _ in range(30):
            task = begin(of)
            key, value = random.choice(entries)
            broken = (damaged(random, key), value) if random.random() < 0.4 else (key, damaged(random, value))
            try:
                task.engine.load([*entries, broken])
            except ValueError:
                continue
            loaded += 1
            assert task.engine.resume is not None
            use(task, of)
    assert 20 < loaded < 450


@pytest.mark.parametrize("seed", range(3))
def test_altered_plans(seed: int) -> None:
    random = Random(seed)
    cases = [case(random.randrange(1000)) for _ in range(20)]
    destinations = {name: (name, b"", 2) for name in ("R", "Q", "A")}
    built = 0
    for _ in range(1000):
        of = random.choice(cases)
        text = json.dumps({**of.plan, "nodes": altered(random, of.plan["nodes"])})
        if random.random() < 0.3:
            text = json.dumps(altered(random, of.plan))
        if random.random() < 0.1:
            text = damaged(random, text.encode()).decode(errors="replace")
        try:
            engine = Engine(text, "local", 0, destinations)
        except ValueError:
            continue
        built += 1
        task = begin(of)
        task.engine = engine
        use(task, of)
        again = Engine(text, "local", 0, destinations)
        again.load(list(task.state.items()))
        assert again.resume == {(topic, at): offset for topic, at, offset in engine.take().offsets}
    assert 100 < built < 1000


def test_extreme_times_and_watermarks() -> None:
    of = case(3)
    task = begin(of)
    extremes = (-(2**63), -1, 0, 2**63 - 1)
    for i, time in enumerate(extremes):
        for topic, records in of.records.items():
            task.feed(topic, [records[0]._replace(offset=i, timestamp=time)], now_ms=time)
            task.engine.advance(topic, time)
        task.engine.run()
        task.commit()
    assert task.engine.released_ms == 2**63 - 1
    task.crash()
    assert task.engine.released_ms == 2**63 - 1


def test_a_schema_that_is_refused_is_asked_for_no_more() -> None:
    of = case(0)
    task = begin(of)
    frame = single_object_prefix('"null"')
    topic = task.engine.topics[0]
    batch = Batch.build(topic, 0, [Record(0, 0, None, frame + encode('"null"', None))])
    task.engine.refuse_schema(frame, "no")
    assert task.engine.missing_schemas(batch) == []


@pytest.mark.parametrize("seed", range(3))
def test_the_whole_language_with_little_memory(seed: int) -> None:
    """Records, parcels, schemas, plans and state: `fuzz` bounds the memory of its process."""
    arguments = [sys.executable, "-m", "tests.engine.fuzz", "400", str(seed)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts = re.findall(r"(\w+): (\d+) taken, (\d+) refused", done.stdout)
    assert {kind for kind, *_ in counts} == {"state", "plans", "records", "parcels", "avro"}
    assert all(int(refused) > 0 for _, _, refused in counts)
    assert all(int(taken) > 0 for kind, taken, _ in counts if kind != "records")
