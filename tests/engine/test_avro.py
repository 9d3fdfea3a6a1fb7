"""Avro records: what any writer may send is read by its own schema, and what is broken is refused."""

import math
import struct
from typing import Any

import pytest

from tocsin._engine import Batch
from tocsin.schemas import confluent_prefix, encode, single_object_prefix

from .echo import TYPES, echo_rules, one_attribute, read, record_schema, refusal
from .history import Record, Task, avro, engine_of, rejected, rules, schema_of

VALUES: dict[str, Any] = {
    "k": "key",
    "b": True,
    "i": -(2**31),
    "l": 2**63 - 1,
    "f": 0.25,
    "d": -1e300,
    "s": "größer\0",
    "t": 1_700_000_000_000,
    "unread": "x" * 1000,
}
READ = {name: value for name, value in VALUES.items() if name != "unread"}

TREE = {
    "type": "record",
    "name": "Tree",
    "namespace": "a.b",
    "fields": [
        {"name": "leaf", "type": "int"},
        {"name": "left", "type": ["null", "Tree"], "default": None},
        {"name": "more", "type": {"type": "array", "items": "a.b.Tree"}},
    ],
}
EXTRA: list[tuple[Any, object]] = [
    ("null", None),
    ("boolean", True),
    ("int", -5),
    ("long", 2**62),
    ("float", 1.5),
    ("double", 2.5),
    ("bytes", b"\0\xff"),
    ("string", "text" * 50),
    ({"type": "fixed", "name": "F", "size": 300}, b"\1" * 300),
    ({"type": "fixed", "name": "F0", "size": 0}, b""),
    ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
    ({"type": "array", "items": "string"}, ["a", "b" * 100, ""]),
    ({"type": "array", "items": "null"}, [None] * 1000),
    ({"type": "array", "items": {"type": "array", "items": "int"}}, [[1], [], [2, 3]]),
    ({"type": "map", "values": "double"}, {"a": 1.0, "b": 2.0}),
    ({"type": "map", "values": "null"}, {"a": None}),
    ({"type": "map", "values": {"type": "map", "values": "bytes"}}, {"a": {"b": b"c"}, "d": {}}),
    (["null", "string", {"type": "array", "items": "int"}], [1, 2]),
    (["null", "string"], None),
    ({"type": "record", "name": "Empty", "fields": []}, {}),
    ({"type": "error", "name": "Failure", "fields": [{"name": "code", "type": "int"}]}, {"code": 3}),
    ({"type": {"type": {"type": "string"}}}, "nested type"),
    ({"type": "int", "logicalType": "date"}, 7),
    ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, b"\x04"),
    (
        TREE,
        {
            "leaf": 1,
            "left": {"leaf": 2, "left": None, "more": []},
            "more": [{"leaf": 3, "left": None, "more": [{"leaf": 4, "left": None, "more": []}]}],
        },
    ),
]


def schema() -> str:
    return schema_of(echo_rules(), "Thing")


