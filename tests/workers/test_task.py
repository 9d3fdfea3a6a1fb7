"""A task without a broker: what counts as silence, and what its life allows."""

import contextlib
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tocsin._engine import Batch, Engine
from tocsin.schemas import event_schema, single_object_prefix
from tocsin.topology import compile_rules
from tocsin.workers import WorkerSettings, place
from tocsin.workers.errors import StateUnreadable
from tocsin.workers.store import Checkpoint, MemoryStore
from tocsin.workers.strand import Strand
from tocsin.workers.task import Task, TaskState

RULES = """
event Temp (area: string, value: double) on "temps" key area;
define Hot (area: string) from Temp(area = $a, value > 45) where area = $a;
"""


@pytest.fixture
def task() -> Task:
    plan = compile_rules(RULES, app="task")
    hot = plan.defined_types[0]
    frame = single_object_prefix(event_schema(hot.to_dict(), plan.app))
    engine = Engine(plan.to_json(), "local", 0, {hot.name: (hot.topic, frame, 1)})
    return Task(0, engine, MemoryStore(), now_ms=1_000)


def batch(*values: bytes) -> Batch:
    return Batch.build("temps", 0, [(n, 1_500, b"hall", value, None) for n, value in enumerate(values)])


def test_a_source_that_brings_garbage_is_silent(task: Task) -> None:
    task.feed(batch(b"garbage", b"more of it"), now_ms=2_000)
    assert task.sources["temps"].quiet_since_ms == 1_000
    assert task.dirty  # the letters must be committed all the same


def test_a_source_that_brings_an_event_is_not(task: Task) -> None:
    task.feed(batch(b"garbage", b'{"area": "hall", "value": 1}'), now_ms=2_000)
    assert task.sources["temps"].quiet_since_ms == 2_000


def test_a_watermark_that_moves_over_nothing_needs_no_commit(task: Task) -> None:
    task.engine.advance("temps", 5_000)
    task.run()
    assert not task.dirty


def test_a_task_cannot_run_before_its_state_is_there(task: Task) -> None:
    with pytest.raises(AssertionError, match="cannot go from"):
        task.begin()
    assert task.state is TaskState.CREATED


def test_where_reading_began_is_committed_though_nothing_came(task: Task) -> None:
    assert [(at.topic, at.offset) for at in task.places(lambda _topic: 17)] == [("temps", 17)]
    assert task.dirty
    assert task.take().offsets == [("temps", 0, 17)]


def test_a_topic_that_the_rules_no_longer_read_is_forgotten(task: Task) -> None:
    two = compile_rules(
        RULES + 'event Rain (area: string) on "rain" key area; define Wet from Rain(area = $a);', app="task"
    )
    destinations = {t.name: (t.topic, b"", 1) for t in two.defined_types}
    before = Engine(two.to_json(), "local", 0, destinations)
    for topic in before.topics:
        before.start(topic, 5)
    task.engine.load([(key, value) for key, value in before.take().state if value is not None])
    assert task.engine.resume == {("temps", 0): 5}


class Restored:
    """A changelog that was read to its end."""

    done = is_whole = True
    amends = ()

    def close(self) -> None:
        pass


def test_a_fact_whose_attribute_has_another_type_is_told() -> None:
    def engine(type_name: str) -> Engine:
        rules = f"""
            fact Limit (area: string, value: {type_name}) key area on "limits";
            event Temp (area: string) on "temps" key area;
            rule Seen when fact Limit(area = $a) as f event Temp(area = $a) as t then call "seen:it";
            """
        return Engine(compile_rules(rules, app="task").undivided().to_json(), "undivided", 0, {})

    before, store = engine("long"), MemoryStore()
    before.feed(Batch.build("limits", 0, [(0, 1_500, b"hall", b'{"area": "hall", "value": 7}', None)]), 2_000)
    for topic in before.topics:
        before.advance(topic, 3_000)
    before.run()
    store.apply(before.take().state, Checkpoint("changelog", 1))
    task = Task(0, engine("double"), store, now_ms=3_000)
    task.begin_restore({}, Restored())  # type: ignore[arg-type]
    with pytest.raises(StateUnreadable, match="rules in which an attribute of a fact had another type"):
        task.restore_step()


class Consumer:
    """Remembers what was paused."""

    def __init__(self) -> None:
        self.paused: set[str] = set()

    def pause(self, partitions: list[TopicPartition]) -> None:
        self.paused |= {at.topic for at in partitions}

    def resume(self, partitions: list[TopicPartition]) -> None:
        self.paused -= {at.topic for at in partitions}


def test_the_slowest_source_is_never_held_back(tmp_path: Path) -> None:
    rules = "".join(f'event {n} (k: string) on "{n}" key k; ' for n in "ABC")
    rules += "define D (k: string) from A(k = $k) and last B(k = $k) within 1 s from A "
    rules += "and last C(k = $k) within 1 s from A where k = $k;"
    plan = compile_rules(rules, app="held")
    engine = Engine(plan.to_json(), "local", 0, {"D": (plan.defined_types[0].topic, b"", 1)})
    task = Task(0, engine, MemoryStore(), now_ms=0)
    settings = WorkerSettings(brokers="none", state_dir=tmp_path, max_waiting=4)
    with contextlib.closing(place.take(tmp_path, "held", "one")) as own:
        strand = Strand(plan, plan.subtopologies[0], settings, own, {})
    consumer = strand._consumer = Consumer()  # type: ignore[assignment]

    def read(topic: str, *times: int) -> set[str]:
        begin = read_to.get(topic, 0)
        records = [(begin + n, time, b"k", b'{"k": "k"}', None) for n, time in enumerate(times)]
        read_to[topic] = begin + len(times)
        engine.feed(Batch.build(topic, 0, records), 10_000)
        engine.run()
        strand._hold_back(task)
        return consumer.paused

    read_to: dict[str, int] = {}
    read("A", 61, 70, 80, 90, 100)
    read("C", 60)
    assert read("B", 50) == {"A", "C"}
    # B has overtaken C, which is the slowest now: it must read, or nothing will ever be released.
    assert "C" not in read("B", 75)
