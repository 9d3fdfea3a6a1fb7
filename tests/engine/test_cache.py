"""A bound for what is in memory: what is away is asked for in bulk, and nothing else shows."""

import pytest

from tocsin._engine import Batch, Engine

from .history import NOW_MS, Record, as_json, by_topic, engine_of, rules

RULES = rules("""
    event Temp (sensor: string, value: double) on "temps" key sensor;
    event Smoke (sensor: string) on "smoke" key sensor;
    define Fire (sensor: string, value: double)
    from   Smoke(sensor = $s) as smoke and last Temp(sensor = $s, value > 45) as temp within 10 s from smoke
    where  sensor = $s, value = temp.value;
    define Both (sensor: string)
    from   (Temp(sensor = $s) ; Smoke(sensor = $s)) within 10 s
    where  sensor = $s
    context chronicle;
""")
SENSORS = [f"s{i}" for i in range(20)]


class Kept:
    """An engine with a bound, and what was committed of it."""

    def __init__(self, cache_bytes: int | None) -> None:
        self.engine: Engine = engine_of(RULES, cache_bytes=cache_bytes)
        self.state: dict[bytes, bytes] = {}
        self.asked: list[list[bytes]] = []
        self.outputs: list[object] = []
        self.offsets = {"temps": 0, "smoke": 0}

    def fetch(self, prefixes: list[bytes]) -> list[tuple[bytes, bytes]]:
        self.asked.append(prefixes)
        return [entry for entry in self.state.items() if entry[0].startswith(tuple(prefixes))]

    def feed(self, topic: str, time: int, sensors: list[str]) -> None:
        for sensor in sensors:
            offset = self.offsets[topic]
            value = as_json({"sensor": sensor, "value": 50.0} if topic == "temps" else {"sensor": sensor})
            self.engine.feed(Batch.build(topic, 0, [Record(offset, time, sensor.encode(), value)]), NOW_MS)
            self.offsets[topic] += 1

    def run(self, until: int) -> None:
        for topic in self.engine.topics:
            self.engine.advance(topic, until)
        self.engine.run(fetch=self.fetch)

    def commit(self) -> None:
        commit = self.engine.take()
        for key, value in commit.state:
            if value is None:
                del self.state[key]
            else:
                self.state[key] = value
        self.engine.committed()
        self.outputs += commit.outputs


def filled(cache_bytes: int | None) -> Kept:
    kept = Kept(cache_bytes)
    kept.feed("temps", 1000, SENSORS)
    kept.run(2000)
    kept.commit()
    return kept


