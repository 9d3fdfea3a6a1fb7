"""`tocsin replay` over files: what it writes where, and its sentences."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Tocsin = Callable[..., Result]

TEMP = '{"type": "Temp", "time": "2026-01-02T09:00:00Z", "area": "hall", "value": 51.5}\n'
SMOKE = '{"type": "Smoke", "time": 1767344460000, "area": "hall"}\n'
RECORD = '{"topic": "temps", "partition": 0, "offset": %d, "timestamp": 1, "key": "hall", "value": {}}\n'


@pytest.fixture
def log(folder: Path) -> Path:
    path = folder / "events.jsonl"
    path.write_text(TEMP + SMOKE, encoding="utf-8")
    return path


def test_complex_events_are_lines_and_the_rest_is_said(tocsin: Tocsin, fire_file: Path, log: Path) -> None:
    result = tocsin("replay", fire_file, log)
    assert result.exit_code == 0
    (fire,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert (fire["type"], fire["attributes"]) == ("Fire", {"area": "hall", "value": 51.5})
    said = dict(line.rsplit(maxsplit=1) for line in result.stderr.splitlines())
    assert said.pop("events/s")
    assert said == {
        "Fire": "1",
        "events read": "2",
        "late": "0",
        "refused": "0",
        "until": "2026-01-02T09:01:00.000Z",
    }


def test_they_can_go_to_a_file(tocsin: Tocsin, fire_file: Path, log: Path, folder: Path) -> None:
    result = tocsin("replay", fire_file, log, "--output", "fires.jsonl")
    assert (result.exit_code, result.stdout) == (0, "")
    assert json.loads((folder / "fires.jsonl").read_text())["type"] == "Fire"


def test_time_goes_no_further_than_told(tocsin: Tocsin, fire_file: Path, log: Path) -> None:
    for option in ("--to", "--until"):
        result = tocsin("replay", fire_file, log, option, "2026-01-02T09:00:59Z")
        assert (result.exit_code, result.stdout) == (0, "")


def test_what_was_refused_is_told(tocsin: Tocsin, fire_file: Path, log: Path) -> None:
    log.write_text((RECORD % 0) + (RECORD % 1).replace("{}", '{"area": "hall", "value": 1}'))
    result = tocsin("replay", fire_file, log)
    assert result.exit_code == 0
    assert "Records were refused, the first at temps/0/0: the JSON lacks attribute" in result.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "There is nothing to replay: the log holds no event that the rules read."),
        (TEMP + "\n\nno", "events.jsonl, line 4: This is not a JSON object: Expecting value."),
        ("{} {}", "events.jsonl, line 1: This is not a JSON object: Extra data."),
        ("[1]", "events.jsonl, line 1: This is not a JSON object: it is of type list."),
        ("{}", 'events.jsonl, line 1: It does not say its "type", and no --event is given.'),
        (TEMP.replace("Temp", "Tmp"), "line 1: The rules know no event 'Tmp'; did you mean Temp?"),
        (TEMP.replace("Temp", "Fire"), "line 1: Fire events are made by the rules"),
        (TEMP.replace('"time"', '"when"'), 'line 1: It does not say its "time".'),
        (TEMP.replace("2026-01", "January"), "line 1: 'January-02T09:00:00Z' is not a time"),
        (
            TEMP + TEMP.replace("51.5", '"hot"'),
            "line 2: This is no event of the rules: not the JSON of event",
        ),
        (RECORD % 5 + RECORD % 4, "line 2: Offset 4 of temps/0 comes behind 5"),
        ((RECORD % 5).replace('"timestamp": 1, ', ""), 'line 1: It does not say its "timestamp".'),
        ((RECORD % 5).replace(": 0", ': "zero"'), "line 1: 'zero' is no partition."),
        ((RECORD % 5).replace("5", "null"), "line 1: None is no offset."),
        ((RECORD % 5).replace("{}", "7"), "line 1: Its value is 7, which is neither text nor an object."),
        ((RECORD % 5).replace('"value": {}', '"value_base64": "?"'), "Its value_base64 is not in base 64."),
        ((RECORD % 5)[:-2] + ', "headers": [1]}', "Its headers are not pairs of a name and a value."),
    ],
)
def test_a_wrong_line_is_a_sentence(
    tocsin: Tocsin, fire_file: Path, log: Path, text: str, sentence: str
) -> None:
    log.write_text(text, encoding="utf-8")
    result = tocsin("replay", fire_file, log)
    assert result.exit_code == 1
    assert sentence in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.jsonl"], "missing.jsonl cannot be read: No such file or directory."),
        (["missing.avro"], "missing.avro cannot be read: No such file or directory."),
        (["missing.parquet"], "missing.parquet cannot be read"),
        (
            ["fire.tocsin"],
            "fire.tocsin is of no known format: the name of a log ends in one of .avro, .jsonl",
        ),
        (["bad.avro"], "bad.avro is not an Avro object container file"),
        (["bad.parquet"], "bad.parquet is not a Parquet file"),
        (["events.jsonl", "events.jsonl"], "events.jsonl is given twice."),
        (["events.jsonl", "records.jsonl"], "records.jsonl holds records with their coordinates and"),
        (["events.jsonl", "--event", "Tmp"], "The rules know no event 'Tmp'; did you mean Temp?"),
        (["events.jsonl", "--to", "noon"], "'noon' is not a time"),
        (["events.jsonl", "--from", "1"], "--topic, --from and --save are for topics"),
        (["--event", "Temp"], "--event is for files"),
        (["--from", "noon"], "'noon' is not a time"),
        (
            ["--topic", "temp", "--brokers", "127.0.0.1:1"],
            "The rules read no topic 'temp'; did you mean temps?",
        ),
        (["events.jsonl", "--output", "no/such/folder"], "no/such/folder cannot be written: No such file"),
    ],
)
@pytest.mark.usefixtures("log")
def test_a_wrong_argument_is_a_sentence(
    tocsin: Tocsin, fire_file: Path, folder: Path, arguments: list[str], sentence: str
) -> None:
    for name in ("bad.avro", "bad.parquet"):
        (folder / name).write_text("neither")
    (folder / "records.jsonl").write_text(RECORD % 0)
    result = tocsin("replay", fire_file, *arguments)
    assert result.exit_code == 1
    assert sentence in result.stderr


def test_rules_that_define_nothing_are_a_sentence(tocsin: Tocsin, fire_file: Path, log: Path) -> None:
    fire_file.write_text('event Temp (area: string, value: double) on "temps" key area;')
    result = tocsin("replay", fire_file, log)
    assert result.exit_code == 1
    assert "there is no rule to replay" in result.stderr


def test_parquet_without_pyarrow_is_a_sentence(
    tocsin: Tocsin, fire_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "tocsin.replay.parquet_rows", raising=False)
    result = tocsin("replay", fire_file, "log.parquet")
    assert result.exit_code == 2
    assert "pip install 'tocsin[parquet]'" in result.stderr


def test_topics_need_a_broker(tocsin: Tocsin, fire_file: Path) -> None:
    result = tocsin("replay", fire_file)
    assert result.exit_code == 2
    assert "There is no Kafka to connect to" in result.stderr
