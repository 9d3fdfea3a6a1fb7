"""From the moment the event is produced that ends an occurrence to the complex event's arrival at a reader.

The reader sees committed records only. With lateness 0, an event waits until every source of its task has
brought a later one: the readings go round over all topics and partitions.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from stage import Stage, await_that, load

from tocsin.services import ServiceSet

PARTITIONS = 2
RATES = (100, 1_000, 10_000)
INTERVALS_MS = (100, 1_000)
WARM_UP_S = 2.0
MEASURED_S = 4.0
ENDED_RATE = 1_000
"""No more readings a second than that end an occurrence."""
EVENTS = """
event Temp  (sensor: string, value: long)  on "{app}-temps" key sensor;
event Smoke (sensor: string, sent_us: long) on "{app}-smoke" key sensor;
"""
RULE = {
    "local": """
define Fire (sensor: string, sent_us: long)
from   Smoke(sensor = $s, sent_us > 0) as s and last Temp(sensor = $s) as t within 1 min from s
where  sensor = $s, sent_us = s.sent_us;
""",
    "global": """
define Fire (sent_us: long)
from   Smoke(sent_us > 0) as s and last Temp as t within 1 min from s
where  sent_us = s.sent_us;
""",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What one run gave."""

    latencies_ms: list[float]
    load: str

    def percentile(self, share: float) -> float:
        """Return the latency that so many stay below."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def run(stage: Stage, rate: int) -> Figures:
    """Publish at a rate, to every source in turn, and see when what that ends arrives."""
    app = stage.plan.app
    begin, sent, ended = time.time() + WARM_UP_S, 0, 0
    keys = [(f"{app}-{topic}", partition) for partition in range(PARTITIONS) for topic in ("temps", "smoke")]
    every, start = max(rate // ENDED_RATE, 1), time.monotonic()
    while time.time() < begin + MEASURED_S:
        while sent < (time.monotonic() - start) * rate:
            topic, partition = keys[sent % len(keys)]
            sensor, now = f"sensor-{partition}", time.time()
            if topic.endswith("temps"):
                value = f'{{"sensor": "{sensor}", "value": 1}}'
            else:
                ends = sent // len(keys) % every == 0
                ended += ends and now >= begin
                value = f'{{"sensor": "{sensor}", "sent_us": {int(now * 1e6) if ends else 0}}}'
            stage.producer.produce(topic, value.encode(), sensor.encode(), partition)
            stage.producer.poll(0)
            sent += 1
        time.sleep(0.001)
    during = load()

    def measured() -> list[float]:
        found = [(a.at_s, a.attributes["sent_us"] / 1e6) for a in list(stage.reader.arrivals)]
        return [(at - sent) * 1e3 for at, sent in found if sent >= begin]

    # The last ones wait for what comes after them, which nothing does.
    await_that("what was ended to arrive", lambda: len(measured()) >= ended - 2 * len(keys))
    return Figures(measured()[: ended - 2 * len(keys)], during)


def main() -> None:
    """Print a row for each kind of rule, commit interval and rate."""
    console = Console()
    result = Table("rule", "commit", "events/s", "measured", "p50 ms", "p99 ms", "max ms", "load")
    runs = [(kind, ms, rate) for kind in RULE for ms in INTERVALS_MS for rate in RATES]
    with ServiceSet.start(progress=console.print) as services:
        # A broker that was just started is slow: what it does first is not counted.
        for number, (kind, interval_ms, rate) in enumerate([("local", 100, 1_000), *runs]):
            app = f"latency-{number}"
            rules = (EVENTS + RULE[kind]).format(app=app)
            with (
                tempfile.TemporaryDirectory() as folder,
                Stage(services.bootstrap, Path(folder), app, rules, PARTITIONS) as stage,
            ):
                stage.start("one", commit_interval_ms=interval_ms)
                stage.placed({"one"}, stage.task_count())
                figures = run(stage, rate)
            if number:
                result.add_row(
                    kind,
                    f"{interval_ms} ms",
                    f"{rate:,}",
                    f"{len(figures.latencies_ms):,}",
                    *(f"{figures.percentile(share):.0f}" for share in (0.5, 0.99, 1.0)),
                    figures.load,
                )
    console.print(result)


if __name__ == "__main__":
    main()
