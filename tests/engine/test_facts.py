"""Facts and the rules over them on the engine: what is kept and for how long, and what is not run here.

What rules detect and do is held against the oracle in `differential`; here stands what that rarely meets.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.engine.differential.decoding import complex_event
from tests.engine.differential.records import TASK, planned
from tests.engine.differential.worker import PARTITION
from tocsin._engine import Batch, Engine

NOW = 1_000_000
ROUNDS = 1000
"""How often rules act at one position at most."""
KEPT = 40
"""More than what the rules of a test need at any time."""

PLANT = """
fact  Fault (machine: string, level: long) key machine on "faults";
event Reset (machine: string, n: long?) on "resets" key machine;
event Seen  (text: string, n: long?) on "seen";
"""


class Task:
    """An engine in which all topics go on together, and what it published."""

    def __init__(self, rules: str) -> None:
        self.plan: Mapping[str, Any] = planned(PLANT + rules)
        self.types = {t["name"]: t for t in self.plan["types"]}
        self.state: dict[bytes, bytes] = {}
        self.sent: dict[str, int] = {}
        self.letters: list[bytes] = []
        self.engine = self.begin()

    def begin(self) -> Engine:
        return Engine(json.dumps(self.plan), TASK, PARTITION, {"Seen": ("out", b"", 1)})

    def send(
        self,
        topic: str,
        t: int,
        key: str | None,
        value: Mapping[str, Any] | None,
        headers: list[tuple[str, bytes]] | None = None,
    ) -> None:
        offset = self.sent[topic] = self.sent.get(topic, -1) + 1
        body = None if value is None else json.dumps(value).encode()
        record = (offset, t, None if key is None else key.encode(), body, headers)
        self.engine.feed(Batch.build(topic, PARTITION, [record]), NOW)

    def fault(self, t: int, machine: str, level: int | None) -> None:
        value = None if level is None else {"machine": machine, "level": level}
        self.send("faults", t, machine, value)

    def reset(self, t: int, machine: str, n: int | None = None) -> None:
        self.send("resets", t, machine, {"machine": machine, "n": n})

    def until(self, t: int) -> list[tuple[str, int]]:
        """Let everything before a time happen; return what was published: text and time."""
        for topic in self.engine.topics:
            self.engine.advance(topic, t)
        self.engine.run()
        commit = self.engine.take()
        for key, value in commit.state:
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = value
        self.letters += [letter[2] for letter in commit.letters]
        events = [complex_event(body, self.types["Seen"]) for _, _, _, body, _ in commit.outputs]
        return [(event.attributes["text"], event.end) for event in events]

    def restart(self) -> None:
        self.engine = self.begin()
        self.engine.load(list(self.state.items()))


SEE = "rule See when fact Fault() as f event Reset() as r then publish Seen(text = f.machine, n = f.level);"

PAIR = """
rule Pair
when event Reset(machine = $m) as a  event Reset(machine = $m, this after [1 ms, 10 ms] a) as b
     not fact Fault(machine = $m)
