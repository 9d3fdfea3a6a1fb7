"""A complex event as subscribers see it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from tocsin.schemas.derive import DETECTION


@dataclass(frozen=True, slots=True)
class Constituent:
    """One of the events a complex event is made of, and where its record lies."""

    role: str
    type: str
    time_ms: int
    topic: str
    partition: int
    offset: int
    label: str
    """Its own id where it has one, else topic, partition and offset."""


@dataclass(frozen=True, slots=True)
class ComplexEvent:
    """What a rule detected, when, and from what."""

    type: str
    attributes: Mapping[str, Any]
    identity: str
    """The same for the same constituents and rule, in every replay: consumers can be idempotent by it."""
    rule: str
    version: int
    context: str
    start_ms: int
    end_ms: int
    bindings: Mapping[str, bool | int | float | str | None]
    provenance: tuple[Constituent, ...]

    @classmethod
    def from_datum(cls, type_name: str, datum: Mapping[str, Any]) -> Self:
        """Take a decoded record apart."""
        detection = datum[DETECTION]
        return cls(
            type=type_name,
            attributes={name: value for name, value in datum.items() if name != DETECTION},
            identity=detection["identity"],
            rule=detection["rule"],
            version=detection["version"],
            context=detection["context"],
            start_ms=detection["start"],
            end_ms=detection["end"],
            bindings=detection["bindings"],
            provenance=tuple(
                Constituent(
                    role=constituent["role"],
                    type=constituent["type"],
                    time_ms=constituent["time"],
                    topic=constituent["topic"],
                    partition=constituent["partition"],
                    offset=constituent["offset"],
                    # A label that the coordinates are is not written.
                    label=constituent["label"] or "{topic}/{partition}/{offset}".format_map(constituent),
                )
                for constituent in detection["provenance"]
            ),
        )

    def to_json(self) -> str:
        """Return the event as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)
