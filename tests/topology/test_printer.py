"""The one true layout: it is stable, loses nothing, and reads back as what was written."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.topology.generate import declarations, programs
from tocsin.topology import compile_rules, format_rules, parse, tree

HERE = Path(__file__).parent
CANONICAL = sorted([*(HERE / "right").glob("*.tocsin"), *(HERE.parents[1] / "examples").rglob("*.tocsin")])

# How long an example takes says more about the machine than about the printer.
untimed = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=200
)


@untimed
@given(programs)
def test_what_is_printed_reads_back_the_same(program: tree.Program) -> None:
    text = str(program)
    again = parse(text)
    assert again == program
    assert str(again) == text


@untimed
@given(declarations)
def test_a_rule_prints_as_it_stands_in_a_file(declaration: tree.Declaration) -> None:
    assert format_rules(str(declaration)) == f"{declaration}\n"


@pytest.mark.parametrize("path", CANONICAL, ids=lambda path: path.stem)
def test_examples_are_sound_and_in_canonical_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_rules(text) == text
    assert compile_rules(text, app="test").nodes


def test_comments_are_kept() -> None:
    untidy = """
-- The building.


-- Thermometers
event Temp(area:string,value:double)lateness 2 s   on"temps"-- inside
key area; -- every 10 s
event Smoke(area: string) on "smoke" key area;
define Fire from Smoke( -- any
  ) and last Temp(area = Smoke.area) within 3min from Smoke;   --- done
   -- the end


"""
    tidy = """\
-- The building.

-- Thermometers
-- inside
event Temp (area: string, value: double) on "temps" key area lateness 2 s;  -- every 10 s
event Smoke (area: string) on "smoke" key area;

-- any
define Fire
from   Smoke
  and  last Temp(area = Smoke.area) within 3 min from Smoke;  --- done
-- the end
"""
    assert format_rules(untidy) == tidy
    assert format_rules(tidy) == tidy


@pytest.mark.parametrize("text", ["", "\n\n", "-- only a comment\n", "-- one\n\n-- two\n"])
def test_files_without_declarations(text: str) -> None:
    assert format_rules(text) == text.lstrip("\n")


def test_long_lists_are_broken() -> None:
    columns = ", ".join(f"attribute_{n}: string" for n in range(6))
    values = ", ".join(f'attribute_{n} = "{n}"' for n in range(6))
    text = f'event Wide ({columns}) on "wide"; define W ({columns}) from Wide where {values};'
    assert (
        format_rules(text)
        == """\
event Wide (
    attribute_0: string,
    attribute_1: string,
    attribute_2: string,
    attribute_3: string,
    attribute_4: string,
    attribute_5: string
  ) on "wide";

define W (
    attribute_0: string,
    attribute_1: string,
    attribute_2: string,
    attribute_3: string,
    attribute_4: string,
    attribute_5: string
  )
from   Wide
where  attribute_0 = "0",
       attribute_1 = "1",
       attribute_2 = "2",
       attribute_3 = "3",
       attribute_4 = "4",
       attribute_5 = "5";
"""
    )


@pytest.mark.parametrize("length", range(50, 93))
def test_lines_are_at_most_a_hundred_wide(length: int) -> None:
    name = "W" * length
    text = f'event {name} (a: string) on "topic"; define A (a: int) from {name}(x > 1);'
    lines = format_rules(text).split("\n")
    assert max(map(len, lines)) <= 100
    assert lines == [line.rstrip() for line in lines]
