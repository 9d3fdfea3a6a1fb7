"""Absence where nothing comes: told once, also when the worker that waited for it is killed meanwhile."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.workers.conftest import eventually
from tests.workers.test_distribution import EVENTS, Crowd
from tocsin.services import ServiceSet
from tocsin.topology import compile_rules

RULES = """
define Calm (area: string)
from Smoke(area = $a) as s and not Temp(area = $a) within 3 s after s where area = $a;
define Missed (area: string)
from Badge(area = $a) as b and not Smoke(area = $a) within 3 s after b where area = $a;
define Quiet from Badge as b and not Temp within 3 s after b;
"""
"""By the key, by another than the key, and over everything."""


@pytest.fixture
def crowd(
    services: ServiceSet, topic: Callable[..., str], unique: Callable[[str], str], tmp_path: Path
) -> Iterator[Crowd]:
    names = {stem: topic(stem, partitions=2) for stem in ("temps", "smoke", "badges", "tags")}
    app = unique("silence")
    file = tmp_path / f"{app}.tocsin"
    file.write_text(EVENTS.format(**names) + RULES, encoding="utf-8")
    made = Crowd(
        services,
        compile_rules(file.read_text(encoding="utf-8"), app=app),
        file,
        dict.fromkeys(names.values(), 2),
    )
    yield made
    made.close()


def found(workers: Crowd) -> Counter[str]:
    return Counter(event.identity for event in workers.committed())


def told(workers: Crowd) -> set[str]:
    return {event.type for event in workers.committed()}


def test_absence_is_told_in_silence_and_once(crowd: Crowd) -> None:
    assert {sub.name for sub in crowd.plan.subtopologies} >= {"local", "global", "route"}
    crowd.start("one")
    crowd.start("two")
    crowd.publish(Random(5), 40)
    eventually("all kinds of absence", lambda: told(crowd) == {"Calm", "Missed", "Quiet"})
    before = crowd.by_one_task(crowd.log())
    assert found(crowd) <= before
    crowd.publish(Random(6), 40)
    crowd.kill("one")
    wanted = crowd.by_one_task(crowd.log())
    assert wanted > before
    eventually("what was due meanwhile", lambda: wanted <= found(crowd))
    assert found(crowd) == wanted
