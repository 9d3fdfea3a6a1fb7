"""A rule that gives back every attribute of an event, to see what the engine read from a record."""

import json
from typing import Any

from tocsin.topology import Plan

from .history import Headers, Record, Rejected, Task, rules

TYPES = {
    "b": "boolean",
    "i": "int",
    "l": "long",
    "f": "float",
    "d": "double",
    "s": "string",
    "t": "timestamp",
}


def echo_rules(*, optional: bool = True) -> Plan:
    """Return rules for an event with an attribute of every type."""
    fields = ", ".join(f"{name}: {kind}{'?' * optional}" for name, kind in TYPES.items())
    given = ", ".join(f"{name} = e.{name}" for name in TYPES)
    return rules(f"""
        event Thing (k: string, {fields}, unread: string) on "things" key k;
        define Echo (k: string, {fields}) from Thing(k = $k) as e where k = $k, {given};
    """)


def one_attribute(kind: str) -> Plan:
    """Return rules for an event with one attribute beside its key."""
    return rules(f"""
        event Thing (k: string, v: {kind}) on "things" key k;
        define Echo (k: string, v: {kind}) from Thing(k = $k) as e where k = $k, v = e.v;
    """)


def record_schema(fields: dict[str, object], name: str = "Writer") -> str:
    """Return the schema of a writer's record."""
    listed = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "fields": listed})


def read(
    plan: Plan,
    value: bytes | None,
    schema: str | None = None,
    headers: Headers | None = None,
    **limits: int,
) -> dict[str, Any] | Rejected:
    """Return the attributes the engine read from a value, or how it refused it."""
    task = Task(plan, limits=limits)
    if schema is not None:
        task.know(schema)
    task.feed("things", [Record(0, 1000, b"k", value, headers)])
    task.finish()
    if task.rejects:
        (reject,) = task.rejects
        assert not task.outputs
        return reject
    (detected,) = task.detected
    return {name: part for name, part in detected.value.items() if name != "detection"}


def refusal(outcome: dict[str, Any] | Rejected) -> tuple[str, str]:
    """Return the reason and the sentence of a refusal."""
    assert isinstance(outcome, Rejected), f"it was read: {outcome}"
    return outcome.reason, outcome.message
