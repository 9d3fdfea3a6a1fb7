"""Mistakes in what to read are told in a sentence, before Spark is started."""

import re
import socket

import pytest

from tocsin.analytics import AnalyticsError, AnalyticsUnavailable, Source, source
from tocsin.analytics.source import Formats


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.parametrize("topic", ["fire", "tocsin.fire.", "tocsin.fire.Fire.more", "tocsin.flood.Fire"])
def test_a_topic_of_another_application(topic: str) -> None:
    sentence = re.escape(f"'{topic}' is not a complex-event topic of the application 'fire'")
    with pytest.raises(AnalyticsError, match=sentence):
        Source(brokers="localhost:9092", app="fire", registry="http://localhost:8081", topics=[topic])


def test_neither_registry_nor_schemas() -> None:
    with pytest.raises(AnalyticsError, match="any topic of the application 'fire' must be given"):
        Source(brokers="localhost:9092", app="fire")


def test_no_registry_and_a_topic_without_schema() -> None:
    topics = ["tocsin.fire.A", "tocsin.fire.B"]
    with pytest.raises(AnalyticsError, match=r"the schema of topic 'tocsin\.fire\.B' must be given"):
        Source(brokers="localhost:9092", app="fire", topics=topics, schemas={"tocsin.fire.A": '"string"'})


def test_a_schema_of_something_else() -> None:
    simple = Source(brokers="localhost:9092", app="fire", schemas={"tocsin.fire.A": '"string"'})
    with Formats(simple) as formats, pytest.raises(AnalyticsError, match="is not that of a complex event"):
        formats.current()


def test_no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "TIMEOUT_S", 0.5)
    brokers = f"127.0.0.1:{closed_port()}"
    with pytest.raises(AnalyticsUnavailable, match=f"No Kafka broker answers at {brokers}"):
        Source(brokers=brokers, app="fire", registry="http://localhost:8081").check()


def test_no_registry() -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    away = Source(brokers="localhost:9092", app="fire", registry=url)
    with Formats(away) as formats, pytest.raises(AnalyticsUnavailable, match=f"{url} does not answer"):
        formats.current()


def test_no_address_of_a_registry() -> None:
    with pytest.raises(AnalyticsError, match="'localhost' is not the address of a schema registry"):
        Formats(Source(brokers="localhost:9092", app="fire", registry="localhost"))
