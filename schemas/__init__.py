"""Avro schemas of what crosses a topic, their framing on the wire, and the registry that shares them.

A schema is its JSON text throughout: that is what a registry stores and what the engine reads.
"""

from tocsin.schemas.catalog import fingerprint, load
from tocsin.schemas.compatibility import incompatibilities
from tocsin.schemas.derive import event_schema
from tocsin.schemas.errors import (
    FrameError,
    RegistryDown,
    RegistryError,
    RegistryMissing,
    RegistryRefused,
    SchemaError,
)
from tocsin.schemas.registry import Registry, subject
from tocsin.schemas.wire import (
    Confluent,
    SingleObject,
    confluent_prefix,
    decode,
    encode,
    single_object_prefix,
    split,
)

__all__ = [
    "Confluent",
    "FrameError",
    "Registry",
    "RegistryDown",
    "RegistryError",
    "RegistryMissing",
    "RegistryRefused",
    "SchemaError",
    "SingleObject",
    "confluent_prefix",
    "decode",
    "encode",
    "event_schema",
    "fingerprint",
    "incompatibilities",
    "load",
    "single_object_prefix",
    "split",
    "subject",
]