class TestFrames:
    def test_single_object(self) -> None:
        assert read(echo_rules(), avro(schema(), VALUES)) == READ

    def test_confluent(self) -> None:
        task = Task(echo_rules())
        frame = task.know(schema(), confluent_prefix(77))
        task.feed("things", [Record(0, 1000, b"k", avro(schema(), VALUES, frame))])
        task.finish()
        assert task.detected[0].value.items() >= READ.items()

    def test_the_engine_asks_for_each_schema_once(self) -> None:
        engine = engine_of(echo_rules())
        frames = [confluent_prefix(1), confluent_prefix(2**32 - 1), single_object_prefix(schema())]
        values = [frame + b"anything" for frame in (*frames, frames[0])]
        values += [b"\0\0\0\1", b"\xc3\x01\0\0\0\0\0\0\0", b"", b"{}"]
        records = [Record(i, 0, None, value) for i, value in enumerate(values)] + [Record(99, 0, None, None)]
        batch = Batch.build("things", 0, records)
        assert sorted(engine.missing_schemas(batch)) == sorted(frames)
        engine.add_schema(frames[0], schema())
        engine.refuse_schema(frames[1], "no")
        assert engine.missing_schemas(batch) == frames[2:]

    @pytest.mark.parametrize("frame", [b"", b"\0\0\0\1", b"\xc3\x02" + bytes(8), b"{}"])
    def test_what_is_no_frame(self, frame: bytes) -> None:
        engine = engine_of(echo_rules())
        with pytest.raises(ValueError, match="not the frame of a schema"):
            engine.add_schema(frame, schema())
        with pytest.raises(ValueError, match="not the frame of a schema"):
            engine.refuse_schema(frame, "no")

    def test_an_unknown_schema(self) -> None:
        reject = read(echo_rules(), confluent_prefix(5) + b"abc")
        assert refusal(reject) == ("UNKNOWN_SCHEMA", "nobody knows this schema")
        engine = engine_of(echo_rules())
        engine.feed(Batch.build("things", 0, [Record(0, 0, None, confluent_prefix(5))]), 0)
        reject = rejected(engine.take().letters[0][2])
        assert reject[:2] == ("UNKNOWN_SCHEMA", "the schema of the record is not known")

    @pytest.mark.parametrize("value", [b"", b"garbage", b"\0\0\0\1", b"\xc3\x01", b"[1]", b'"text"', b"\xff"])
    def test_neither_avro_nor_json(self, value: bytes) -> None:
        assert refusal(read(echo_rules(), value)) == (
            "UNDECODABLE",
            "neither Avro in a known framing nor a JSON object",
        )

    def test_no_value(self) -> None:
        assert refusal(read(echo_rules(), None)) == ("NULL_VALUE", "the record has no value")

    def test_no_value_where_nulls_are_ignored(self) -> None:
        task = Task(
            rules("""
                event Thing (k: string) on "things" key k nulls ignore;
                define Echo (k: string) from Thing(k = $k) as e where k = $k;
            """)
        )
        values = [None, b'{"k": "a"}', None, b"garbage"]
        task.feed("things", [Record(i, 1000, b"k", value) for i, value in enumerate(values)])
        task.finish()
        assert [found.value["k"] for found in task.detected] == ["a"]
        assert task.reasons == [("UNDECODABLE", 3)]
        counts = task.engine.counts
        assert (counts["read"], counts["ignored"], counts["rejected"]) == (4, 2, 1)

    def test_too_large(self) -> None:
        value = avro(schema(), VALUES)
        size = len(value) + len(b"k")
        assert read(echo_rules(), value, max_record_bytes=size) == READ
        reject = read(echo_rules(), value, max_record_bytes=size - 1)
        assert refusal(reject)[0] == "TOO_LARGE"
        assert not isinstance(reject, dict)
        assert (reject.size, reject.value, reject.key) == (len(value), None, b"k")


