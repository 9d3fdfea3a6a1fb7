"""Events that other applications detect: what they are called, and when time goes on over them."""

from .history import Record, Task, as_json, rules

SITE = """
event Fire (area: string) of "plant" key area;
event Guard (area: string) on "guards" key area;
define Unattended (area: string) from Fire(area = $a) as f and not Guard(area = $a) within 5 s from f
where  area = $a;
"""
FIRES = "tocsin.plant.Fire"
HALL = as_json({"area": "hall"})


def fire(offset: int, at_ms: int, identity: bytes | None) -> Record:
    return Record(offset, at_ms, identity, HALL)


def test_they_are_called_by_their_identity_and_lie_where_their_record_does() -> None:
    task, elsewhere = Task(rules(SITE)), Task(rules(SITE))
    task.feed(FIRES, [fire(3, 1000, b"c0ffee")])
    elsewhere.feed(FIRES, [fire(8, 1000, b"c0ffee")])
    task.finish()
    elsewhere.finish()
    (found,), (again,) = task.detected, elsewhere.detected
    assert found.key == again.key
    assert found.provenance == (("f", FIRES, 0, 3),)
    assert found.value["detection"]["provenance"][0]["label"] == "Fire#c0ffee"


def test_one_that_is_published_again_is_the_same_event() -> None:
    task = Task(rules(SITE))
    task.feed(FIRES, [fire(0, 1000, b"a"), fire(1, 2000, b"b")])
    task.engine.advance(FIRES, 1500)
    task.engine.advance("guards", 1500)
    task.engine.run()
    task.commit()
    resume = task.crash()
    assert resume[FIRES] == 1
    task.feed(FIRES, [fire(1, 2000, b"b"), fire(2, 1600, b"a"), fire(3, 2000, b"b")])
    task.finish()
    assert [found.value["detection"]["end"] for found in task.detected] == [1000, 2000]


def test_one_without_an_identity_is_called_by_its_coordinates() -> None:
    task = Task(rules(SITE))
    task.feed(FIRES, [fire(0, 1000, None), fire(1, 2000, None)])
    task.finish()
    first, second = task.detected
    assert first.key != second.key
    assert [found.value["detection"]["provenance"][0]["label"] for found in (first, second)] == ["", ""]
    assert second.provenance == (("f", FIRES, 0, 1),)


def test_their_times_do_not_tell_how_far_the_application_has_come() -> None:
    task = Task(rules(SITE))
    task.feed("guards", [Record(0, 9000, b"hall", HALL)])
    task.feed(FIRES, [fire(0, 8000, b"a"), fire(1, 1000, b"b")])
    task.engine.run()
    assert task.engine.released_ms < 0
    task.engine.advance(FIRES, 1001)
    task.engine.run()
    task.commit()
    assert [found.timestamp for found in task.detected] == [1000]
    task.feed(FIRES, [fire(2, 2000, b"c")])
    task.finish()
    assert [found.timestamp for found in task.detected] == [1000, 2000, 8000]
    assert task.reasons == []


def test_a_record_has_the_time_of_its_position() -> None:
    """What begins earlier than it is known must not be written with a time that was promised to be over."""
    task = Task(rules('event A (k: long) on "a" key k; define Begun from begin (A($k) ; A($k)) within 5 s;'))
    task.feed("a", [Record(0, 1000, b"1", as_json({"k": 1})), Record(1, 4000, b"1", as_json({"k": 1}))])
    task.finish()
    (found,) = task.detected
    assert (found.value["detection"]["end"], found.timestamp) == (1000, 4000)
