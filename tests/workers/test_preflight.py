"""What of the broker does not suit the rules is told, in sentences."""

import re
from collections.abc import Callable
from pathlib import Path

from typer.testing import CliRunner

from tests.workers.conftest import Application
from tocsin.cli import app as cli
from tocsin.topology import compile_rules
from tocsin.workers.preflight import concerns, planned

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


def test_topics_that_are_missing(make_app: Callable[..., Application], topic: Callable[..., str]) -> None:
    plan = compile_rules(RULES.format(temps=topic("temps"), smoke="nowhere"), app="missing")
    assert concerns(plan, make_app().settings()) == ["Topic 'nowhere' does not exist."]


def test_what_topics_that_differ_in_their_partitions_lead_to(
    make_app: Callable[..., Application], topic: Callable[..., str], tmp_path: Path
) -> None:
    settings = make_app().settings()
    temps, smoke = topic("temps", partitions=2), topic("smoke", partitions=3)
    plan = compile_rules(RULES.format(temps=temps, smoke=smoke), app="uneven")
    (said,) = concerns(plan, settings)
    assert said == (
        f"Topic '{temps}' has 2 partitions, and is joined with '{smoke}', which has 3: "
        "Temp is sent on by area."
    )
    assert [rule.kind for rule in planned(plan, settings).summary()] == ["route"]
    file = tmp_path / "uneven.tocsin"
    file.write_text(plan.text, encoding="utf-8")
    told = CliRunner().invoke(cli, ["check", str(file), "--live", "--brokers", settings.brokers])
    assert told.exit_code == 0
    assert said in " ".join(told.stderr.split())
    assert re.search(r"Fire +route", told.stdout)
    plan = compile_rules(
        f'event A (n: long) on "{temps}"; event B (n: long) on "{smoke}"; define X from A or B;', app="uneven"
    )
    assert concerns(plan, settings) == [
        "X runs in one place: no key ties its events, and their topics differ in their partitions."
    ]
    assert [rule.kind for rule in planned(plan, settings).summary()] == ["global"]
