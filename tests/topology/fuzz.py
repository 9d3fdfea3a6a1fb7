"""Mutated rule files get a plan or proper errors, never anything else.

`python -m tests.topology.fuzz 100000` tries so many.
"""

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

from tocsin.topology import RuleErrors, compile_rules, format_rules, parse

HERE = Path(__file__).parent
RIGHT = [path.read_text(encoding="utf-8") for path in sorted((HERE / "right").glob("*.tocsin"))]
WRONG = [path.read_text(encoding="utf-8") for path in sorted((HERE / "wrong").glob("*.tocsin"))]
CORPUS = RIGHT + WRONG
TOKEN = re.compile(r'\s+|\$?\w+|"[^"\n]*"|--[^\n]*|[<>!]=|.', re.DOTALL)
WORDS = sorted({token for text in CORPUS for token in TOKEN.findall(text) if token.strip()})
KINDS = {
    "parameter": r"\$\w+",
    "number": r"\d+",
    "unit": "ms|s|min|h|days|week",
    "junction": "and|or",
    "chain": r"and|or|;|then|\|",
    "comparison": "[<>]=?|!?=",
    "sum": r"[-+/%]",
    "string": r'"[^"\n]*"',
    "selection": "each|last|first|next|every",
    "phase": "begin|end|commit|abort",
    "range": "between|within|before|after",
    "name": r"[A-Z]\w*",
    "word": r"[a-z]\w*",
}
ALIKE = {kind: [word for word in WORDS if re.fullmatch(pattern, word)] for kind, pattern in KINDS.items()}
STRANGE = (
    *' \n;,.()[]{}|"$-=<>?:\\*',
    *("--", "0", "9" * 30, "1e999", "3 min", "\ud800", "\x00", "é", "((((", "- - -", "not not ", "'"),
    *("begin begin ", "(A ; ", "every ", "{1,}", "any(1, ", " + 1 s", " within 1 s", "[1]", " until A{0}"),
)

Mutation = Callable[[str, random.Random], str]


def change_characters(text: str, chance: random.Random) -> str:
    """Replace some characters by others, by a piece of another file, or by something strange many times."""
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.choice([0, 0, 1, 3, 20]))
    other = chance.choice(CORPUS)
    cut = chance.randint(0, len(other))
    piece = chance.choice([chance.choice(STRANGE), "", other[cut : cut + chance.choice([5, 40])]])
    return text[:start] + piece * chance.choice([1, 1, 1, 2, 60]) + text[end:]


def change_tokens(text: str, chance: random.Random) -> str:
    """Leave out, replace, repeat or exchange some tokens."""
    tokens = TOKEN.findall(text)
    at, to = (chance.randrange(len(tokens) + 1) for _ in range(2))
    match chance.randrange(4):
        case 0:
            del tokens[at : at + chance.choice([1, 1, 3])]
        case 1:
            tokens[at : at + chance.choice([0, 1])] = f" {chance.choice(WORDS)} "
        case 2:
            tokens[at:at] = tokens[to : to + chance.choice([1, 5, 20])]
        case _:
            piece = tokens[to : to + 3]
            tokens[to : to + 3] = tokens[at : at + 3]
            tokens[at : at + 3] = piece
    return "".join(tokens)


def change_alike(text: str, chance: random.Random) -> str:
    """Replace a token by another of its kind, so that many files stay sound."""
    tokens = TOKEN.findall(text)
    at = chance.randrange(len(tokens) + 1)
    for place in range(at, len(tokens)):
        if others := ALIKE.get(_kind(tokens[place])):
            tokens[place] = chance.choice(others)
            break
    return "".join(tokens)


def _kind(token: str) -> str:
    """Return the first group that a token belongs to."""
    for kind, pattern in KINDS.items():
        if re.fullmatch(pattern, token):
            return kind
    return ""


def mutate(text: str, chance: random.Random) -> str:
    """Change a text in a few places, gently or not."""
    rough: list[Mutation] = [change_characters, change_tokens, change_tokens]
    mutations = chance.choice([[change_alike], rough])
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(mutations)(text, chance)
    return text


def check(text: str) -> bool:
    """Hold that a text is compiled or refused with errors that can be shown; return whether it was read.

    What can be read says the same in canonical layout.
    """
    try:
        tree = parse(text)
    except RuleErrors as error:
        _show(error)
        return False
    tidy = format_rules(text)
    assert parse(tidy) == tree
    assert format_rules(tidy) == tidy
    try:
        plan = compile_rules(text, app="fuzz")
    except RuleErrors as error:
        _show(error)
    else:
        assert compile_rules(tidy, app="fuzz") == plan
    return True


def _show(error: RuleErrors) -> None:
    assert str(error)
    assert error.to_dict()["errors"]


def run(rounds: int, seed: int = 20) -> int:
    """Check mutated files; return how many of them could still be read."""
    read = 0
    for number in range(rounds):
        chance = random.Random(f"{seed} {number}")
        text = mutate(chance.choice(chance.choice([RIGHT, WRONG])), chance)
        try:
            read += check(text)
        except Exception as error:
            error.add_note(f"round {number} of seed {seed}:\n{text!r}")
            raise
    return read


if __name__ == "__main__":
    wanted = int(sys.argv[1])
    print(f"{wanted:,} mutated files, {run(wanted):,} of them still read; nothing but proper errors")  # noqa: T201
