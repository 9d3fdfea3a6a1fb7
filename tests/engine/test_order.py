"""Order and watermarks: what is released when, what is late, and from where a task reads on."""

import pytest

from tocsin._engine import Batch

from .history import NOW_MS, Record, Task, as_json, by_topic, read_on, rules

FIRE = """
event Temp (area: string, value: double) on "temps" key area lateness 10 ms;
event Smoke (area: string, at: timestamp) on "smoke" key area time at;

define Fire (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > 45) as t within 3 min from s
where  area = $a, value = t.value;
"""


TASK_KEY = b"\0task"


def temp(offset: int, time: int, value: float = 50.0, area: str = "kitchen") -> Record:
    return Record(offset, time, area.encode(), as_json({"area": area, "value": value}))


def smoke(offset: int, time: int, area: str = "kitchen") -> Record:
    return Record(offset, NOW_MS, area.encode(), as_json({"area": area, "at": time}))


@pytest.fixture
def task() -> Task:
    return Task(rules(FIRE))


def values(task: Task) -> list[float]:
    return [detected.value["value"] for detected in task.detected]


def offsets(task: Task) -> dict[str, int]:
    return read_on(task.commit())


class TestRelease:
    def test_nothing_is_released_before_every_source_has_passed(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000), temp(1, 9000)])
        assert task.engine.run() == 0
        task.feed("smoke", [smoke(0, 2000)])
        assert task.engine.watermark_ms == 2000
        assert by_topic(task.engine.source_watermarks_ms) == {"temps": 8990, "smoke": 2000}
        assert task.engine.run() == 1
        assert (task.engine.released_ms, task.engine.waiting) == (2000, 2)
        task.feed("smoke", [smoke(1, 3000)])
        task.engine.run()
        task.commit()
        assert values(task) == [50.0]

    def test_an_event_at_the_watermark_still_waits(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000), temp(1, 1010)])
        task.feed("smoke", [smoke(0, 1000), smoke(1, 1000)])
        assert task.engine.watermark_ms == 1000
        assert task.engine.run() == 0
        task.feed("temps", [temp(2, 1011)])
        task.feed("smoke", [smoke(2, 1001)])
        assert task.engine.run() == 3

    def test_events_of_one_time_are_ordered_by_topic_key_and_offset(self) -> None:
        task = Task(
            rules("""
            event Tick (k: string, n: long) on "ticks" key k;
            define Step (k: string, n: long, before: long)
            from Tick(k = $k) as b and last Tick(k = $k) as a within 0 ms from b
            where k = $k, n = b.n, before = a.n;
            """)
        )
        ticks = [(b"z", 1), (b"a", 2), (b"z", 3), (None, 4), (b"a", 5)]
        records = [Record(i, 1000, key, as_json({"k": "k", "n": n})) for i, (key, n) in enumerate(ticks)]
        task.feed("ticks", records)
        task.finish()
        assert [(d.value["before"], d.value["n"]) for d in task.detected] == [(4, 2), (2, 5), (5, 1), (1, 3)]

    def test_events_that_no_rule_wants_do_not_wait_but_move_the_watermark(self, task: Task) -> None:
        task.feed("temps", [temp(0, 5000, value=45)])
        assert (task.engine.waiting, task.engine.source_watermarks_ms["temps", 0]) == (0, 4990)

    def test_silence_releases(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000)])
        task.feed("smoke", [smoke(0, 2000)])
        task.engine.advance("temps", 2001)
        task.engine.advance("smoke", 2001)
        task.engine.advance("smoke", 5)
        assert task.engine.watermark_ms == 2001
        assert task.engine.run() == 2
        task.commit()
        assert values(task) == [50.0]

    def test_what_is_of_others_is_refused(self, task: Task) -> None:
        with pytest.raises(ValueError, match="partition 0 of rain is none of the task's sources"):
            task.engine.advance("rain", 5)
        with pytest.raises(ValueError, match="partition 0 of rain is none of the task's sources"):
            task.feed("rain", [])
        with pytest.raises(ValueError, match="partition 1 of smoke is none of the task's"):
            task.engine.feed(Batch.build("smoke", 1, []), NOW_MS)


