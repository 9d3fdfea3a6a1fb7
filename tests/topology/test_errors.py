"""How mistakes are shown, to people and to programs."""

import pickle

import pytest

from tocsin.topology import AppNameError, RuleErrors, TocsinError, compile_rules, parse


def errors_of(text: str) -> RuleErrors:
    with pytest.raises(RuleErrors) as raised:
        parse(text, "a.tocsin")
    return raised.value


def test_machine_form() -> None:
    error = errors_of("event Temp (area: string)\n  on temps;\nevnt x;\n")
    assert error.to_dict() == {
        "file": "a.tocsin",
        "errors": [
            {
                "line": 2,
                "column": 6,
                "end_line": 2,
                "end_column": 11,
                "message": "expected a topic in double quotes, found `temps`",
                "hint": 'write `on "temps"`',
            },
            {
                "line": 3,
                "column": 1,
                "end_line": 3,
                "end_column": 5,
                "message": "expected a declaration, found `evnt`",
                "hint": "did you mean `event`?",
            },
        ],
    }


def test_tabs_line_ends_and_control_characters_do_not_move_the_caret() -> None:
    assert str(errors_of('event\tTemp\x1b ()\r\n\ton "t";\r\n')).splitlines() == [
        "a.tocsin:1:11: error: the character U+001B has no meaning here",
        "  1 | event Temp\N{REPLACEMENT CHARACTER} ()",
        "    |           ^",
    ]


def test_a_long_line_is_cut_around_the_caret() -> None:
    error = errors_of(f'{"event A () on " * 1}"{"x" * 1000}" nonsense {"y" * 1000};')
    lines = str(error).splitlines()
    assert all(len(line) < 200 for line in lines)
    caret = lines[2].index("^")
    assert lines[1][caret : caret + 8] == "nonsense"


def test_an_error_survives_a_process_boundary() -> None:
    error = errors_of("evnt x;")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 (our own bytes)


@pytest.mark.parametrize("app", ["", "a b", "ä", "x" * 101, "a/b"])
def test_app_name(app: str) -> None:
    with pytest.raises(AppNameError, match="cannot name an application") as raised:
        compile_rules("", app=app)
    assert isinstance(raised.value, TocsinError)
