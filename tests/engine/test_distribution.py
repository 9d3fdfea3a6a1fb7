"""Distribution changes nothing: the tasks of a plan write together what one task for everything writes."""

import re
from random import Random
from typing import Any

import pytest

from tocsin._engine import Batch, Engine
from tocsin.schemas import decode, load
from tocsin.topology import Plan, compile_rules
from tocsin.topology.plan import Placement

from .fleet import Fleet, Logs, destinations, spread, undivided
from .history import NOW_MS, Record, as_json

EVENTS = """
event Temp  (area: string, sensor: string, value: long) on "temps" key area lateness 20 ms;
event Smoke (area: string, sensor: string) on "smoke" key area lateness 20 ms;
event Badge (person: string, area: string) on "badges" key person lateness 20 ms;
event Tag   (n: long) on "tags" lateness 20 ms;
"""

LOCAL = [
    """define Fire (area: string, value: long)
    from Smoke(area = $a) as s and last Temp(area = $a, value > 45) as t within 200 ms from s
    where area = $a, value = t.value;""",
    """define Calm (area: string)
    from Smoke(area = $a) as s and not Temp(area = $a) within 50 ms after s where area = $a;""",
    """define Pair (area: string)
    from Smoke(area = $a) ; Temp(area = $a, value > 30) within 300 ms where area = $a context chronicle;""",
    "define Soon (area: string) from Smoke(area = $a) + 30 ms where area = $a;",
    "define Hot (area: string) from Temp(area = $a, value > 80) where area = $a;",
]
ROUTED = [
    """define Seen (area: string, person: string)
    from Badge(area = $a) as b and each Temp(area = $a, value > 60) as t within 100 ms from b
    where area = $a, person = b.person;""",
    """define Worn (sensor: string)
    from (Temp(sensor = $s) ; Smoke(sensor = $s)) within 200 ms where sensor = $s context recent;""",
    """define Missed (area: string)
    from Badge(area = $a) as b and not Smoke(area = $a) within 80 ms after b where area = $a;""",
]
GLOBAL = [
    """define Near (n: long)
    from Smoke as s and last Temp(value > 70) as t within 60 ms from s where n = t.value;""",
    "define All from (Smoke ; Badge ; Temp(value > 50)) within 150 ms context continuous;",
    "define Quiet from Badge as b and not Smoke within 60 ms after b;",
    "define Count (n: long) from Tag as t and $n = count(Smoke) within 200 ms from t where n = $n;",
]
ABOVE = {
    "Again": "(area: string) from Fire(area = $a) ; Fire(area = $a) within 400 ms where area = $a",
    "Spread": "from (Fire as f ; Fire as g) within 100 ms context chronicle disjoint",
    "Both": "(area: string) from Pair(area = $a) and Temp(area = $a) within 300 ms where area = $a",
    "Who": "(who: string) from Seen(person = $p) ; Badge(person = $p) within 300 ms where who = $p",
    "Echo": "(n: long) from Near as n and last Tag as t within 300 ms from n where n = t.n",
}
"""Definitions over complex events that others define."""


def program(random: Random) -> Plan:
    """Return rules of every kind, and some over what others define."""
    chosen = [random.choice(rules) for rules in (LOCAL, ROUTED, GLOBAL)]
    chosen += random.sample([*LOCAL, *ROUTED, *GLOBAL], 2)
    text = "\n".join(dict.fromkeys(chosen))
    for name, rule in random.sample(sorted(ABOVE.items()), 3):
        needed = re.findall("Fire|Pair|Seen|Near", rule)
        if all(f"define {other} " in text for other in needed):
            text += f"\ndefine {name} {rule};"
    return compile_rules(EVENTS + text, app="test")


def history(random: Random, partitions: int) -> Logs:
    """Return events with ties and disorder within the lateness."""
    records = []
    for moment in range(120):
        time = 1_000 + moment // 2 * 9 + random.randrange(20)
        area, sensor = random.choice("abcde"), random.choice("xyz")
        topic, key, values = random.choice(
            [
                ("temps", area, {"area": area, "sensor": sensor, "value": random.randrange(100)}),
                ("smoke", area, {"area": area, "sensor": sensor}),
                ("badges", person := random.choice("pqr"), {"person": person, "area": area}),
                ("tags", "", {"n": moment}),
            ]
        )
        records.append((topic, Record(0, time, key.encode() or None, as_json(values))))
    return spread(records, partitions)


