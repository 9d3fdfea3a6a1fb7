"""A task that reads several partitions detects what the tasks of each partition detect together."""

from random import Random

import pytest

from tocsin._engine import Batch, Engine

from .history import END_MS, NOW_MS, Record, as_json, rules

PARTITIONS = (0, 1, 2)
PLAN = rules("""
event Temp  (area: string, value: double) on "temps" key area lateness 20 ms;
event Smoke (area: string)                on "smoke" key area lateness 20 ms;

define Fire (area: string, value: double)
from   Smoke(area = $a) as s and last Temp(area = $a, value > 45) as t within 1 s from s
where  area = $a, value = t.value;
""")
AREAS = "abcdefgh"

Log = dict[tuple[str, int], list[Record]]


def log(random: Random) -> Log:
    """Return events of areas that each have a partition, out of order within the lateness."""
    found: Log = {(topic, partition): [] for topic in ("temps", "smoke") for partition in PARTITIONS}
    for moment in range(300):
        area, topic = random.choice(AREAS), random.choice(["temps", "smoke"])
        values = {"area": area} | ({"value": random.randrange(100)} if topic == "temps" else {})
        records = found[topic, ord(area) % len(PARTITIONS)]
        time = 1_000 + moment // 2 * 5 + random.randrange(20)
        records.append(Record(len(records), time, area.encode(), as_json(values)))
    return found


def engine(partition: int, reads: tuple[int, ...] | None = None) -> Engine:
    wanted = None if reads is None else dict.fromkeys(("temps", "smoke"), reads)
    return Engine(PLAN.to_json(), "local", partition, {"Fire": ("fires", b"", 3)}, reads=wanted)


def detected(of: Engine, written: Log, random: Random) -> set[tuple[str, int, bytes, bytes, int]]:
    """Feed a log in random cuts, each source at its own pace; return what is written."""
    left = {source: list(records) for source, records in written.items()}
    found = set()
    while any(left.values()):
        source = random.choice([source for source, records in left.items() if records])
        cut = random.randrange(1, 9)
        of.feed(Batch.build(*source, left[source][:cut]), NOW_MS)
        left[source] = left[source][cut:]
        of.run()
        found |= set(of.take().outputs)
    for topic, partition in written:
        of.advance(topic, END_MS, partition)
    of.run()
    return found | set(of.take().outputs)


@pytest.mark.parametrize("seed", range(10))
def test_one_task_for_all_partitions_detects_what_one_for_each_does(seed: int) -> None:
    random = Random(seed)
    whole = log(random)
    apart = set()
    for partition in PARTITIONS:
        own = {source: records for source, records in whole.items() if source[1] == partition}
        apart |= detected(engine(partition), own, random)
    assert apart
    assert detected(engine(0, reads=PARTITIONS), whole, random) == apart


def test_nothing_is_released_before_every_partition_has_passed() -> None:
    task = engine(0, reads=PARTITIONS)
    temp = Record(0, 9_000, b"a", as_json({"area": "a", "value": 50}))
    for partition in PARTITIONS:
        assert task.run() == 0
        task.feed(Batch.build("temps", partition, [temp]), NOW_MS)
        task.advance("smoke", 9_000, partition)
    passed = {"temps": 8_980, "smoke": 9_000}
    assert task.source_watermarks_ms == {(topic, at): passed[topic] for topic in passed for at in PARTITIONS}


def test_each_partition_is_read_on_where_it_was_left() -> None:
    task = engine(0, reads=(0, 2))
    task.start("temps", 7, 2)
    task.feed(Batch.build("temps", 0, [Record(3, 9_000, b"a", as_json({"area": "a", "value": 50}))]), NOW_MS)
    state = [(key, value) for key, value in task.take().state if value is not None]
    again = engine(0, reads=(0, 2))
    again.load(state)
    assert again.resume == {("temps", 0): 3, ("temps", 2): 7, ("smoke", 0): 0, ("smoke", 2): 0}


def test_what_is_not_read_is_refused() -> None:
    task = engine(0, reads=(0, 2))
    with pytest.raises(ValueError, match="partition 1 of temps is none of the task's sources"):
        task.feed(Batch.build("temps", 1, []), NOW_MS)
    with pytest.raises(ValueError, match="topic snow is none that the rules read"):
        Engine(PLAN.to_json(), "local", 0, {"Fire": ("fires", b"", 3)}, reads={"snow": [0]})
