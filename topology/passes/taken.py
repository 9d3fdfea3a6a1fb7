"""Events of other applications: what may be said of them, and where they lie."""

import re

from tocsin.topology.errors import Span
from tocsin.topology.model import Compilation
from tocsin.topology.tree import Application, Event, EventKind
from tocsin.topology.types import Type

APP_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


def take(event: Event, application: Application, type_: Type, compilation: Compilation) -> None:
    """Let a type be a complex event of another application, on the topic that has it there."""
    report, name = compilation.report, application.name
    if not APP_NAME.fullmatch(name):
        hint = "use 1 to 100 letters, digits, `-`, `_` and `.`"
        report.error("this cannot name an application", application.span, hint)
    elif name == compilation.app:
        message = f'"{name}" is this application itself'
        report.error(message, application.span, "what it detects is defined here, with `define`")
    for word, span in _not_ours_to_say(event):
        message = f"{event.name} is detected by another application, so `{word}` cannot be said of it"
        report.error(message, span, "attributes, `on`, `key` and `start` can")
    type_.application, type_.explicit = name, False
    stem = f"tocsin.{name}."
    if event.topic is None:
        type_.topic = f"{stem}{event.name}"
    elif not event.topic.name.startswith(stem):
        message = f'topic "{event.topic.name}" has no event of application "{name}"'
        report.error(message, event.topic.span, f"its events are on topics that begin with `{stem}`")


def _not_ours_to_say(event: Event) -> list[tuple[str, Span]]:
    """Return the words that belong to whoever makes an event: what it is, and what its times and ids are."""
    said: list[tuple[str, Span]] = []
    if event.kind is not EventKind.EVENT:
        said.append((event.kind.value, event.name.span))
    clauses = {
        "extends": event.parent,
        "id": event.id,
        "time": event.time,
        "lateness": event.lateness,
        "idle": event.idle,
        "nulls": event.nulls,
        "unit": event.unit,
    }
    said += [(word, clause.span) for word, clause in clauses.items() if clause is not None]
    return said