class TestWritersSchemas:
    @pytest.mark.parametrize(("kind", "value"), EXTRA, ids=lambda part: str(part)[:40])
    def test_what_no_rule_reads_is_skipped(self, kind: Any, value: object) -> None:  # noqa: ANN401
        # A named type can be defined once only: the second use is by name.
        named = isinstance(kind, dict) and "name" in kind
        again = f"{kind.get('namespace', '')}.{kind['name']}".strip(".") if named else kind
        writer = record_schema({"before": kind, "v": "long", "k": "string", "after": again})
        data = {"before": value, "v": 7, "k": "key", "after": value}
        assert read(one_attribute("long"), avro(writer, data), writer) == {"k": "key", "v": 7}

    def test_blocks_with_a_size_are_skipped(self) -> None:
        """A writer may give the size of an array's block in bytes, with a negative count."""
        writer = record_schema({"a": {"type": "array", "items": "string"}, "k": "string", "v": "long"})
        items = encode('"string"', "abc") * 2
        block = encode('"long"', -2) + encode('"long"', len(items)) + items + encode('"long"', 0)
        body = block + encode('"string"', "key") + encode('"long"', 7)
        value = single_object_prefix(writer) + body
        assert read(one_attribute("long"), value, writer) == {"k": "key", "v": 7}

    @pytest.mark.parametrize(
        ("writer", "reader", "written", "expected"),
        [
            ("int", "long", 5, 5),
            ("int", "double", 5, 5.0),
            ("long", "double", 2**53, 2.0**53),
            ("float", "double", 0.25, 0.25),
            ("int", "float", 3, 3.0),
            ("bytes", "string", b"a\xc3\xa9", "aé"),
            ("string", "string", "", ""),
            ({"type": "enum", "name": "E", "symbols": ["LOW", "HIGH"]}, "string", "HIGH", "HIGH"),
            ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp", 1234, 1234),
            ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp", 1_234_567, 1234),
            ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp", -1, -1),
            ({"type": "string", "avro.java.string": "String"}, "string", "java", "java"),
            (["null", "long"], "long", 5, 5),
            (["null", "long"], "long?", None, None),
            (["long", "null"], "long?", 5, 5),
            (["string", "long"], "long", 5, 5),
            (["null", "string", "int"], "long?", 5, 5),
            ("null", "long?", None, None),
        ],
    )
    def test_types_that_can_be_read(
        self, writer: object, reader: str, written: object, expected: object
    ) -> None:
        schema = record_schema({"k": "string", "v": writer})
        got = read(one_attribute(reader), avro(schema, {"k": "key", "v": written}), schema)
        assert got == {"k": "key", "v": expected}

    @pytest.mark.parametrize(
        ("writer", "reader", "written"),
        [
            ("string", "long", "5"),
            ("double", "long", 5.0),
            ("long", "string", 5),
            ("boolean", "long", True),
            ("long", "boolean", 1),
            ("long", "int", 5),
            ("double", "float", 0.25),
            ("null", "long", None),
            (["null", "string"], "long", None),
            ({"type": "array", "items": "long"}, "long", [5]),
            ({"type": "record", "name": "R", "fields": []}, "string", {}),
            ({"type": "fixed", "name": "F", "size": 1}, "string", b"a"),
        ],
    )
    def test_types_that_cannot_be_read(self, writer: object, reader: str, written: object) -> None:
        schema = record_schema({"k": "string", "v": writer})
        outcome = read(one_attribute(reader), avro(schema, {"k": "key", "v": written}), schema)
        message = "attribute `v` of event Thing has another type in the schema"
        assert refusal(outcome) == ("SCHEMA_MISMATCH", message)

    @pytest.mark.parametrize(
        ("writer", "reader", "written", "message"),
        [
            (["null", "long"], "long", None, "attribute `v` is null, and the event does not allow it"),
            (["string", "long"], "long", "five", "attribute `v` has a type the event does not allow"),
            ("bytes", "string", b"\xff", "attribute `v` is not UTF-8"),
        ],
    )
    def test_values_that_do_not_fit(self, writer: object, reader: str, written: object, message: str) -> None:
        schema = record_schema({"k": "string", "v": writer})
        outcome = read(one_attribute(reader), avro(schema, {"k": "key", "v": written}), schema)
        assert refusal(outcome) == ("UNDECODABLE", message)

    def test_an_attribute_the_writer_lacks(self) -> None:
        schema = record_schema({"k": "string"})
        value = avro(schema, {"k": "key"})
        assert read(one_attribute("long?"), value, schema) == {"k": "key", "v": None}
        message = "the schema lacks attribute `v` of event Thing"
        assert refusal(read(one_attribute("long"), value, schema)) == ("SCHEMA_MISMATCH", message)

    def test_an_attribute_that_no_rule_reads_may_be_anything(self) -> None:
        kinds: dict[str, object] = {name: ["null", TYPES[name]] for name in "bifds"}
        writer = record_schema({"k": "string", **kinds, "l": "long", "t": "long", "unread": "boolean"})
        assert read(echo_rules(), avro(writer, {**VALUES, "unread": False}), writer) == READ

    @pytest.mark.parametrize("kind", ['"string"', '{"type": "array", "items": "int"}', '["null", "string"]'])
    def test_what_is_no_record(self, kind: str) -> None:
        frame = single_object_prefix(kind)
        assert refusal(read(echo_rules(), frame, kind)) == ("SCHEMA_MISMATCH", "the schema is not a record")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("5", "where a type should stand"),
            ('"Nobody"', "names `Nobody`, which it does not define"),
            ("{}", "object without a type"),
            ('{"type": "array"}', "array without items"),
            ('{"type": "map"}', "map without values"),
            ('{"type": "fixed", "name": "F"}', "fixed without size"),
            ('{"type": "fixed", "name": "F", "size": -1}', "fixed type without a size"),
            ('{"type": "enum", "name": "E", "symbols": 5}', "symbols are no list"),
            ('{"type": "enum", "name": "E", "symbols": [5]}', "symbol that is not text"),
            ('{"type": "record", "name": "R"}', "record without fields"),
            ('{"type": "record", "name": 5, "fields": []}', "name that is not text"),
            ('{"type": "record", "name": "R", "fields": [{"type": "int"}]}', "field without a name"),
            ('{"type": "record", "name": "R", "fields": [{"name": "a"}]}', "field `a` has no type"),
            ('{"type": "array", "items": ' * 100 + '"int"' + "}" * 100, "nested too deeply"),
            (f"[{', '.join(['null'] * 10_001)}]".replace("null", '"null"'), "too many types"),
        ],
    )
    def test_schemas_that_are_none(self, text: str, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            engine_of(echo_rules()).add_schema(confluent_prefix(1), text)


class TestBrokenBytes:
    def test_every_truncation_is_refused(self) -> None:
        value = avro(schema(), {**VALUES, "unread": "x"})
        for length in range(10, len(value)):
            assert refusal(read(echo_rules(), value[:length]))[0] == "UNDECODABLE"

    def test_bytes_left_over(self) -> None:
        outcome = read(echo_rules(), avro(schema(), VALUES) + b"\0\0")
        assert refusal(outcome) == ("UNDECODABLE", "the record has 2 bytes more than its schema says")

    @pytest.mark.parametrize(
        ("kind", "body", "message"),
        [
            ("long", b"\xff" * 11, "a number that does not end"),
            ("string", b"\x01", "a negative length"),
            ("string", b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", "ends too early"),
            ("boolean", b"\x02", "neither 0 nor 1"),
            ("int", b"\x80\x80\x80\x80\x10", "attribute `v` is no int"),
            (["null", "long"], b"\x04", "union branch that its schema lacks"),
            (["null", "long"], b"\x01", "negative length"),
        ],
    )
    def test_values_that_are_none(self, kind: object, body: bytes, message: str) -> None:
        reader = "long?" if isinstance(kind, list) else str(kind)
        schema = record_schema({"k": "string", "v": kind})
        value = single_object_prefix(schema) + encode('"string"', "key") + body
        reason, text = refusal(read(one_attribute(reader), value, schema))
        assert reason == "UNDECODABLE"
        assert message in text

    def test_recursive_data_is_bounded(self) -> None:
        nest = {"type": "record", "name": "Nest", "fields": [{"name": "in", "type": ["null", "Nest"]}]}
        schema = record_schema({"deep": nest, "k": "string", "v": "long"})
        value = single_object_prefix(schema) + b"\x02" * 100_000
        reason, text = refusal(read(one_attribute("long"), value, schema))
        assert (reason, text) == ("UNDECODABLE", "the record is nested too deeply")

    def test_parts_without_bytes_cost_nothing(self) -> None:
        """Of records that each hold the one before twice, the last has more parts than can be walked."""
        kinds: dict[str, object] = {"f0": {"type": "record", "name": "N0", "fields": []}}
        for i in range(1, 60):
            pair = [{"name": name, "type": f"N{i - 1}"} for name in ("a", "b")]
            kinds[f"f{i}"] = {"type": "record", "name": f"N{i}", "fields": pair}
        schema = record_schema({**kinds, "k": "string", "v": "long"})
        value = single_object_prefix(schema) + encode('"string"', "key") + encode('"long"', 7)
        assert read(one_attribute("long"), value, schema) == {"k": "key", "v": 7}

    def test_blocks_without_bytes_cost_nothing(self) -> None:
        schema = record_schema({"nulls": {"type": "array", "items": "null"}, "k": "string", "v": "long"})
        blocks = encode('"long"', 2**60) * 1000 + encode('"long"', 0)
        value = single_object_prefix(schema) + blocks + encode('"string"', "key") + encode('"long"', 7)
        assert read(one_attribute("long"), value, schema) == {"k": "key", "v": 7}


class TestNumbers:
    @pytest.mark.parametrize("number", [0.0, -0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308])
    def test_doubles_come_through(self, number: float) -> None:
        schema = record_schema({"k": "string", "v": "double"})
        got = read(one_attribute("double"), avro(schema, {"k": "key", "v": number}), schema)
        assert isinstance(got, dict)
        assert struct.pack("<d", got["v"]) == struct.pack("<d", number)

    def test_nan_comes_through(self) -> None:
        schema = record_schema({"k": "string", "v": "double"})
        got = read(one_attribute("double"), avro(schema, {"k": "key", "v": math.nan}), schema)
        assert isinstance(got, dict)
        assert math.isnan(got["v"])
