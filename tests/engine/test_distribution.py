"""Distribution changes nothing: the tasks of a plan write together what one task for everything writes."""

import re
from collections.abc import Iterable
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
    """define Left (area: string)
    from match every Smoke(area = $a) as s then not Temp(area = $a) for 60 ms where area = $a;""",
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
    """define Run
    from match every (Temp(value > 40) as t then next Temp(value > 60) as u within 99 ms from t);""",
    "define Lull from match every Badge as b then not Smoke for 40 ms;",
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
    text += "\n".join(above(text, random.sample(sorted(ABOVE), 3)))
    return compile_rules(EVENTS + text, app="test")


def above(text: str, names: Iterable[str] = tuple(ABOVE)) -> list[str]:
    """Return the definitions over complex events for which the text has all that they need."""
    return [
        f"define {name} {ABOVE[name]};"
        for name in names
        if all(f"define {other} " in text for other in re.findall("Fire|Pair|Seen|Near", ABOVE[name]))
    ]


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
    fleet = Fleet(plan, logs, partitions)
    assert fleet.run(random) == expected
    assert not fleet.letters


@pytest.mark.parametrize("seed", range(12))
def test_a_bound_for_what_waits_behind_a_route_changes_nothing(seed: int) -> None:
    random = Random(100 + seed)
    plan, partitions = program(random), random.choice([2, 3, 8])
    logs = history(random, partitions)
    fleet = Fleet(plan, logs, partitions, max_waiting=random.choice([0, 1, 4]))
    assert fleet.run(random) == undivided(plan, logs, partitions)
    assert not fleet.letters
    assert fleet.went_back > 0


def test_what_waits_for_a_source_that_is_away_is_bounded() -> None:
    plan = compile_rules(
        """event A (n: long) on "a"; event B (n: long) on "b";
        define X (n: long) from B as b and last A as a within 1 h from b where n = a.n;""",
        app="test",
    )
    sent = {forward.topic: 4 for sub in plan.subtopologies for forward in sub.forwards}
    (group,) = (n for sub in plan.subtopologies for n, of in enumerate(sub.groups) if of.subscribers)
    (channel,) = sent
    route = Engine(plan.to_json(), "route", 0, {}, forwards=sent)
    log: list[Record] = []

    def send(topic: str, count: int) -> None:
        """Send so many events on, a parcel each."""
        for number in range(count):
            record = Record(number, 1_000 + number, b"k", as_json({"n": number}))
            route.feed(Batch.build(topic, 0, [record]), NOW_MS)
            sent = [value for _, partition, value in route.take().parcels if partition == group]
            log.extend(Record(len(log) + n, 0, None, value) for n, value in enumerate(sent))

    def task() -> Engine:
        reads = {"a": [0], "b": [0]}
        return Engine(plan.to_json(), "global", group, destinations(plan), reads=reads, max_waiting=10)

    found, most, behind, at, steps = 0, 0, task(), 0, 0
    send("a", 200)
    send("b", 200)
    state: dict[bytes, bytes] = {}
    while at < len(log):
        behind.feed(Batch.build(channel, group, [log[at]]), NOW_MS)
        behind.run()
        at, most, steps = at + 1, max(most, behind.waiting), steps + 1
        if steps in {100, 350, 700}:
            # What was passed over is known after a restart, too.
            commit = behind.take()
            found += len(commit.outputs)
            for key, value in commit.state:
                if value is None:
                    state.pop(key, None)
                else:
                    state[key] = value
            behind = task()
            behind.load(list(state.items()))
            ((_, at),) = (behind.resume or {}).items()
        elif (passed_over := behind.passed_over) is not None:
            behind.read_again(*passed_over)
            at = passed_over[1]
    assert most <= 11
    assert steps > 700
    assert found + len(behind.take().outputs) == 199
    assert behind.waiting == 2, "the last of each wait for later ones"


CLOUD = [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"s")]

