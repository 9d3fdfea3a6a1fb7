"""The clauses of declared events and facts: application, topic, key, id, times, silence, nulls, unit."""

import re

from tocsin.topology.errors import did_you_mean, suggest
from tocsin.topology.model import Compilation
from tocsin.topology.passes.taken import take
from tocsin.topology.terms import Scalar
from tocsin.topology.tree import Duration, Event, Fact, Membership, Name, NullPolicy, Topic
from tocsin.topology.types import Attribute, Kind, Type
from tocsin.topology.types import Membership as TypedMembership

DEFAULT_IDLE_TIMEOUT_MS = 2_000

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_KEY_TYPES = frozenset(Scalar) - {Scalar.FLOAT, Scalar.DOUBLE, Scalar.BYTES}


def apply_clauses(compilation: Compilation) -> None:
    """Fill what the clauses say; what a child does not say it has from its parent."""
    done: set[str] = set()
    for name, declaration in compilation.declared.items():
        match declaration:
            case Fact():
                _apply_fact(declaration, compilation.types[name], compilation)
            case Event():
                _apply_chain(compilation.types[name], done, compilation)
    _check_topics(compilation)
    _check_nulls(compilation)


def _apply_chain(type_: Type, done: set[str], compilation: Compilation) -> None:
    """Apply the clauses of a type after those of what it extends."""
    chain = [type_]
    while chain[-1].parent is not None:
        chain.append(compilation.types[chain[-1].parent])
    for link in reversed(chain):
        event = compilation.declared[link.name]
        if link.name not in done and isinstance(event, Event):
            done.add(link.name)
            parent = compilation.types[link.parent] if link.parent is not None else None
            _Clauses(event, link, compilation).apply(parent)


class _Clauses:
    """The clauses of one event."""

    def __init__(self, event: Event, type_: Type, compilation: Compilation) -> None:
        self._event = event
        self._type = type_
        self._compilation = compilation
        self._report = compilation.report

    def apply(self, parent: Type | None) -> None:
        """Fill the type."""
        event, type_ = self._event, self._type
        inherited = parent or Type("", type_.kind, idle_timeout_ms=DEFAULT_IDLE_TIMEOUT_MS, explicit=True)
        type_.explicit = event.topic is None and inherited.explicit
        if event.topic is not None:
            type_.topic = event.topic.name
            _check_topic(event.topic, self._compilation)
        elif not inherited.explicit:
            type_.topic = inherited.topic
        if event.application is not None:
            take(event, event.application, type_, self._compilation)
        if event.idle is not None and event.idle.ms == 0:
            self._report.error(
                "`idle` must be longer than 0",
                event.idle.span,
                "it must be longer than an event needs from its producer to the worker",
            )
        type_.key = inherited.key if event.key is None else _key(event.key, type_, self._compilation)
        type_.id = inherited.id if event.id is None else self._id(event.id)
        type_.time = inherited.time if event.time is None else self._point(event.time, "time")
        type_.start = inherited.start if event.start is None else self._point(event.start, "start")
        type_.unit = inherited.unit if event.unit is None else self._membership(event.unit)
        type_.lateness_ms = _ms(event.lateness, inherited.lateness_ms)
        type_.idle_timeout_ms = _ms(event.idle, inherited.idle_timeout_ms)
        said = None if event.nulls is None else event.nulls.policy
        type_.ignores_nulls = inherited.ignores_nulls if said is None else said is NullPolicy.IGNORE
        if event.key is None and inherited.name in self._compilation.unkeyed:
            self._compilation.unkeyed.add(type_.name)

    def _id(self, name: Name) -> int | None:
        index = _index(name, "its id", self._type, self._compilation)
        attribute = None if index is None else self._type.attributes[index]
        if attribute is not None and attribute.scalar not in _KEY_TYPES:
            message = f"the id cannot be {attribute.scalar.described}"
            self._report.error(message, name.span, "use a string, a whole number or a timestamp")
        elif attribute is not None and attribute.optional:
            self._report.error(f"the id `{name}` cannot be optional", name.span, "leave out its `?`")
        return index

    def _point(self, name: Name, clause: str) -> int | None:
        index = _index(name, f"its {clause}", self._type, self._compilation)
        attribute = None if index is None else self._type.attributes[index]
        if attribute is not None and attribute.scalar is not Scalar.TIMESTAMP:
            described = attribute.scalar.described
            message = f"the {clause} must be a timestamp, but `{name}` is {described}"
            self._report.error(message, name.span, f"declare it as `{name}: timestamp`")
        elif attribute is not None and attribute.optional:
            self._report.error(f"the {clause} `{name}` cannot be optional", name.span, "leave out its `?`")
        return index

    def _membership(self, membership: Membership) -> TypedMembership | None:
        name = membership.unit
        unit = self._compilation.types.get(name.text)
        if (unit is None or unit.kind is not Kind.UNIT) and name.text not in self._compilation.program.broken:
            units = [t.name for t in self._compilation.types.values() if t.kind is Kind.UNIT]
            hint = did_you_mean(name.text, units) or f"declare it: `unit {name} (…);`"
            self._report.error(f"there is no unit of work `{name}`", name.span, hint)
        index = _index(membership.by, f"the id of its {name}", self._type, self._compilation)
        attribute: Attribute | None = None if index is None else self._type.attributes[index]
        if attribute is not None and attribute.scalar is not Scalar.STRING:
            described = attribute.scalar.described
            self._report.error(
                f"the id of a unit of work is a string, but `{membership.by}` is {described}",
                membership.by.span,
                f"declare it as `{membership.by}: string`",
            )
        return None if index is None or unit is None else TypedMembership(name.text, index)


