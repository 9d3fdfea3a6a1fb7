"""Rules over the complex events of other applications, which have their own topics and workers."""

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from tests.workers.conftest import DEADLINE_S, eventually, kill, letter
from tocsin._engine import Batch, Engine
from tocsin.cli import app as cli
from tocsin.complex_event import ComplexEvent
from tocsin.errors import UnavailableError
from tocsin.publisher import Publisher
from tocsin.schemas import Registry, event_schema
from tocsin.services import ServiceSet
from tocsin.subscriber import Subscriber
from tocsin.topology import Plan, compile_rules
from tocsin.workers import Status, TakenWrong, TopicsWrong, Worker, WorkerSettings
from tocsin.workers.following import read_marks
from tocsin.workers.formats import Formats, InputSchemas
from tocsin.workers.marks import CARD, Card, Published
from tocsin.workers.reset import reset

SEEDS = int(os.environ.get("CHAOS_SEEDS", "1"))
"""How many lives are lived; `make chaos` lives more."""

PLANT_A = """
event Temp  (area: string, value: long) on "{temps}" key area lateness 1 s idle 500 ms;
event Smoke (area: string) on "{smoke}" key area lateness 1 s idle 500 ms;

define Fire (area: string, value: long)
from   Smoke(area = $a) as s and last Temp(area = $a, value > 40) as t within 3 s from s
where  area = $a, value = t.value;

define Trend (first: long, second: long)
from   Temp(value > 90) as t and last Temp(value > 80) as u within 1 s from t
where  first = u.value, second = t.value;
"""

PLANT_B = """
event Level (tank: string, area: string, value: long) on "{levels}" key tank lateness 1 s idle 500 ms;

define Flood (area: string, tanks: long)
from   Level(area = $a, value > 70) as l and last Level(area = $a, value > 60) as m within 2 s from l
where  area = $a, tanks = l.value;
"""

SITE = """
event Fire  (area: string, value: long) of "{a}" key area;
event Trend (second: long) of "{a}";
event Flood (area: string) of "{b}";
event Guard (area: string) on "{guards}" key area lateness 1 s idle 500 ms;

define Both (fire: string, flood: string)
from   Fire as f and last Flood as l within 2 s from f
where  fire = f.area, flood = l.area;

define Dry (area: string)
from   Fire as f and not Flood within 400 ms after f
where  area = f.area;

define Unattended (area: string)
from   match every Fire($x) as f then not Guard($x) for 700 ms
where  area = $x;

define Worse (area: string)
from   Fire(area = $x) as f and each Flood(area = $x) as l within 1 s from f
where  area = $x;

define Turn (second: long)
from   (Trend as t ; Flood) within 2 s context chronicle
where  second = t.second;
"""


