"""Clauses behind declarations: in any order, each at most once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tocsin.topology.errors import Span
from tocsin.topology.parsing.cursor import MAX_RATE, Cursor, ParseError
from tocsin.topology.parsing.expressions import parse_assignment, parse_expression
from tocsin.topology.parsing.words import CLAUSES, EVENT_CLAUSES, OPENERS, RULE_CLAUSES
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    Application,
    Assignment,
    Context,
    Coupling,
    Detection,
    Duration,
    Expr,
    Membership,
    Name,
    NullPolicy,
    Nulls,
    Rate,
    Skip,
    SkipTo,
    Topic,
    Trigger,
    TriggerMode,
)

MAX_PRIORITY = 1_000_000

_Readers = Mapping[str, Callable[[Cursor], None]]


def read_clauses(cursor: Cursor, what: str, readers: _Readers, *given: str) -> None:
    """Read clauses by their first word up to the `;`, which ends the declaration."""
    seen = set(given)
    while (read := readers.get(cursor.token.text)) and not _opens_unit(cursor):
        word = cursor.advance()
        if word.text in seen:
            raise ParseError(f"`{word.text}` is given twice", word.span, "leave one of them out")
        seen.add(word.text)
        read(cursor)
    shown = ["at most" if word == "at" else word for word in readers]
    if cursor.at(*CLAUSES, *RULE_CLAUSES, *EVENT_CLAUSES) and not cursor.at(*OPENERS):
        hint = f"there are `{'`, `'.join(shown)}`"
        raise ParseError(f"`{cursor.token.text}` is no clause of {what}", cursor.token.span, hint)
    cursor.expect(";", *(() if cursor.ended or cursor.at(*OPENERS) else shown))


def _opens_unit(cursor: Cursor) -> bool:
    """Whether this is a unit of work being declared, behind a `;` that was forgotten."""
    return cursor.at("unit") and cursor.starts_line() and cursor.peek(2).text != "by"


@dataclass
class EventClauses:
    """What may be said of an event or a fact."""

    application: Application | None = None
    topic: Topic | None = None
    key: Name | None = None
    id: Name | None = None
    time: Name | None = None
    start: Name | None = None
    lateness: Duration | None = None
    idle: Duration | None = None
    nulls: Nulls | None = None
    unit: Membership | None = None

    @property
    def of_event(self) -> _Readers:
        """The clauses of an event, an operation or a unit of work."""
        return {
            "of": self._of,
            "on": self._on,
            "key": self._key,
            "id": self._id,
            "time": self._time,
            "start": self._start,
            "lateness": self._lateness,
            "idle": self._idle,
            "nulls": self._nulls,
            "unit": self._unit,
        }

    @property
    def of_fact(self) -> _Readers:
        """The clauses of a fact."""
        return {"key": self._key, "on": self._on}

    def _of(self, cursor: Cursor) -> None:
        span = cursor.token.span
        hint = 'write `of "plant_a"`'
        self.application = Application(cursor.text("an application in double quotes", hint), span)

    def _on(self, cursor: Cursor) -> None:
        span = cursor.token.span
        self.topic = Topic(cursor.text("a topic in double quotes", 'write `on "temps"`'), span)

    def _key(self, cursor: Cursor) -> None:
        self.key = cursor.attribute_name("the key's attribute")

    def _id(self, cursor: Cursor) -> None:
        self.id = cursor.attribute_name("the id's attribute")

    def _time(self, cursor: Cursor) -> None:
        self.time = cursor.attribute_name("the time's attribute")

    def _start(self, cursor: Cursor) -> None:
        self.start = cursor.attribute_name("the attribute of its start")

    def _lateness(self, cursor: Cursor) -> None:
        self.lateness = cursor.duration("a duration")

    def _idle(self, cursor: Cursor) -> None:
        self.idle = cursor.duration("a duration")

    def _nulls(self, cursor: Cursor) -> None:
        start = cursor.previous.span
        policy = NullPolicy(cursor.choose(*NullPolicy))
        self.nulls = Nulls(policy, cursor.since(start))

    def _unit(self, cursor: Cursor) -> None:
        unit = cursor.name("the name of a unit of work")
        cursor.expect("by", hint="say which attribute holds the unit's id, like `unit Transaction by tx`")
        by = cursor.attribute_name("the attribute with the unit's id")
        self.unit = Membership(unit, by, cursor.since(unit.span))


@dataclass
class RuleClauses:
    """What may be said of a definition or a rule."""

    condition: Expr | None = None
    assignments: tuple[Assignment, ...] = ()
    consuming: tuple[Name, ...] = ()
    detection: Detection | None = None
    rate: Rate | None = None
    unbounded: bool = False
    coupling: Coupling | None = None
    priority: int | Name | None = None
    mode: Trigger | None = None
    inactive: bool = False

    @property
    def of_define(self) -> _Readers:
        """The clauses of a definition."""
        return {"if": self._if, "where": self._where, **self._of_both}

    @property
    def of_rule(self) -> _Readers:
        """The clauses of a rule."""
        return {
            "if": self._if,
            **self._of_both,
            "coupling": self._coupling,
            "priority": self._priority,
            "trigger": self._trigger,
            "inactive": self._inactive,
        }

    @property
    def _of_both(self) -> _Readers:
        return {
            "consuming": self._consuming,
            "context": self._context,
            "disjoint": self._disjoint,
            "skip": self._skip,
            "at": self._rate,
            "unbounded": self._unbounded,
        }

    def _if(self, cursor: Cursor) -> None:
        self.condition = parse_expression(cursor)

    def _where(self, cursor: Cursor) -> None:
        self.assignments = cursor.several(parse_assignment)

    def _consuming(self, cursor: Cursor) -> None:
        self.consuming = cursor.several(lambda c: c.role("the name of a constituent"))

    def _context(self, cursor: Cursor) -> None:
        start = cursor.previous.span
        context = Context(cursor.choose(*Context))
        self._detect(cursor, replace(self._detection_since(start), context=context))

    def _disjoint(self, cursor: Cursor) -> None:
        self._detect(cursor, replace(self._detection_since(cursor.previous.span), disjoint=True))

    def _skip(self, cursor: Cursor) -> None:
        start = cursor.previous.span
        cursor.expect("to", hint="write `skip to next`, `skip to first b` or `skip to last b`")
        to = SkipTo(cursor.choose(*SkipTo))
        role = None if to is SkipTo.NEXT else cursor.role("the name of a constituent")
        skip = Skip(to, role, cursor.since(start))
        self._detect(cursor, replace(self._detection_since(start), skip=skip))

    def _detection_since(self, start: Span) -> Detection:
        return self.detection or Detection(span=start)

    def _detect(self, cursor: Cursor, detection: Detection) -> None:
        self.detection = replace(detection, span=cursor.since(detection.span))
        if detection.disjoint and detection.skip:
            hint = "leave one of them out: `disjoint` goes on behind the last event"
            raise ParseError("`disjoint` and `skip` say the same twice", cursor.previous.span, hint)

    def _rate(self, cursor: Cursor) -> None:
        start = cursor.previous.span
        cursor.expect("most", hint="write `at most 3 per 1 min`")
        count = cursor.count("a whole number", "write `at most 3 per 1 min`", low=1, high=MAX_RATE)
        per = cursor.duration("a duration") if cursor.accept("per") else None
        if per is None:
            cursor.accept("ever")
        self.rate = Rate(count, per, cursor.since(start))

    def _unbounded(self, _cursor: Cursor) -> None:
        self.unbounded = True

    def _coupling(self, cursor: Cursor) -> None:
        self.coupling = Coupling(cursor.choose(*Coupling))

    def _priority(self, cursor: Cursor) -> None:
        if cursor.token.kind is Kind.WORD:
            self.priority = cursor.attribute_name("a number or the name of a class")
            return
        sign = -1 if cursor.accept("-") else 1
        self.priority = sign * cursor.count("a number or the name of a class", high=MAX_PRIORITY)

    def _trigger(self, cursor: Cursor) -> None:
        start = cursor.previous.span
        mode = TriggerMode(cursor.choose(*TriggerMode))
        back = None
        if mode is TriggerMode.PREVIOUS and cursor.token.kind is Kind.INTEGER:
            back = cursor.duration("a duration")
        self.mode = Trigger(mode, back, cursor.since(start))

    def _inactive(self, _cursor: Cursor) -> None:
        self.inactive = True