then publish Seen(text = $m);
"""


@pytest.mark.parametrize("restarts", [False, True])
class TestKept:
    """What is kept counts, and comes back when a task starts again."""

    def test_facts(self, *, restarts: bool) -> None:
        task = Task(SEE)
        task.fault(1, "a", 1)
        task.fault(1, "b", 1)
        task.fault(2, "b", None)
        assert task.until(3) == []
        if restarts:
            task.restart()
        task.reset(4, "x")
        assert task.until(5) == [("a", 4)]

    def test_a_denied_fact_that_is_over_counts_between_events(self, *, restarts: bool) -> None:
        task = Task(PAIR)
        task.reset(10, "a")
        task.reset(10, "b")
        task.fault(11, "a", 1)
        task.fault(12, "a", None)
        assert task.until(13) == []
        if restarts:
            task.restart()
        task.reset(20, "a")
        task.reset(20, "b")
        assert task.until(21) == [("b", 20)]
        task.reset(22, "a")
        assert task.until(23) == [("a", 22)]  # with that of 20 alone

    def test_an_event_until_the_last_moment_it_can_match(self, *, restarts: bool) -> None:
        task = Task(PAIR)
        task.reset(10, "a")
        assert task.until(20) == []
        if restarts:
            task.restart()
        task.reset(20, "a")
        assert task.until(21) == [("a", 20)]

    def test_no_event_that_was_retracted(self, *, restarts: bool) -> None:
        retract = "rule Undo when event Reset(n = 1) as r then retract r;"
        task = Task(PAIR + retract)
        task.reset(10, "a", n=1)
        task.reset(10, "b")
        assert task.until(11) == []
        if restarts:
            task.restart()
        task.reset(12, "a")
        task.reset(12, "b")
        assert task.until(13) == [("b", 12)]

    def test_how_often_a_rule_fired(self, *, restarts: bool) -> None:
        task = Task("rule Few when event Reset() as r then publish Seen(text = r.machine) at most 2 ever;")
        task.reset(1, "a")
        assert task.until(2) == [("a", 1)]
        if restarts:
            task.restart()
        task.reset(3, "b")
        task.reset(4, "c")
        assert task.until(5) == [("b", 3)]


def test_nothing_is_kept_longer_than_it_can_count() -> None:
    task = Task(PAIR)
    for t in range(1000):
        task.reset(t, "a")
        task.fault(t, "b", t % 2 or None)
        task.until(t)
        assert task.engine.stored < KEPT
    task.fault(1000, "b", None)
    task.until(2000)
    assert task.engine.stored == 0
    assert list(task.state) == [b"\0task"]


def test_rules_of_one_position_act_by_priority() -> None:
    rules = """
    rule Low  when fact Fault() as f event Reset(machine = f) then modify f (level = 1);
    rule High when fact Fault() as f event Reset(machine = f) then modify f (level = f.level + 9) priority 5;
    rule Tell when event change Fault() as f to () as c then publish Seen(text = f.machine, n = f.level);
    """
    task = Task(rules)
    task.fault(1, "a", 7)
    task.reset(2, "a")
    assert task.until(3) == [("a", 2)]
    task.reset(4, "a")
    assert task.until(5) == []  # 10, then 1 again: no change


def test_facts_stand_before_the_events_of_their_time() -> None:
    task = Task(SEE)
    task.reset(5, "x")
    task.fault(5, "a", 1)
    assert task.until(6) == [("a", 5)]


def test_a_rule_that_causes_itself_comes_to_an_end() -> None:
    rules = """
    rule Up   when fact Fault(level = 0) as f then modify f (level = 1);
    rule Down when fact Fault(level = 1) as f then modify f (level = 0);
    """
    task = Task(rules + SEE)
    task.fault(1, "a", 0)
    task.reset(2, "x")
    assert task.until(3) == [("a", 2)]
    (letter,) = task.letters
    assert b"causes itself again and again" in letter


def test_events_that_cause_themselves_come_to_an_end() -> None:
    task = Task("rule Echo when event Seen(n < 5000) as s then publish Seen(text = s.text, n = s.n + 1);")
    task.send("seen", 1, None, {"text": "a", "n": 0})
    published = task.until(2)
    assert len(published) == ROUNDS
    (letter,) = task.letters
    assert b"causes itself again and again" in letter


def test_what_is_done_outside_is_not_done_here() -> None:
    rules = """
    rule Calls when event Reset() as r then call "ops:page", publish Seen(text = r.machine);
    rule Flushes when event Reset() as r then flush all, publish Seen(text = "flushed");
    """
    task = Task(rules)
    task.reset(1, "a")
    assert task.until(2) == [("flushed", 1)]


def test_a_record_without_a_value_needs_a_key() -> None:
    task = Task(SEE)
    task.send("faults", 1, None, None)
    task.send("resets", 1, "a", None)
    task.until(2)
    faults, resets = sorted(task.letters, key=lambda letter: b"resets" in letter)
    assert b"neither value nor key" in faults
    assert b"no value" in resets


def test_a_fact_is_set_and_taken_out_when_the_cloud_event_says() -> None:
    def at(second: int) -> list[tuple[str, bytes]]:
        time = f"1970-01-01T00:00:0{second}Z".encode()
        return [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"s"), ("ce_time", time)]

    task = Task(SEE)
    task.send("faults", 5_000, "a", {"machine": "a", "level": 1}, at(1))
    task.send("faults", 6_000, "a", None, at(2))
    task.reset(1_500, "x")
    task.reset(3_000, "x")
    assert task.until(9_000) == [("a", 1_500)]
