"""Complex events as they are written: by their schema, under their identity, to their key's partition."""

import io
import re
from typing import Any

import avro.io
import avro.schema
import pytest

from tocsin.schemas import single_object_prefix

from .history import Detected, Headers, Record, Task, as_json, rules, schema_of

EVENTS = """
event Temp (area: string, value: double, n: long, small: int, wet: boolean, unit: string?, ratio: float)
  on "temps" key area;
event Smoke (area: string) on "smoke" key area;
"""
FIRE = """
define Fire (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > 45) as t within 3 min from s
where  area = $a, value = t.value;
"""
HOT = "define Hot (area: string) from Temp(area = $a, value > 90) as t where area = $a;\n"

TEMP: dict[str, Any] = {
    "area": "kitchen",
    "value": 99.5,
    "n": 7,
    "small": 3,
    "wet": True,
    "unit": None,
    "ratio": 0.5,
}


def run(text: str, app: str = "test", **temp: Any) -> Task:  # noqa: ANN401 (values of attributes)
    """Run rules over a temperature and the smoke after it."""
    task = Task(rules(EVENTS + text, app))
    area = {**TEMP, **temp}["area"]
    task.feed("temps", [Record(4, 1000, b"kitchen", as_json({**TEMP, **temp}))])
    if "smoke" in task.engine.topics:
        task.feed("smoke", [Record(9, 2000, b"kitchen", as_json({"area": area}))])
    task.finish()
    return task


def only(text: str, **temp: Any) -> Detected:  # noqa: ANN401
    (detected,) = run(text, **temp).detected
    return detected


def test_a_record_is_what_its_schema_says() -> None:
    """Read with nothing but the `avro` package and the schema."""
    task = run(FIRE)
    ((topic, partition, key, value, timestamp),) = task.outputs
    schema = schema_of(rules(EVENTS + FIRE), "Fire")
    frame = single_object_prefix(schema)
    assert value.startswith(frame)
    parsed = avro.schema.parse(re.sub(r', "logicalType": "timestamp-millis"', "", schema))
    stream = io.BytesIO(value[len(frame) :])
    record: Any = avro.io.DatumReader(parsed).read(avro.io.BinaryDecoder(stream))
    assert stream.read() == b""
    identity = record["detection"].pop("identity")
    assert re.fullmatch("[0-9a-f]{32}", identity)
    assert (topic, timestamp, key) == ("tocsin.test.Fire", 2000, identity.encode())
    assert partition in range(4)
    assert record == {
        "area": "kitchen",
        "value": 99.5,
        "detection": {
            "rule": "Fire",
            "version": 1,
            "context": "SELECTION",
            "start": 1000,
            "end": 2000,
            "bindings": {"a": "kitchen"},
            "provenance": [
                {
                    "role": "s",
                    "type": "Smoke",
                    "time": 2000,
                    "topic": "smoke",
                    "partition": 0,
                    "offset": 9,
                    "label": "",
                },
                {
                    "role": "t",
                    "type": "Temp",
                    "time": 1000,
                    "topic": "temps",
                    "partition": 0,
                    "offset": 4,
                    "label": "",
                },
            ],
        },
    }


def test_attributes_and_bindings_of_every_type() -> None:
    detected = only("""
        define All (area: string, x: double, n: long, i: int, wet: boolean, unit: string?, f: float,
                    none: long?)
        from Temp(area = $area, value = $x, n = $n, small = $i, wet = $w, ratio = $f) as t
        where area = $area, x = $x * 2, n = t.n - 8, i = $i, wet = not $w, unit = t.unit, f = $f,
              none = t.n / (t.n - 7);
    """)
    bindings = {"area": "kitchen", "x": 99.5, "n": 7, "i": 3, "w": True, "f": 0.5}
    assert detected.value["detection"]["bindings"] == bindings
    attributes = {n: v for n, v in detected.value.items() if n != "detection"}
    assert attributes == {
        "area": "kitchen",
        "x": 199.0,
        "n": -1,
        "i": 3,
        "wet": False,
        "unit": None,
        "f": 0.5,
        "none": None,
    }


def test_neither_attributes_nor_parameters() -> None:
    detected = only("define Bare from Temp();")
    assert list(detected.value) == ["detection"]
    assert detected.value["detection"]["bindings"] == {}


