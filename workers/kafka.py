"""What the worker's Kafka clients share: configuration, and sentences where the client library has codes."""

import logging
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from tocsin.workers.errors import BrokerAway, Fenced, WorkerError
from tocsin.workers.settings import WorkerSettings

ANSWER_TIMEOUT_S = 10.0
_READ_AHEAD_KIB = 65_536
COMMIT_TIMEOUT_S = 30.0

CLIENT_LOG = logging.getLogger("tocsin.kafka")
"""Takes the lines librdkafka would print; what operators must know reaches them as an exception."""
CLIENT_LOG.addHandler(logging.NullHandler())
CLIENT_LOG.propagate = False

_AWAY = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE})  # noqa: SLF001 – their public spelling
_PASSING = _AWAY | {
    KafkaError._TIMED_OUT,  # noqa: SLF001
    KafkaError._WAIT_COORD,  # noqa: SLF001
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNSTABLE_OFFSET_COMMIT,
    KafkaError.STALE_MEMBER_EPOCH,
}
NOT_YET = frozenset({KafkaError._STATE, KafkaError._PREV_IN_PROGRESS, KafkaError._TIMED_OUT})  # noqa: SLF001
"""What a seek answers before the client has begun to fetch a partition."""
_FENCED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})  # noqa: SLF001


def admin(settings: WorkerSettings) -> AdminClient:
    """Return a client for topics and offsets."""
    return AdminClient({"bootstrap.servers": settings.brokers}, logger=CLIENT_LOG)


def group_consumer(settings: WorkerSettings, group: str) -> Consumer:
    """Return the consumer of a task group: assigned by the broker, co-partitioned, read_committed."""
    return Consumer(
        _reader(settings)
        | {
            "group.id": group,
            "group.protocol": "consumer",
            "group.remote.assignor": "range",
            "auto.offset.reset": "earliest",
            # Deep enough to keep a batch ready while the last one is committed.
            "queued.min.messages": 200_000,
            "queued.max.messages.kbytes": _read_ahead_kib(settings),
            "fetch.message.max.bytes": 4_194_304,
        }
    )


def _read_ahead_kib(settings: WorkerSettings) -> int:
    """Return how much a client may read ahead: who has little memory for state has little for that, too."""
    memory = settings.state_memory_bytes
    return _READ_AHEAD_KIB if memory is None else min(max(memory // 8 // 1024, 1024), _READ_AHEAD_KIB)


def log_consumer(settings: WorkerSettings) -> Consumer:
    """Return a consumer that is assigned by hand, to read a log from end to end."""
    return Consumer(_reader(settings) | {"group.id": "tocsin-unused", "auto.offset.reset": "error"})


def _reader(settings: WorkerSettings) -> dict[str, Any]:
    return {
        "bootstrap.servers": settings.brokers,
        "logger": CLIENT_LOG,
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }


def transactional_producer(settings: WorkerSettings, transactional_id: str) -> Producer:
    """Return a producer that has fenced every earlier one of the same id."""
    producer = Producer(
        _writer(settings)
        | {
            "transactional.id": transactional_id,
            "transaction.timeout.ms": settings.transaction_timeout_ms,
        }
    )
    try:
        producer.init_transactions(COMMIT_TIMEOUT_S)
    except KafkaException as error:
        raise as_worker_error(error, settings.brokers) from error
    return producer


def repeating_producer(settings: WorkerSettings) -> Producer:
    """Return a producer without transactions, which writes in order and, while it lives, each record once."""
    return Producer(_writer(settings) | {"enable.idempotence": True})


def _writer(settings: WorkerSettings) -> dict[str, Any]:
    return {
        "bootstrap.servers": settings.brokers,
        "logger": CLIENT_LOG,
        "linger.ms": 5,
        "compression.type": "lz4",
        "queue.buffering.max.messages": 1_000_000,
        "queue.buffering.max.kbytes": 1_048_576,
        "partitioner": "murmur2_random",
        "message.max.bytes": settings.max_output_bytes,
    }


def is_fenced(error: KafkaError) -> bool:
    """Tell whether an error means that another producer has taken this one's name."""
    return error.code() in _FENCED


def is_passing(error: KafkaError) -> bool:
    """Tell whether an error may be gone when the same is asked again; the client marks few as such."""
    return error.code() in _PASSING or error.retriable()


def is_away(error: KafkaError) -> bool:
    """Tell whether an error means that no broker answers."""
    return error.code() in _AWAY


def sentence(error: KafkaError, brokers: str) -> str:
    """Put an error of the client library into words for its user."""
    if is_away(error):
        return (
            f"No Kafka broker answers at {brokers}. Start one with `tocsin services up --detach`, or set "
            "TOCSIN_BROKERS to where yours is."
        )
    if error.code() == KafkaError._TIMED_OUT:  # noqa: SLF001
        return (
            f"Kafka at {brokers} did not answer in time. Is it up, and do its internal topics have leaders?"
        )
    return f"Kafka at {brokers} reports: {error.str()}."


def as_worker_error(error: KafkaException, brokers: str) -> WorkerError:
    """Return what a worker raises for an error of the client library."""
    cause: KafkaError = error.args[0]
    if is_fenced(cause):
        return Fenced(
            "This worker was fenced: another runs under its instance name, or it stood still so long that "
            "its transaction timed out."
        )
    return (BrokerAway if is_away(cause) else WorkerError)(sentence(cause, brokers))
