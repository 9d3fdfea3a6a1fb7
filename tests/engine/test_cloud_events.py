"""CloudEvents in binary mode: a record's headers give its event an id, a time and a type."""

from typing import Any

import pytest

from .history import NOW_MS, Detected, Headers, Record, Task, as_json, avro, rules, schema_of

RULES = """
event Ping (k: string) on "pings" key k;
event Pong (k: string, at: timestamp) on "pongs" key k time at;
define Seen (k: string) from Ping(k = $k) as p where k = $k;
define Back (k: string) from Pong(k = $k) as q where k = $k;
"""
PING = as_json({"k": "a"})


def cloud_event(**attributes: str | bytes) -> Headers:
    given = {"specversion": "1.0", **attributes}
    return [(f"ce_{n}", v if isinstance(v, bytes) else v.encode()) for n, v in given.items()]


def seen(*records: Record) -> list[Detected]:
    task = Task(rules(RULES))
    task.feed("pings", records)
    task.finish()
    assert task.reasons == []
    return task.detected


def label(detected: Detected) -> str:
    return str(detected.value["detection"]["provenance"][0]["label"])


def test_source_and_id_are_the_label_and_make_the_identity() -> None:
    headers = cloud_event(id="42", source="//sensors/kitchen")
    (first,) = seen(Record(0, 1000, b"a", PING, headers))
    (again,) = seen(Record(7, 2000, b"z", PING, [*headers, ("other", b"x")]))
    (other,) = seen(Record(0, 1000, b"a", PING, cloud_event(id="43", source="//sensors/kitchen")))
    (elsewhere,) = seen(Record(0, 1000, b"a", PING, cloud_event(id="42", source="//sensors")))
    assert label(first) == "//sensors/kitchen#42"
    assert first.key == again.key
    assert len({first.key, other.key, elsewhere.key}) == 3


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        cloud_event(id="42"),
        cloud_event(source="//sensors"),
        cloud_event(id="", source="//sensors"),
        cloud_event(id="42", source="//sensors")[1:],
        [("ce-specversion", b"1.0"), ("ce-id", b"42"), ("ce-source", b"//sensors")],
    ],
)
def test_what_has_no_id_is_called_by_its_coordinates(headers: Headers | None) -> None:
    (plain,) = seen(Record(12, 1000, b"a", PING))
    (detected,) = seen(Record(12, 1000, b"a", PING, headers))
    assert label(detected) == ""
    assert detected.key == plain.key


def test_a_label_is_text_whatever_the_headers_hold() -> None:
    (detected,) = seen(Record(0, 1000, b"a", PING, cloud_event(id=b"\xff\x00", source="s" * 100)))
    assert label(detected) == "s" * 100 + "#\ufffd#"


@pytest.mark.parametrize(
    ("time", "expected"),
    [("1970-01-01T00:00:07.25Z", 7250), ("1970-01-01T00:00:07+00:00", 7000), ("once", 1000)],
)
def test_the_time_is_the_events(time: str, expected: int) -> None:
    (detected,) = seen(Record(0, 1000, b"a", PING, cloud_event(time=time)))
    assert (detected.timestamp, detected.value["detection"]["end"]) == (expected, expected)


def test_a_declared_time_goes_before_it() -> None:
    task = Task(rules(RULES))
    headers = cloud_event(time="1970-01-01T00:00:07Z")
    task.feed("pongs", [Record(0, 1000, b"a", as_json({"k": "a", "at": 3000}), headers)])
    task.finish()
    assert task.detected[0].timestamp == 3000


def test_a_time_too_far_ahead_is_bad() -> None:
    task = Task(rules(RULES))
    headers = cloud_event(time="9999-12-31T23:59:59Z")
    task.feed("pings", [Record(0, 1000, b"a", PING, headers)])
    task.commit()
    assert task.reasons == [("BAD_TIME", 0)]
    assert task.rejects[0].headers == sorted(headers)


class TestSharedTopics:
    """Two types on one topic, which a plan may have though the language has no words for it yet."""

    @pytest.fixture
    def plan(self) -> dict[str, Any]:
        data = rules(RULES).to_dict()
        for event_type in data["types"]:
            if event_type["origin"] == "input":
                event_type["topic"] = "pings"
        data["subtopologies"][0]["topics"] = ["pings"]
        return data

    def test_the_type_picks_the_event(self, plan: dict[str, Any]) -> None:
        task = Task(plan)
        pong = as_json({"k": "a", "at": NOW_MS})
        kinds = ["Ping", "com.example.Pong", "Ping", "com.example.Pang"]
        values = [PING, pong, pong, PING]
        task.feed(
            "pings",
            [
                Record(i, 5, b"a", value, cloud_event(type=kind))
                for i, (kind, value) in enumerate(zip(kinds, values, strict=True))
            ],
        )
        task.finish()
        assert task.reasons == []
        assert [d.value["detection"]["provenance"][0]["type"] for d in task.detected] == [
            "Ping",
            "Ping",
            "Pong",
        ]
        assert task.engine.counts["not_ours"] == 1

    def test_json_that_does_not_say_what_it_is(self, plan: dict[str, Any]) -> None:
        task = Task(plan)
        task.feed("pings", [Record(0, 5, b"a", PING), Record(1, 5, b"a", PING, cloud_event(type=b"\xff"))])
        task.finish()
        assert task.reasons == [("UNDECODABLE", 0), ("UNDECODABLE", 1)]
        assert "does not say which it is (ce_type)" in task.rejects[0].message

    def test_the_name_of_the_schema_picks_the_event(self, plan: dict[str, Any]) -> None:
        task = Task(plan)
        schema = schema_of(rules(RULES), "Pong")
        foreign = task.know(schema.replace("Pong", "Pang"))
        values = [avro(schema, {"k": "a", "at": 9}), avro(schema, {"k": "a", "at": 9}, foreign)]
        task.feed("pings", [Record(i, 5, b"a", value) for i, value in enumerate(values)])
        task.finish()
        assert [d.timestamp for d in task.detected] == [9]
        assert task.engine.counts["not_ours"] == 1