@pytest.mark.parametrize("value", ["t.n + 1", "t.n * 2", "10 / (t.n - 9223372036854775807)"])
def test_a_value_that_must_be_there_and_is_not(value: str) -> None:
    text = f"define Sum (n: long) from Temp() as t where n = {value};\n" + HOT
    task = run(text, n=2**63 - 1)
    assert task.reasons == [("NO_VALUE", 4)]
    assert task.rejects[0].message == "attribute `n` of Sum has no value here"
    assert [detected.topic for detected in task.detected] == ["tocsin.test.Hot"]


class TestPartition:
    @pytest.mark.parametrize(("area", "murmur2"), [("21", -973932308), ("foobar", -790332482)])
    def test_follows_the_key_as_kafkas_partitioner_does(self, area: str, murmur2: int) -> None:
        assert only(FIRE, area=area).partition == (murmur2 & 0x7FFFFFFF) % 4

    def test_of_a_whole_number_is_that_of_its_text(self) -> None:
        task = Task(
            rules("""
            event Tick (id: long) on "ticks" key id;
            define Tock (id: long) from Tick(id = $i) where id = $i;
            """)
        )
        task.feed("ticks", [Record(0, 1000, b"21", as_json({"id": 21}))])
        task.finish()
        assert task.detected[0].partition == (-973932308 & 0x7FFFFFFF) % 4

    def test_is_the_tasks_own_without_a_key(self) -> None:
        task = Task(rules(EVENTS + "define Bare from Temp();"))
        task.feed("temps", [Record(0, 1000, None, as_json(TEMP))])
        task.finish()
        assert task.detected[0].partition == 0


class TestIdentity:
    def test_does_not_depend_on_other_rules_or_the_file(self) -> None:
        before = only(FIRE).key
        moved = "-- a comment\n" + FIRE.replace("\n", "\n   ")
        assert only(moved).key == before
        beside = {detected.topic: detected.key for detected in run(HOT + FIRE).detected}
        assert beside["tocsin.test.Fire"] == before
        assert beside["tocsin.test.Hot"] != before

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("value > 45", "value > 46"),
            ("3 min", "4 min"),
            ("value = t.value", "value = t.value + 1"),
            ("Fire", "Blaze"),
        ],
    )
    def test_changes_with_the_definition(self, old: str, new: str) -> None:
        assert old in FIRE
        assert only(FIRE.replace(old, new)).key != only(FIRE).key

    def test_differs_between_occurrences(self) -> None:
        task = Task(rules(EVENTS + FIRE))
        task.feed("temps", [Record(i, 1000, b"k", as_json(TEMP)) for i in range(3)])
        task.feed("smoke", [Record(i, 1000 + i, b"k", as_json({"area": "kitchen"})) for i in range(50)])
        task.finish()
        assert len({detected.key for detected in task.detected}) == len(task.detected) == 49

    def test_tells_long_patterns_apart(self) -> None:
        chain = "".join(
            f" and last Temp(area = $a) as t{i} within 3 min from {f't{i - 1}' if i else 's'}"
            for i in range(12)
        )
        task = Task(rules(EVENTS + f"define Chain from Smoke(area = $a) as s{chain};"))
        task.feed("temps", [Record(i, 1000 + i, b"k", as_json(TEMP)) for i in range(12)])
        task.feed("smoke", [Record(i, 2000, b"k", as_json({"area": "kitchen"})) for i in range(3)])
        task.finish()
        assert len({detected.key for detected in task.detected}) == 3
        assert task.detected[0].provenance[-1] == ("t11", "temps", 0, 0)

    @pytest.mark.parametrize(
        ("headers", "identity"),
        [
            (None, "e7b59cb41b10259e40bf191ab422ecb9"),
            (
                [("ce_specversion", b"1.0"), ("ce_id", b"7"), ("ce_source", b"//s")],
                "f68bff04a479ab57fb656229848612f2",
            ),
        ],
    )
    def test_is_the_same_in_every_release(self, headers: Headers | None, identity: str) -> None:
        """A change here makes every consumer take the complex events of a replay for new ones."""
        plan = rules(EVENTS + FIRE).to_dict()
        for node in plan["nodes"]:
            node["fingerprint"] = "0123456789abcdef"
        task = Task(plan)
        task.feed("temps", [Record(4, 1000, b"k", as_json(TEMP))])
        task.feed("smoke", [Record(9, 2000, b"k", as_json({"area": "kitchen"}), headers)])
        task.finish()
        assert [detected.key for detected in task.detected] == [identity]
