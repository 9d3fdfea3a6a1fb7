"""Distribution changes nothing, on the real broker: local, routed and global rules, workers that come and go.

What workers commit together is what one task for everything detects in the same log, and what the oracle
says of it: each once, with an identity that is its own.
"""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.engine.fleet import Logs, undivided
from tests.engine.history import Record
from tests.engine.test_distribution import GLOBAL, LOCAL, ROUTED, above
from tests.oracle.history import Input
from tests.oracle.run import detect
from tests.workers.conftest import DEADLINE_S, eventually, kill
from tests.workers.telling import OWN_ID, Told, by_oracle, by_workers
from tocsin.complex_event import ComplexEvent
from tocsin.errors import UnavailableError
from tocsin.publisher import Publisher
from tocsin.schemas import decode, event_schema, split
from tocsin.services import ServiceSet
from tocsin.subscriber import Subscriber
from tocsin.topology import Plan, compile_rules
from tocsin.workers import Worker, WorkerSettings
from tocsin.workers.strand import Strand
from tocsin.workers.task import Task

SEEDS = int(os.environ.get("CHAOS_SEEDS", "2"))
"""How many lives are lived; `make chaos` lives more."""
ACTIONS = 3

STEMS = ("temps", "smoke", "badges", "tags")
UNEVEN = (3, 5, 2, 4)
PARTITIONS = ((3,) * 4, (1,) * 4, (8,) * 4, UNEVEN)
"""Of the topics, by their stems."""

EVENTS = """
event Temp  (id: string, area: string, sensor: string, value: long)
  on "{temps}" key area id id lateness 1 s idle 500 ms;
event Smoke (id: string, area: string, sensor: string)
  on "{smoke}" key area id id lateness 1 s idle 500 ms;
event Badge (id: string, person: string, area: string)
  on "{badges}" key person id id lateness 1 s idle 500 ms;
event Tag   (id: string, n: long) on "{tags}" id id lateness 1 s idle 500 ms;
"""


def _long_after_ms() -> int:
    return int(time.time() * 1000) + 60_000


class Crowd:
    """Worker processes of one application, and what is published to it."""

    def __init__(self, services: ServiceSet, plan: Plan, file: Path, partitions: Mapping[str, int]) -> None:
        self._services = services
        self.plan = plan
        self._file = file
        self._partitions = partitions
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._publisher = Publisher(services.bootstrap, None, plan)
        self._ids = itertools.count()

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "tocsin", "run", str(self._file), "--instance", name]
        command += ["--state-dir", str(self._file.parent / "state"), "--app", self.plan.app]
        environment = os.environ | {
            "TOCSIN_BROKERS": self._services.bootstrap,
            "TOCSIN_REGISTRY": self._services.registry_url,
        }
        with self._file.with_name(f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    @contextlib.contextmanager
    def inside(self, max_waiting: int = 10_000) -> Iterator[None]:
        """A worker in a thread of this process, with so much room for what waits."""
        settings = WorkerSettings(
            brokers=self._services.bootstrap,
            registry=self._services.registry_url,
            state_dir=self._file.parent,
            max_waiting=max_waiting,
        )
        worker = Worker(self.plan, settings)
        stop = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(worker.run, stop)
            try:
                yield
            finally:
                stop.set()
                running.result(DEADLINE_S)

    def kill(self, name: str) -> None:
        kill(self.running.pop(name))

    def stop(self, name: str) -> None:
        process = self.running.pop(name)
        process.send_signal(signal.SIGTERM)
        # One that has not begun yet has nothing to bring to an end: the signal ends it.
        assert process.wait(DEADLINE_S) in {0, -signal.SIGTERM}

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)
        self._publisher.close()

    def publish(self, random: Random, count: int) -> None:
        """Publish events of now, out of order by less than the lateness, some of them twice."""
        for number in range(count):
            area, sensor = random.choice("abcdefgh"), random.choice("xyz")
            name, values = random.choice(
                [
                    ("Temp", {"area": area, "sensor": sensor, "value": random.randrange(100)}),
                    ("Smoke", {"area": area, "sensor": sensor}),
                    ("Badge", {"person": random.choice("pqr"), "area": area}),
                    ("Tag", {"n": number}),
                ]
            )
            values |= {OWN_ID: str(next(self._ids))}
            at_ms = int(time.time() * 1000) - random.randrange(500)
            # Records with one id must have one key; those of tags have none.
            for _ in range(2 if name != "Tag" and random.random() < 0.1 else 1):
                self._publisher.publish(name, values, at_ms)
        self._publisher.flush()

    def log(self) -> Logs:
        """Return all that was published, as it lies on the broker."""
        logs: Logs = {}
        consumer = Consumer(
            {
                "bootstrap.servers": self._services.bootstrap,
                "group.id": "unused",
                "enable.partition.eof": True,
            }
        )
        for topic in self.plan.input_topics:
            for partition in range(self._partitions[topic]):
                consumer.assign([TopicPartition(topic, partition, 0)])
                log = logs[topic, partition] = []
                while (message := consumer.poll(DEADLINE_S)) is not None and message.error() is None:
                    _, at_ms = message.timestamp()
                    log.append(Record(message.offset() or 0, at_ms, message.key(), message.value()))
        consumer.close()
        return logs

    def by_one_task(self, logs: Logs) -> Counter[str]:
        """Return the identities of what one task for everything detects."""
        found = undivided(self.plan, logs, max(self._partitions.values()), _long_after_ms())
        return Counter(identity.decode() for _, identity, _ in found.elements())

    def by_oracle(self, logs: Logs) -> Counter[Told]:
        """Return what the oracle detects."""
        by_topic = {event.topic: event for event in self.plan.input_types}
        events = []
        for (topic, _), log in sorted(logs.items()):
            schema = event_schema(by_topic[topic].to_dict(), self.plan.app)
            for record in log:
                values = cast("dict[str, Any]", decode(schema, split(record.value or b"").body))
                events.append(Input(by_topic[topic].name, record.timestamp, values))
        detected = detect(self._file.read_text(encoding="utf-8"), events, until=_long_after_ms())
        names = [defined.name for defined in self.plan.defined_types]
        return Counter(by_oracle(found) for name in names for found in detected.of(name))

    def committed(self) -> list[ComplexEvent]:
        """Return what a committed reader sees."""
        topics = [defined.topic for defined in self.plan.defined_types]
        try:
            reader = Subscriber(
                self._services.bootstrap, self._services.registry_url, topics, start="earliest"
            )
        except UnavailableError:  # no worker has created the topics yet
            return []
        with reader:
            return list(reader.read_all())


