"""What tests share: one set of real services a run, and topics of their own on it."""

import os
import secrets
import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from hypothesis import HealthCheck, settings

from tocsin.services import ServiceSet

# Property tests try the same examples each time, and a busy machine fails none of them.
settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def services() -> Iterator[ServiceSet]:
    """A real broker and registry, started by the first test that asks and shared by all that do."""
    with ServiceSet.start(f"tests-{os.getpid()}") as running:
        yield running


@pytest.fixture(scope="session")
def admin(services: ServiceSet) -> AdminClient:
    return AdminClient({"bootstrap.servers": services.bootstrap})


@pytest.fixture(scope="session")
def unique() -> Callable[[str], str]:
    """Makes a name that no other test has: `unique("temps")` gives `temps-` and 8 hex digits."""
    return lambda stem: f"{stem}-{secrets.token_hex(4)}"


@pytest.fixture(scope="session")
def topic(admin: AdminClient, unique: Callable[[str], str]) -> Callable[..., str]:
    """Makes a topic under a unique name: `topic("temps", partitions=4)`; other keywords are its settings."""

    def create(stem: str, *, partitions: int = 1, **settings: str) -> str:
        name = unique(stem)
        config = {key.replace("_", "."): value for key, value in settings.items()}
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config)
        admin.create_topics([new])[name].result(timeout=30)
        deadline = time.monotonic() + 30
        while name not in admin.list_topics(timeout=30).topics:  # the broker knows of it a moment later
            assert time.monotonic() < deadline, f"topic {name} does not appear"
        return name

    return create
