"""What the API's Kafka clients share: which topics there are, and errors as sentences."""

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from tocsin.errors import UnavailableError
from tocsin.workers.kafka import ANSWER_TIMEOUT_S, CLIENT_LOG, sentence

__all__ = ["ANSWER_TIMEOUT_S", "CLIENT_LOG", "partitions", "require_topic", "unavailable"]


def partitions(client: Producer | Consumer | AdminClient, brokers: str) -> dict[str, int]:
    """Return the number of partitions of every topic, by its name."""
    try:
        # All topics: a request that names one may create it.
        metadata = client.list_topics(timeout=ANSWER_TIMEOUT_S)
    except KafkaException as error:
        raise unavailable(error.args[0], brokers) from error
    return {name: len(topic.partitions) for name, topic in metadata.topics.items()}


def require_topic(client: Producer | Consumer, brokers: str, topic: str, remedy: str) -> int:
    """Return the number of partitions of a topic; if it does not exist, say so and what to do."""
    known = partitions(client, brokers)
    if topic not in known:
        raise UnavailableError(f"Topic '{topic}' does not exist on {brokers}. {remedy}")
    return known[topic]


def unavailable(error: KafkaError, brokers: str) -> UnavailableError:
    """Return what the API raises for an error of the client library."""
    return UnavailableError(sentence(error, brokers))
