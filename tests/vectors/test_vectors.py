"""The shared cases where there are any, and the runner on made-up ones everywhere."""

import os
from pathlib import Path

import pytest

from .__main__ import main
from .cases import NoCases, load
from .runner import Outcome, Verdict, run

ROOT = Path(__file__).parents[2]
SHARED = ROOT / os.environ.get("VECTORS", "../shared/vectors")
SAMPLE = Path(__file__).parent / "sample"

EXPRESSIBLE_AT_LEAST = 0.75


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    if not SHARED.is_dir():
        pytest.skip(f"there are no cases in {SHARED}: name a folder in VECTORS")
    return [run(case) for case in load(SHARED)]


def test_what_can_be_expressed_passes(outcomes: list[Outcome]) -> None:
    failed = {o.case.id: o.detail for o in outcomes if o.verdict is Verdict.FAILED}
    assert not failed


def test_most_can_be_expressed(outcomes: list[Outcome]) -> None:
    expressible = [o for o in outcomes if o.verdict is not Verdict.INEXPRESSIBLE]
    assert len(expressible) >= EXPRESSIBLE_AT_LEAST * len(outcomes)


def test_each_case_ends_as_it_should() -> None:
    ended = {outcome.case.id: (outcome.verdict, outcome.detail) for outcome in map(run, load(SAMPLE))}
    passed = {name for name, (verdict, _) in ended.items() if verdict is Verdict.PASSED}
    translated = ("drools", "esper", "flink", "opencep", "siddhi", "snoop", "trex")
    assert {name.split("-")[1] for name in passed} == set(translated)
    assert {name: ended[name] for name in ended.keys() - passed} == {
        "sample-opencep-1": (Verdict.FAILED, "missing: {a1, b2}"),
        "sample-drools-6": (Verdict.INEXPRESSIBLE, "notation: soundslike $a )"),
        "sample-trex-2": (Verdict.INEXPRESSIBLE, "notation: Whatever happens"),
        "sample-unheard-1": (Verdict.INEXPRESSIBLE, "there is no translator for unheard.json"),
    }


def test_a_failed_case_is_shown_with_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SAMPLE)]) == 1
    shown = capsys.readouterr().out
    for part in ("opencep", "sequence", "sample-opencep-1", "rule Case", "missing: {a1, b2}", "Whatever"):
        assert part in shown


def test_only_some_cases_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(SAMPLE), "sample-trex"]) == 0
    assert "opencep" not in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere is not a folder" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("content", ["", "[]", '{"cases": [{}]}'])
def test_a_file_that_is_none_of_cases_is_told(tmp_path: Path, content: str) -> None:
    (tmp_path / "broken.json").write_text(content)
    with pytest.raises(NoCases, match=r"broken\.json is not a file of cases"):
        load(tmp_path)


def test_a_folder_without_cases_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoCases, match="has no"):
        load(tmp_path)
