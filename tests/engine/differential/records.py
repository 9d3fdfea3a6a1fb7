"""A program as the plan of one task, and a history as the records that it reads."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tests.oracle.history import Change, Input, Occurrence
from tests.oracle.world import World
from tocsin.topology import Plan, compile_rules

APP = "case"
TASK = "all"
CLOCK = "clock"

Record = tuple[int, int, bytes | None, bytes | None, list[tuple[str, bytes]] | None]


@lru_cache(maxsize=8)
def planned(text: str) -> dict[str, Any]:
    """Return the plan of a program for one task; mistakes in it are raised."""
    return in_one_task(compile_rules(text, app=APP))


def in_one_task(plan: Plan) -> dict[str, Any]:
    """Return the plan with all its sub-topologies as one, which reads every input from its own topic.

    With a single partition that is where everything meets, whatever its key. Explicit events get the topic
    that the oracle orders them by: their name.
    """
    data = plan.to_dict()
    for declared in data["types"]:
        if declared["origin"] == "input" and declared["topic"] == f"tocsin.{APP}.{declared['name']}":
            declared["topic"] = declared["name"]
    topics = sorted({declared["topic"] for declared in data["types"] if declared["origin"] == "input"})
    data["subtopologies"] = [
        {
            "name": TASK,
            "kind": "local",
            "topics": topics,
            "nodes": list(range(len(data["nodes"]))),
            "subscribers": [i for i, node in enumerate(data["nodes"]) if node["kind"] in {"define", "rule"}],
            "forwards": [],
            "groups": [],
        }
    ]
    return data


def beginning(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan with one more topic: time begins with the first event there is, whatever it is."""
    clock = {
        "name": CLOCK,
        "origin": "input",
        "fields": [],
        "topic": CLOCK,
        "kind": "event",
        "phases": [],
        "lateness_ms": 0,
        "idle_timeout_ms": 0,
        **dict.fromkeys(("key", "time", "parent", "id", "start", "unit")),
    }
    (task,) = plan["subtopologies"]
    return {
        **plan,
        "types": [*plan["types"], clock],
        "subtopologies": [{**task, "topics": sorted([*task["topics"], CLOCK])}],
    }


@dataclass(frozen=True)
class Records:
    """The records of a history by topic, and the occurrence that each is."""

    by_topic: Mapping[str, list[Record]]
    occurrences: Mapping[tuple[str, int], Occurrence]


def records_of(
    events: Sequence[Input], facts: Sequence[Change], world: World, plan: Mapping[str, Any]
) -> Records:
    """Return the JSON records that carry a history, in the order in which they were sent."""
    types = {declared["name"]: declared for declared in plan["types"]}
    carried = Counter(declared["topic"] for declared in plan["types"] if declared["origin"] == "input")
    by_number = {occurrence.position.tie[2]: occurrence for occurrence in world.events}
    by_topic: dict[str, list[Record]] = {topic: [] for topic in plan["subtopologies"][0]["topics"]}
    occurrences: dict[tuple[str, int], Occurrence] = {}
    for number, event in enumerate(events):
        described = types[event.type]
        topic, offset = described["topic"], len(by_topic[described["topic"]])
        key = None if described["key"] is None else described["fields"][described["key"]]["name"]
        values = {field["name"]: event.attributes.get(field["name"]) for field in described["fields"]}
        headers = [("ce_specversion", b"1.0"), ("ce_type", event.type.encode())]
        by_topic[topic].append(
            (
                offset,
                event.t,
                None if key is None or values[key] is None else str(values[key]).encode(),
                json.dumps(
                    {name: value for name, value in values.items() if value is not None}, default=bytes.decode
                ).encode(),
                headers if carried[topic] > 1 else None,
            )
        )
        # Two records with one id are one event, which is the first of them.
        if number in by_number:
            occurrences[topic, offset] = by_number[number]
    for change in facts:
        described = types[change.type]
        records = by_topic[described["topic"]]
        state = change.state
        key = change.key
        if state is not None and described["key"] is not None:
            key = state[described["fields"][described["key"]]["name"]]
        body = None if state is None else {name: value for name, value in state.items() if value is not None}
        records.append(
            (
                len(records),
                change.position.time,
                None if key is None else str(key).encode(),
                None if body is None else json.dumps(body).encode(),
                None,
            )
        )
    return Records(by_topic, occurrences)


def time_of(record: Record, plan: Mapping[str, Any], topic: str) -> int:
    """Return the time of the event in a record, whatever its type: a lower bound is enough."""
    carried = [t for t in plan["types"] if t["origin"] == "input" and t["topic"] == topic]
    values = json.loads(record[3] or b"{}")
    named = {t["fields"][t["time"]]["name"] for t in carried if t["time"] is not None}
    return min([values[name] for name in named if name in values] or [record[1]])
