"""Warnings: what compiles, and hardly means what it says."""

import pytest

from tests.topology.planned import compiled


@pytest.mark.parametrize(
    ("match", "instead"),
    [
        ("every Smoke as s then (not Rain within 5 min)", "`not Rain for 5 min`"),
        ("every Smoke as s then not Rain within 5 min from s", "`not Rain for 5 min`"),
        ("every (Smoke as s then not Rain(mm > 1) within 5 min)", "`not Rain(mm > 1) for 5 min`"),
        ("every (Smoke then not Rain then Temp within 5 min)", "`A and not Rain`"),
        ("every Smoke then not Rain unbounded", "`not Rain for …`"),
        ("(every (Smoke then not Rain within 5 min)) and not Temp", "`not Rain for 5 min`"),
    ],
)
def test_a_denial_that_waits_for_nothing(match: str, instead: str) -> None:
    (warning,) = compiled(f"define D from match {match};").warnings
    assert "comes true at once, and what comes later is not heeded; write" in warning
    assert instead in warning


@pytest.mark.parametrize(
    "match",
    [
        "every Smoke as s then not Rain for 5 min",
        "every Smoke as s then ((Temp and not Rain) within 5 min)",
        "(Smoke then not Rain) and Temp within 5 min",
        "every (Smoke and not Rain)",
    ],
)
def test_denials_that_are_heeded(match: str) -> None:
    assert compiled(f"define D from match {match};").warnings == ()


def test_warnings_stand_where_they_are_and_in_the_order_of_the_text() -> None:
    plan = compiled("""
define B from match every Smoke as s then (not Rain within 5 min);
define A from match every Smoke as s then (not Temp within 5 min);""")
    assert [warning.split(": ")[0].rpartition(":")[2] for warning in plan.warnings] == ["44", "44"]
    assert ["Rain" in warning for warning in plan.warnings] == [True, False]
