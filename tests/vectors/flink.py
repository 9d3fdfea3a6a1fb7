"""Flink CEP: steps with quantifiers and contiguity, windows, and what is skipped after a match.

The first step may start at any event (`each`); `followedBy` is the first that fits, `followedByAny` each,
`next` the next of all events. A window excludes its end, so it lasts one millisecond less here. What must not
come (`notFollowedBy`, more elements of a greedy loop, what ends a loop) is denied beside the next event that
is taken; where that may be one of several, the ways are alternatives. Without a window, events are ordered by
their arrival alone.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from .cases import Case, Event, Inexpressible, Translation
from .checks import same_bag, same_set
from .declare import declare, duration
from .flink_steps import (
    Ban,
    Element,
    Item,
    Single,
    Take,
    Window,
    elements,
    roles_of,
    steps_of,
    subtypes_of,
    window_of,
)

if TYPE_CHECKING:
    from tests.oracle.history import Occurrence
    from tests.oracle.run import Detected

SKIPPED = re.compile(r"SKIP_TO_(?P<which>FIRST|LAST)\[(?P<step>.*)\]")
LOOKED_AT = "after"
"""The role of an event that was only looked at: Flink does not count it among those taken."""


def translate(case: Case) -> Translation:
    """Translate a pattern of steps."""
    steps, window = steps_of(case.pattern), window_of(case.pattern)
    roles = roles_of(steps)
    items = elements(steps, roles)
    partials = isinstance(case.expected, dict)
    matches = [_Writer(window).rest(items, ())]
    if partials:
        matches += _run_out(items, window)
    skip = _skip(case.pattern.get("after_match") or "NO_SKIP", roles)
    events = case.events if window else tuple(replace(e, t=i) for i, e in enumerate(case.events))
    if any(before.t > after.t for before, after in pairwise(events)):
        raise Inexpressible("a window over events whose times go back")
    rules = [
        f"define Found{i or ''}\nfrom match {match}{skip}\nunbounded;" for i, match in enumerate(matches)
    ]
    text = "\n\n".join([_declarations(events, subtypes_of(steps)), *rules])
    check = _check_partials(case, len(matches)) if partials else _check(case)
    return Translation(text + "\n", events, check, until=max((e.t for e in events), default=0))


def _skip(strategy: str, roles: dict[str, str]) -> str:
    if skipped := SKIPPED.fullmatch(strategy):
        return f"\nskip to {skipped['which'].lower()} {roles[skipped['step']]}"
    match strategy:
        case "NO_SKIP":
            return ""
        case "SKIP_PAST_LAST_EVENT":
            return "\ndisjoint"
        case "SKIP_TO_NEXT":
            return "\nskip to next"
        case _:
            raise Inexpressible(f"notation: {strategy}")


def _declarations(events: Sequence[Event], named: Mapping[str, Sequence[str]]) -> str:
    """`Event`, and what the cases derive from it, on the same topic."""
    own = {name for event in events if event.type == "Event" for name in event.attrs}
    common = own or {name for event in events for name in event.attrs}
    base = [replace(e, type="Event", attrs={n: v for n, v in e.attrs.items() if n in common}) for e in events]
    lines = [declare(base)]
    for type_ in dict.fromkeys([*(event.type for event in events), *named]):
        if type_ == "Event":
            continue
        added = [
            replace(e, attrs={n: v for n, v in e.attrs.items() if n not in common})
            for e in events
            if e.type == type_
        ]
        compared = [name for name in named.get(type_, ()) if name not in common]
        head = re.sub(r" on \"[^\"]*\"", "", declare(added, types={type_: compared}))
        lines.append(head.replace(f"event {type_}", f"event {type_} extends Event"))
    return "\n".join(lines)


# --- the match ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Remainder:
    """What is left of a loop after its first element."""

    loop: Element
    banned: tuple[Ban, ...]


_Agenda = tuple[Item | _Remainder, ...]


@dataclass(frozen=True)
class _Writer:
    """Writes what is left to match, from one event taken to the next.

    `guards` are pending: they hold until the next event is taken, whichever of the ways leads there.
    """

    window: Window | None
    opening: str = ""
    """The role of the first event, once it is taken."""

    def rest(self, items: _Agenda, guards: tuple[str, ...]) -> str:
        """Write all that is left; nothing where it is complete."""
        if not items:
            return ""
        item, following = items[0], items[1:]
        match item:
            case Ban():
                return self.banned(item, following, guards)
            case _Remainder():
                return _then(self.remainder(item), self.rest(following, _greedy(item.loop)))
            case Element():
                if self.is_plain(item, following, guards):
                    return _then(self.plain(item), self.opened(item).rest(following, _greedy(item)))
                return self.split(item, following, guards)

    def opened(self, element: Element) -> "_Writer":
        """The writer for what comes after the element."""
        return replace(self, opening=self.opening or _first_role(element))

    def is_plain(self, element: Element, following: Sequence[object], guards: Sequence[str]) -> bool:
        """Whether the element can be written as it is, with its quantifier."""
        if not self.opening and (element.optional or self.window):
            return False
        banned = element.is_loop and bool(following) and isinstance(following[0], Ban)
        return not guards and element.until is None and not banned

    def plain(self, element: Element) -> str:
        take: Take = element.take if self.opening else "each"
        if isinstance(element.body, Single):
            body = self.step(element.body)
        else:
            body = f"({self.opened(element).rest(element.body, ())})"
        return _prefixed(take, _repeated(body, element))

    def split(self, element: Element, following: _Agenda, guards: tuple[str, ...]) -> str:
        """Write the first event apart, and where it may be left out, the way without it beside."""
        banned = tuple(_leading_bans(following)) if element.is_loop else ()
        behind = (*((_Remainder(element, banned),) if element.is_loop else ()), *following)
        if isinstance(element.body, Single):
            taken = self.first(element, element.body, guards)
            rest = self.opened(element).rest(behind, () if element.is_loop else _greedy(element))
            if not self.opening and self.window and not self.window.stepwise and rest:
                rest = f"(({rest}) within {duration(self.window.ms - 1)})"
            way = _then(taken, rest)
        else:
            first, *others = _within_loop(element)
            entered = replace(first, take=element.take) if isinstance(first, Element) else first
            way = self.rest((entered, *others, *behind), guards)
        if not element.optional:
            return way
        without = self.rest(following, (*guards, *_greedy(element)) if self.opening else ())
        if without:
            return f"(({way}) | ({without}))"
        return f"({way}){{0,1}}" if self.opening else way

    def first(self, element: Element, single: Single, guards: tuple[str, ...]) -> str:
        """Write the first event of an element; what ends a loop is not taken by it."""
        take: Take = element.take if self.opening else "each"
        if element.until is None:
            return self.guarded(take, single.first, guards)
        ending = f"not {_event(single.with_conditions(element.until).first)}"
        open_guards = (*guards, ending) if take == "" else guards
        return self.guarded(take, single.with_conditions(f"not ({element.until})").first, open_guards)

    def remainder(self, remainder: _Remainder) -> str:
        """Write the second and later iterations of a loop."""
        loop = remainder.loop
        again = replace(
            loop, low=loop.low - 1, high=None if loop.high is None else loop.high - 1, optional=False
        )
        guards = [_denied(ban) for ban in remainder.banned]
        if isinstance(loop.body, Single):
            single = loop.body
            if loop.until is not None:
                single = single.with_conditions(f"not ({loop.until})")
                guards.append(f"not Event({loop.until})")
            body = self.guarded("", single, tuple(guards))
        else:
            body = f"({self.rest(_within_loop(loop), tuple(guards))})"
        return _prefixed(loop.inner, _repeated(body, again))

    def guarded(self, take: Take, single: Single, guards: tuple[str, ...]) -> str:
        written = " and ".join([_prefixed(take, self.step(single)), *guards])
        return f"({written})" if guards else written

    def step(self, single: Single) -> str:
        """Write one event; in a stepwise window it comes soon after the one before."""
        if self.opening and self.window and self.window.stepwise:
            return f"({single} within {duration(self.window.ms - 1)})"
        return str(single)

    def banned(self, ban: Ban, following: _Agenda, guards: tuple[str, ...]) -> str:
        """Write what must not come: beside what comes next; before the first event it means nothing."""
        if not self.opening:
            return self.rest(following, ())
        return self.rest(following, (*guards, _denied(ban))) if following else self.trailing(ban, guards)

    def trailing(self, ban: Ban, guards: tuple[str, ...]) -> str:
        """Write what must not come after the last event: until the window is over, or as the next one."""
        if ban.strict:
            type_, _, conditions = ban.banned.partition("(")
            looked_at = f"next {type_}(not ({conditions[:-1].replace(', ', ' and ')})) as {LOOKED_AT}"
            return f"({' and '.join([looked_at, *guards])})"
        if self.window is None:
            raise Inexpressible("absence at the end without a window")
        banned = " or ".join([ban.banned, *(guard.removeprefix("not ") for guard in guards)])
        since = "" if self.window.stepwise else f" from {self.opening}"
        return f"not ({banned}) for {duration(self.window.ms - 1)}{since}"


def _within_loop(loop: Element) -> tuple[Item, ...]:
    """The items of a repeated group; what ends the loop ends it anywhere in there."""
    assert isinstance(loop.body, tuple)
    if loop.until is None:
        return loop.body
    return tuple(part for item in loop.body for part in (Ban(f"Event({loop.until})", strict=False), item))


def _first_role(element: Element) -> str:
    if isinstance(element.body, Single):
        return element.body.role
    return next(_first_role(item) for item in element.body if isinstance(item, Element))


def _leading_bans(items: _Agenda) -> list[Ban]:
    bans: list[Ban] = []
    for item in items:
        if not isinstance(item, Ban) or item.strict:
            break
        bans.append(item)
    return bans


def _denied(ban: Ban) -> str:
    return f"not (next {ban.banned})" if ban.strict else f"not {ban.banned}"


def _greedy(element: Element) -> tuple[str, ...]:
    """After a greedy loop nothing that fits it may come, unless what ends the loop came before."""
    if not element.greedy or element.low == element.high or not isinstance(element.body, Single):
        return ()
    element_event = _event(element.body)
    if element.until is None:
        return (f"not {element_event}",)
    return (f"not ({element_event} and not Event({element.until}))",)


def _event(single: Single) -> str:
    return str(single).removesuffix(f" as {single.role}")


def _prefixed(take: Take, text: str) -> str:
    return f"{take} {text}" if take else text


def _repeated(body: str, element: Element) -> str:
    low, high = element.low, element.high
    if element.optional and low == 1:
        low = 0
    if (low, high) != (1, 1):
        bounds = str(low) if low == high else f"{low},{'' if high is None else high}"
        body = f"{body}{{{bounds} {element.inner}".rstrip() + "}"
    return f"({body}){{0,1}}" if element.optional and low > 1 else body


def _then(first: str, rest: str) -> str:
    return f"{first} then {rest}" if rest else first


def _run_out(items: tuple[Item, ...], window: Window | None) -> list[str]:
    """Matches for what had begun when its window ended: one for each number of steps that were taken."""
    if window is None or not all(isinstance(i, Element) and i == Element(i.take, i.body) for i in items):
        raise Inexpressible("partial matches of loops that ran out of time")
    written = []
    for count in range(1, len(items)):
        following = items[count]
        assert isinstance(following, Element)
        assert isinstance(following.body, Single)
        missed = {"": _event(following.body), "next": "Event()"}.get(following.take)
        written.append(_partial(items[:count], window, missed))
    return written


def _partial(items: Sequence[Item], window: Window, missed: str | None) -> str:
    """Write the steps that were taken, and that the window ends without what would have led on from them."""
    singles = [item.body for item in items if isinstance(item, Element) and isinstance(item.body, Single)]
    later = [_Writer(window, singles[0].role).plain(item) for item in items[1:] if isinstance(item, Element)]
    left = duration(window.ms - 1)
    if window.stepwise:
        over = f"not {missed} for {left}" if missed else f"wait {left}"
        return " then ".join([f"each {singles[0]}", *later, over])
    if missed:
        later.append(f"not {missed} for {left} from {singles[0].role}")
        rest = " then ".join(later)
    else:
        rest = " and ".join([f"wait {left}", *([f"({' then '.join(later)})"] if later else [])])
    return f"each {singles[0]} then (({rest}) within {left})"


# --- the comparison -----------------------------------------------------------------------------------------


def _check(case: Case) -> "Callable[[Detected], str | None]":
    """Compare matches as bags of events, by value where the source does."""
    values = {
        event.id: json.dumps([event.type, event.attrs], sort_keys=True)
        if "by value" in case.notes
        else event.id
        for event in case.events
    }

    def bag(ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(sorted(values[id_] for id_ in ids))

    def check(detected: "Detected") -> str | None:
        compare = same_set if case.compare.startswith("set") else same_bag
        expected = [bag(match["events"]) for match in case.expected]
        return compare(expected, [bag(_taken(found)) for found in _reported(case, detected.of("Found"))])

    return check


def _check_partials(case: Case, rules: int) -> "Callable[[Detected], str | None]":
    """Compare the number of matches, and the partial ones with the time at which their window was over."""

    def check(detected: "Detected") -> str | None:
        expected = [(tuple(sorted(p["events"])), p["timeout_t"]) for p in case.expected["timed_out_partials"]]
        got = [
            (tuple(sorted(_taken(occurrence))), occurrence.time + 1)
            for i in range(1, rules)
            for occurrence in _reported(case, detected.of(f"Found{i}"))
        ]
        matches = len(detected.of("Found"))
        if matches != case.expected["match_count"]:
            return f"expected {case.expected['match_count']} matches, got {matches}"
        return same_set(expected, got)

    return check


def _reported(case: Case, found: "Sequence[Occurrence]") -> "list[Occurrence]":
    """Leave out what a window would end only after the last event: time moves with the events."""
    last = max((event.t for event in case.events), default=0)
    return [occurrence for occurrence in found if not occurrence.position.timer or occurrence.time < last]


def _taken(occurrence: "Occurrence") -> list[str]:
    return [
        str(player.label)
        for role, players in occurrence.roles.items()
        if role != LOOKED_AT
        for player in players
    ]
