"""`tocsin check` and `tocsin fmt`."""

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Tocsin = Callable[..., Result]


def test_check_says_what_the_rules_do(tocsin: Tocsin, fire_file: Path) -> None:
    result = tocsin("check", fire_file)
    assert result.exit_code == 0
    assert "Fire(area: string, value: double)" in result.stdout
    assert "tocsin.fire.Fire" in result.stdout
    assert "180 s" in result.stdout
    assert not result.stderr


def test_check_tells_scripts_the_same(tocsin: Tocsin, fire_file: Path) -> None:
    said = json.loads(tocsin("check", fire_file, "--json").stdout)
    assert said["ok"] is True
    assert said["app"] == "fire"
    assert [event["topic"] for event in said["events"]] == ["temps", "smoke", "tocsin.fire.Fire"]
    assert [(rule["name"], rule["horizon_ms"]) for rule in said["rules"]] == [("Fire", 180_000)]


def test_check_says_what_is_taken_from_whom(tocsin: Tocsin, folder: Path) -> None:
    rules = folder / "site.tocsin"
    rules.write_text('event Fire (area: string) of "plant_a"; define Seen from Fire;')
    taken, made = tocsin("check", rules).stdout.splitlines()[1:3]
    assert taken.split()[-2:] == ["tocsin.plant_a.Fire", "plant_a"]
    assert made.split()[-1] == "tocsin.site.Seen"
    fire, _ = json.loads(tocsin("check", rules, "--json").stdout)["events"]
    assert fire["application"] == "plant_a"


def test_the_application_can_be_named(tocsin: Tocsin, fire_file: Path) -> None:
    said = json.loads(tocsin("check", fire_file, "--app", "site-7", "--json").stdout)
    assert said["events"][-1]["topic"] == "tocsin.site-7.Fire"


def test_what_may_surprise_is_a_warning(tocsin: Tocsin, fire_file: Path) -> None:
    with fire_file.open("a") as rules:
        rules.write("\ndefine Calm from match every Smoke as s then (not Temp within 5 min);\n")
    result = tocsin("check", fire_file)
    assert result.exit_code == 0
    assert "`not Temp` comes true at once" in result.stderr
    (warning,) = json.loads(tocsin("check", fire_file, "--json").stdout)["warnings"]
    assert warning.startswith(f"{fire_file}:")
    assert "write `not Temp for 5 min`" in warning


def test_a_mistake_is_shown_where_it_is(tocsin: Tocsin, fire_file: Path) -> None:
    fire_file.write_text(fire_file.read_text().replace("from   Smoke", "from   Smok"))
    result = tocsin("check", fire_file)
    assert result.exit_code == 1
    place, line, caret, hint = result.stderr.splitlines()
    assert place.startswith(f"{fire_file}:5:8: error: ")
    assert line.endswith("from   Smok(area = $a) as s")
    assert caret[line.index("Smok") :].startswith("^^^^")
    assert "Smoke" in hint
    assert not result.stdout


def test_scripts_get_the_place_of_a_mistake(tocsin: Tocsin, fire_file: Path) -> None:
    fire_file.write_text(fire_file.read_text().replace("from   Smoke", "from   Smok"))
    result = tocsin("check", fire_file, "--json")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert said["ok"] is False
    assert [(error["line"], error["column"]) for error in said["errors"]] == [(5, 8)]


def test_a_file_that_cannot_be_read_is_a_sentence(tocsin: Tocsin, folder: Path) -> None:
    result = tocsin("check", "none.tocsin")
    assert result.exit_code == 1
    assert result.stderr == "none.tocsin cannot be read: No such file or directory.\n"
    (folder / "bytes.tocsin").write_bytes(b"event \xff")
    result = tocsin("check", "bytes.tocsin")
    assert result.exit_code == 1
    assert result.stderr == "bytes.tocsin is not a rule file: its byte 6 is not UTF-8.\n"


def test_fmt_brings_a_file_into_its_layout_once(tocsin: Tocsin, fire_file: Path) -> None:
    fire_file.write_text(fire_file.read_text().replace("key area", "key    area"))
    assert tocsin("fmt", fire_file, "--check").exit_code == 1
    assert "key    area" in fire_file.read_text()
    assert tocsin("fmt", fire_file).exit_code == 0
    formatted = fire_file.read_text()
    assert "key    area" not in formatted
    assert tocsin("fmt", fire_file, "--check").exit_code == 0
    assert tocsin("fmt", fire_file).exit_code == 0
    assert fire_file.read_text() == formatted


def test_fmt_leaves_a_file_with_mistakes_alone(tocsin: Tocsin, fire_file: Path) -> None:
    broken = fire_file.read_text().replace("define", "defein")
    fire_file.write_text(broken)
    result = tocsin("fmt", fire_file)
    assert result.exit_code == 1
    assert f"{fire_file}:4:1: error" in result.stderr
    assert fire_file.read_text() == broken
