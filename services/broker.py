"""The Kafka broker: one node that is broker and controller, set up for quick local work."""

import base64
import logging
import uuid
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from tocsin.services.child import Child, java_command

_HEAP_MB = 768
_POLL_S = 1.0


def new_cluster_id() -> str:
    """A random id in the form Kafka uses."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()


def properties(port: int, controller_port: int, data: Path) -> dict[str, str | int]:
    """The broker's settings."""
    return {
        "process.roles": "broker,controller",
        "node.id": 1,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller_port}",
        "log.dirs": str(data),
        # One node: nothing is replicated, and internal topics need few partitions.
        "default.replication.factor": 1,
        "offsets.topic.replication.factor": 1,
        "offsets.topic.num.partitions": 4,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "transaction.state.log.num.partitions": 4,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        "share.coordinator.state.topic.num.partitions": 1,
        # A mistyped topic is an error, not a new topic.
        "auto.create.topics.enable": "false",
        # Group members that die are noticed in seconds, and transactions they left open end soon.
        "group.consumer.min.session.timeout.ms": 1000,
        "group.consumer.session.timeout.ms": 6000,
        "group.consumer.min.heartbeat.interval.ms": 200,
        "group.consumer.heartbeat.interval.ms": 500,
        "group.min.session.timeout.ms": 1000,
        "group.initial.rebalance.delay.ms": 0,
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    }


def start(java: str, jars: Path, folder: Path, port: int, controller_port: int, cluster_id: str) -> Child:
    """Format the storage and start the broker; it answers some seconds later."""
    config = folder / "server.properties"
    settings = properties(port, controller_port, folder / "data")
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    command = [*java_command(java, folder, _HEAP_MB), "-cp", f"{jars}/*"]
    # One argument, since an id may begin with a dash.
    identity = f"--cluster-id={cluster_id}"
    formatting = ["kafka.tools.StorageTool", "format", "--standalone", identity, "-c", str(config)]
    Child("storage-formatter", [*command, *formatting], folder).finish()
    logging_options = [
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    ]
    return Child("broker", [*command, *logging_options, "kafka.Kafka", str(config)], folder)


def is_ready(port: int, cluster_id: str) -> bool:
    """Whether the broker answers, and is the one with that id rather than another on the same port."""
    silent = logging.Logger("tocsin.services.broker")  # noqa: LOG001 – apart from the tree, so that nothing prints
    silent.addHandler(logging.NullHandler())
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"}, logger=silent)
    try:
        metadata = admin.list_topics(timeout=_POLL_S)
    except KafkaException:
        return False
    return str(metadata.cluster_id) == cluster_id and bool(metadata.brokers)
