"""Siddhi: patterns, where others may come between, and sequences, where they may not.

A pattern is started once, `every` starts it again. What is counted goes on being collected until the state
behind it comes, so it is repeated `until` that. Absence at the very beginning is looked for until it is
found. A sequence takes the `next` event of its streams, and is looked for from each event on.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .cases import Case, Event, Inexpressible, Translation
from .checks import same_list
from .declare import declare, duration
from .siddhi_query import Absence, Chain, Column, Every, Logical, Source, State, read, read_columns

if TYPE_CHECKING:
    from tests.oracle.history import Occurrence
    from tests.oracle.run import Detected


def translate(case: Case) -> Translation:
    """Translate a pattern or a sequence of SiddhiQL."""
    state = read(case.pattern["native"])
    columns = read_columns(case.pattern["output_columns"])
    declarations = declare([*case.events, *_unseen(state, case.events)])
    text = f"{declarations}\n\ndefine Row\nfrom match {_whole(state)}\nunbounded;\n"

    def check(detected: "Detected") -> str | None:
        return _compare(case, [_row(occurrence, columns) for occurrence in detected.of("Row")])

    return Translation(text, case.events, check, until=case.until, since=case.start_t)


def _unseen(state: State, events: Sequence[Event]) -> Iterator[Event]:
    """Events to declare streams by that occur nowhere: the suite's streams have the same attributes."""
    seen = {event.type for event in events}
    samples = {name: value for event in events for name, value in event.attrs.items()}
    for source in _sources(state):
        if source.stream not in seen:
            yield Event("", source.stream, 0, samples)


def _sources(state: State) -> Iterator[Source]:
    match state:
        case Source():
            yield state
        case Absence(source=source):
            yield source
        case Every(operand=operand):
            yield from _sources(operand)
        case Logical(parts=parts) | Chain(parts=parts):
            for part in parts:
                yield from _sources(part)


# --- the match ----------------------------------------------------------------------------------------------


def _whole(state: State) -> str:
    chain = state if isinstance(state, Chain) else Chain((state,))
    if chain.strict:
        return _sequence(chain)
    first, *others = chain.parts
    if isinstance(first, Absence) and first.ms is not None:
        leading = f"((every {_state(first)}) at most 1)"
        if chain.within_ms is not None:
            raise Inexpressible("a window over an absence at the beginning")
        return " then ".join([leading, *_links(others)])
    return _chain(chain)


def _chain(chain: Chain) -> str:
    """Write a pattern. A window counts from its first event, so it is put around what comes after that."""
    if chain.within_ms is None:
        return " then ".join(_links(chain.parts))
    first, *others = chain.parts
    match first:
        case Every(operand=Chain() as inner) if not others:
            return f"every ({_chain(replace(inner, within_ms=chain.within_ms))})"
        case Source(low=1, high=1) | Every(operand=Source(low=1, high=1)) if others:
            rest = " then ".join(_links(others))
            return f"{_state(first)} then (({rest}) within {duration(chain.within_ms)})"
        case _:
            raise Inexpressible("a window that counts from one of several events")


def _links(parts: Sequence[State]) -> Iterator[str]:
    """Write the states one after the other; a counted one is collected until the next one comes."""
    if not parts:
        return
    first, *others = parts
    if not isinstance(first, Source) or (first.low, first.high) == (1, 1):
        yield _state(first)
        yield from _links(others)
        return
    single = _step(first)
    if first.low:
        yield f"{single}{{{first.low}}}" if first.low > 1 else single
    if not others:
        if not first.low:
            raise Inexpressible("a pattern that ends with what need not come")
        return
    following, *rest = others
    if isinstance(following, Source) and (following.low, following.high) != (1, 1):
        if not following.low:
            raise Inexpressible("two counted states one after the other")
        high = None if following.high is None else following.high - 1
        rest = [replace(following, low=following.low - 1, high=high), *rest] if high != 0 else rest
        following = replace(following, low=1, high=1)
    if first.high == first.low:
        yield _state(following)
    else:
        bound = "" if first.high is None else first.high - first.low
        yield f"{single}{{0,{bound}}} until ({_state(following)})"
    yield from _links(rest)


def _sequence(chain: Chain) -> str:
    """Write a sequence; what is counted comes without anything between, as often as it can."""
    first, *others = chain.parts
    once = not isinstance(first, Every)
    start = first.operand if isinstance(first, Every) else first
    if not isinstance(start, Source) or start.low == 0:
        raise Inexpressible("a sequence that does not begin with an event")
    rest = " then ".join(f"next {_strictly(part)}" for part in others)
    if chain.within_ms is not None:
        rest = f"(({rest}) within {duration(chain.within_ms)})"
    match = f"each {_strictly(start)} then {rest}"
    return f"({match}) at most 1" if once else match


def _strictly(state: State) -> str:
    if isinstance(state, Source) and (state.low, state.high) != (1, 1):
        bounds = f"{state.low},{'' if state.high is None else state.high}"
        return f"{_step(state)}{{{bounds} next}}"
    return f"({_state(state)})" if isinstance(state, Logical) else _state(state)


def _state(state: State) -> str:
    match state:
        case Source():
            return _step(state)
        case Absence(source=source, ms=None):
            return f"not {_step(source)}"
        case Absence(source=source, ms=int(ms)):
            return f"(not {_step(source)} for {duration(ms)})"
        case Every(operand=operand):
            return f"(every {_state(operand)})"
        case Logical(operator=operator, parts=parts):
            return "(" + f" {operator} ".join(_state(part) for part in parts) + ")"
        case Chain():
            return f"({_chain(state)})"
    raise AssertionError(state)


def _step(source: Source) -> str:
    return f"{source.stream}({source.condition or ''})" + (f" as {source.role}" if source.role else "")


# --- the comparison -----------------------------------------------------------------------------------------


def _row(occurrence: "Occurrence", columns: Sequence[Column]) -> dict[str, Any]:
    return {column.name: _value(occurrence, column) for column in columns}


def _value(occurrence: "Occurrence", column: Column) -> Any:  # noqa: ANN401 (what an event carries)
    players = occurrence.roles.get(column.role, ())
    place = column.index or 0
    return players[place].attributes.get(column.attribute) if -len(players) <= place < len(players) else None


def _compare(case: Case, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Compare all rows, or only as many as the source waited for, or how many they are."""
    if isinstance(case.expected, dict):
        return same_list([case.expected["count"]], [len(rows)])
    expected = [match["row"] for match in case.expected]
    return same_list(expected, rows[: len(expected)] if case.compare.startswith("first row") else rows)
