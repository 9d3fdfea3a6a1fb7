"""Complex events as the engine writes them, read back by the types of the plan alone.

It stands beside the `avro` package for speed: a soak reads millions of records.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.oracle.history import Value


@dataclass(frozen=True, slots=True)
class Constituent:
    """Where a constituent lies, and what it is called."""

    role: str
    type: str
    time: int
    topic: str
    partition: int
    offset: int
    label: str


@dataclass(frozen=True, slots=True)
class ComplexEvent:
    """A complex event, and how it came to be."""

    type: str
    attributes: Mapping[str, Value]
    identity: str
    rule: str
    start: int
    end: int
    bindings: Mapping[str, Value]
    provenance: tuple[Constituent, ...]


def complex_event(body: bytes, described: Mapping[str, Any]) -> ComplexEvent:
    """Read a record of one of the plan's defined types, `described` as the plan has it."""
    reader = _Reader(body)
    attributes = {field["name"]: reader.attribute(field) for field in described["fields"]}
    identity, rule = reader.text(), reader.text()
    reader.long()  # the version
    reader.long()  # the context
    start, end = reader.long(), reader.long()
    bindings = dict(reader.blocks(lambda: (reader.text(), reader.union())))
    provenance = tuple(reader.blocks(reader.constituent))
    assert reader.at == len(body), "bytes are left"
    return ComplexEvent(described["name"], attributes, identity, rule, start, end, bindings, provenance)


class _Reader:
    """Reads Avro from the start of some bytes on."""

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.at = 0

    def long(self) -> int:
        shift = value = 0
        while True:
            byte = self.body[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
            shift += 7

    def taken(self, length: int) -> bytes:
        self.at += length
        assert self.at <= len(self.body), "bytes are missing"
        return self.body[self.at - length : self.at]

    def text(self) -> str:
        return self.taken(self.long()).decode()

    def blocks(self, item: Any) -> list[Any]:  # noqa: ANN401 (whatever an item is)
        found = []
        while count := self.long():
            found += [item() for _ in range(count)]
        return found

    def attribute(self, field: Mapping[str, Any]) -> Value:
        if field["optional"] and self.long() == 0:
            return None
        if field.get("many"):
            return tuple(self.blocks(lambda: self.scalar(field["type"])))
        return self.scalar(field["type"])

    def scalar(self, kind: str) -> Value:
        match kind:
            case "boolean":
                return self.taken(1) != b"\0"
            case "int" | "long" | "timestamp":
                return self.long()
            case "float":
                return struct.unpack("<f", self.taken(4))[0]
            case "double":
                return struct.unpack("<d", self.taken(8))[0]
            case "bytes":
                return self.taken(self.long())
            case _:
                return self.text()

    def union(self) -> Value:
        """A binding: null, boolean, long, double or string."""
        kind = (None, "boolean", "long", "double", "string")[self.long()]
        return None if kind is None else self.scalar(kind)

    def constituent(self) -> Constituent:
        role, type_, time, topic = self.text(), self.text(), self.long(), self.text()
        return Constituent(role, type_, time, topic, self.long(), self.long(), self.text())
