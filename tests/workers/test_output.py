"""What a subscriber gets, read by means that are not Tocsin's own."""

import io
import json
import struct
import time
import urllib.request
from collections.abc import Callable

import avro.io
import avro.schema
from confluent_kafka import Consumer

from tests.workers.conftest import Application


def test_a_plain_consumer_reads_it_with_the_registry_alone(make_app: Callable[..., Application]) -> None:
    app = make_app()
    now_ms = int(time.time() * 1000)
    with app.worker():
        app.publish("hall", 51.5, now_ms - 500)
        app.publish("hall", None, now_ms)
        app.publisher.flush()
        app.await_exact()

    consumer = Consumer(
        {
            "bootstrap.servers": app.services.bootstrap,
            "group.id": f"plain-{app.plan.app}",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe([app.topic])
    message = consumer.poll(30)
    consumer.close()
    assert message is not None
    assert message.error() is None
    value = message.value()
    assert isinstance(value, bytes)
    magic, schema_id = struct.unpack(">bI", value[:5])
    assert magic == 0
    with urllib.request.urlopen(f"{app.services.registry_url}/schemas/ids/{schema_id}") as answer:
        schema = avro.schema.parse(json.load(answer)["schema"])
    record = avro.io.DatumReader(schema).read(avro.io.BinaryDecoder(io.BytesIO(value[5:])))
    assert isinstance(record, dict)

    detection = record.pop("detection")
    assert record == {"area": "hall", "value": 51.5}
    assert message.key() == detection["identity"].encode()
    assert (detection["rule"], detection["version"], detection["context"]) == ("Fire", 1, "SELECTION")
    assert (_ms(detection["start"]), _ms(detection["end"])) == (now_ms - 500, now_ms)
    assert detection["bindings"] == {"a": "hall"}
    assert message.timestamp()[1] == now_ms

    published = {event.value is None: event for event in app.record}
    roles = {constituent["role"]: constituent for constituent in detection["provenance"]}
    for role, type_name, event in (("s", "Smoke", published[True]), ("t", "Temp", published[False])):
        constituent = roles[role]
        assert constituent["type"] == type_name
        assert _ms(constituent["time"]) == event.time_ms
        assert (constituent["topic"], constituent["partition"], constituent["offset"]) == event.at


def _ms(value: object) -> int:
    # The avro package gives times as datetime where it knows the logical type, else as the number.
    return value if isinstance(value, int) else round(value.timestamp() * 1000)  # type: ignore[attr-defined]
