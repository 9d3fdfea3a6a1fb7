"""A task without a broker: what counts as silence, and what its life allows."""

import pytest

from tocsin._engine import Batch, Engine
from tocsin.schemas import event_schema, single_object_prefix
from tocsin.topology import compile_rules
from tocsin.workers.store import MemoryStore
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
        task.begin(lambda _topic: 0)
    assert task.state is TaskState.CREATED
