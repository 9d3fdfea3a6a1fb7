"""Every kind of source, local, routed and global, on the real broker: workers commit what the oracle says."""

import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.oracle.history import Input, event
from tests.oracle.run import detect
from tests.workers.conftest import eventually
from tests.workers.telling import Told, by_oracle, by_workers
from tocsin.errors import UnavailableError
from tocsin.publisher import Publisher
from tocsin.services import ServiceSet
from tocsin.subscriber import Subscriber
from tocsin.topology import compile_rules
from tocsin.workers import Worker, WorkerSettings

RULES = """
enum Kind {{ DOOR, WINDOW }};
event Open (home: string, kind: Kind, force: double) on "{app}.open" key home idle 300 ms;
event Shut (home: string, note: string?) on "{app}.shut" key home idle 300 ms;
event Noise (home: string, level: int) on "{app}.noise" key home idle 300 ms;
event Visit (guest: string, home: string) on "{app}.visits" key guest idle 300 ms;

define Forced (home: string, force: double)
from   Noise(home = $h, level > 3) as n
  and  last Open(home = $h, kind = "DOOR") as o within 2 s from n
  and  not Shut(home = $h) between o and n
where  home = $h, force = o.force;

define Loud (home: string, average: double)
from   Noise(home = $h) as n
  and  $x = avg(Noise(home = $h).level) within 1 s from n
  and  $x >= 3.0
where  home = $h, average = $x;

define Draught (home: string, levels: int[])
from   aperiodic*(Open($h) as o, Noise($h) as n, Shut($h) as s) within 3 s
context chronicle
where  home = $h, levels = list(n.level);

define LeftOpen (home: string)
from   match every Open($h) as o then not Shut($h) for 700 ms
where  home = $h;

define Twice (home: string)
from   (Forced(home = $h) ; Forced(home = $h)) within 3 s
context continuous
where  home = $h;

-- Visits are keyed by guest: they are sent on to where their home is.
define Met (home: string, guest: string)
from   Visit(home = $h) as v
  and  last Open(home = $h, kind = "DOOR") as o within 2 s from v
where  home = $h, guest = v.guest;

define Waited (guest: string)
from   Visit(home = $h) as v and not Noise(home = $h) within 300 ms after v
where  guest = v.guest;

-- Nothing ties these to one home: they are detected in one place.
define Anywhere (level: int)
from   Noise(level > 4) as n and last Forced as f within 2 s from n
where  level = n.level;

define Silence (guest: string)
from   Visit as v and not Open within 350 ms after v
where  guest = v.guest;

define Rounds
from   (Visit ; Forced ; Visit) within 2 s
context chronicle;
"""


def history(now_ms: int) -> list[Input]:
    """Two homes; what is asked for happens in both, and time goes on in silence behind it."""
    return [
        sent
        for number, home in enumerate(("red house", "blue house"))
        for sent in (
            event("Open", t=now_ms + number, home=home, kind="DOOR", force=0.5),
            event("Noise", t=now_ms + 100 + number, home=home, level=5),
            event("Noise", t=now_ms + 150 + number, home=home, level=1),
            event("Shut", t=now_ms + 300 + number, home=home, note=None),
            event("Noise", t=now_ms + 350 + number, home=home, level=7),
            event("Open", t=now_ms + 500 + number, home=home, kind="WINDOW", force=2.0),
            event("Open", t=now_ms + 550 + number, home=home, kind="DOOR", force=1.5),
            event("Noise", t=now_ms + 900 + number, home=home, level=4),
            event("Shut", t=now_ms + 1400 + number, home=home, note="by hand"),
            event("Visit", t=now_ms + 50 + number, home=home, guest=f"guest {number}"),
            event("Visit", t=now_ms + 600 + 7 * number, home=home, guest=f"guest {1 - number}"),
            event("Visit", t=now_ms + 1000 + number, home=home, guest="postman"),
        )
    ]


def test_workers_commit_what_the_oracle_says(services: ServiceSet, tmp_path: Path) -> None:
    app = f"language-{uuid.uuid4().hex[:8]}"
    text = RULES.format(app=app)
    plan = compile_rules(text, app=app)
    settings = WorkerSettings(
        brokers=services.bootstrap,
        registry=services.registry_url,
        state_dir=tmp_path,
        partitions=2,
        create_inputs=True,
    )
    now_ms = int(time.time() * 1000) - 3000
    events = history(now_ms)
    detected = detect(text, events, until=now_ms + 10_000)
    names = [defined.name for defined in plan.defined_types]
    wanted = Counter(by_oracle(found) for name in names for found in detected.of(name))
    assert all(detected.of(name) for name in names), "a rule that never fires shows nothing"

    def committed() -> Counter[Told]:
        try:
            topics = [defined.topic for defined in plan.defined_types]
            with Subscriber(services.bootstrap, services.registry_url, topics, start="earliest") as reader:
                return Counter(told for _, told in by_workers(list(reader.read_all())))
        except UnavailableError:  # the worker has not created the topics yet
            return Counter()

    stop = threading.Event()
    worker = threading.Thread(target=Worker(plan, settings).run, args=(stop,))
    worker.start()
    try:
        eventually("the topics", lambda: _publish_all(services, text, app, events))
        eventually("all that the oracle detects", lambda: wanted <= committed())
    finally:
        stop.set()
        worker.join()
    assert committed() == wanted


def _publish_all(services: ServiceSet, text: str, app: str, events: Iterable[Input]) -> bool:
    with Publisher(services.bootstrap, services.registry_url, compile_rules(text, app=app)) as publisher:
        try:
            for name in ("Open", "Shut", "Noise", "Visit"):
                publisher.prepare(name)
        except UnavailableError:
            return False
        for sent in events:
            publisher.publish(sent.type, sent.attributes, sent.t)
    return True
