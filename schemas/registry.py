"""A Confluent-compatible schema registry, reduced to the two questions Tocsin asks it."""

from types import TracebackType
from typing import Self

from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from tocsin.schemas.errors import RegistryDown, RegistryMissing, RegistryRefused, SchemaError

TIMEOUT_S = 10
MAX_RETRIES = 2
RETRY_WAIT_MS = 200

_NOT_FOUND = 404
_REFUSED = frozenset({400, 409, 422})


def subject(topic: str) -> str:
    """Return the name under which a registry keeps the schemas of a topic's values.

    >>> subject("tocsin.fire.Fire")
    'tocsin.fire.Fire-value'
    """
    return f"{topic}-value"


class Registry:
    """Client of one registry. Answers are cached, and it may be used from several threads.

    Whoever calls can tell a schema that does not exist (`RegistryMissing`) from a registry that is away
    (`RegistryDown`): the first is a property of a record, the second of the moment.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        try:
            self._client = SchemaRegistryClient(
                {
                    "url": url,
                    "timeout": TIMEOUT_S,
                    "max.retries": MAX_RETRIES,
                    "retries.wait.ms": RETRY_WAIT_MS,
                },
            )
        except ValueError as error:
            raise SchemaError(f"'{url}' is not the address of a schema registry: {error}.") from error

    def register(self, subject_name: str, schema: str) -> int:
        """Make `schema` known under a subject, if it is not yet, and return its id."""
        avro = Schema(schema, schema_type="AVRO")
        try:
            return self._client.register_schema(subject_name, avro)
        except SchemaRegistryError as error:
            if error.http_status_code in _REFUSED:
                # Of two clients that register at the same moment, one may be refused although both agree.
                registered = self._registered(subject_name, avro)
                if registered is not None:
                    return registered
                raise RegistryRefused(
                    f"The schema registry at {self.url} refuses the schema of '{subject_name}': "
                    f"{error.error_message}"
                ) from error
            raise self._down(error) from error
        except Exception as error:  # of the HTTP library, which differs between releases of the client
            raise self._down(error) from error

    def get(self, schema_id: int) -> str:
        """Return the schema that has an id."""
        try:
            schema = self._client.get_schema(schema_id)
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                raise RegistryMissing(
                    f"The schema registry at {self.url} has no schema with id {schema_id}."
                ) from error
            raise self._down(error) from error
        except Exception as error:
            raise self._down(error) from error
        if not schema.schema_str:
            raise RegistryMissing(
                f"The schema registry at {self.url} has no text for the schema with id {schema_id}."
            )
        return schema.schema_str

    def close(self) -> None:
        """Close the connections to the registry."""
        self._client.close()

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connections to the registry."""
        self.close()

    def _registered(self, subject_name: str, schema: Schema) -> int | None:
        try:
            return self._client.lookup_schema(subject_name, schema).schema_id
        except SchemaRegistryError:
            return None
        except Exception as error:
            raise self._down(error) from error

    def _down(self, error: Exception) -> RegistryDown:
        reason = str(error) or type(error).__name__
        return RegistryDown(f"The schema registry at {self.url} does not answer ({reason}). Is it running?")
