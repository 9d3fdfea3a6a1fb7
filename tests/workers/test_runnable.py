"""What workers cannot run yet is told in a sentence, before anything is started."""

import pytest

from tocsin.topology import compile_rules
from tocsin.workers import NotRunnable
from tocsin.workers.runnable import check_runnable

EVENTS = """
event Temp (area: string) on "temps" key area;
event Smoke (area: string, room: string) on "smoke" key area;
"""


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("", "The file defines nothing: there is no rule to run."),
        (
            "define Ninth from (Timer(hour = 9) ; Smoke) within 1 h;",
            "Ninth cannot run yet: it may begin with a time alone",
        ),
        ("define Ninth from Timer(hour = 9);", "Ninth cannot run yet: it may begin with a time alone"),
        (
            "define Still from match every not Smoke for 1 h;",
            "Still cannot run yet: it may begin with a time alone",
        ),
        (
            'rule Call on Smoke as s do call "ops:page";',
            "Call cannot run yet: it acts, and workers only detect so far.",
        ),
    ],
)
def test_what_cannot_run(rules: str, message: str) -> None:
    with pytest.raises(NotRunnable) as refused:
        check_runnable(compile_rules(EVENTS + rules, app="test"))
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    "rules",
    [
        "define Fire from Smoke(area = $a) as s and last Temp(area = $a) as t within 1 h from s;",
        "define Fire from Smoke(area = $a) ; Temp(area = $a) within 1 h;",
        "define Fire from match Smoke(area = $a) then Temp(area = $a) within 1 h;",
        "define Fire from Smoke as s and last Temp as t within 1 h from s;",
        "define Fire from match every Smoke as s then not Temp for 1 h;",
        "define Fire from Smoke(room = $a) as s and last Temp(area = $a) as t within 1 h from s;",
    ],
)
def test_what_can(rules: str) -> None:
    check_runnable(compile_rules(EVENTS + rules, app="test"))
