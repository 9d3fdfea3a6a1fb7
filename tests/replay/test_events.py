"""Files of events: what is detected, in what order, and up to when."""

from pathlib import Path
from random import Random

import pytest

from tests.replay.conftest import MINUTE_MS, START_MS, Run, WriteLines, smoke, temp
from tocsin.errors import InputError
from tocsin.replay import streams
from tocsin.testing import Driver
from tocsin.topology import Plan, compile_rules

ABSENCE = """
event Ping (host: string) on "pings" key host lateness 1 s;

define Lost (host: string)
from   match every Ping($h) as p then not Ping($h) for 5 min
where  host = $h;
"""


def test_a_file_gives_what_publishing_it_gives(run: Run, lines: WriteLines, fire: Plan) -> None:
    rng = Random(7)
    events = [
        smoke(i / 9, rng.choice("abc"))
        if rng.random() < 0.3
        else temp(i / 9, rng.uniform(20, 90), rng.choice("abc"))
        for i in range(200)
    ]
    driver = Driver(fire)
    for event in events:
        attributes = {name: value for name, value in event.items() if name not in {"type", "time"}}
        driver.publish(event["type"], attributes, at=event["time"])
    driver.advance(driver.time_ms)
    replayed = run(lines("events.jsonl", events))
    expected = [(fire.attributes, fire.start_ms, fire.end_ms) for fire in driver.detected()]
    assert expected
    assert [(fire.attributes, fire.start_ms, fire.end_ms) for fire in replayed] == expected
    assert (replayed.summary.read, replayed.summary.late, replayed.summary.refused) == (200, 0, 0)
    assert replayed.summary.detected == {"Fire": len(expected)}


def test_two_replays_are_the_same(run: Run, lines: WriteLines) -> None:
    path = lines("events.jsonl", [temp(0, 50), temp(1, 60), smoke(2), smoke(2)])
    assert list(run(path)) == list(run(path))


def test_files_are_read_by_their_times_and_not_one_after_the_other(run: Run, lines: WriteLines) -> None:
    temps = lines("temps.jsonl", [temp(0, 50), temp(2, 60), temp(4, 70)])
    smokes = lines("smoke.jsonl", [smoke(1), smoke(3)])
    assert run(temps, smokes).values == [50, 60]
    assert run(smokes, temps).values == [50, 60]


def test_a_file_need_not_fit_a_chunk(run: Run, lines: WriteLines, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for i in range(10) for event in (temp(i, 50 + i), smoke(i + 0.5))]
    whole = run(lines("events.jsonl", events))
    monkeypatch.setattr("tocsin.replay.files.CHUNK", 3)
    assert len(events) < streams.CHUNK
    assert run(lines("events.jsonl", events)).identities == whole.identities
    assert whole.values == [50.0 + i for i in range(10)]


