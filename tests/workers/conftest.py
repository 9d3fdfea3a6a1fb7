"""An application of its own for every test: topics, rules, a feed that keeps its record, and workers."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from tocsin import schemas
from tocsin.complex_event import ComplexEvent
from tocsin.demo.expectation import Fire, detected, expected
from tocsin.demo.feed import Published
from tocsin.errors import UnavailableError
from tocsin.publisher import Coordinates, Publisher
from tocsin.services import ServiceSet
from tocsin.subscriber import Subscriber
from tocsin.topology import Plan, compile_rules
from tocsin.workers import Status, TaskState, Worker, WorkerSettings

RULES = """
event Temp (area: string, value: double) on "{temps}" key area lateness 1 s idle 1 s;
event Smoke (area: string) on "{smoke}" key area lateness 1 s idle 1 s;

define Fire (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > 45) as t within 3 min from s
where  area = $a, value = t.value;
"""

DEADLINE_S = 60.0


def eventually(what: str, holds: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Poll until a condition holds; a condition that never does fails the test."""
    end = time.monotonic() + deadline_s
    while not holds():
        assert time.monotonic() < end, f"not within {deadline_s:.0f} s: {what}"
        time.sleep(0.02)


class Application:
    """The rules of the fire example, or others over its events, on topics of their own."""

    def __init__(
        self, services: ServiceSet, name: str, temps: str, smoke: str, folder: Path, rules: str = RULES
    ) -> None:
        self.services = services
        self.text = rules.format(temps=temps, smoke=smoke)
        self.plan: Plan = compile_rules(self.text, app=name)
        self.folder = folder
        self.file = folder / f"{name}.tocsin"
        self.file.write_text(self.text, encoding="utf-8")
        self.record: list[Published] = []
        self._latest_ms = 0
        self.publisher = Publisher(services.bootstrap, services.registry_url, self.plan)
        self.topic = self.plan.defined_types[0].topic

    def settings(self, instance: str = "one", **changes: object) -> WorkerSettings:
        return WorkerSettings(
            brokers=self.services.bootstrap,
            registry=self.services.registry_url,
            state_dir=self.folder / "state",
            instance=instance,
            **changes,  # type: ignore[arg-type]
        )

    @contextlib.contextmanager
    def worker(self, instance: str = "one", **changes: object) -> Iterator["RunningWorker"]:
        """A worker in a thread of this process, stopped cleanly at the end."""
        running = RunningWorker(self, instance, **changes)
        try:
            yield running
        finally:
            running.stop()

    def process(self, instance: str, *options: str) -> "subprocess.Popen[bytes]":
        """A worker in a process of its own, which a test may kill."""
        command = [sys.executable, "-m", "tocsin", "run", str(self.file), "--instance", instance]
        command += ["--state-dir", str(self.folder / "state"), "--app", self.plan.app, *options]
        environment = os.environ | {
            "TOCSIN_BROKERS": self.services.bootstrap,
            "TOCSIN_REGISTRY": self.services.registry_url,
        }
        with (self.folder / f"{instance}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def said(self, instance: str) -> str:
        """What a worker in a process of its own has printed."""
        return (self.folder / f"{instance}.log").read_text(encoding="utf-8")

    def publish(self, area: str, value: float | None, time_ms: int | None = None) -> None:
        """Publish at a time, or now, but after everything published so far."""
        self._latest_ms = max(int(time.time() * 1000), self._latest_ms + 1)
        at_ms = time_ms or self._latest_ms

        def delivered(at: Coordinates) -> None:
            self.record.append(Published(area, value, at_ms, at))

        attributes: dict[str, object] = {"area": area} if value is None else {"area": area, "value": value}
        self.publisher.publish("Smoke" if value is None else "Temp", attributes, at_ms, delivered)

    def publish_some(self, rng: random.Random, count: int, areas: int = 20) -> None:
        """Publish readings of now, out of order by less than the lateness."""
        for _ in range(count):
            value = None if rng.random() < 0.2 else rng.uniform(20, 90)
            self.publish(f"area-{rng.randrange(areas)}", value, int(time.time() * 1000) - rng.randrange(800))
        self.publisher.flush()

    def expected(self) -> set[Fire]:
        return expected(self.record)

    def fires(self) -> list[ComplexEvent]:
        """All fires in the topic, as a committed reader sees them."""
        try:
            reader = Subscriber(
                self.services.bootstrap, self.services.registry_url, [self.topic], start="earliest"
            )
        except UnavailableError:  # no worker has created the topic yet
            return []
        with reader:
            return list(reader.read_all())

    def await_exact(self) -> list[ComplexEvent]:
        """Wait until every expected fire is there, then show that each is there once and no other is."""
        wanted = self.expected()
        assert wanted, "a test that expects nothing shows nothing"
        eventually("all expected fires", lambda: wanted <= {detected(fire) for fire in self.fires()})
        fires = self.fires()
        assert Counter(map(detected, fires)) == Counter(wanted)
        assert len({fire.identity for fire in fires}) == len(fires)
        return fires

    def letters(self, kind: str = "dead-letters") -> list[dict[str, object]]:
        """The letters in a topic."""
        return [letter(message) for message in self.messages(f"tocsin.{self.plan.app}.{kind}")]

    def messages(self, topic: str) -> list[Message]:
        """Every committed record of a topic's first partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.services.bootstrap,
                "group.id": "unused",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, 0, 0)])
        found = []
        while (message := consumer.poll(DEADLINE_S)) is not None and message.error() is None:
            found.append(message)
        consumer.close()
        return found


def letter(message: Message) -> dict[str, object]:
    value = message.value()
    assert isinstance(value, bytes)
    found = schemas.decode(schemas.load("dead_letter"), schemas.split(value).body)
    assert isinstance(found, dict)
    return found


class RunningWorker:
    """A worker in a thread."""

    def __init__(self, app: Application, instance: str, **changes: object) -> None:
        self.statuses: list[Status] = []
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        worker = Worker(app.plan, app.settings(instance, **changes), self.statuses.append)

        def run() -> None:
            try:
                worker.run(self._stop)
            except BaseException as failure:  # noqa: BLE001 – told by stop()
                self.failure = failure

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def partitions(self) -> set[int]:
        """The partitions whose tasks run here."""
        if not self.statuses:
            return set()
        return {task.partition for task in self.statuses[-1].tasks if task.state is TaskState.RUNNING}

    def join(self) -> None:
        """Wait for a worker that is to end by itself."""
        self._thread.join(DEADLINE_S)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the worker did not stop"
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def make_app(
    services: ServiceSet, topic: Callable[..., str], unique: Callable[[str], str], tmp_path: Path
) -> Iterator[Callable[..., Application]]:
    with contextlib.ExitStack() as stack:

        def make(partitions: int = 3, **topic_settings: str) -> Application:
            temps, smoke = (
                topic(stem, partitions=partitions, **topic_settings) for stem in ("temps", "smoke")
            )
            app = Application(services, unique("fire"), temps, smoke, tmp_path)
            stack.callback(app.publisher.close)
            return app

        yield make


def kill(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
