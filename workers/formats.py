"""How a worker's records are written and read: schemas for output, schemas of input, letters."""

import logging
import threading
from collections.abc import Iterable

from tocsin import schemas
from tocsin._engine import Batch, Engine
from tocsin.schemas import Confluent, Registry, RegistryDown, RegistryMissing
from tocsin.topology.plan import Plan
from tocsin.workers.topics import Names

LOG = logging.getLogger(__name__)

_RETRY_S = 1.0


class InputSchemas:
    """The schemas that input records may name: of the rules' events, a registry, and what else is known."""

    def __init__(self, plan: Plan, registry: Registry | None, known: Iterable[str] = ()) -> None:
        self._registry = registry
        self._known: dict[bytes, str] = {}
        for event in plan.input_types:
            self.know(schemas.event_schema(event.to_dict(), plan.app))
            if event.application is not None:
                # As it is published, if all of it is declared.
                published = event.to_dict() | {"origin": "defined", "name": event.published_as}
                self.know(schemas.event_schema(published, event.application))
        for schema in known:
            self.know(schema)

    def know(self, schema: str) -> bytes:
        """Take in a schema, and return the frame of the records that name it by its fingerprint."""
        frame = schemas.single_object_prefix(schema)
        self._known[frame] = schema
        return frame

    def supply(self, engine: Engine, batch: Batch, stop: threading.Event) -> None:
        """Give the engine the schemas a batch needs; while the registry is away, wait for it until `stop`."""
        for frame in engine.missing_schemas(batch):
            try:
                engine.add_schema(frame, self._find(frame, stop))
            except (RegistryMissing, ValueError) as error:
                engine.refuse_schema(frame, str(error))

    def _find(self, frame: bytes, stop: threading.Event) -> str:
        known = self._known.get(frame)
        if known is not None:
            return known
        named = schemas.split(frame)
        if not isinstance(named, Confluent):
            raise RegistryMissing(
                f"No event of the rules has the schema with fingerprint {named.fingerprint:016x}."
            )
        if self._registry is None:
            raise RegistryMissing(
                f"The schema with id {named.schema_id} needs a registry, and none is configured."
            )
        while True:
            try:
                self._known[frame] = self._registry.get(named.schema_id)
                return self._known[frame]
            except RegistryDown as error:
                if stop.is_set():
                    raise
                # The records are fine: they wait, rather than become dead letters.
                LOG.warning("%s Waiting for it.", error)
                stop.wait(_RETRY_S)


class Formats:
    """Schemas of one application, with or without a registry."""

    def __init__(self, plan: Plan, registry_url: str | None, known: Iterable[str] = ()) -> None:
        self._plan = plan
        self._registry = None if registry_url is None else Registry(registry_url)
        self._inputs = InputSchemas(plan, self._registry, known)
        self._names = Names(plan.app)
        self._letter_frames = {
            topic: self._frame(topic, schemas.load("dead_letter"))
            for topic in (self._names.late, self._names.dead_letters)
        }

    def destinations(self, partitions: dict[str, int]) -> dict[str, tuple[str, bytes, int]]:
        """Return, for every complex event, its topic, the frame of its records, and the partitions."""
        return {
            defined.name: (
                defined.topic,
                self._frame(defined.topic, schemas.event_schema(defined.to_dict(), self._plan.app)),
                partitions[defined.topic],
            )
            for defined in self._plan.defined_types
        }

    def _frame(self, topic: str, schema: str) -> bytes:
        if self._registry is None:
            return schemas.single_object_prefix(schema)
        return schemas.confluent_prefix(self._registry.register(schemas.subject(topic), schema))

    def supply(self, engine: Engine, batch: Batch, stop: threading.Event) -> None:
        """Give the engine the schemas a batch needs; while the registry is away, wait for it."""
        self._inputs.supply(engine, batch, stop)

    def letter(self, *, late: bool, body: bytes) -> tuple[str, bytes]:
        """Return the topic and value of a letter."""
        topic = self._names.late if late else self._names.dead_letters
        return topic, self._letter_frames[topic] + body

    def close(self) -> None:
        """Close the connection to the registry."""
        if self._registry is not None:
            self._registry.close()
