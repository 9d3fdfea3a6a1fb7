"""Batches: the messages of a poll, sorted by where they come from."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from confluent_kafka import Message

from tocsin._engine import Batch

from .history import Task, as_json, rules

RULES = 'event Tick (k: string) on "ticks" key k; define Tock (k: string) from Tick(k = $k) where k = $k;'


@dataclass
class Polled:
    """A message as the client gives it."""

    at: tuple[str, int, int]
    payload: bytes | None = b""
    problem: str | None = None
    heads: list[tuple[str, bytes | None]] | None = None

    def topic(self) -> str:
        return self.at[0]

    def partition(self) -> int:
        return self.at[1]

    def offset(self) -> int:
        return self.at[2]

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes | None:
        return self.payload

    def headers(self) -> list[tuple[str, bytes | None]] | None:
        return self.heads

    def error(self) -> str | None:
        return self.problem


def split(*messages: Any) -> tuple[list[Batch], list[Message]]:  # noqa: ANN401 (doubles of messages)
    return Batch.split(cast("list[Message]", list(messages)))


def test_messages_are_sorted_by_topic_and_partition() -> None:
    problem = Polled(("a", 0, 2), problem="end of partition")
    batches, errors = split(
        Polled(("a", 0, 0)),
        Polled(("a", 0, 1)),
        Polled(("b", 0, 0)),
        problem,
        Polled(("a", 1, 0)),
        Polled(("a", 0, 2)),
    )
    assert [(b.topic, b.partition, len(b)) for b in batches] == [("a", 0, 3), ("b", 0, 1), ("a", 1, 1)]
    assert [error.offset() for error in errors] == [2]
    assert split() == ([], [])


def test_a_message_comes_through() -> None:
    task = Task(rules(RULES), partition=3)
    heads: list[tuple[str, bytes | None]] = [
        ("ce_specversion", b"1.0"),
        ("ce_id", b"7"),
        ("empty", None),
        ("ce_source", b"//s"),
    ]
    (batch,), _ = split(
        Polled(("ticks", 3, 5), as_json({"k": "a"}), heads=heads), Polled(("ticks", 3, 6), None, heads=heads)
    )
    task.engine.feed(batch, 5000)
    task.finish()
    (constituent,) = task.detected[0].value["detection"]["provenance"]
    assert constituent == {
        "role": "Tick",
        "type": "Tick",
        "time": 1000,
        "topic": "ticks",
        "partition": 3,
        "offset": 5,
        "label": "//s#7",
    }
    (reject,) = task.rejects
    assert (reject.reason, reject.partition, reject.offset) == ("NULL_VALUE", 3, 6)
    assert reject.headers == sorted((name, value or b"") for name, value in heads)


def test_what_is_no_message() -> None:
    with pytest.raises(AttributeError):
        split(object())
    with pytest.raises(TypeError):
        split(Polled(cast("tuple[str, int, int]", (5, 0, 0))))
    with pytest.raises(TypeError):
        Batch.build("t", 0, [(0, 0, cast("bytes", "key"), b"", None)])


def test_headers_the_client_cannot_read_do_not_stop_it() -> None:
    class Unreadable(Polled):
        def headers(self) -> list[tuple[str, bytes | None]] | None:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    batches, errors = split(Unreadable(("ticks", 0, 0)), Polled(("ticks", 0, 1)))
    assert [len(batch) for batch in batches] == [2]
    assert errors == []
