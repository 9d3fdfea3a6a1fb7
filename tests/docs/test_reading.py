"""The reader of examples: what it makes of a document, and that it takes no line for something it is not."""

from pathlib import Path

import pytest

from .reading import Expectation, examples, read_history

DOCUMENT = """\
# Title

## One

```tocsin
event A (n: int) on "a";
```

```tocsin
define X from A;
```

```history
1 s      A(n = 1) as a1
1 s      -> X {a1}
1 min 2 s  .
```

## Two

```tocsin
define Y from A;
```

```error
no event `A`
```

```console
$ tocsin check
```
"""


def test_blocks_belong_together(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(DOCUMENT)
    declarations, first, second = examples(tmp_path / "page.md")
    assert [example.place for example in (declarations, first, second)] == [
        "page.md:6",
        "page.md:10",
        "page.md:22",
    ]
    assert first.text == 'event A (n: int) on "a";\ndefine X from A;\n'
    (history,) = first.histories
    assert history.until == 62_000
    assert history.expected == (Expectation(1000, "X", None, ("a1",)),)
    assert (second.text, second.error) == ("define Y from A;\n", "no event `A`\n")


def test_events_facts_and_expectations_are_told_apart() -> None:
    history = read_history(
        "0 s   fact F(id = 1)\n"
        "1 s   no fact F(1)\n"
        '2 s   A(s = "x, y = z", l = [1, 2])\n'
        "2 s   A                          -- a second one\n"
        "2 s   -> X(n = null)\n"
        "1970-01-01 00:00:03  .\n"
        "end   -> fact F(id = 2)\n"
    )
    assert [(change.type, change.position.time, change.state) for change in history.facts] == [
        ("F", 0, {"id": 1}),
        ("F", 1000, None),
    ]
    assert [(event.label, dict(event.attributes)) for event in history.events] == [
        ("A", {"s": "x, y = z", "l": (1, 2)}),
        ("A2", {}),
    ]
    assert history.expected == (Expectation(2000, "X", (("n", None),), None),)
    assert history.facts_at_end == (("F", (("id", 2),)),)
    assert history.until == 3000


@pytest.mark.parametrize("line", ["A(n = 1)", "1 s A(n = 1) what", "1 parsec  A", "soon  A"])
def test_what_is_no_line_is_refused(line: str) -> None:
    with pytest.raises(AssertionError, match="this is no"):
        read_history(line)
