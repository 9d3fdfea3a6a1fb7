"""Declared and defined events become types: attributes, key, time, topics."""

import re
from collections.abc import Sequence

from tocsin.topology.errors import suggest
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.plan import EventType, Origin, PlanField
from tocsin.topology.terms import Scalar
from tocsin.topology.tree import Attribute, Define, Duration, Event, Name

DEFAULT_IDLE_TIMEOUT_MS = 2_000
RESERVED_ATTRIBUTE = "detection"

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_KEY_TYPES = frozenset(Scalar) - {Scalar.FLOAT, Scalar.DOUBLE}


def declare_types(compilation: Compilation) -> None:
    """Fill `types` and open a rule for every definition."""
    for declaration in compilation.program.declarations:
        name = declaration.name
        before = len(compilation.report.diagnostics)
        fields = _fields(declaration.attributes, compilation)
        if name.text in compilation.types:
            compilation.report.error(f"`{name}` is declared twice", name.span, "one needs another name")
        if len(compilation.report.diagnostics) > before:
            compilation.doubtful.add(name.text)
        if isinstance(declaration, Event):
            declared = _input_type(declaration, fields, compilation)
        else:
            declared = _defined_type(declaration, fields, compilation)
            compilation.rules.append(Rule(declaration, declared))
        compilation.types.setdefault(name.text, declared)
    _check_topics(compilation)


def _input_type(event: Event, fields: tuple[PlanField, ...], compilation: Compilation) -> EventType:
    if not _TOPIC.fullmatch(event.topic.name) or event.topic.name in {".", ".."}:
        compilation.report.error(
            "this cannot be the name of a topic",
            event.topic.span,
            "a topic's name has 1 to 249 letters, digits, `.`, `_` and `-`, and is not `.` or `..`",
        )
    if event.idle is not None and event.idle.ms == 0:
        compilation.report.error(
            "`idle` must be longer than 0",
            event.idle.span,
            "it must be longer than an event needs from its producer to the worker",
        )
    return EventType(
        name=event.name.text,
        origin=Origin.INPUT,
        fields=fields,
        topic=event.topic.name,
        key=_key(event, fields, compilation),
        time=_time(event, fields, compilation),
        lateness_ms=_ms(event.lateness, 0),
        idle_timeout_ms=_ms(event.idle, DEFAULT_IDLE_TIMEOUT_MS),
    )


def _defined_type(define: Define, fields: tuple[PlanField, ...], compilation: Compilation) -> EventType:
    for attribute in define.attributes:
        if attribute.name.text == RESERVED_ATTRIBUTE:
            compilation.report.error(
                f"`{RESERVED_ATTRIBUTE}` cannot be an attribute of a defined event",
                attribute.name.span,
                "every complex event has a field of that name, with its identity and provenance",
            )
    topic = f"tocsin.{compilation.app}.{define.name}"
    return EventType(define.name.text, Origin.DEFINED, fields, topic)


def _fields(attributes: Sequence[Attribute], compilation: Compilation) -> tuple[PlanField, ...]:
    fields: dict[str, PlanField] = {}
    for attribute in attributes:
        name = attribute.name
        if name.text in fields:
            compilation.report.error(f"attribute `{name}` is declared twice", name.span)
        try:
            scalar = Scalar(attribute.type.text)
        except ValueError:
            known = [s.value for s in Scalar]
            hint = suggest(attribute.type.text, known, "types are")
            compilation.report.error(f"there is no type `{attribute.type}`", attribute.type.span, hint)
            continue
        fields.setdefault(name.text, PlanField(name.text, scalar, attribute.optional))
    return tuple(fields.values())


def _key(event: Event, fields: Sequence[PlanField], compilation: Compilation) -> int | None:
    if event.key is None:
        return None
    before = len(compilation.report.diagnostics)
    index = _index(event, "key", event.key, fields, compilation)
    field = None if index is None else fields[index]
    if field is not None and field.type not in _KEY_TYPES:
        message = f"the key cannot be {field.type.described}"
        hint = "equal keys must have equal bytes; use a string, a whole number, a boolean or a timestamp"
        compilation.report.error(message, event.key.span, hint)
    elif field is not None and field.optional:
        compilation.report.error(
            f"the key `{field.name}` cannot be optional", event.key.span, "leave out its `?`"
        )
    if len(compilation.report.diagnostics) > before:
        compilation.unkeyed.add(event.name.text)
    return index


def _time(event: Event, fields: Sequence[PlanField], compilation: Compilation) -> int | None:
    if event.time is None:
        return None
    index = _index(event, "time", event.time, fields, compilation)
    if index is None:
        return None
    field = fields[index]
    if field.type is not Scalar.TIMESTAMP:
        message = f"the time must be a timestamp, but `{field.name}` is {field.type.described}"
        compilation.report.error(message, event.time.span, f"declare it as `{field.name}: timestamp`")
    elif field.optional:
        compilation.report.error(
            f"the time `{field.name}` cannot be optional", event.time.span, "leave out its `?`"
        )
    return index


def _index(
    event: Event, clause: str, name: Name, fields: Sequence[PlanField], compilation: Compilation
) -> int | None:
    known = [field.name for field in fields]
    if name.text in known:
        return known.index(name.text)
    # An attribute whose type is wrong is declared all the same.
    if name not in [attribute.name for attribute in event.attributes]:
        message = f"event {event.name} has no attribute `{name}` to be its {clause}"
        compilation.report.error(message, name.span, suggest(name.text, known, "it has"))
    return None


def _ms(duration: Duration | None, default_ms: int) -> int:
    return default_ms if duration is None else duration.ms


def _check_topics(compilation: Compilation) -> None:
    """Hold that a topic carries one type, and that what this file writes is not declared as input."""
    carried = {t.topic: t.name for t in compilation.types.values() if t.origin is Origin.DEFINED}
    for event in compilation.program.declarations:
        if not isinstance(event, Event):
            continue
        other = carried.setdefault(event.topic.name, event.name.text)
        if other != event.name.text:
            message = f'topic "{event.topic.name}" already carries {other}'
            compilation.report.error(message, event.topic.span, "a topic carries one type of event")
