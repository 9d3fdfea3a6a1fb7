"""What of the broker does not suit the rules is told, in sentences."""

from collections.abc import Callable

from tests.workers.conftest import Application
from tocsin.topology import compile_rules
from tocsin.workers.preflight import concerns

RULES = """
event Temp (area: string, value: double) on "{temps}" key area;
event Smoke (area: string) on "{smoke}" key area;
define Fire from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 h from s;
"""


def test_what_suits_gives_no_concern(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=2, **{"retention.ms": "180000"})
    assert concerns(app.plan, app.settings()) == []


def test_topics_that_forget_sooner_than_the_rules(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=1, **{"retention.ms": "120000"})
    temps, smoke = (event.topic for event in app.plan.input_types)
    assert concerns(app.plan, app.settings()) == [
        f"Topic '{topic}' keeps records for 2 min, but Fire looks back 3 min: workers remember what they "
        "need, but a replay may not find it any more."
        for topic in sorted((temps, smoke))
    ]


def test_a_compacted_topic_forgets_nothing_by_time(make_app: Callable[..., Application]) -> None:
    app = make_app(partitions=1, **{"retention.ms": "1000", "cleanup.policy": "compact"})
    assert concerns(app.plan, app.settings()) == []


def test_topics_that_are_missing_or_do_not_fit_together(
    make_app: Callable[..., Application], topic: Callable[..., str]
) -> None:
    app = make_app()
    temps, smoke = topic("temps", partitions=2), topic("smoke", partitions=3)
    plan = compile_rules(RULES.format(temps=temps, smoke=smoke), app="uneven")
    assert concerns(plan, app.settings()) == [
        f"Topics that are joined by key differ in their partitions: '{smoke}' has 3, '{temps}' has 2."
    ]
    plan = compile_rules(RULES.format(temps=temps, smoke="nowhere"), app="missing")
    assert concerns(plan, app.settings()) == ["Topic 'nowhere' does not exist."]