def route(partition: int = 0) -> Engine:
    """Return the task that sends temperatures on to where they are needed by sensor."""
    plan = compile_rules(
        EVENTS
        + "define Worn (sensor: string) from Temp(sensor = $s, value > 9) ; Smoke(sensor = $s) within 1 s "
        "where sensor = $s;",
        app="test",
    )
    sent = {forward.topic: 4 for sub in plan.subtopologies for forward in sub.forwards}
    return Engine(plan.to_json(), "route", partition, {}, forwards=sent)


def parcels(engine: Engine) -> dict[tuple[str, int], Any]:
    """Return what a task sends on, by topic and partition."""
    sent = engine.take().parcels
    return {(topic, partition): decode(load("parcel"), value) for topic, partition, value in sent}


def test_a_parcel_is_as_its_schema_says() -> None:
    task = route(partition=2)
    hot = as_json({"area": "a", "sensor": "x", "value": 10})
    cold = as_json({"area": "a", "sensor": "x", "value": 9})
    headers = [("ce_specversion", b"1.0"), ("traceparent", b"00-1")]
    records = [
        Record(5, 1_000, b"a", hot, headers),
        Record(6, 1_002, b"a", cold),
        Record(7, 1_001, None, hot),
    ]
    task.feed(Batch.build("temps", 2, records), NOW_MS)
    found = parcels(task)
    assert {place for place in found if place[0].endswith("Temp-by-sensor")} == {
        ("tocsin.test.Temp-by-sensor", partition) for partition in range(4)
    }
    full = [parcel for parcel in found.values() if parcel["records"]]
    assert full == [
        {
            "topic": "temps",
            "partition": 2,
            "watermark": 982,
            "records": [
                {
                    "offset": 5,
                    "timestamp": 1_000,
                    "key": b"a",
                    "value": hot,
                    "headers": [{"name": name, "value": value} for name, value in headers],
                },
                {
                    "offset": 7,
                    "timestamp": 1_001,
                    "key": None,
                    "value": hot,
                    "headers": [],
                },
            ],
        }
    ]


def test_how_far_a_source_has_come_is_told_once_to_every_partition() -> None:
    task = route()
    assert parcels(task) == {}
    task.advance("temps", 5_000)
    assert {topic for topic, _ in parcels(task)} == {"tocsin.test.Temp-by-sensor"}
    assert parcels(task) == {}
    task.advance("smoke", 6_000)
    assert len(parcels(task)) == 4


def test_a_parcel_that_cannot_be_opened_is_refused() -> None:
    plan = program(Random(1))
    sub = next(sub for sub in plan.subtopologies if sub.groups)
    fleet = Fleet(plan, {}, 1)
    engine = Engine(
        plan.to_json(), sub.name, 0, fleet.destinations, reads={topic: [0] for topic in plan.input_topics}
    )
    engine.feed(
        Batch.build(sub.topics[0], 0, [Record(0, 0, None, b"no parcel"), Record(1, 0, None, None)]), 0
    )
    assert len(engine.take().letters) == 2
    assert engine.counts["rejected"] == 2


def test_of_a_bad_record_one_task_tells() -> None:
    plan = program(Random(1))
    readers = [sub for sub in plan.subtopologies if "temps" in sub.topics]
    assert len(readers) > 1
    letters = []
    for sub in readers:
        behind = {topic: [0] for topic in plan.behind(sub)}
        sent = {forward.topic: 9 for forward in sub.forwards}
        engine = Engine(plan.to_json(), sub.name, 0, destinations(plan), reads=behind, forwards=sent)
        engine.feed(Batch.build("temps", 0, [Record(0, 5, b"a", b"no event")]), NOW_MS)
        assert engine.counts["rejected"] == 1
        letters += engine.take().letters
    assert len(letters) == 1


@pytest.mark.parametrize("partitions", [1, 3, 8])
@pytest.mark.parametrize("seed", range(12))
def test_distribution_changes_nothing(seed: int, partitions: int) -> None:
    random = Random(seed)
    plan = program(random)
    assert {sub.kind for sub in plan.subtopologies} == set(Placement)
    logs = history(random, partitions)
    expected = undivided(plan, logs, partitions)
    assert len({topic for topic, _, _ in expected}) > 2
    assert Fleet(plan, logs, partitions).run(random) == expected