class TestWindows:
    @pytest.mark.parametrize(("distance_ms", "matches"), [(180_000, 1), (180_001, 0)])
    def test_both_ends_of_a_window_belong_to_it(self, task: Task, distance_ms: int, matches: int) -> None:
        task.feed("temps", [temp(0, 1000)])
        task.feed("smoke", [smoke(0, 1000 + distance_ms)])
        task.finish()
        assert len(values(task)) == matches

    def test_what_nothing_can_reach_any_more_is_forgotten(self, task: Task) -> None:
        task.feed("temps", [temp(i, 1000 + i, area=f"a{i}") for i in range(100)])
        task.engine.advance("smoke", 2000)
        task.engine.advance("temps", 2000)
        task.engine.run()
        task.commit()
        assert (task.engine.stored, len(task.state)) == (100, 101)
        for topic in task.engine.topics:
            task.engine.advance(topic, 400_000)
        task.engine.run()
        task.commit()
        assert (task.engine.stored, len(task.state)) == (0, 1)

    def test_state_is_what_changed_only(self, task: Task) -> None:
        task.feed("temps", [temp(i, 1000 + i, area=f"a{i}") for i in range(100)])
        task.engine.advance("smoke", 2000)
        task.engine.advance("temps", 2000)
        task.engine.run()
        assert len(task.commit().state) == 101
        task.feed("temps", [temp(100, 3000, area="a7")])
        task.engine.advance("smoke", 4000)
        task.engine.advance("temps", 4000)
        task.engine.run()
        assert len(task.commit().state) == 2
        assert len(task.commit().state) == 1


class TestLateness:
    def test_late_records_are_rejected_once(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000), temp(1, 2000)])
        task.feed("smoke", [smoke(0, 1500)])
        task.engine.run()
        assert task.engine.released_ms == 1500
        task.feed("temps", [temp(2, 1499), temp(3, 1500)])
        commit = task.commit()
        assert task.reasons == [("LATE", 2)]
        late = task.rejects[0]
        assert late.message == "1 ms behind what was released"
        assert (late.topic, late.timestamp, late.key, late.value) == (
            "temps",
            1499,
            b"kitchen",
            temp(2, 1499)[3],
        )
        assert read_on(commit) == {"temps": 1, "smoke": 0}
        assert task.crash() == {"temps": 1, "smoke": 0}
        task.feed("temps", [temp(1, 2000), temp(2, 1499), temp(3, 1500)])
        task.feed("smoke", [smoke(0, 1500), smoke(1, 9000)])
        task.finish()
        assert task.reasons == [("LATE", 2)]
        assert values(task) == [50.0, 50.0]
        assert task.engine.counts["late"] == 0

    def test_a_record_within_the_lateness_is_in_time(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000)])
        task.engine.advance("smoke", 5000)
        task.engine.run()
        task.feed("temps", [temp(1, 990, 99.0), temp(2, 989)])
        task.feed("smoke", [smoke(0, 5000)])
        task.finish()
        assert task.reasons == [("LATE", 2)]
        assert values(task) == [50.0]

    @pytest.mark.parametrize("time", [-1, NOW_MS + 3_600_001, 2**63 - 1, -(2**63)])
    def test_times_that_cannot_be(self, task: Task, time: int) -> None:
        task.feed("temps", [temp(0, time)])
        task.feed("smoke", [smoke(0, time)])
        task.finish()
        assert task.reasons == [("BAD_TIME", 0)] * 2
        assert f"event time {time} is negative or too far ahead" in task.rejects[0].message

    def test_how_far_ahead_is_a_setting(self) -> None:
        task = Task(rules(FIRE), limits={"max_ahead_ms": 5})
        task.feed("temps", [temp(0, NOW_MS + 5), temp(1, NOW_MS + 6)])
        task.commit()
        assert task.reasons == [("BAD_TIME", 1)]


