"""Files of records with their coordinates, which identities are made of; and files that are no JSON."""

import base64
from collections.abc import Sequence
from pathlib import Path
from random import Random

import avro.schema
import pyarrow as pa
import pytest
from avro.datafile import DataFileWriter
from avro.io import DatumWriter
from pyarrow import parquet

from tests.replay.conftest import START_MS, Replayed, Row, Run, WriteLines, record, smoke, temp
from tocsin import schemas
from tocsin.errors import InputError
from tocsin.topology import Plan, compile_rules

AREAS = {"hall": 0, "kitchen": 1, "attic": 2}


@pytest.fixture
def log() -> list[Row]:
    """Records of three partitions, as a consumer may have read them: each in its order, and they in none."""
    rng = Random(3)
    by_partition: dict[tuple[str, int], list[Row]] = {}
    for i in range(300):
        area = rng.choice(list(AREAS))
        event = smoke(i / 9, area) if rng.random() < 0.3 else temp(i / 9, rng.uniform(20, 90), area)
        part = by_partition.setdefault((event["type"], AREAS[area]), [])
        part.append(record(event, AREAS[area], 3 * len(part) + 5))
    found = []
    while by_partition:
        place = rng.choice(list(by_partition))
        part = by_partition[place]
        cut = rng.randrange(1, 20)
        found += part[:cut]
        by_partition[place] = part[cut:]
        if not by_partition[place]:
            del by_partition[place]
    return found


def part_of(log: Sequence[Row], partition: int) -> list[Row]:
    return [row for row in log if row["partition"] == partition]


def places(replayed: Replayed) -> set[tuple[str, ...]]:
    return {tuple(f"{c.topic}/{c.partition}/{c.offset}" for c in fire.provenance) for fire in replayed}


def test_constituents_are_where_they_were(run: Run, lines: WriteLines) -> None:
    rows = [record(temp(0, 50), 4, 17), record(smoke(1), 9, 1_000_000)]
    replayed = run(lines("log.jsonl", rows))
    assert places(replayed) == {("smoke/9/1000000", "temps/4/17")}


