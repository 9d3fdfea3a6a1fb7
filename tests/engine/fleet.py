"""All tasks of a plan, with logs instead of a broker: fed, committed, aborted and lost as chance has it."""

from collections import Counter
from collections.abc import Iterable
from random import Random

from tocsin._engine import Batch, Commit, Engine
from tocsin.schemas import event_schema, single_object_prefix
from tocsin.topology import Plan
from tocsin.topology.plan import Placement, Subtopology

from .history import END_MS, NOW_MS, Record

Source = tuple[str, int]
Logs = dict[Source, list[Record]]
Written = Counter[tuple[str, bytes, bytes]]
"""Topic, identity and value of what was written, and how often."""


def murmur2(key: bytes) -> int:
    """Return the hash by which Kafka's default partitioner chooses."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    whole = len(key) // 4 * 4
    for at in range(0, whole, 4):
        k = int.from_bytes(key[at : at + 4], "little") * m & mask
        h = (h * m & mask) ^ ((k ^ (k >> 24)) * m & mask)
    if key[whole:]:
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    return (h ^ (h >> 15)) & 0x7FFFFFFF


def spread(records: Iterable[tuple[str, Record]], partitions: int) -> Logs:
    """Return records in the partitions of their topics, where their keys belong."""
    logs: Logs = {}
    for topic, record in records:
        log = logs.setdefault((topic, murmur2(record.key or b"") % partitions), [])
        log.append(record._replace(offset=len(log)))
    return logs


class Member:
    """The task of one partition of a sub-topology."""

    def __init__(self, fleet: "Fleet", sub: Subtopology, partition: int) -> None:
        self._fleet = fleet
        self.sub = sub
        self.partition = partition
        self._state: dict[bytes, bytes] = {}
        self._engine = self.begin()
        self._read: dict[str, int] = dict.fromkeys(sub.topics, 0)

    def begin(self) -> Engine:
        """Return an engine that has read nothing."""
        plan, partitions = self._fleet.plan, range(self._fleet.partitions)
        sent = {forward for sub in plan.subtopologies for forward in sub.forwards}
        behind = {plan.types[f.type].topic for f in sent if f.topic in self.sub.topics}
        return Engine(
            plan.to_json(),
            self.sub.name,
            self.partition,
            self._fleet.destinations,
            reads={topic: list(partitions) for topic in behind},
            forwards=self._fleet.forwards,
            max_waiting=self._fleet.max_waiting,
        )

    def feed(self, topic: str, count: int) -> bool:
        """Read some records of a topic; tell whether there were any."""
        self._go_back()
        at = self._read[topic]
        records = self._fleet.logs.get((topic, self.partition), [])[at : at + count]
        if records:
            self._engine.feed(Batch.build(topic, self.partition, records), NOW_MS)
            self._read[topic] += len(records)
        return bool(records)

    def _go_back(self) -> None:
        """Go back to what was passed over, if it is time for that."""
        if (passed_over := self._engine.passed_over) is not None:
            self._fleet.went_back += 1
            self._engine.read_again(*passed_over)
            self._read |= [passed_over]

    def commit(self) -> None:
        """Let everything that was done since the last commit stand."""
        commit = self._engine.take()
        self._engine.committed()
        for key, value in commit.state:
            if value is None:
                self._state.pop(key, None)
            else:
                self._state[key] = value
        self._fleet.publish(commit)

    def abort(self, random: Random) -> None:
        """Undo everything since the last commit, be it before or after the engine was asked what to write."""
        if random.random() < 0.5:
            self._engine.take()
        self._engine.undo(lambda asked: [e for e in self._state.items() if e[0].startswith(tuple(asked))])
        self._go_on()

    def lose(self) -> None:
        """Begin again from what was committed."""
        self._engine = self.begin()
        self._engine.load(list(self._state.items()))
        self._go_on()

    def _go_on(self) -> None:
        resume = {topic: offset for (topic, _), offset in (self._engine.resume or {}).items()}
        self._read = dict.fromkeys(self.sub.topics, 0) | resume

    def step(self, random: Random) -> None:
        """Do something."""
        match random.choice(["feed"] * 6 + ["run"] * 3 + ["commit"] * 3 + ["abort", "lose"]):
            case "feed":
                self.feed(random.choice(self.sub.topics), random.randint(1, 6))
            case "run":
                self._engine.run()
            case "commit":
                self.commit()
            case "abort":
                self.abort(random)
            case "lose":
                self.lose()

    def finish(self) -> None:
        """Read everything there is, and let time come to its end."""
        # What one topic brings may be what another one is read again for.
        while any(self.feed(topic, 50) for topic in self.sub.topics):
            self._engine.run()
        for topic in set(self.sub.topics) & set(self._fleet.plan.input_topics):
            self._engine.advance(topic, END_MS)
        self._engine.run()
        while any(self.feed(topic, 50) for topic in self.sub.topics):
            self._engine.run()
        self.commit()


class Fleet:
    """All tasks of a plan whose topics have so many partitions."""

    def __init__(self, plan: Plan, logs: Logs, partitions: int, max_waiting: int | None = None) -> None:
        self.max_waiting = max_waiting
        self.went_back = 0
        """How often something was read again, because too much waited when it came."""
        self.plan = plan
        self.logs = dict(logs)
        self.partitions = partitions
        self.destinations = destinations(plan)
        forwards = {forward.topic for sub in plan.subtopologies for forward in sub.forwards}
        spread_over = {
            topic: len(sub.groups) for sub in plan.subtopologies if sub.groups for topic in sub.topics
        }
        self.forwards = {topic: spread_over.get(topic, partitions) for topic in forwards}
        self.written: Written = Counter()
        self.letters: list[tuple[bool, bytes | None, bytes]] = []
        self.members = [
            Member(self, sub, partition)
            for sub in plan.subtopologies
            for partition in range(len(sub.groups) if sub.kind is Placement.GLOBAL else partitions)
        ]

    def publish(self, commit: Commit) -> None:
        """Write what was committed to the logs."""
        for topic, partition, value in commit.parcels:
            log = self.logs.setdefault((topic, partition), [])
            log.append(Record(len(log), 0, None, value))
        self.written.update((topic, identity, value) for topic, _, identity, value, _ in commit.outputs)
        self.letters += commit.letters

    def run(self, random: Random) -> Written:
        """Let chance drive all tasks for a while, then bring them to the end; return what was written."""
        for _ in range(40 * len(self.members)):
            random.choice(self.members).step(random)
        for member in self.members:
            member.finish()
        return self.written


def destinations(plan: Plan) -> dict[str, tuple[str, bytes, int]]:
    """Return where the complex events of a plan go."""
    return {event.name: (event.topic, b"", 1) for event in plan.defined_types}


def undivided(plan: Plan, logs: Logs, partitions: int, until_ms: int = END_MS) -> Written:
    """Return what one task for everything writes when time goes to `until_ms`."""
    reads = {topic: list(range(partitions)) for topic in plan.input_topics}
    engine = Engine(
        plan.undivided().to_json(), "undivided", 0, destinations(plan), reads=reads, max_ahead_ms=2**60
    )
    for schema in (event_schema(event.to_dict(), plan.app) for event in plan.input_types):
        engine.add_schema(single_object_prefix(schema), schema)
    for (topic, partition), records in logs.items():
        if topic in plan.input_topics:
            engine.feed(Batch.build(topic, partition, records), NOW_MS)
    for topic in plan.input_topics:
        for partition in range(partitions):
            engine.advance(topic, until_ms, partition)
    engine.run()
    commit = engine.take()
    assert not commit.letters
    return Counter((topic, identity, value) for topic, _, identity, value, _ in commit.outputs)