class TestReadingOn:
    def test_without_state_there_is_nowhere_to_read_on(self, task: Task) -> None:
        assert task.engine.resume is None
        task.engine.load([])
        assert task.engine.resume is None

    def test_from_the_oldest_record_that_waits(self, task: Task) -> None:
        assert offsets(task) == {"smoke": 0, "temps": 0}
        task.feed("temps", [temp(5, 3000), temp(6, 2995), temp(7, 8000)])
        task.feed("smoke", [smoke(2, 2990)])
        task.engine.run()
        assert offsets(task) == {"temps": 5, "smoke": 2}
        task.feed("smoke", [smoke(3, 2996)])
        task.engine.run()
        assert offsets(task) == {"temps": 5, "smoke": 3}
        task.feed("smoke", [smoke(4, 9000)])
        task.engine.run()
        assert offsets(task) == {"temps": 7, "smoke": 4}
        task.finish()
        assert offsets(task) == {"temps": 8, "smoke": 5}

    def test_one_source_again_does_not_outrun_another(self, task: Task) -> None:
        """What waited must be read again before the watermark that the other sources allow is used."""
        task.feed("temps", [temp(0, 1000), temp(1, 5000)])
        task.feed("smoke", [smoke(0, 900)])
        task.engine.run()
        task.commit()
        task.crash()
        task.feed("smoke", [smoke(0, 900), smoke(1, 3000), smoke(2, 4000)])
        assert by_topic(task.engine.source_watermarks_ms) == {"temps": 900, "smoke": 4000}
        assert task.engine.run() == 0
        task.feed("temps", [temp(0, 1000)])
        assert task.engine.run() == 0
        task.feed("temps", [temp(1, 5000)])
        assert task.engine.watermark_ms == 4000
        task.finish()
        assert task.reasons == []
        assert values(task) == [50.0, 50.0]

    def test_a_commit_before_everything_was_read_again_loses_nothing(self, task: Task) -> None:
        task.feed("temps", [temp(3, 1000), temp(4, 5000)])
        task.commit()
        task.crash()
        assert offsets(task) == {"temps": 3, "smoke": 0}
        task.crash()
        task.feed("temps", [temp(3, 1000)])
        assert offsets(task) == {"temps": 3, "smoke": 0}
        assert task.crash() == {"temps": 3, "smoke": 0}
        task.feed("temps", [temp(3, 1000), temp(4, 5000)])
        task.feed("smoke", [smoke(0, 2000)])
        task.finish()
        assert values(task) == [50.0]

    def test_what_is_gone_from_the_log_is_not_waited_for(self, task: Task) -> None:
        task.feed("temps", [temp(3, 1000)])
        task.commit()
        task.crash()
        task.feed("smoke", [smoke(0, 2000)])
        task.engine.advance("temps", 3000)
        assert task.engine.watermark_ms == 2000
        assert offsets(task) == {"temps": 4, "smoke": 0}

    def test_a_record_that_comes_twice_counts_once(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000), temp(1, 1001)])
        task.feed("temps", [temp(1, 1001)])
        task.feed("smoke", [smoke(0, 2000)])
        task.feed("smoke", [smoke(0, 2000)])
        task.finish()
        assert values(task) == [50.0]
        assert task.engine.counts["read"] == 3

    def test_what_is_bad_in_itself_is_not_remembered(self, task: Task) -> None:
        bad = [Record(2 * number + 1, 1000, b"k", b"bad") for number in range(100)]
        good = [temp(2 * number, 1000) for number in range(100)]
        spared = Task(rules(FIRE))
        spared.feed("temps", good)
        spared.commit()
        task.feed("temps", sorted(good + bad))
        task.commit()
        assert len(task.state[TASK_KEY]) < len(spared.state[TASK_KEY]) + 10
        task.crash()
        task.feed("temps", sorted(good + bad))
        task.finish()
        assert task.reasons == [("UNDECODABLE", record.offset) for record in bad]

    def test_what_was_refused_stays_refused(self, task: Task) -> None:
        """A time too far ahead is not, by the time the record is read again."""
        ahead = NOW_MS + 3_600_001
        bad = Record(3, 1000, b"kitchen", b"garbage")
        records = [temp(0, 1000), temp(1, ahead), bad._replace(offset=2), bad, temp(4, ahead)]
        task.feed("temps", records)
        task.commit()
        reasons = [("BAD_TIME", 1), ("UNDECODABLE", 2), ("UNDECODABLE", 3), ("BAD_TIME", 4)]
        assert task.reasons == reasons
        for _ in range(2):
            task.crash()
            task.feed("temps", records, now_ms=NOW_MS + 10)
            task.commit()
        assert (task.reasons, task.engine.waiting) == (reasons, 1)
        task.feed("temps", [temp(5, ahead)], now_ms=NOW_MS + 10)
        task.finish()
        assert task.reasons == reasons

    def test_what_was_accepted_stays_accepted(self, task: Task) -> None:
        """Even by a worker whose clock is behind."""
        task.feed("temps", [temp(0, NOW_MS)])
        task.commit()
        task.crash()
        task.feed("temps", [temp(0, NOW_MS)], now_ms=0)
        task.commit()
        assert (task.reasons, task.engine.waiting) == ([], 1)

    def test_refusals_are_forgotten_when_they_are_behind(self, task: Task) -> None:
        task.feed("temps", [temp(0, 1000)])
        task.commit()
        usual = len(task.state[TASK_KEY])
        task.feed("temps", [temp(2 * i, -1) for i in range(1, 50)])
        task.commit()
        assert len(task.state[TASK_KEY]) > usual + 49
        task.finish()
        assert len(task.state[TASK_KEY]) < usual + 10