def test_what_is_committed_is_let_go() -> None:
    assert filled(None).engine.cached == (0, True), "without a bound nothing is counted"
    in_memory, is_all = filled(1_000_000).engine.cached
    assert in_memory > 0
    assert is_all
    none = filled(0).engine
    assert none.stored == 0
    assert not none.cached[1]
    part, is_all = filled(in_memory // 2).engine.cached
    assert 0 < part <= in_memory // 2
    assert not is_all


def test_what_a_batch_needs_is_asked_for_at_once() -> None:
    kept = filled(0)
    kept.feed("smoke", 3000, SENSORS[:5])
    kept.run(4000)
    assert [len(prefixes) for prefixes in kept.asked] == [10]
    kept.run(5000)
    assert len(kept.asked) == 1, "nothing more is needed"
    free = filled(None)
    free.feed("smoke", 3000, SENSORS[:5])
    free.run(5000)
    kept.commit()
    free.commit()
    assert len(free.outputs) == 10
    assert kept.outputs == free.outputs
    assert kept.state == free.state


@pytest.mark.parametrize("cache_bytes", [0, 1_000_000])
def test_what_has_expired_is_found_by_sweeping(cache_bytes: int) -> None:
    kept, free = filled(cache_bytes), filled(None)
    for one in (kept, free):
        assert len(one.state) > len(SENSORS)
        one.feed("temps", 58_000, SENSORS[:2])
        one.run(60_000)
        one.engine.sweep(list(one.state.items()))
        one.commit()
    assert kept.state == free.state
    assert len(kept.state) == 5, "the last temperature of two sensors, twice, and the task itself"


def test_what_is_gone_is_not_asked_for_though_it_is_still_stored() -> None:
    kept, free = filled(0), filled(None)
    for one in (kept, free):
        one.feed("smoke", 3000, SENSORS[:1])  # takes the initiator of Both
        one.run(3500)
        one.feed("smoke", 4000, SENSORS[:1])
        one.run(4500)
        one.commit()
        one.feed("smoke", 5000, SENSORS[:1])
        one.run(5500)
        one.commit()
    assert len(free.outputs) == 4, "three fires, and Both once"
    assert kept.outputs == free.outputs
    assert kept.state == free.state
    assert len({prefix for prefixes in kept.asked for prefix in prefixes}) == 2


def test_the_least_recently_used_goes_first() -> None:
    kept = filled(filled(1_000_000).engine.cached[0])
    kept.feed("temps", 2000, SENSORS[10:])
    kept.run(3000)
    kept.commit()
    kept.feed("temps", 3000, SENSORS[10:])
    kept.run(4000)
    assert kept.asked == [], "what was used last is still there"


def test_a_failure_to_fetch_comes_out_and_can_be_undone() -> None:
    kept, free = filled(0), filled(None)
    kept.feed("smoke", 3000, SENSORS[:5])

    def fail(_: list[bytes]) -> list[tuple[bytes, bytes]]:
        raise OSError("no such disk")

    for topic in kept.engine.topics:
        kept.engine.advance(topic, 4000)
    with pytest.raises(OSError, match="no such disk"):
        kept.engine.run(fetch=fail)
    kept.engine.undo(kept.fetch)
    assert by_topic(kept.engine.resume or {}) == {"temps": 20, "smoke": 0}
    kept.offsets["smoke"] = 0
    for one in (kept, free):
        one.feed("smoke", 3000, SENSORS[:5])
        one.run(4000)
        one.commit()
    assert len(free.outputs) == 10
    assert kept.outputs == free.outputs
    assert kept.state == free.state


def test_nobody_is_there_to_be_asked() -> None:
    kept = filled(0)
    kept.feed("smoke", 3000, SENSORS[:1])
    for topic in kept.engine.topics:
        kept.engine.advance(topic, 4000)
    with pytest.raises(ValueError, match="what is not in memory is needed"):
        kept.engine.run()


def test_what_is_loaded_counts_and_is_let_go_too() -> None:
    before = filled(1_000_000)
    again = Kept(1_000_000)
    again.engine.load(list(before.state.items()))
    assert again.engine.cached == before.engine.cached
    bounded = Kept(0)
    bounded.engine.load(list(before.state.items()))
    bounded.commit()
    assert bounded.engine.stored == 0


def test_of_what_can_be_away_nothing_need_be_loaded() -> None:
    before, free = filled(1_000_000), filled(None)
    again = Kept(1_000_000)
    again.state, again.offsets = dict(before.state), dict(before.offsets)
    shelved = tuple(again.engine.shelved)
    again.engine.load([entry for entry in again.state.items() if not entry[0].startswith(shelved)])
    again.engine.let_go()
    assert again.engine.cached == (0, False)
    for one in (again, free):
        one.feed("smoke", 3000, SENSORS)
        one.run(4000)
        one.commit()
    assert again.outputs == free.outputs
    assert again.state == free.state


def test_what_is_not_stored_is_not_asked_for() -> None:
    kept = filled(0)
    kept.feed("temps", 2000, ["new"])
    kept.run(3000)
    assert kept.asked == []
    again = Kept(0)
    again.state, again.offsets = dict(kept.state), dict(kept.offsets)
    again.engine.load([(b"\0task", again.state[b"\0task"])])
    again.engine.let_go()
    again.feed("temps", 4000, ["new"])
    again.run(5000)
    assert len(again.asked) == 1, "nobody knows yet"
    again.engine.sweep(list(again.state.items()))
    again.engine.swept()
    again.commit()
    again.feed("temps", 6000, ["new", "newer", SENSORS[0]])
    again.run(7000)
    assert [len(prefixes) for prefixes in again.asked] == [2, 4], "a sensor in the store and in the operator"


def test_more_than_is_allowed_shows_before_anything_is_committed() -> None:
    entries = list(filled(None).state.items())
    for cache_bytes, is_full in ((None, False), (1_000_000, False), (100, True)):
        kept = Kept(cache_bytes)
        kept.engine.load(entries)
        assert kept.engine.is_full is is_full


def test_what_was_fetched_counts_though_it_did_not_change() -> None:
    whole = filled(1_000_000).engine.cached[0]
    kept = filled(0)
    kept.feed("smoke", 3000, SENSORS)
    kept.run(4000)
    assert kept.engine.cached[0] > whole // 2
    kept.commit()
    assert kept.engine.stored == 0