@pytest.fixture
def crowd(
    services: ServiceSet, topic: Callable[..., str], unique: Callable[[str], str], tmp_path: Path
) -> Iterator[Callable[..., Crowd]]:
    crowds: list[Crowd] = []

    def make(random: Random, counts: Sequence[int]) -> Crowd:
        names = {stem: topic(stem, partitions=count) for stem, count in zip(STEMS, counts, strict=True)}
        partitions = dict(zip(names.values(), counts, strict=True))
        rules = [rule for kind in (LOCAL, ROUTED, GLOBAL) for rule in random.sample(kind, 2)]
        rules += above("\n".join(rules))
        app = unique("crowd")
        file = tmp_path / f"{app}.tocsin"
        file.write_text(EVENTS.format(**names) + "\n".join(rules), encoding="utf-8")
        crowds.append(
            Crowd(services, compile_rules(file.read_text(encoding="utf-8"), app=app), file, partitions)
        )
        return crowds[-1]

    yield make
    for made in crowds:
        made.close()


def live(workers: Crowd, random: Random) -> None:
    """Let up to three workers come and go while events flow; in the end at least one is there."""
    workers.start("one")
    workers.publish(random, 150)
    eventually("something to come out", lambda: bool(workers.committed()))
    workers.start("two")
    for _ in range(ACTIONS):
        workers.publish(random, random.randrange(50, 150))
        name = random.choice(["one", "two", "three"])
        if name not in workers.running:
            workers.start(name)
        elif random.random() < 0.7:
            workers.kill(name)
        else:
            workers.stop(name)
        workers.publish(random, random.randrange(50, 150))
        if workers.running and random.random() < 0.5:
            seen = len(workers.committed())
            eventually("more to come out", lambda seen=seen: len(workers.committed()) > seen)
    if not workers.running:
        workers.start("one")


def assert_exact(workers: Crowd) -> None:
    """Wait for all that is to be found, then show that it is there once, and nothing else is."""
    logs = workers.log()
    wanted = workers.by_one_task(logs)
    assert len(wanted) > 100

    def found() -> Counter[str]:
        return Counter(event.identity for event in workers.committed())

    eventually("all that one task detects", lambda: wanted <= found())
    assert found() == wanted
    identities, told = zip(*by_workers(workers.committed()), strict=True)
    assert Counter(told) == workers.by_oracle(logs)
    assert len(set(identities)) == len(set(told)) == len(told), "each once, and each with its own identity"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_workers_commit_does_not_depend_on_how_they_are_spread(
    crowd: Callable[..., Crowd], seed: int
) -> None:
    random = Random(seed)
    workers = crowd(random, PARTITIONS[seed % len(PARTITIONS)])
    live(workers, random)
    assert_exact(workers)
    ends: dict[tuple[str, object], list[int]] = {}
    for event in workers.committed():
        if "area" in event.attributes:
            ends.setdefault((event.type, event.attributes["area"]), []).append(event.end_ms)
    assert ends
    assert all(of_key == sorted(of_key) for of_key in ends.values())


def test_little_room_for_what_waits_changes_nothing(
    crowd: Callable[..., Crowd], monkeypatch: pytest.MonkeyPatch
) -> None:
    random, went_back = Random(7), threading.Event()
    workers, go_back = crowd(random, PARTITIONS[0]), Strand._go_back

    def noted(strand: Strand, task: Task) -> None:
        if task.engine.passed_over is not None:
            went_back.set()
        go_back(strand, task)

    monkeypatch.setattr(Strand, "_go_back", noted)
    with workers.inside(max_waiting=5):
        workers.publish(random, 300)
        eventually("something to come out", lambda: bool(workers.committed()))
        workers.publish(random, 300)
        wanted = workers.by_one_task(workers.log())
        eventually("all", lambda: wanted <= Counter(event.identity for event in workers.committed()))
    assert Counter(event.identity for event in workers.committed()) == wanted
    assert went_back.is_set()


def test_topics_that_differ_in_their_partitions_change_nothing(crowd: Callable[..., Crowd]) -> None:
    random = Random(36)
    workers = crowd(random, (3, 5, 5, 5))
    kinds = {rule.name: rule.kind for rule in workers.plan.summary()}
    assert kinds["Fire"] == kinds["Pair"] == "local", "of temps and smoke, by their own key"
    with workers.inside():
        workers.publish(random, 300)
        assert_exact(workers)
