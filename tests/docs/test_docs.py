"""The documents' examples do what the documents say."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.differential.run import detect as by_engine
from tests.oracle.run import Detected, by_definition
from tocsin.topology import RuleErrors, compile_rules, tree

from .reading import Example, Expectation, History, Script, examples, scripts, told

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
EXAMPLES = [example for file in sorted(DOCS.glob("*.md")) for example in examples(file)]
SCRIPTS = [script for file in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))) for script in scripts(file)]
RUN = [
    pytest.param(example.text, history, id=f"{example.place}-{number}")
    for example in EXAMPLES
    for number, history in enumerate(example.histories, 1)
]


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.place for example in EXAMPLES])
def test_rules_compile_or_are_refused_as_told(example: Example) -> None:
    if example.error is None:
        compile_rules(example.text, example.place, app="docs")
        return
    with pytest.raises(RuleErrors) as refused:
        compile_rules(example.text, example.place, app="docs")
    for line in example.error.strip().splitlines():
        assert line.strip() in str(refused.value)


@pytest.mark.parametrize("detect", [by_definition, by_engine], ids=["oracle", "engine"])
@pytest.mark.parametrize(("text", "history"), RUN)
def test_histories_give_what_is_told(text: str, history: History, detect: Callable[..., Detected]) -> None:
    detected = detect(text, history.events, facts=history.facts, until=history.until)
    definitions = [d for d in detected.world.program.declarations if isinstance(d, tree.Define | tree.Rule)]
    names = dict.fromkeys(definition.name.text for definition in definitions)
    for name in names:
        expected = [one for one in history.expected if one.name == name]
        like = expected[0] if expected else None
        assert sorted(map(_key, (told(o, like) for o in detected.of(name)))) == sorted(map(_key, expected))
    for name in dict(history.facts_at_end):
        facts = sorted(tuple(sorted(state.items())) for state in detected.facts(name))
        assert facts == sorted(state for fact, state in history.facts_at_end if fact == name)
    assert {one.name for one in history.expected} <= names.keys()


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.place for script in SCRIPTS])
def test_programs_print_what_is_told(
    script: Script, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    exec(compile(script.code, script.place, "exec"), {})  # noqa: S102 (an example of our own)
    assert capsys.readouterr().out.strip() == script.output.strip()


def _key(one: Expectation) -> tuple[int, str]:
    return one.t, repr(one)
