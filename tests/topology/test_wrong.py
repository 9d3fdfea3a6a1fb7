"""Wrong rule files, each with the messages it must give, side by side in `wrong/`."""

from pathlib import Path

import pytest

from tocsin.topology import RuleErrors, compile_rules

WRONG = sorted((Path(__file__).parent / "wrong").glob("*.tocsin"))


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_messages(path: Path) -> None:
    with pytest.raises(RuleErrors) as raised:
        compile_rules(path.read_text(encoding="utf-8"), path.name, app="test")
    assert f"{raised.value}\n" == path.with_suffix(".txt").read_text(encoding="utf-8")


def test_every_kind_is_there() -> None:
    assert len(WRONG) >= 80
