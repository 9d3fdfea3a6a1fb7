"""Input topics that grow while there is state of them: noticed before anything more is committed.

Where a topic gets more partitions, its keys move to others, and what is kept of them stays. Producers know it
as soon as brokers do, so those are asked before every commit: what was read up to then lay where it should.
"""

from collections.abc import Mapping

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from tocsin.topology.plan import Plan
from tocsin.workers import kafka
from tocsin.workers.errors import TopicsWrong
from tocsin.workers.topics import unfit

_ASK_EVERY_MS = 1_000
"""How often brokers are asked though nothing is to be committed."""


class Growth:
    """Watches the partitions of the input topics; `counts` has those of all topics when the worker began."""

    def __init__(self, admin: AdminClient, plan: Plan, counts: Mapping[str, int]) -> None:
        self._admin = admin
        self._plan = plan
        self._counts = counts
        self._asked_ms = 0

    def check_at_times(self, now_ms: int) -> None:
        """Check, unless that was done not long ago."""
        if now_ms - self._asked_ms >= _ASK_EVERY_MS:
            self.check(now_ms)

    def check(self, now_ms: int) -> None:
        """Ask the brokers, and raise TopicsWrong where a topic has other partitions than it had."""
        self._asked_ms = now_ms
        topics = TopicCollection(list(self._plan.input_topics))
        asked = self._admin.describe_topics(topics, request_timeout=kafka.ANSWER_TIMEOUT_S)
        counts = dict(self._counts)
        for topic, answer in asked.items():
            try:
                counts[topic] = len(answer.result().partitions)
            except KafkaException as error:
                # Whatever it is, the consumer and the producer meet it too, and know what to do.
                kafka.CLIENT_LOG.debug("the partitions of %s are not known: %s", topic, error)
        for sentence in unfit(self._plan, counts):
            raise TopicsWrong(sentence)
