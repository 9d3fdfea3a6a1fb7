"""A worker on the real broker with transactions, beside a loop that only consumes and produces."""

import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from workload import Mix, events, plan

from tocsin.schemas import event_schema, single_object_prefix
from tocsin.workers import Status, Worker, WorkerSettings

PARTITIONS = 4
BATCH = 20_000
DEADLINE_S = 120


@dataclass(frozen=True, slots=True)
class WorkerFigures:
    """What one run gave, in events a second."""

    events: int
    bare_rate: float
    worker_rate: float

    @property
    def ratio(self) -> float:
        """The worker's rate in terms of the bare loop's."""
        return self.worker_rate / self.bare_rate


def run(brokers: str, count: int, mix: Mix) -> WorkerFigures:
    """Fill two topics, then pass them through the bare loop and through a worker."""
    app = f"bench-{mix.name.split(':')[0]}"
    topics = (f"{app}-temps", f"{app}-smoke")
    _create(brokers, [*topics, f"{app}-copy"])
    _fill(brokers, topics, count, mix)
    # The better of two: the first warms the broker up.
    bare_rate = count / min(_bare(brokers, topics, f"{app}-copy", count) for _ in range(2))
    worker_rate = count / _worker(brokers, app, topics, count)
    return WorkerFigures(count, bare_rate, worker_rate)


def _create(brokers: str, topics: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    for future in admin.create_topics([NewTopic(t, PARTITIONS, 1) for t in topics]).values():
        future.result(timeout=30)


def _fill(brokers: str, topics: tuple[str, str], count: int, mix: Mix) -> None:
    rules = plan("bench", *topics)
    frames = [single_object_prefix(event_schema(t.to_dict(), rules.app)) for t in rules.input_types]
    producer = _producer(brokers)
    for event in events(count, int(time.time() * 1000) - count, mix):
        value = frames[event.is_smoke] + event.value
        _produce(producer, topics[event.is_smoke], value, event.key, event.time_ms)
    producer.flush(DEADLINE_S)


def _producer(brokers: str) -> Producer:
    return Producer(
        {
            "bootstrap.servers": brokers,
            "partitioner": "murmur2_random",
            "linger.ms": 5,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 1_000_000,
        }
    )


def _produce(producer: Producer, topic: str, value: bytes, key: bytes, time_ms: int) -> None:
    while True:
        try:
            producer.produce(topic, value, key, timestamp=time_ms)
        except BufferError:
            producer.poll(0.1)
        else:
            producer.poll(0)
            return


def _bare(brokers: str, topics: tuple[str, str], copy: str, count: int) -> float:
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "bare",
            "isolation.level": "read_committed",
            "queued.min.messages": 200_000,
        }
    )
    consumer.assign([TopicPartition(t, p, 0) for t in topics for p in range(PARTITIONS)])
    producer = _producer(brokers)
    messages = consumer.consume(1, DEADLINE_S)
    start, done = time.perf_counter(), 0
    while done < count:
        for message in messages:
            value, key = message.value() or b"", message.key() or b""
            _produce(producer, copy, value, key, message.timestamp()[1])
        done += len(messages)
        messages = consumer.consume(min(BATCH, max(count - done, 1)), 1.0) if done < count else []
    producer.flush(DEADLINE_S)
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def _worker(brokers: str, app: str, topics: tuple[str, str], count: int) -> float:
    rules = plan(app, *topics)
    stop = threading.Event()
    marks: list[float] = []

    def watch(status: Status) -> None:
        read = sum(task.counts["read"] for task in status.tasks)
        if read > 0 and not marks:
            marks.append(time.perf_counter())
            begun.append(read)
        if read >= count or time.perf_counter() > deadline:
            stop.set()

    begun: list[int] = []
    deadline = time.perf_counter() + DEADLINE_S
    with tempfile.TemporaryDirectory() as folder:
        settings = WorkerSettings(
            brokers=brokers,
            state_dir=Path(folder),
            commit_interval_ms=200,
            replication=1,
            max_batch=BATCH,
            report_interval_ms=1,
        )
        Worker(rules, settings, watch).run(stop)  # ends with its last commit
        seconds = time.perf_counter() - marks[0]
    assert time.perf_counter() < deadline, "the worker did not come to the end"
    # What was read when the clock was started is not counted.
    return seconds * count / (count - begun[0])