def test_what_is_detected_counts_once(task: Task) -> None:
    task.feed("temps", [temp(0, 1000)])
    task.feed("smoke", [smoke(0, 2000)])
    for topic in task.engine.topics:
        task.engine.advance(topic, 5000)
    task.engine.run()
    assert task.engine.counts["detected"] == 1
    task.commit()
    task.commit()
    assert task.engine.counts["detected"] == 1


def test_counts(task: Task) -> None:
    task.feed("temps", [temp(0, 1000), temp(1, 1000, 5.0), Record(2, 5, None, None)])
    task.feed("smoke", [smoke(0, 2000)])
    task.finish()
    task.feed("smoke", [smoke(1, 2000)])
    assert task.engine.counts == {
        "read": 5,
        "handled": 2,
        "detected": 1,
        "late": 1,
        "rejected": 1,
        "not_ours": 0,
        "ignored": 0,
    }


CLOCK = """
event A (k: string) on "a" key k;
event B (k: string) on "b" key k;
define Tick from periodic(A(k = $k), 1 s, B(k = $k)) unbounded;
"""


def named(offset: int, time: int) -> Record:
    return Record(offset, time, b"k", as_json({"k": "k"}))


class TestBounds:
    """However far the watermark goes on, a run does no more than it is asked to."""

    LATER_MS = 100_000

    @pytest.fixture
    def clock(self) -> Task:
        task = Task(rules(CLOCK))
        task.feed("a", [named(0, 0), named(1, self.LATER_MS)])
        task.feed("b", [named(0, self.LATER_MS)])
        return task

    def test_a_run_stops_behind_a_whole_time(self, clock: Task) -> None:
        assert clock.engine.is_behind
        assert clock.engine.run(10) == 10
        assert (clock.engine.is_behind, clock.engine.released_ms) == (True, 9001)
        assert len(clock.commit().outputs) == 9

    def test_all_of_one_time_is_handled_together(self) -> None:
        task = Task(rules(CLOCK))
        task.feed("a", [named(0, 0), named(1, 0), named(2, 0), named(3, 2500)])
        task.feed("b", [named(0, 2500)])
        assert task.engine.run(1) == 3
        assert task.engine.released_ms == 1

    @pytest.mark.parametrize("crashes", [False, True])
    def test_nothing_else_depends_on_where_it_stops(self, clock: Task, *, crashes: bool) -> None:
        at_once = Task(rules(CLOCK))
        at_once.feed("a", [named(0, 0), named(1, self.LATER_MS)])
        at_once.feed("b", [named(0, self.LATER_MS)])
        assert at_once.engine.run() > 90
        at_once.commit()
        runs = 0
        while clock.engine.is_behind:
            assert clock.engine.run(7) <= 7
            clock.commit()
            runs += 1
            if crashes:
                places = clock.crash()
                clock.feed("a", [named(0, 0), named(1, self.LATER_MS)][places["a"] :])
                clock.feed("b", [named(0, self.LATER_MS)][places["b"] :])
        assert runs > 10
        assert not at_once.engine.is_behind
        assert clock.detected == at_once.detected
