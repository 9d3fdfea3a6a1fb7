"""Records as lines that a replay reads again: with their coordinates, and their bytes as they are."""

import base64
import json
from collections.abc import Sequence
from typing import TextIO

from confluent_kafka import Message


def save(messages: Sequence[Message], file: TextIO) -> None:
    """Write messages, a line each."""
    file.writelines(f"{_line(message)}\n" for message in messages)


def _line(message: Message) -> str:
    said: dict[str, object] = {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
    }
    said |= _said("key", message.key()) | _said("value", message.value())
    given = message.headers() or []
    pairs = given.items() if isinstance(given, dict) else given
    # Only those of CloudEvents are read, which are text.
    headers = [[name, text] for name, value in pairs if (text := _text(value)) is not None]
    if headers:
        said["headers"] = headers
    return json.dumps(said, ensure_ascii=False)


def _said(name: str, content: bytes | str | None) -> dict[str, object]:
    text = _text(content)
    if text is not None or content is None:
        return {name: text}
    assert isinstance(content, bytes)
    return {f"{name}_base64": base64.b64encode(content).decode()}


def _text(content: bytes | str | None) -> str | None:
    if not isinstance(content, bytes):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