class Plant:
    """An application: its rules, its publisher and its workers, in processes that a test may kill."""

    def __init__(
        self, services: ServiceSet, name: str, text: str, folder: Path, *, registry: bool = True
    ) -> None:
        self.services = services
        self.registry = services.registry_url if registry else None
        self.text = text
        self.plan: Plan = compile_rules(text, app=name)
        self.file = folder / f"{name}.tocsin"
        self.file.write_text(text, encoding="utf-8")
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.publisher = Publisher(services.bootstrap, self.registry, self.plan)

    def settings(self, **changes: object) -> WorkerSettings:
        return WorkerSettings(
            brokers=self.services.bootstrap,
            state_dir=self.file.parent / "state",
            registry=self.registry,
            **changes,  # type: ignore[arg-type]
        )

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "tocsin", "run", str(self.file), "--instance", name]
        command += ["--state-dir", str(self.file.parent / "state"), "--app", self.plan.app]
        environment = os.environ | {
            "TOCSIN_BROKERS": self.services.bootstrap,
            "TOCSIN_REGISTRY": self.services.registry_url,
        }
        with self.file.with_name(f"{self.plan.app}-{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def command(self, *words: str) -> list[str]:
        """A command over the rules, for the command line."""
        where = ["--brokers", self.services.bootstrap]
        if words[0] == "replay":
            where += ["--registry", self.services.registry_url]
        return [words[0], str(self.file), *words[1:], "--app", self.plan.app, *where]

    def kill(self, name: str) -> None:
        kill(self.running.pop(name))

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)
        self.publisher.close()

    def committed(self) -> list[ComplexEvent]:
        """What a committed reader sees."""
        topics = [defined.topic for defined in self.plan.defined_types]
        known = [event_schema(defined.to_dict(), self.plan.app) for defined in self.plan.defined_types]
        try:
            reader = Subscriber(
                self.services.bootstrap, self.registry, topics, start="earliest", schemas=known
            )
        except UnavailableError:  # no worker has created the topics yet
            return []
        with reader:
            return list(reader.read_all())

    def has_card(self) -> bool:
        """Whether the application has told what it publishes."""
        admin = AdminClient({"bootstrap.servers": self.services.bootstrap})
        if f"tocsin.{self.plan.app}.watermarks" not in admin.list_topics(timeout=DEADLINE_S).topics:
            return False
        return read_marks(self.settings(), self.plan.app).card is not None

    def identities(self) -> Counter[str]:
        return Counter(event.identity for event in self.committed())

    def whole(self) -> Counter[str]:
        """What one task for everything detects in the logs that the application reads."""
        admin = AdminClient({"bootstrap.servers": self.services.bootstrap})
        known = admin.list_topics(timeout=DEADLINE_S).topics
        reads = {topic: sorted(known[topic].partitions) for topic in self.plan.input_topics}
        whole = self.plan.undivided()
        out = Formats(whole, None).destinations({event.topic: 1 for event in whole.defined_types})
        engine = Engine(whole.to_json(), "undivided", 0, out, reads=reads)
        now_ms = int(time.time() * 1000)
        with Registry(self.services.registry_url) as registry:
            inputs = InputSchemas(self.plan, registry)
            for topic, partitions in reads.items():
                for partition in partitions:
                    for batch in Batch.split(self.log(topic, partition))[0]:
                        inputs.supply(engine, batch, threading.Event())
                        engine.feed(batch, now_ms)
        for topic, partitions in reads.items():
            for partition in partitions:
                engine.advance(topic, now_ms + 60_000, partition)
        engine.run()
        commit = engine.take()
        assert not commit.letters
        return Counter(identity.decode() for _, _, identity, _, _ in commit.outputs)

    def log(self, topic: str, partition: int) -> list[Message]:
        """Every committed record of a partition."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.services.bootstrap,
                "group.id": "unused",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(topic, partition, 0)])
        found = []
        while (message := consumer.poll(DEADLINE_S)) is not None and message.error() is None:
            found.append(message)
        consumer.close()
        return found

    def await_exact(self) -> Counter[str]:
        """Wait until all is there that one task detects; then each of it is there once, and nothing else."""
        wanted = self.whole()
        eventually(f"all that {self.plan.app} detects", lambda: wanted <= self.identities())
        assert self.identities() == wanted
        return wanted


Make = Callable[..., Plant]


@pytest.fixture
def make(
    services: ServiceSet, topic: Callable[..., str], unique: Callable[[str], str], tmp_path: Path
) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(rules: str, partitions: int = 3, *, registry: bool = True, **names: str) -> Plant:
            stems = {"temps", "smoke", "levels", "guards"}
            topics = {stem: topic(stem, partitions=partitions) for stem in stems if f"{{{stem}}}" in rules}
            plant = Plant(
                services, unique("plant"), rules.format(**topics, **names), tmp_path, registry=registry
            )
            stack.callback(plant.close)
            return plant

        yield made


def publish(random: Random, count: int, *plants: Plant) -> None:
    """Publish events of now, out of order by less than the lateness."""
    for _ in range(count):
        plant = random.choice(plants)
        event = random.choice([event for event in plant.plan.input_types if event.application is None])
        values: dict[str, object] = {
            "area": random.choice("abcde"),
            "tank": random.choice("xyz"),
            "value": random.randrange(100),
        }
        wanted = {field.name: values[field.name] for field in event.fields}
        plant.publisher.publish(event.name, wanted, int(time.time() * 1000) - random.randrange(500))
    for plant in plants:
        plant.publisher.flush()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_global_rule_over_two_applications_is_exact(make: Make, seed: int) -> None:
    random = Random(seed)
    a, b = make(PLANT_A, 3), make(PLANT_B, 2)
    site = make(SITE, 3, a=a.plan.app, b=b.plan.app)
    a.start("one")
    b.start("one")
    publish(random, 200, a, b)
    eventually("both plants to detect something", lambda: bool(a.committed() and b.committed()))
    site.start("one")
    a.start("two")
    publish(random, 300, a, b, site)
    eventually("the site to detect something", lambda: bool(site.committed()))
    # One application loses a worker in the middle of its work, the other falls silent.
    publish(random, 100, a, site)
    a.kill(random.choice(["one", "two"]))
    publish(random, 100, a, site)
    if seed % 2:
        site.kill("one")
        publish(random, 100, a, b, site)
        site.start("two")
    assert len(a.await_exact()) > 50
    assert len(b.await_exact()) > 10
    assert len(site.await_exact()) > 50
    names = {event.type for event in site.committed()}
    assert names == {event.name for event in site.plan.defined_types}, "a rule that never fires shows nothing"
    assert not site.log(f"tocsin.{site.plan.app}.late-records", 0)
    told = CliRunner().invoke(cli, site.command("replay"), prog_name="tocsin")
    assert told.exit_code == 0, told.stderr
    replayed = Counter(json.loads(line)["identity"] for line in told.stdout.splitlines())
    # Time goes on live; a replay ends with its log, and so does what did not happen.
    assert replayed <= site.identities()
    ended = {event.identity for event in site.committed() if event.type in {"Dry", "Unattended"}}
    assert site.identities() - replayed <= Counter(ended)


def test_time_waits_for_what_is_written_and_not_yet_visible(
    make: Make, unique: Callable[[str], str], admin: AdminClient
) -> None:
    """The markers of a transaction reach its partitions one by one: a watermark may be visible first."""
    app = unique("byhand")
    fires, marks = f"tocsin.{app}.Fire", f"tocsin.{app}.watermarks"
    new = [NewTopic(fires, num_partitions=2), NewTopic(marks, num_partitions=1)]
    for created in admin.create_topics(new).values():
        created.result()
    schema = '{"type": "record", "name": "Fire", "fields": [{"name": "area", "type": "string"}]}'
    card = Card({"local": 1}, (), {"Fire": Published(schema, "area")})
    site = make(
        f'event Fire (area: string) of "{app}" key area; '
        "define Seen (area: string) from Fire(area = $a) where area = $a;"
    )
    where = {"bootstrap.servers": site.services.bootstrap}
    teller, detector = Producer(where), Producer(where | {"transactional.id": app})

    def tell(key: bytes, value: bytes) -> None:
        teller.produce(marks, value, key, 0)
        teller.flush()

    now_ms = int(time.time() * 1000)
    tell(CARD, card.to_json())
    detector.init_transactions()
    detector.begin_transaction()
    detector.produce(fires, b'{"area": "hall"}', b"c0ffee", 0, timestamp=now_ms)
    detector.flush()
    watermarks_ms: dict[int, int] = {}

    def note(status: Status) -> None:
        watermarks_ms.update((task.partition, task.watermark_ms) for task in status.tasks)

    with working(site, note):
        eventually("two tasks", lambda: len(watermarks_ms) == 2)
        tell(b"local-0", b'{"watermark_ms": %d}' % (now_ms + 1000))
        eventually("time to go on where nothing is open", lambda: watermarks_ms[1] == now_ms + 1000)
        assert watermarks_ms[0] < now_ms
        detector.commit_transaction()
        eventually("the fire", lambda: len(site.committed()) == 1)
        eventually("time to go on", lambda: watermarks_ms[0] == now_ms + 1000)
    assert not site.log(f"tocsin.{site.plan.app}.late-records", 0)


SMALL_A = """
event Smoke (area: string, level: long) on "{smoke}" key area idle 300 ms;
define Fire (area: string, level: long) from Smoke(level > 1) as s where area = s.area, level = s.level;
define Calm from Smoke(level = 0);
"""

SMALL_SITE = """
event Fire (level: long) of "{a}";
define Lone from match every Fire as f then not Fire for 200 ms;
define Any (level: long) from Fire as f where level = f.level;
"""


@contextmanager
def working(plant: Plant, on_status: Callable[[Status], None] | None = None) -> Iterator[threading.Event]:
    """A worker in a thread, and what is set when it ends."""
    ended = threading.Event()
    stop, failures = threading.Event(), list[BaseException]()
    worker = Worker(plant.plan, plant.settings(instance=plant.plan.app, report_interval_ms=50), on_status)

    def run() -> None:
        try:
            worker.run(stop)
        except BaseException as failure:  # noqa: BLE001 – raised below
            failures.append(failure)
        finally:
            ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ended
    finally:
        stop.set()
        thread.join(DEADLINE_S)
    for failure in failures:
        raise failure


def smoke(plant: Plant, level: int, count: int = 1) -> None:
    for _ in range(count):
        plant.publisher.publish("Smoke", {"area": "hall", "level": level})
    plant.publisher.flush()


def refusal(plant: Plant) -> str:
    """What a worker says that cannot start."""
    with pytest.raises((TakenWrong, TopicsWrong)) as raised:
        Worker(plant.plan, plant.settings()).run(threading.Event())
    return str(raised.value)


def test_what_is_declared_otherwise_than_it_is_published_is_a_sentence(make: Make) -> None:
    a = make(SMALL_A)
    name = a.plan.app
    rule = "define Seen from Fire;"
    assert f"no worker of application '{name}'" in refusal(make(f'event Fire of "{name}"; {rule}'))
    with working(a):
        eventually("the card", a.has_card)

    def said(declaration: str) -> str:
        return refusal(make(f"{declaration}; {rule}")).replace(name, "plant")

    assert said(f'event Fire (level: string) of "{name}"') == (
        "Fire is declared otherwise than application 'plant' publishes it. Attribute 'level' is written as "
        "long and cannot be read as string."
    )
    assert said(f'event Fire (heat: long) of "{name}"').endswith(
        "Attribute 'heat' is missing from the written records and is not optional."
    )
    assert "but application 'plant' publishes it by the key area" in said(
        f'event Fire (level: long) of "{name}" key level'
    )
    elsewhere = f'event Fire of "{name}" on "tocsin.{name}.dead-letters"'
    assert said(elsewhere) == "Application 'plant' publishes no dead-letters; it publishes Calm, Fire."
    live = CliRunner().invoke(
        cli, make(f'event Fire (x: long) of "{name}"; {rule}').command("check", "--live")
    )
    assert live.exit_code == 0
    assert "taken from" in live.stdout
    assert "Attribute 'x' is missing" in " ".join(live.stderr.split())


def test_an_application_that_changes_what_it_publishes_is_noticed(make: Make) -> None:
    a = make(SMALL_A, registry=False)
    site = make(SMALL_SITE, registry=False, a=a.plan.app)
    changed = a.text.replace("level: long) from", "level: string) from").replace(
        "level = s.level", 'level = "high"'
    )
    with working(a):
        eventually("the card", a.has_card)

    def change() -> None:
        with working(site) as ended:
            eventually("the site to begin", site.has_card)
            a.plan = compile_rules(changed, app=a.plan.app)
            with working(a):
                assert ended.wait(DEADLINE_S)

    with pytest.raises(TakenWrong, match="Attribute 'level' is written as string"):
        change()


def test_applications_that_wait_for_each_other_are_refused(make: Make) -> None:
    a = make(SMALL_A)
    site = make(SMALL_SITE, a=a.plan.app)
    with working(a):
        eventually("the card", a.has_card)
        with working(site):
            eventually("the card", site.has_card)
    back = f'event Any (level: long) of "{site.plan.app}"; define Loop from Any;'
    plan = compile_rules(a.text + back, app=a.plan.app)
    with pytest.raises(TakenWrong, match="each would wait for the other"):
        Worker(plan, a.settings()).run(threading.Event())


def test_an_application_that_begins_anew_does_not_double_anything(make: Make) -> None:
    a = make(SMALL_A, registry=False)
    site = make(SMALL_SITE, registry=False, a=a.plan.app)
    with ExitStack() as second:
        with working(a):
            smoke(a, 3, 10)
            eventually("the fires", lambda: len(a.committed()) == 10)
            second.enter_context(working(site))
            eventually("the site to see them", lambda: sum(site.identities().values()) == 11)
        # Nothing is known to be absent while nobody looks.
        smoke(a, 4)
        reset(a.plan, a.settings())
        assert not list(read_marks(a.settings(), a.plan.app).tasks)
        with working(a):
            eventually("all fires again", lambda: len(a.committed()) == 21)
            eventually("the last one at the site", lambda: 4 in levels(site))
            eventually("its silence", lambda: len(site.committed()) == 13)
    assert set(site.identities().values()) == {1}
    # Each of the two sub-topologies tells what came too late for it.
    late = [letter(message) for message in site.log(f"tocsin.{site.plan.app}.late-records", 0)]
    places = Counter((told["partition"], told["offset"]) for told in late)
    assert (len(places), set(places.values())) == (10, {2})


def levels(site: Plant) -> list[object]:
    return [event.attributes["level"] for event in site.committed() if event.type == "Any"]
