"""Events of other applications in the plan, and the examples."""

from pathlib import Path

import pytest

from tocsin.topology import compile_rules, format_rules

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*/*.tocsin"))

SITE = """
event Fire  (area: string) of "plant_a" key area;
event Flood (area: string) of "plant_b" on "tocsin.plant_b.Flooding";
event Guard (area: string, name: string) on "guards" key name;
"""


def test_they_are_inputs_on_the_topics_of_the_other_application() -> None:
    plan = compile_rules(SITE + "define Both from (Fire and Flood) within 1 min context recent;", app="site")
    fire, flood = plan.taken_types
    assert (fire.topic, fire.application, fire.key) == ("tocsin.plant_a.Fire", "plant_a", 0)
    assert (flood.topic, flood.published_as) == ("tocsin.plant_b.Flooding", "Flooding")
    assert plan.takes_from == ("plant_a", "plant_b")
    assert plan.types[0].to_dict()["application"] == "plant_a"
    assert "application" not in plan.types[2].to_dict()
    assert plan.input_topics == ("tocsin.plant_a.Fire", "tocsin.plant_b.Flooding")


def test_they_are_remembered_as_long_as_rules_keep_them() -> None:
    plan = compile_rules(SITE + "define Both from (Fire and Flood) within 1 day context recent;", app="site")
    assert [event.remember_ms for event in plan.taken_types] == [86_400_000, 86_400_000]


def test_each_application_has_its_own_route_because_it_has_its_own_partitions() -> None:
    rules = "define All from (Fire and Flood and Guard) within 1 min context recent;"
    plan = compile_rules(SITE + rules, app="site")
    assert {sub.name: sub.topics for sub in plan.subtopologies} == {
        "route-plant_a": ("tocsin.plant_a.Fire",),
        "route-plant_b": ("tocsin.plant_b.Flooding",),
        "route": ("guards",),
        "global": ("tocsin.site.global-events",),
    }


def test_what_is_keyed_alike_is_detected_by_the_key() -> None:
    rules = "define Twice from (Fire($a) ; Fire($a)) within 1 min context recent;"
    (sub,) = compile_rules(SITE + rules, app="site").subtopologies
    assert (sub.name, sub.topics) == ("local", ("tocsin.plant_a.Fire",))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_compile_and_have_the_layout(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert format_rules(text) == text
    assert compile_rules(text, app=path.stem).subtopologies