def test_it_does_not_matter_how_the_log_is_cut_into_files(
    run: Run, lines: WriteLines, log: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(lines("log.jsonl", log))
    assert len(whole) > 20
    by_partition = [lines(f"{i}.jsonl", part_of(log, i)) for i in AREAS.values()]
    halves = [lines("first.jsonl", log[:150]), lines("second.jsonl", log[150:])]
    assert sorted(run(*by_partition).identities) == sorted(whole.identities)
    assert sorted(run(*halves).identities) == sorted(whole.identities)
    monkeypatch.setattr("tocsin.replay.files.CHUNK", 7)
    for paths in (by_partition, halves, by_partition[::-1]):
        replayed = run(*paths)
        assert sorted(replayed.identities) == sorted(whole.identities)
        assert replayed.summary.late == 0


def test_what_is_no_event_is_refused_as_a_worker_does(run: Run, lines: WriteLines) -> None:
    bad = {**record(temp(0.5, 1), 0, 1), "value": "no JSON"}
    replayed = run(lines("log.jsonl", [record(temp(0, 50), 0, 0), bad, record(smoke(1), 0, 0)]))
    assert (replayed.values, replayed.summary.refused) == ([50], 1)
    refused = replayed.summary.first_refused
    assert refused is not None
    assert (refused.topic, refused.partition, refused.offset, refused.reason) == (
        "temps",
        0,
        1,
        "UNDECODABLE",
    )


def test_topics_of_others_are_passed_over(run: Run, lines: WriteLines) -> None:
    other = {**record(temp(0.5, 1), 0, 1), "topic": "others"}
    replayed = run(lines("log.jsonl", [other, record(temp(0, 50), 0, 0), record(smoke(1), 0, 0)]))
    assert (replayed.values, replayed.summary.read) == ([50], 2)


def test_keys_values_and_headers_may_be_of_any_bytes(run: Run, lines: WriteLines, fire: Plan) -> None:
    def framed(row: Row) -> Row:
        event = next(event for event in fire.input_types if event.topic == row["topic"])
        schema = schemas.event_schema(event.to_dict(), "fire")
        value = schemas.single_object_prefix(schema) + schemas.encode(schema, row["value"])
        coded = {
            "key_base64": base64.b64encode(b"\xff").decode(),
            "value_base64": base64.b64encode(value).decode(),
        }
        headers = [["ce_specversion", "1.0"], ["ce_source", "sensors"], ["ce_id", f"{row['topic']}-1"]]
        where = {name: given for name, given in row.items() if name not in {"key", "value"}}
        return {**where, **coded, "headers": headers}

    replayed = run(lines("log.jsonl", [framed(record(temp(0, 50), 0, 0)), framed(record(smoke(1), 0, 0))]))
    assert replayed.values == [50]
    assert [c.label for c in replayed[0].provenance] == ["sensors#smoke-1", "sensors#temps-1"]


class TestFormats:
    """The same log in other files gives the same."""

    @pytest.fixture
    def expected(self, run: Run, lines: WriteLines, log: list[Row]) -> Replayed:
        return run(lines("log.jsonl", log))

    @pytest.mark.parametrize(("unit", "ticks"), [("millis", 1), ("micros", 1000)])
    def test_avro(
        self, run: Run, log: list[Row], expected: Replayed, tmp_path: Path, unit: str, ticks: int
    ) -> None:
        nullable = '["null", "bytes"]'
        path = write_avro(
            tmp_path / "log.avro",
            f"""{{"type": "record", "name": "Record", "fields": [
                {{"name": "topic", "type": "string"}}, {{"name": "partition", "type": "int"}},
                {{"name": "offset", "type": "long"}}, {{"name": "timestamp", "type":
                ["null", {{"type": "long", "logicalType": "timestamp-{unit}"}}]}},
                {{"name": "key", "type": {nullable}}}, {{"name": "value", "type": {nullable}}}]}}""",
            [{**row, "timestamp": row["timestamp"] * ticks} for row in as_bytes(log)],
        )
        replayed = run(path)
        assert list(replayed) == list(expected)

    def test_parquet_as_spark_writes_it(
        self, run: Run, log: list[Row], expected: Replayed, tmp_path: Path
    ) -> None:
        header = pa.struct([("key", pa.string()), ("value", pa.binary())])
        schema = pa.schema(
            {
                "key": pa.binary(),
                "value": pa.binary(),
                "topic": pa.string(),
                "partition": pa.int32(),
                "offset": pa.int64(),
                "timestamp": pa.timestamp("us", "UTC"),
                "timestampType": pa.int32(),
                "headers": pa.list_(header),
            }
        )
        header_row = [{"key": "trace", "value": b"\xff"}]
        rows = [
            {**row, "timestamp": row["timestamp"] * 1000, "timestampType": 0, "headers": header_row}
            for row in as_bytes(log)
        ]
        path = tmp_path / "log.parquet"
        parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        assert run(path).identities == expected.identities


class TestEventsInOtherFormats:
    """Events without coordinates, whose type the file says for all of them or each for itself."""

    def test_avro_is_named_by_its_schema(self, run: Run, tmp_path: Path) -> None:
        time = '{"name": "time", "type": "long"}, {"name": "area", "type": "string"}'
        temps = write_avro(
            tmp_path / "temps.avro",
            f'{{"type": "record", "name": "Temp", "namespace": "plant", "fields": [{time}, '
            '{"name": "unit", "type": "string"}, {"name": "value", "type": ["null", "float"]}]}',
            [{"time": START_MS, "area": "hall", "unit": "C", "value": 50.5}],
        )
        smokes = write_avro(
            tmp_path / "smoke.avro",
            f'{{"type": "record", "name": "Smoke", "fields": [{time}]}}',
            [{"time": START_MS + 1, "area": "hall"}],
        )
        assert run(temps, smokes).values == [50.5]

    def test_avro_may_be_said_to_be_another(self, run: Run, tmp_path: Path) -> None:
        plan = compile_rules(
            'event A (n: int) on "both"; event B (n: int) on "both"; '
            "define C (value: int) from A as a where value = a.n;",
            app="both",
        )
        path = write_avro(
            tmp_path / "as.avro",
            '{"type": "record", "name": "B", "fields": ['
            '{"name": "time", "type": "long"}, {"name": "n", "type": "int"}]}',
            [{"time": START_MS, "n": 7}],
        )
        assert run(path, plan=plan).values == []
        assert run(path, plan=plan, event="A").values == [7]

    def test_parquet(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "events.parquet"
        rows = [temp(0, 50), temp(1, float("nan")), smoke(2)]
        parquet.write_table(pa.Table.from_pylist(rows), path)
        assert run(path).values == [50]
        with pytest.raises(InputError, match=r"events\.parquet, record 3: .*attribute `value`"):
            run(path, event="Temp")


def as_bytes(log: Sequence[Row]) -> list[dict[str, object]]:
    texts = {"hall": b"hall", "kitchen": b"kitchen", "attic": b"attic"}
    encoded = []
    for row in log:
        value = str(row["value"]).replace("'", '"').encode()
        encoded.append({**row, "key": texts[row["key"]], "value": value})
    return encoded


def write_avro(path: Path, schema: str, rows: Sequence[Row]) -> Path:
    with (
        path.open("wb") as file,
        DataFileWriter(file, DatumWriter(), avro.schema.parse(schema), "deflate") as writer,
    ):
        writer.datum_writer.writers_schema = schemas.parsing.parse(schema)
        for row in rows:
            writer.append({name: value for name, value in row.items() if name in schema})
    return path
