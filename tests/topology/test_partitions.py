"""Topics that differ in their partitions: what is planned otherwise, and what is not."""

from tests.topology.planned import compiled, placements
from tocsin.topology import Plan, replan

FIRE = """define Fire (area: string)
from Smoke(area = $a) as s and last Temp(area = $a) as t within 1 h from s where area = $a;"""


def shape(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return what each sub-topology reads."""
    return {sub.name: sub.topics for sub in plan.subtopologies}


def test_topics_that_are_alike_change_nothing() -> None:
    plan = compiled(FIRE)
    assert replan(plan, {"temps": 5, "smoke": 5, "elsewhere": 9}) is plan
    assert replan(plan, {"temps": 5}) is plan


def test_what_lies_in_fewer_partitions_is_sent_on_by_its_key() -> None:
    plan = replan(compiled(FIRE), {"temps": 3, "smoke": 5})
    assert placements(plan) == {"Fire": "route"}
    assert shape(plan) == {"route": ("temps",), "routed": ("smoke", "tocsin.test.Temp-by-area")}
    ((forward,),) = (sub.forwards for sub in plan.subtopologies if sub.forwards)
    assert plan.types[forward.type].name == "Temp"
    assert forward.key == 0
    assert plan == replan(compiled(FIRE), {"temps": 3, "smoke": 5})


def test_a_topic_that_is_not_there_yet_is_taken_to_be_alike() -> None:
    plan = compiled(FIRE.replace(" where", " and not Rain(area = $a) between t and s where"))
    plan = replan(plan, {"temps": 3, "smoke": 5})
    assert shape(plan) == {"route": ("temps",), "routed": ("rain", "smoke", "tocsin.test.Temp-by-area")}


def test_rules_whose_own_topics_are_alike_stay_local() -> None:
    rules = "define Hot from Temp(value > 80.0); define Wet from Rain(mm > 1.0); define Smoky from Smoke;"
    plan = replan(compiled(rules), {"temps": 3, "rain": 5, "smoke": 3})
    assert placements(plan) == {"Hot": "local", "Wet": "local", "Smoky": "local"}
    assert shape(plan) == {"local": ("smoke", "temps"), "local-2": ("rain",)}


def test_a_route_for_each_number_of_partitions() -> None:
    plan = compiled(
        "define Near from Smoke as s and last Temp as t within 1 h from s and not Rain between t and s;"
    )
    assert shape(plan)["route"] == ("rain", "smoke", "temps")
    plan = replan(plan, {"temps": 3, "smoke": 5, "rain": 5})
    assert shape(plan)["route"] == ("temps",)
    assert shape(plan)["route.5"] == ("rain", "smoke")
    assert plan.subtopologies[-1].topics == ("tocsin.test.global-events",)


def test_what_no_key_ties_runs_in_one_place() -> None:
    plan = compiled("define Either from Tag or Temp; define Twice from (Either ; Either) within 1 h;")
    assert placements(plan) == {"Either": "local", "Twice": "global"}
    plan = replan(plan, {"tags": 2, "temps": 3})
    assert placements(plan) == {"Either": "global", "Twice": "global"}


def test_what_is_made_of_what_is_sent_on_is_with_it() -> None:
    above = "define Again (area: string) from (Fire(area = $a) ; Fire(area = $a)) within 1 h where area = $a;"
    plan = replan(compiled(FIRE + above), {"temps": 9, "smoke": 5})
    assert placements(plan) == {"Fire": "route", "Again": "route"}
    assert shape(plan) == {"route": ("smoke",), "routed": ("temps", "tocsin.test.Smoke-by-area")}