def test_what_is_out_of_order_by_more_than_the_lateness_is_late(
    run: Run, lines: WriteLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.replay.files.CHUNK", 1)
    path = lines("events.jsonl", [temp(0, 50), temp(1, 60), temp(0.5, 70), smoke(1.1)])
    replayed = run(path)
    assert (replayed.values, replayed.summary.late) == ([60], 1)


def test_rules_that_cross_partitions_run_too(run: Run, lines: WriteLines) -> None:
    plan = compile_rules(
        'event Temp (area: string, value: double) on "temps" key area;'
        'event Smoke (area: string) on "smoke" key area;'
        "define Far (area: string, value: double) "
        "from Smoke as s and last Temp(value > 45) as t within 3 min from s "
        'where area = s.area, value = t.value; rule Page on Far if value > 60 do call "ops:page";',
        app="far",
    )
    path = lines("events.jsonl", [temp(0, 50), smoke(1, "attic"), temp(2, 70, "kitchen"), smoke(3)])
    replayed = run(path, plan=plan)
    assert [(far.attributes["area"], far.attributes["value"]) for far in replayed] == [
        ("attic", 50),
        ("hall", 70),
    ]


class TestTheEnd:
    @pytest.fixture
    def absence(self) -> Plan:
        return compile_rules(ABSENCE, app="absence")

    @pytest.fixture
    def pings(self, lines: WriteLines) -> Path:
        times = {"a": 0, "b": 4, "a ": 5.5}
        rows = [
            {"type": "Ping", "time": START_MS + int(at * MINUTE_MS), "host": h.strip()}
            for h, at in times.items()
        ]
        return lines("pings.jsonl", rows)

    def test_time_goes_on_to_the_last_event(self, run: Run, absence: Plan, pings: Path) -> None:
        replayed = run(pings, plan=absence)
        assert [(lost.attributes["host"], lost.end_ms) for lost in replayed] == [
            ("a", START_MS + 5 * MINUTE_MS)
        ]
        assert replayed.summary.until_ms == START_MS + int(5.5 * MINUTE_MS)

    def test_or_to_where_it_is_told_to(self, run: Run, absence: Plan, pings: Path) -> None:
        until_ms = START_MS + 9 * MINUTE_MS
        assert [lost.attributes["host"] for lost in run(pings, plan=absence, until_ms=until_ms)] == ["a", "b"]
        assert [lost.attributes["host"] for lost in run(pings, plan=absence, until_ms=until_ms - 1)] == ["a"]

    def test_which_may_be_before_the_end_of_the_log(self, run: Run, absence: Plan, pings: Path) -> None:
        until_ms = START_MS + 5 * MINUTE_MS
        assert [lost.attributes["host"] for lost in run(pings, plan=absence, until_ms=until_ms)] == ["a"]
        assert run(pings, plan=absence, until_ms=until_ms - 1) == []

    def test_what_lies_in_the_future_is_read_if_time_is_to_get_there(
        self, run: Run, absence: Plan, lines: WriteLines
    ) -> None:
        far_ms = START_MS + 100 * 365 * 24 * 60 * MINUTE_MS
        path = lines("pings.jsonl", [{"type": "Ping", "time": far_ms, "host": "a"}])
        with pytest.raises(InputError, match=r"pings\.jsonl, line 1: .* too far ahead of the clock"):
            run(path, plan=absence)
        assert len(run(path, plan=absence, until_ms=far_ms + 5 * MINUTE_MS)) == 1


class TestTypes:
    def test_all_lines_may_be_of_one_type(self, run: Run, lines: WriteLines) -> None:
        bare = [{name: value for name, value in temp(0, 50).items() if name != "type"}]
        temps = lines("temps.jsonl", bare)
        assert run(temps, event="Temp").summary.read == 1

    def test_types_that_share_a_topic_are_told_apart(self, run: Run, lines: WriteLines) -> None:
        plan = compile_rules(
            'event A (n: int) on "both" key n; event B (n: int) on "both" key n;'
            "define AB (n: int) from B(n = $n) as b and last A(n = $n) as a within 1 h from b where n = $n;",
            app="both",
        )
        rows = [{"type": name, "time": START_MS + at, "n": 7} for at, name in enumerate("BABA")]
        assert len(run(lines("both.jsonl", rows), plan=plan)) == 1

    def test_an_attribute_may_be_the_time(self, run: Run, lines: WriteLines) -> None:
        plan = compile_rules(
            'event A (n: int, at: timestamp) on "as" key n time at; define Twice (n: int) '
            "from A(n = $n) as b and last A(n = $n) as a within 1 h from b where n = $n;",
            app="times",
        )
        rows = [{"type": "A", "n": 7, "at": at} for at in ("2026-01-02T09:00:00Z", START_MS + MINUTE_MS)]
        replayed = run(lines("as.jsonl", rows), plan=plan)
        assert [(e.start_ms, e.end_ms) for e in replayed] == [(START_MS, START_MS + MINUTE_MS)]

    def test_events_that_no_rule_reads_are_passed_over(self, run: Run, lines: WriteLines) -> None:
        plan = compile_rules(
            'event A (n: int) on "as"; event Other (n: int) on "others"; '
            "define B (n: int) from A as a where n = a.n;",
            app="others",
        )
        rows = [{"type": name, "time": START_MS, "n": 7} for name in ("Other", "A", "Other")]
        replayed = run(lines("events.jsonl", rows), plan=plan)
        assert (len(replayed), replayed.summary.read) == (1, 1)
