"""From the rows of files to records as the engine reads them."""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from tocsin import schemas
from tocsin.errors import InputError
from tocsin.replay.rows import Row, Rows
from tocsin.replay.streams import Headers, Place, Record
from tocsin.topology import EventType, Plan
from tocsin.topology.plan import Origin
from tocsin.values import checked, key_bytes, time_ms
from tocsin.vocabulary import input_type
from tocsin.workers.formats import InputSchemas


class _Kind(NamedTuple):
    """How the events of a type become records."""

    event: EventType
    topic: str | None
    """Nothing where no rule reads the type."""
    headers: Headers | None
    """Tell JSON of one type from that of others on its topic."""
    says_time: bool
    """Whether the time stands beside the attributes."""


class Events:
    """Reads events: their attributes, and their type and time where attributes do not tell them."""

    def __init__(self, plan: Plan, rows: Rows, known: InputSchemas, event_name: str | None) -> None:
        self._plan = plan
        self._kinds: dict[str, _Kind] = {}
        self._schema_name = None
        self._frame: bytes | None = None
        if rows.schema is not None:
            self._frame = known.know(rows.schema)
            self._schema_name = str(json.loads(rows.schema)["name"]).rpartition(".")[2]
        named = event_name or self._named_by(rows)
        self._all = None if named is None else self._kind(named)
        if self._all is None:
            self.topics: tuple[str, ...] = plan.input_topics
        else:
            self.topics = () if self._all.topic is None else (self._all.topic,)

    def read(self, row: Row) -> tuple[str, Record] | None:
        """Return the topic and the record of an event; nothing if no rule reads it."""
        values = row.values
        kind = self._all or self._said(values)
        if kind.topic is None:
            return None
        at_ms = 0
        if kind.says_time:
            at_ms = _moment(values.get("time"), "time")
        body = self._body(kind.event, row)
        return kind.topic, (row.number - 1, at_ms, key_bytes(kind.event, values), body, kind.headers)

    def _named_by(self, rows: Rows) -> str | None:
        """Return the type that a file is named for by its schema."""
        if self._schema_name is not None and "type" not in (rows.columns or ()):
            if self._plan.type_named(self._schema_name) is None:
                raise InputError(
                    f"{rows.path} holds records called {self._schema_name}, which is no event of the rules: "
                    "say with --event which one they are."
                )
            return self._schema_name
        if rows.columns is not None and "type" not in rows.columns:
            raise InputError(f"{rows.path} has no column 'type': say with --event which event its rows are.")
        return None

    def _said(self, values: Mapping[str, Any]) -> _Kind:
        name = values.get("type")
        if not isinstance(name, str):
            raise InputError('It does not say its "type", and no --event is given.')
        return self._kinds.get(name) or self._kind(name)

    def _kind(self, name: str) -> _Kind:
        event = self._plan.type_named(name)
        if event is None or event.origin is not Origin.INPUT:
            event = input_type(self._plan, name)
        others = [e for e in self._plan.types if e.origin is Origin.INPUT and e.topic == event.topic]
        headers = [("ce_specversion", b"1.0"), ("ce_type", name.encode())] if len(others) > 1 else None
        kind = _Kind(
            event,
            topic=event.topic if event.topic in self._plan.input_topics else None,
            headers=headers,
            says_time=event.time is None,
        )
        if kind.says_time and event.index_of("time") is not None:
            raise InputError(
                f"{name} has an attribute 'time' that is not its time, so its events cannot say when they "
                "were: declare it as their time, or replay records with their timestamps."
            )
        self._kinds[name] = kind
        return kind

    def _body(self, event: EventType, row: Row) -> bytes:
        if row.body is not None and self._frame is None:
            return row.body
        if row.body is not None and self._frame is not None and self._schema_name == event.name:
            return self._frame + row.body
        values = {name: value for name, value in row.values.items() if event.index_of(name) is not None}
        try:
            return json.dumps(values, allow_nan=False).encode()
        except (TypeError, ValueError):
            # Bytes, and numbers that are none, are only said in Avro.
            schema = schemas.event_schema(event.to_dict(), self._plan.app)
            return schemas.single_object_prefix(schema) + schemas.encode(schema, checked(event, values))


def place_of(values: Mapping[str, Any]) -> Place:
    """Read where a record lies."""
    topic, partition = values.get("topic"), values.get("partition")
    if not isinstance(topic, str):
        raise InputError(f"{topic!r} is no topic.")
    if not isinstance(partition, int) or partition < 0:
        raise InputError(f"{partition!r} is no partition.")
    return topic, partition


def record_of(values: Mapping[str, Any]) -> Record:
    """Read a record that has its coordinates."""
    offset = values.get("offset")
    if not isinstance(offset, int) or offset < 0:
        raise InputError(f"{offset!r} is no offset.")
    at_ms = _moment(values.get("timestamp"), "timestamp")
    key, value = _bytes(values, "key"), _bytes(values, "value")
    return offset, at_ms, key, value, _headers(values.get("headers"))


def _moment(said: object, name: str) -> int:
    if said is None:
        raise InputError(f'It does not say its "{name}".')
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    return time_ms(str(said))


def _bytes(values: Mapping[str, Any], name: str) -> bytes | None:
    coded = values.get(f"{name}_base64")
    if coded is not None:
        try:
            return base64.b64decode(coded, validate=True)
        except (binascii.Error, ValueError, TypeError) as error:
            raise InputError(f"Its {name}_base64 is not in base 64.") from error
    match values.get(name):
        case None:
            return None
        case bytes() as raw:
            return raw
        case str() as text:
            return text.encode()
        case dict() as members:
            return json.dumps(members).encode()
        case other:
            raise InputError(f"Its {name} is {other!r}, which is neither text nor an object.")


def _headers(said: object) -> Headers | None:
    """Read headers: pairs of a name and a value, or objects with a key and a value, as Spark writes them."""
    if said is None:
        return None
    try:
        pairs = [(h["key"], h["value"]) if isinstance(h, dict) else (h[0], h[1]) for h in said]  # type: ignore[attr-defined]
        return [
            (str(name), value.encode() if isinstance(value, str) else bytes(value or b""))
            for name, value in pairs
        ]
    except (TypeError, KeyError, IndexError) as error:
        raise InputError("Its headers are not pairs of a name and a value.") from error
