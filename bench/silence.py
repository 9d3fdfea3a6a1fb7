"""Absence on silent topics: from the moment it is due to its arrival at a committed reader.

It must come within `idle_timeout` + 2 s; where its worker was killed meanwhile, counted from when the others
have taken its tasks over.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from rich.console import Console
from rich.table import Table
from stage import Stage, await_that, load

from tocsin.services import ServiceSet

PARTITIONS = 4
IDLE_S = 1.0
ABSENT_S = 2.0
TRIALS = 5
KILLS = 2
BOUND_S = IDLE_S + 2
RULES = """
event Temp  (area: string) on "{app}-temps" key area idle 1 s;
event Smoke (area: string, sent_ms: long) on "{app}-smoke" key area idle 1 s;
"""
LOCAL = """
define Calm (area: string, sent_ms: long)
from   Smoke(area = $a) as s and not Temp(area = $a) within 2 s after s
where  area = $a, sent_ms = s.sent_ms;
"""
GLOBAL = """
define Calm (sent_ms: long)
from   Smoke as s and not Temp within 2 s after s
where  sent_ms = s.sent_ms;
"""


@dataclass(frozen=True, slots=True)
class Trial:
    """One absence: how long after its due time it came, in seconds, and how it was taken over."""

    kind: str
    delay_s: float
    taken_over_s: float | None = None


def publish(stage: Stage, area: str) -> float:
    """Publish what is to be followed by nothing; return when that is due."""
    sent_ms = int(time.time() * 1000)
    value = f'{{"area": "{area}", "sent_ms": {sent_ms}}}'
    stage.producer.produce(f"{stage.plan.app}-smoke", value.encode(), area.encode(), timestamp=sent_ms)
    stage.producer.flush()
    return sent_ms / 1000 + ABSENT_S


def arrival(stage: Stage, due: float) -> float:
    """Wait for the absence; return when it came."""
    sent_ms = round((due - ABSENT_S) * 1000)

    def found() -> list[float]:
        return [a.at_s for a in list(stage.reader.arrivals) if a.attributes["sent_ms"] == sent_ms]

    await_that("the absence to be told", lambda: bool(found()))
    return found()[0]


def quiet(stage: Stage, kind: str) -> list[Trial]:
    """Let nothing happen."""
    trials = []
    for number in range(TRIALS):
        due = publish(stage, f"area-{number}")
        trials.append(Trial(kind, arrival(stage, due) - due))
    return trials


def killed(stage: Stage, kind: str) -> list[Trial]:
    """Kill the worker that has everything, while another waits for work."""
    trials, names = [], ["one", "two", "three"]
    for number in range(KILLS):
        dying, other = names[number], names[number + 1]
        stage.start(other)
        stage.placed({dying, other}, stage.task_count())
        dues = [publish(stage, f"area-{number}-{n}") for n in range(PARTITIONS)]
        # What was read is committed by now, so that it is remembered rather than read again.
        time.sleep(0.5)
        stage.kill(dying)
        begin = time.time()
        stage.placed({other}, stage.task_count())
        taken_over = time.time()
        delays = [arrival(stage, due) - max(due, taken_over) for due in dues]
        trials.append(Trial(kind, max(delays), taken_over - begin))
    return trials


def timeouts(brokers: str) -> str:
    """Return how the broker finds out that a worker is dead."""
    admin = AdminClient({"bootstrap.servers": brokers})
    asked = ConfigResource(ResourceType.BROKER, "1")
    config = admin.describe_configs([asked])[asked].result()
    names = ("group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms")
    return ", ".join(f"{name} {config[name].value}" for name in names)


def main() -> int:
    """Print a row for each kind of rule; fail where the bound is not kept."""
    console = Console()
    trials: list[Trial] = []
    with ServiceSet.start(progress=console.print) as services:
        for kind, rule in (("local", LOCAL), ("global", GLOBAL)):
            app = f"silence-{kind}"
            rules = (RULES + rule).format(app=app)
            with (
                tempfile.TemporaryDirectory() as folder,
                Stage(services.bootstrap, Path(folder), app, rules, PARTITIONS) as stage,
            ):
                stage.start("one")
                stage.placed({"one"}, stage.task_count())
                trials += quiet(stage, kind)
                trials += killed(stage, kind)
        console.print(
            f"idle {IDLE_S:.0f} s, commits every 200 ms; {timeouts(services.bootstrap)}; load {load()}"
        )
    result = Table("rule", "worker", "due → arrival s", "bound s", "kill → taken over s")
    for kind in ("local", "global"):
        for was_killed in (False, True):
            of = [t for t in trials if t.kind == kind and (t.taken_over_s is not None) == was_killed]
            result.add_row(
                kind,
                "killed*" if was_killed else "runs",
                ", ".join(f"{trial.delay_s:.2f}" for trial in of),
                f"{BOUND_S:.0f}",
                ", ".join(f"{t.taken_over_s:.1f}" for t in of if t.taken_over_s is not None),
            )
    console.print(result)
    console.print("* counted from the take-over, the longest of several")
    kept = all(trial.delay_s <= BOUND_S for trial in trials)
    console.print("the bound is kept" if kept else "the bound is not kept")
    return 0 if kept else 1


if __name__ == "__main__":
    raise SystemExit(main())