FINDINGS = {
    # The first record with an id is the event, though no rule wants it.
    "ids": (
        """event A (i: string, v: long) on "a" id i;
        event B (n: long) on "b";
        define X (n: long) from B as b and last A(v > 40) as a within 1 s from b where n = a.v;""",
        [
            ("a", 1_000, "k", {"i": "7", "v": 10}),
            ("a", 1_010, "k", {"i": "7", "v": 50}),
            ("b", 1_020, "k", {"n": 1}),
        ],
    ),
    # What must come next must not come behind something else, whatever that is.
    "next": (
        """event A (i: string, v: long) on "a" key i;
        define X from match every (A(v > 5) as a then next A(v > 5) as b within 30 s from a);""",
        [("a", 1_000 + n, "k", {"i": "k", "v": v}) for n, v in enumerate((10, 1, 50, 60))],
    ),
    # Alarms of several keys that are due at one time.
    "simultaneous alarms": (
        """event A (i: string) on "a" key i;
        event B (i: string) on "b" key i;
        define X (i: string) from match every (A($i) as a then not B($i) for 3 s) where i = $i;""",
        [("a", 1_000, key, {"i": key}) for key in "abcdefgh"],
    ),
}


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("finding", FINDINGS)
def test_what_was_found_once(finding: str, partitions: int) -> None:
    rules, events = FINDINGS[finding]
    plan = compile_rules(rules, app="test")
    records = [(topic, Record(0, time, key.encode(), as_json(values))) for topic, time, key, values in events]
    logs = spread(records, partitions)
    expected = undivided(plan, logs, partitions)
    assert Fleet(plan, logs, partitions).run(Random(1)) == expected


@pytest.mark.parametrize("partitions", [1, 3])
def test_a_topic_that_is_read_directly_and_behind_a_route(partitions: int) -> None:
    plan = compile_rules(
        """event A (x: string, y: string) on "t" key x;
        event B (x: string, y: string) on "t" key x;
        define X (k: string) from A(x = $k) ; B(y = $k) within 1 s where k = $k;
        define Y (k: string) from A(x = $k) ; A(x = $k) within 1 s where k = $k;""",
        app="test",
    )
    rows = [("A", 1_000, "k", "m"), ("B", 1_010, "m", "k"), ("B", 1_020, "k", "k"), ("A", 1_030, "k", "o")]
    records = [
        ("t", Record(0, time, x.encode(), as_json({"x": x, "y": y}), [*CLOUD, ("ce_type", kind.encode())]))
        for kind, time, x, y in rows
    ]
    logs = spread(records, partitions)
    expected = undivided(plan, logs, partitions)
    assert len(expected) == 3
    assert Fleet(plan, logs, partitions).run(Random(1)) == expected


def test_a_task_to_which_less_is_sent_than_before_goes_on_with_the_rest() -> None:
    events = """event A (x: string) on "t" key x; event B (x: string, y: string) on "u" key x;
        event C (x: string, z: string) on "t" key x;
        define X (k: string) from A(x = $k) ; B(y = $k) within 1 s where k = $k;"""
    more = "define Y (k: string) from C(z = $k) ; B(y = $k) within 1 s where k = $k;"

    def routed(rules: str) -> Engine:
        plan = compile_rules(rules, app="test")
        (sub,) = (sub for sub in plan.subtopologies if sub.name == "routed")
        reads = {topic: [0] for topic in plan.behind(sub)}
        return Engine(plan.to_json(), "routed", 0, destinations(plan), reads=reads)

    before = routed(events + more)
    headers = [*CLOUD, ("ce_type", b"A")]
    records = [Record(n, 1_000 + n, b"k", as_json({"x": "k"}), headers) for n in range(10)]
    before.feed(Batch.build("t", 0, records), NOW_MS)
    after = routed(events)
    after.load([(key, value) for key, value in before.take().state if value is not None])
    assert after.feed(Batch.build("t", 0, records), NOW_MS) == 10
    assert after.counts["read"] == 0, "they were read before, and waited"


def test_what_cannot_be_written_is_told_by_the_task_it_belongs_to() -> None:
    plan = compile_rules(
        """event A (i: string, v: long) on "a" key i;
        define C (i: string, q: long) from A(i = $i) as a where i = $i, q = 10 / a.v;
        define X from (C ; C) within 1 s;
        define Y from (C as c ; A(v > 90)) within 1 s;""",
        app="test",
    )
    logs = spread([("a", Record(0, 1_000, b"k", as_json({"i": "k", "v": 0})))], 1)
    fleet = Fleet(plan, logs, 1)
    fleet.run(Random(1))
    assert len(fleet.letters) == 1
