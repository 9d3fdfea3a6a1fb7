"""The registry client's answers, from a local server that says what a registry says."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tocsin.schemas import Registry, RegistryDown, RegistryMissing, RegistryRefused, SchemaError, subject

TEMP = '{"type": "record", "name": "Temp", "fields": []}'


class _Answers(BaseHTTPRequestHandler):
    """Knows schema 7, takes new schemas as 8, and fails for schema 500.

    Refuses the schemas of `refused-value`, and those of `raced-value` as it just got them from someone else.
    """

    def do_GET(self) -> None:
        if self.path.startswith("/schemas/ids/7"):
            self._answer(200, {"schema": TEMP})
        elif self.path.startswith("/schemas/ids/500"):
            self._answer(500, {"error_code": 50001, "message": "Error in the backend store"})
        else:
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith(("/subjects/refused-value/versions", "/subjects/raced-value/versions")):
            self._answer(409, {"error_code": 409, "message": "area has no default."})
        elif self.path.startswith("/subjects/refused-value"):
            self._answer(404, {"error_code": 40403, "message": "Schema not found"})
        else:
            self._answer(200, {"id": 8})

    def _answer(self, status: int, body: dict[str, object]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture(scope="module")
def registry() -> Iterator[Registry]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    with Registry(f"http://127.0.0.1:{server.server_port}") as client:
        yield client
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_schema_is_found_by_its_id(registry: Registry) -> None:
    assert registry.get(7) == TEMP


def test_registering_gives_the_id(registry: Registry) -> None:
    assert registry.register(subject("temps"), TEMP) == 8


def test_a_schema_that_does_not_exist_is_told_from_a_registry_that_fails(registry: Registry) -> None:
    with pytest.raises(RegistryMissing, match="has no schema with id 9"):
        registry.get(9)
    with pytest.raises(RegistryDown, match="does not answer"):
        registry.get(500)


def test_a_refused_schema_is_explained(registry: Registry) -> None:
    with pytest.raises(
        RegistryRefused, match=r"refuses the schema of 'refused-value': area has no default\."
    ):
        registry.register("refused-value", TEMP)


def test_a_schema_that_another_client_registered_meanwhile_is_not_refused(registry: Registry) -> None:
    assert registry.register("raced-value", TEMP) == 8


def test_a_registry_that_is_away_is_named() -> None:
    with (
        Registry("http://127.0.0.1:1") as away,
        pytest.raises(RegistryDown, match=r"127.0.0.1:1 does not answer"),
    ):
        away.get(7)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"'registry\.example' is not the address of a schema registry"):
        Registry("registry.example")
