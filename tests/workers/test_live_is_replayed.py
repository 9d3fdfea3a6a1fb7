"""What workers detected live, a replay of their input detects again: the same complex events, by identity."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.workers.conftest import Application, eventually
from tocsin.cli import app as cli
from tocsin.complex_event import ComplexEvent
from tocsin.services import ServiceSet


def replay(app: Application, *arguments: str | Path) -> Result:
    where = ["--brokers", app.services.bootstrap, "--registry", app.services.registry_url]
    command = ["replay", str(app.file), *map(str, arguments), "--app", app.plan.app, *where]
    result = CliRunner().invoke(cli, command, prog_name="tocsin")
    assert result.exit_code == 0, result.stderr
    return result


def events(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def identities(result: Result) -> list[str]:
    return sorted(str(event["identity"]) for event in events(result))


Live = tuple[Application, list[ComplexEvent]]


@pytest.fixture(scope="module")
def live(
    services: ServiceSet,
    topic: Callable[..., str],
    unique: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Live:
    """An application whose input two workers have read, and what they detected."""
    temps, smoke = topic("temps", partitions=3), topic("smoke", partitions=3)
    app = Application(services, unique("fire"), temps, smoke, tmp_path_factory.mktemp("live"))
    rng = random.Random(11)
    with app.publisher, app.worker("one") as one, app.worker("two") as two:
        eventually("two workers share", lambda: min(len(one.partitions()), len(two.partitions())) > 0)
        for _ in range(5):
            app.publish_some(rng, 200)
        return app, app.await_exact()


def test_the_topics_give_what_was_detected_live(live: Live) -> None:
    app, fires = live
    result = replay(app)
    assert "late 0 refused 0" in " ".join(result.stderr.split())
    assert identities(result) == sorted(fire.identity for fire in fires)
    by_identity = {fire.identity: json.loads(fire.to_json()) for fire in fires}
    assert all(event == by_identity[str(event["identity"])] for event in events(result))


def test_partitions_that_are_ahead_wait(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    app, fires = live
    monkeypatch.setattr("tocsin.replay.topics.CHUNK", 10)
    monkeypatch.setattr("tocsin.replay.topics.LEAST", 10)
    assert identities(replay(app)) == sorted(fire.identity for fire in fires)


def test_so_does_a_file_of_their_records(live: Live, tmp_path: Path) -> None:
    app, fires = live
    saved = tmp_path / "log.jsonl"
    on_topics = replay(app, "--save", saved)
    assert len(saved.read_text().splitlines()) == len(app.record)
    assert identities(replay(app, saved)) == identities(on_topics) == sorted(fire.identity for fire in fires)


def test_a_range_gives_what_lies_in_it(live: Live) -> None:
    app, fires = live
    times = sorted(event.time_ms for event in app.record)
    begin_ms, end_ms = times[len(times) // 4], times[len(times) * 3 // 4]
    result = replay(app, "--from", str(begin_ms), "--to", str(end_ms))
    inside = {f.identity for f in fires if begin_ms <= f.start_ms and f.end_ms <= end_ms}
    before_end = {f.identity for f in fires if f.end_ms <= end_ms}
    assert inside
    assert inside <= set(identities(result)) < {f.identity for f in fires}
    assert set(identities(replay(app, "--to", str(end_ms)))) == before_end


def test_a_topic_alone_is_read_alone(live: Live) -> None:
    app, _ = live
    temps = app.plan.input_types[0].topic
    result = replay(app, "--topic", temps)
    assert events(result) == []
    read = sum(1 for event in app.record if event.value is not None)
    assert f"events read {read:,}" in " ".join(result.stderr.split())


QUIET = """
event Temp (area: string, value: double) on "{temps}" key area lateness 1 s idle 1 s;
event Smoke (area: string) on "{smoke}" key area lateness 1 s idle 1 s;

define Quiet (area: string)
from   match every Temp($a) as t then not Temp($a) for 500 ms
where  area = $a;

define Calm (area: string)
from   (Temp(area = $a) as t) + 700 ms
where  area = $a;
"""


def test_so_does_what_did_not_happen(
    services: ServiceSet, topic: Callable[..., str], unique: Callable[[str], str], tmp_path: Path
) -> None:
    temps, smoke = topic("temps", partitions=3), topic("smoke", partitions=3)
    app = Application(services, unique("quiet"), temps, smoke, tmp_path, QUIET)
    areas = [f"area-{i}" for i in range(10)]
    with app.publisher, app.worker():
        for area in areas:
            app.publish(area, 20.0)
        app.publisher.flush()
        eventually("all fall silent", lambda: len(app.fires()) == len(areas))
    live = app.fires()
    result = replay(app, "--to", str(max(event.end_ms for event in live)))
    quiet = [str(event["identity"]) for event in events(result) if event["type"] == "Quiet"]
    assert sorted(quiet) == sorted(event.identity for event in live)
