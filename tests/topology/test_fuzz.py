"""No text whatsoever gets anything but a plan or proper errors."""

import random
from pathlib import Path

import pytest

from tocsin.topology import RuleErrors, compile_rules, format_rules

HERE = Path(__file__).parent
RIGHT = [path.read_text(encoding="utf-8") for path in sorted((HERE / "right").glob("*.tocsin"))]
WRONG = [path.read_text(encoding="utf-8") for path in sorted((HERE / "wrong").glob("*.tocsin"))]
CORPUS = RIGHT + WRONG
PIECES = [*' \n;,.()"$-=<>?:\\', "event", "define", "from", "where", "and", "last", "within", "as", "not"]
PIECES += [
    "--",
    "0",
    "9" * 30,
    "1e999",
    "3 min",
    "$a",
    "t.value",
    "\ud800",
    "\x00",
    "é",
    "((((",
    "- - -",
    "'",
]
ROUNDS = 4000


def mutate(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice([0, 0, 1, 3, 20]))
        other = chance.choice(CORPUS)
        cut = chance.randint(0, len(other))
        piece = chance.choice([chance.choice(PIECES), "", other[cut : cut + chance.choice([5, 40])]])
        text = text[:start] + piece * chance.choice([1, 1, 1, 2, 60]) + text[end:]
    return text


def check(text: str) -> None:
    """Compile, and hold that errors can be shown and that a sound file stays sound in canonical layout."""
    try:
        plan = compile_rules(text, app="fuzz")
    except RuleErrors as error:
        shown = str(error), error.to_dict()
    else:
        shown = format_rules(text), plan.to_dict()
        assert compile_rules(shown[0], app="fuzz") == plan
    assert all(shown)


def test_mutated_files() -> None:
    chance = random.Random(20)
    for _ in range(ROUNDS):
        check(mutate(chance.choice(chance.choice([RIGHT, WRONG])), chance))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "define A from B(" + "(" * 100_000,
        "define A from B(" + "not " * 100_000,
        "define A from B(" + "- " * 100_000,
        "define A from B(" + "(x or y) + " * 50_000,
        "define A from B(" + "x and (" * 50_000,
        "define A from B(x = " + "9" * 100_000 + ");",
        "define A from B" + " and last B within 1 s from B" * 10_000 + ";",
        "event A (" + "a: string, " * 10_000,
        ";" * 10_000,
        '"' * 10_001,
        "\\" * 10_000,
        "event\n" * 10_000,
        "/*" * 10_000,
    ],
    ids=range(14),
)
def test_large_nonsense(text: str) -> None:
    with pytest.raises(RuleErrors):
        compile_rules(text, app="fuzz")