def _apply_fact(fact: Fact, type_: Type, compilation: Compilation) -> None:
    type_.explicit = fact.topic is None
    if fact.topic is not None:
        type_.topic = fact.topic.name
        _check_topic(fact.topic, compilation)
    if fact.key is not None:
        type_.key = _key(fact.key, type_, compilation)


def _key(name: Name, type_: Type, compilation: Compilation) -> int | None:
    before = len(compilation.report.diagnostics)
    index = _index(name, "its key", type_, compilation)
    attribute = None if index is None else type_.attributes[index]
    if attribute is not None and attribute.scalar not in _KEY_TYPES:
        message = f"the key cannot be {attribute.scalar.described}"
        hint = "equal keys must have equal bytes; use a string, a whole number, a boolean or a timestamp"
        compilation.report.error(message, name.span, hint)
    elif attribute is not None and attribute.optional:
        compilation.report.error(f"the key `{name}` cannot be optional", name.span, "leave out its `?`")
    if len(compilation.report.diagnostics) > before or index is None:
        compilation.unkeyed.add(type_.name)
    return index


def _index(name: Name, clause: str, type_: Type, compilation: Compilation) -> int | None:
    index = type_.index_of(name.text)
    # An attribute whose type is wrong is declared all the same.
    if index is None and name.text not in _written(type_.name, compilation):
        known = [attribute.name for attribute in type_.attributes]
        message = f"{type_.described} has no attribute `{name}` to be {clause}"
        compilation.report.error(message, name.span, suggest(name.text, known, "it has"))
    return index


def _written(name: str, compilation: Compilation) -> set[str]:
    """Return the attributes that a type and what it extends are declared with."""
    declaration = compilation.declared[name]
    assert isinstance(declaration, Event | Fact)
    written = {attribute.name.text for attribute in declaration.attributes}
    parent = compilation.types[name].parent
    return written if parent is None else written | _written(parent, compilation)


def _ms(duration: Duration | None, default_ms: int) -> int:
    return default_ms if duration is None else duration.ms


def _check_topic(topic: Topic, compilation: Compilation) -> None:
    if not _TOPIC.fullmatch(topic.name) or topic.name in {".", ".."}:
        compilation.report.error(
            "this cannot be the name of a topic",
            topic.span,
            "a topic's name has 1 to 249 letters, digits, `.`, `_` and `-`, and is not `.` or `..`",
        )


def _check_topics(compilation: Compilation) -> None:
    """Hold that what rules write is not declared to be read as something else, nor facts as events."""
    owned = {
        t.topic: t.name
        for t in compilation.types.values()
        if t.kind is Kind.DEFINED or t.explicit or t.application is not None
    }
    carried: dict[str, Event | Fact] = {}
    for declaration in compilation.program.declarations:
        if not isinstance(declaration, Event | Fact) or declaration.topic is None:
            continue
        topic, name = declaration.topic, declaration.name.text
        other = carried.setdefault(topic.name, declaration)
        if owned.get(topic.name, name) != name:
            message = f'topic "{topic.name}" already carries {owned[topic.name]}'
            compilation.report.error(message, topic.span, "what a rule makes has its topic to itself")
        elif other is not declaration and (isinstance(declaration, Fact) or isinstance(other, Fact)):
            message = f'topic "{topic.name}" already carries {other.name}'
            compilation.report.error(message, topic.span, "facts of one type have their topic to themselves")


def _check_nulls(compilation: Compilation) -> None:
    """Hold that the events of one topic agree on records without a value, which do not say whose they are."""
    carried: dict[str, Type] = {}
    for name, declaration in compilation.declared.items():
        if not isinstance(declaration, Event) or not (type_ := compilation.types[name]).topic:
            continue
        other = carried.setdefault(type_.topic, type_)
        if other.ignores_nulls != type_.ignores_nulls:
            ignoring, refusing = (type_, other) if type_.ignores_nulls else (other, type_)
            both = f"{ignoring.name}, which ignores nulls, and {refusing.name}, which does not"
            compilation.report.error(
                f'topic "{type_.topic}" carries {both}',
                declaration.name.span if declaration.nulls is None else declaration.nulls.span,
                "a record without a value does not say whose it is: say `nulls ignore` of both, or of none",
            )
