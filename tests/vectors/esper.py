"""Esper: patterns over a clock that the test moves.

Windows exclude their end and timers run before the events of their time, so both last one millisecond less
here. Esper's time stands still between two steps of the clock: a timer is looked at when the clock moves on.
That shows only where something starts there and counts time itself, as `every` does again; then the steps of
the clock are events of their own, and the translation waits for the first that is late enough.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from . import esper_words as words
from .cases import Case, Event, Inexpressible, Translation
from .declare import declare, duration

if TYPE_CHECKING:
    from tests.oracle.history import Occurrence, Position
    from tests.oracle.run import Detected

CLOCK = "Clock"
WAITED = "waited"
START_MS = 0


def translate(case: Case) -> Translation:
    """Translate a pattern told in words."""
    pattern = words.read(case.pattern["words"])
    match = _write(pattern, chained=False)
    events = case.events
    if CLOCK in match:
        times = dict.fromkeys(event.t for event in case.timeline)
        events = (*(Event(f"{CLOCK}-{t}", CLOCK, t, {}) for t in times), *events)
    text = (
        f"{declare([*events, *_unseen(pattern, events)])}\n\ndefine Found\nfrom match {match}\nunbounded;\n"
    )
    start = START_MS if case.start_t is None else case.start_t

    def check(detected: "Detected") -> str | None:
        return _compare(case, detected.of("Found"), {e.position: str(e.label) for e in detected.world.events})

    return Translation(text, events, check, until=case.until, since=start)


def _unseen(pattern: words.Pattern, events: Sequence[Event]) -> Iterator[Event]:
    """Events to declare types by that the pattern names and the case does not have."""
    seen = {event.type for event in events}
    samples = {name: value for event in events for name, value in event.attrs.items()}
    for step in _filters(pattern):
        if step.type not in seen:
            yield Event("", step.type, 0, {name: samples.get(name) for name in step.attributes})


def _filters(pattern: words.Pattern) -> Iterator[words.Filter]:
    match pattern:
        case words.Filter():
            yield pattern
        case words.Sequence(parts=parts) | words.Conjunction(parts=parts) | words.Disjunction(parts=parts):
            for part in parts:
                yield from _filters(part)
        case words.Collection(operand=operand, until=until):
            yield from _filters(operand)
            if until is not None:
                yield from _filters(until)
        case words.Interval():
            return
        case _:
            yield from _filters(pattern.operand)


# --- the match ----------------------------------------------------------------------------------------------


def _write(pattern: words.Pattern, *, chained: bool) -> str:  # noqa: C901, PLR0911 (one case a kind)
    """Write a pattern as a match; `chained`: something may start, and count time, where it ends."""
    match pattern:
        case words.Filter(type=type_, condition=condition, tag=tag):
            return f"{type_}({condition or ''})" + (f" as {tag}" if tag else "")
        case words.Sequence(parts=parts):
            written = [
                _part(part, chained=chained or any(_is_timed(later) for later in parts[i + 1 :]))
                for i, part in enumerate(parts)
            ]
            return " then ".join(written)
        case words.Conjunction(parts=parts):
            return " and ".join(_part(part, chained=chained) for part in parts)
        case words.Disjunction(parts=parts):
            return " or ".join(_part(part, chained=chained) for part in parts)
        case words.Every(operand=operand):
            return f"every {_part(operand, chained=True)}"
        case words.Negation(operand=operand):
            return f"not {_part(operand, chained=chained)}"
        case words.Interval(ms=ms):
            return _wait(ms, chained=chained)
        case words.Guarded(operand=operand, ms=ms, times=times):
            limited = _part(operand, chained=chained)
            if times is not None:
                limited = f"({limited} at most {times})"
            if chained:
                return f"{limited} and not ({_wait(ms, chained=True)})"
            return f"{limited} within {duration(_shorter(ms))}"
        case words.Lasting(operand=operand, condition=condition):
            return f"{_part(operand, chained=chained)} while {condition}"
        case words.Collection():
            return _collect(pattern, chained=chained)


def _part(pattern: words.Pattern, *, chained: bool) -> str:
    written = _write(pattern, chained=chained)
    return written if isinstance(pattern, words.Filter) else f"({written})"


def _wait(ms: int, *, chained: bool) -> str:
    """Write a point in time; what ends with it has it by name, so that it tells it from the event before."""
    waited = f"wait {duration(_shorter(ms))}"
    return f"{waited} then {CLOCK}" if chained else f"{waited} as {WAITED}"


def _shorter(ms: int) -> int:
    if ms < 1:
        raise Inexpressible("notation: a time of no length")
    return ms - 1


def _collect(collection: words.Collection, *, chained: bool) -> str:
    """Exactly so many come true with the last of them, whether or not something ends the search before."""
    low, high, until = collection.low, collection.high, collection.until
    repeated = _part(collection.operand, chained=chained or _is_timed(collection.operand))
    if low == high or until is None:
        if low != high:
            raise Inexpressible("notation: a collection that nothing ends")
        exactly = f"{repeated}{{{low}}}"
        return exactly if until is None else f"{exactly} and not {_part(until, chained=chained)}"
    bounds = f"{low},{'' if high is None else high}"
    return f"{repeated}{{{bounds}}} until {_part(until, chained=chained)}"


def _is_timed(pattern: words.Pattern) -> bool:
    match pattern:
        case words.Filter():
            return False
        case words.Interval() | words.Guarded():
            return True
        case words.Sequence(parts=parts) | words.Conjunction(parts=parts) | words.Disjunction(parts=parts):
            return any(map(_is_timed, parts))
        case words.Collection(operand=operand, until=until):
            return _is_timed(operand) or (until is not None and _is_timed(until))
        case _:
            return _is_timed(pattern.operand)


# --- the comparison -----------------------------------------------------------------------------------------


def _compare(case: Case, found: "Sequence[Occurrence]", events: "Mapping[Position, str]") -> str | None:
    """Hold the matches of each step against the expected ones; only the listed bindings are asserted."""
    got: dict[str, list[Occurrence]] = {}
    for occurrence in found:
        if (step := _step(case, occurrence, events)) is not None:
            got.setdefault(step, []).append(occurrence)
    wanted: dict[str, list[Mapping[str, str | None]]] = {}
    for match in case.expected:
        wanted.setdefault(match["at_event"], []).append(match["bind"])
    differences = [
        f"at {step}: expected {wanted.get(step, [])}, got {[_told(o) for o in got.get(step, [])]}"
        for step in dict.fromkeys([*wanted, *got])
        if not _paired(wanted.get(step, []), got.get(step, []))
    ]
    return "; ".join(differences) or None


def _step(case: Case, occurrence: "Occurrence", events: "Mapping[Position, str]") -> str | None:
    """The step of the clock during which Esper delivers it: at its event, or when the clock gets there."""
    at = occurrence.position
    label = events.get(at)
    if label is not None and not label.startswith(f"{CLOCK}-"):
        return label
    reached = at.time if label is not None else at.time + 1
    return next((event.id for event in case.timeline if event.t >= reached), None)


def _paired(wanted: Sequence[Mapping[str, str | None]], got: "Sequence[Occurrence]") -> bool:
    """Whether each expected match has one of its own among those found, and none is left."""
    partner: dict[int, int] = {}

    def place(i: int, tried: set[int]) -> bool:
        for j, occurrence in enumerate(got):
            if j not in tried and _binds(occurrence, wanted[i]):
                tried.add(j)
                if j not in partner or place(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return len(wanted) == len(got) and all(place(i, set()) for i in range(len(wanted)))


def _binds(occurrence: "Occurrence", bindings: Mapping[str, str | None]) -> bool:
    return all(_bound(occurrence, tag) == event for tag, event in bindings.items())


def _bound(occurrence: "Occurrence", tag: str) -> str | None:
    """The event of `b`, or of `b[1]` where several were collected."""
    role, _, index = tag.removesuffix("]").partition("[")
    players = occurrence.roles.get(role, ())
    place = int(index) if index else 0
    return str(players[place].label) if place < len(players) else None


def _told(occurrence: "Occurrence") -> dict[str, list[str]]:
    return {role: [str(player.label) for player in players] for role, players in occurrence.roles.items()}
