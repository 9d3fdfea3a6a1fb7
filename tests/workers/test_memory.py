"""More state than memory: what is away is read from the store, and nothing else shows."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.workers.conftest import Application
from tocsin._engine import Batch, Commit, Engine
from tocsin.schemas import event_schema, single_object_prefix
from tocsin.topology import compile_rules
from tocsin.workers.store import Checkpoint, Entry, MemoryStore, RocksStore, Store
from tocsin.workers.task import LocalStateDamaged, Task

MakeApp = Callable[..., Application]

RULES = """
event Temp (area: string, value: double) on "temps" key area;
event Smoke (area: string) on "smoke" key area;
define Fire (area: string, value: double)
from   Smoke(area = $a) as s and each Temp(area = $a, value > 45) as t within 30 s from s
where  area = $a, value = t.value;
define Both (area: string)
from   (Temp(area = $a) ; Smoke(area = $a)) within 30 s
where  area = $a
context chronicle;
"""
AREAS = [f"area-{number}" for number in range(200)]
ROUNDS = 40
ENOUGH_BYTES = 2**40
BOUND_BYTES = 20_000
MARGIN_BYTES = 80_000
"""What was brought to be looked at and did not change weighs little to the engine until it is let go."""


class Kept:
    """A task driven without a broker, and what it wrote."""

    def __init__(self, store: Store, cache_bytes: int) -> None:
        plan = compile_rules(RULES, app="memory")
        frames = {
            t.name: (t.topic, single_object_prefix(event_schema(t.to_dict(), plan.app)), 1)
            for t in plan.defined_types
        }
        self.task = Task(0, Engine(plan.to_json(), "local", 0, frames, cache_bytes=cache_bytes), store, 0)
        self.outputs: list[object] = []
        self.most_bytes = 0
        self.most_stored = 0
        self._offsets = dict.fromkeys(self.task.engine.topics, 0)
        self._commits = 0

    def handle(self, topic: str, time_ms: int, areas: list[str]) -> None:
        rest = b', "value": 50}' if topic == "temps" else b"}"
        begin = self._offsets[topic]
        self._offsets[topic] += len(areas)
        records = [
            (begin + n, time_ms, area.encode(), b'{"area": "%s"' % area.encode() + rest, None)
            for n, area in enumerate(areas)
        ]
        self.task.feed(Batch.build(topic, 0, records), time_ms)
        for source in self.task.engine.topics:
            self.task.engine.advance(source, time_ms + 1)
        self.task.run()

    def commit(self) -> Commit:
        commit = self.task.take()
        self._commits += 1
        self.task.committed(commit, Checkpoint("changelog", self._commits))
        self.outputs += commit.outputs
        self.most_bytes = max(self.most_bytes, self.task.engine.cached[0])
        self.most_stored = max(self.most_stored, self.task.engine.stored)
        return commit

    def live(self) -> None:
        """Let temperatures and smoke come from all over the place, and windows pass."""
        rng = random.Random(7)
        for number in range(ROUNDS):
            self.handle("temps", number * 1_000, rng.sample(AREAS, 100))
            self.handle("smoke", number * 1_000 + 500, rng.sample(AREAS, 5))
            self.commit()

    def entries(self) -> list[Entry]:
        """What is stored when all that has expired was found."""
        self.task.engine.sweep(list(self.task.store.entries()))
        self.commit()
        return list(self.task.store.entries())


@pytest.fixture(params=["memory", "rocksdb"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    kept = MemoryStore() if request.param == "memory" else RocksStore(tmp_path / "store")
    yield kept
    kept.close()


def test_a_bound_changes_nothing_but_what_is_in_memory(store: Store) -> None:
    free, bound = Kept(MemoryStore(), ENOUGH_BYTES), Kept(store, BOUND_BYTES)
    free.live()
    bound.live()
    assert free.task.engine.cached[1], "all of it is in memory"
    assert not bound.task.engine.cached[1]
    assert free.most_bytes > 4 * (BOUND_BYTES + MARGIN_BYTES)
    assert bound.most_bytes <= BOUND_BYTES + MARGIN_BYTES
    assert 4 * bound.most_stored < free.most_stored, "what is in memory, whatever it weighs"
    assert len(free.outputs) > ROUNDS
    assert bound.outputs == free.outputs
    stored = len(list(bound.task.store.entries()))
    assert bound.entries() == free.entries()
    assert stored <= 2 * len(bound.entries()), "what has expired is found while others come"


def test_a_store_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    kept = Kept(RocksStore(folder), 0)
    kept.handle("temps", 1_000, AREAS)
    kept.commit()
    kept.task.store.close()  # writes what is only in its log
    (table,) = folder.glob("*.sst")
    content = table.read_bytes()
    middle = len(content) // 2
    table.write_bytes(content[:middle] + b"\xff" * 20 + content[middle + 20 :])
    kept.task.store = RocksStore(folder)
    with pytest.raises(LocalStateDamaged, match="Corruption"):
        kept.handle("smoke", 2_000, AREAS)
    kept.task.store.close()


def test_workers_with_little_memory(make_app: MakeApp) -> None:
    app, rng = make_app(partitions=2), random.Random(11)
    with app.worker("one", state_memory_bytes=2_000):
        app.publish_some(rng, 600, areas=200)
        app.await_exact()
    # Another instance restores all of it.
    with app.worker("two", state_memory_bytes=2_000):
        app.publish_some(rng, 600, areas=200)
        app.await_exact()


def test_a_store_that_fails_while_running_is_restored(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, rng = make_app(partitions=1), random.Random(12)
    fetch, failures = RocksStore.fetch, iter([OSError("the disk is gone")])

    def fail_once(self: RocksStore, prefixes: list[bytes]) -> list[Entry]:
        for failure in failures:
            raise failure
        return fetch(self, prefixes)

    monkeypatch.setattr(RocksStore, "fetch", fail_once)
    with app.worker(state_memory_bytes=0):
        while len(app.fires()) < 2:
            app.publish_some(rng, 100)
        app.await_exact()
    assert next(failures, None) is None, "it did fail"
