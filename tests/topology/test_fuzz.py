"""No text whatsoever gets anything but a plan or proper errors; `make fuzz` tries many more of them."""

import pytest

from tests.topology import fuzz
from tocsin.topology import RuleErrors, compile_rules

ROUNDS = 1500


def test_mutated_files() -> None:
    assert 0 < fuzz.run(ROUNDS) < ROUNDS


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "define A from B(" + "(" * 100_000,
        "define A from B(" + "not " * 100_000,
        "define A from B(" + "- " * 100_000,
        "define A from B(" + "(x or y) + " * 50_000,
        "define A from B(" + "x and (" * 50_000,
        "define A from B(" + "f(" * 50_000,
        "define A from B(x = " + "9" * 100_000 + ");",
        "define A from B(x in (" + "1, " * 10_000,
        "define A from B" + " and last B within 1 s from B" * 10_000 + ";",
        "define A from B" + " and $x > 1" * 10_000 + ";",
        "define A from B" + " ; B" * 10_000 + ";",
        "define A from B" + " + 1 s" * 10_000 + ";",
        "define A from B ; C" + " within 1 s" * 10_000 + ";",
        "define A from " + "(" * 10_000,
        "define A from " + "begin " * 10_000,
        "define A from " + "any(1, " * 10_000,
        "define A from " + "not(" * 10_000,
        "define A from " + "(A or (B ; (C and " * 10_000,
        "define A from match " + "(" * 10_000,
        "define A from match " + "every " * 10_000,
        "define A from match " + "not " * 10_000,
        "define A from match " + "A then " * 10_000,
        "define A from match " + "A or " * 10_000,
        "define A from match " + "A{1} until " * 10_000,
        "define A from match " + "(A then (B or (C and (D | " * 10_000,
        "define A from match A" + " within 1 s" * 10_000 + ";",
        "rule A when " + "event A " * 10_000,
        "rule A when event A" + ", a after b" * 10_000 + " then flush all;",
        "rule A on A do " + "flush all, " * 10_000,
        "event A (" + "a: string, " * 10_000,
        "enum A { " + "a, " * 10_000,
        ";" * 10_000,
        '"' * 10_001,
        "\\" * 10_000,
        "event\n" * 10_000,
        "/*" * 10_000,
    ],
    ids=lambda text: text[:28],
)
def test_large_nonsense(text: str) -> None:
    with pytest.raises(RuleErrors):
        compile_rules(text, app="fuzz")
