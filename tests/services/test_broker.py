"""The broker alone."""

import socket
import time
from pathlib import Path

from tocsin.deploy import jars, java
from tocsin.services import broker


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_cluster_id_may_begin_with_a_dash(tmp_path: Path) -> None:
    port, cluster_id = free_port(), "-" + broker.new_cluster_id()[1:]
    child = broker.start(java(), jars("broker"), tmp_path, port, free_port(), cluster_id)
    try:
        deadline = time.monotonic() + 60
        while not broker.is_ready(port, cluster_id):
            assert time.monotonic() < deadline, "the broker does not answer"
    finally:
        child.kill()
