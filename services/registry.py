"""The schema registry: Apicurio, in memory, through its Confluent-compatible interface."""

from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tocsin.services.child import Child, java_command

_API = "/apis/ccompat/v7"
_HEAP_MB = 384
_POLL_S = 1.0


def url(port: int) -> str:
    """Where clients of a Confluent registry connect."""
    return f"http://127.0.0.1:{port}{_API}"


def start(java: str, jars: Path, folder: Path, port: int) -> Child:
    """Start the registry; it answers some seconds later."""
    runner = next(jars.glob("*-runner.jar"))
    options = [
        "-XX:TieredStopAtLevel=1",  # starts sooner, and it is never busy
        "-XX:+UseSerialGC",
        "-Dquarkus.http.host=127.0.0.1",
        f"-Dquarkus.http.port={port}",
    ]
    return Child("registry", [*java_command(java, folder, _HEAP_MB), *options, "-jar", str(runner)], folder)


def is_ready(port: int) -> bool:
    """Whether the registry answers. Asked directly: a proxy set for the user is not for loopback."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_POLL_S)
    try:
        connection.request("GET", f"{_API}/subjects")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
