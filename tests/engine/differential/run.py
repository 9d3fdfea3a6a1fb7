"""The engine as a detector beside the oracle: one program and one history, on both, and what differs.

`detect(text, events, until=60_000)` is what the engine detects, as the oracle says it;
`difference(Case(text, events, until=60_000))` is None, or what only one of the two detects.
"""

import gc
import signal
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from tests.oracle.history import Change, Input, Occurrence
from tests.oracle.named import without_named
from tests.oracle.run import Detected, by_definition, published_by
from tests.oracle.world import World
from tocsin.topology import tree

from .cases import Case, Drive
from .observing import ASKED, observed, parsed, rules_of
from .reading import Reading
from .records import APP, CLOCK, beginning, planned, records_of
from .worker import Job, Output, Worker

__all__ = ["APP", "Case", "Difference", "Drive", "Views", "detect", "difference", "parsed", "planned"]

TOO_MANY = "too many ways to match"
"""What the oracle says where it gives up."""

ORACLE_SECONDS = 1
"""How much time the oracle may take: what it quantifies over can grow beyond all bounds."""


def detect(
    program: str | tree.Program,
    events: Iterable[Input],
    *,
    until: int | None = None,
    since: int | None = None,
    facts: Iterable[Change] = (),
    drive: Drive = Drive(),  # noqa: B008 (it is immutable)
) -> Detected:
    """Detect everything a program defines over a history of input events, in which time goes to `until`.

    What is known of the history (the world) is the oracle's; what occurred is the engine's alone.
    """
    case = Case(str(program), tuple(events), until, drive, since, tuple(facts))
    task = Task(case)
    return task.read(task.outputs(drive))


class Task:
    """A case for the engine: the records it reads, and how what it writes is read."""

    def __init__(self, case: Case) -> None:
        program = without_named(parsed(case.text))
        world = World.of(program, case.events, until=case.until, since=case.since, facts=case.facts)
        plan = planned(observed(case.text))
        if case.since is not None:
            plan = beginning(plan)
        records = records_of(case.events, case.facts, world, plan)
        if case.since is not None:
            records.by_topic[CLOCK].append((0, case.since, None, b"{}", None))
        end = world.until
        if ASKED in records.by_topic:
            end = 1 + max([end, *(change.position.time for change in case.facts)])
            records.by_topic[ASKED].append((0, end, None, b"{}", None))
        self.job = Job(plan, records.by_topic, end)
        self._world = world
        self._inputs = records.occurrences

    def outputs(self, drive: Drive) -> list[Output]:
        """Return what an engine writes that is driven like that."""
        return Worker(self.job, drive).run()

    def read(self, outputs: Iterable[Output]) -> Detected:
        """Return it as the oracle would say it."""
        return Reading(self._world, self._inputs).of(self.job.read(outputs))


# --- the comparison -----------------------------------------------------------------------------------------

View = Hashable


class Views:
    """What detectors must agree on, of each occurrence: equal ones have equal views."""

    def __init__(self, world: World) -> None:
        self._rules = {rule.name.text for rule in rules_of(world.program)}
        self._inputs = {occurrence.label: occurrence.position.tie[2] for occurrence in world.events}
        self._numbers: dict[View, int] = {}

    def of(self, occurrence: Occurrence) -> tuple[Any, ...]:
        """Return type, attributes, interval, and constituents by role."""
        attributes = tuple((name, _plain(value)) for name, value in occurrence.attributes.items())
        roles = tuple(
            sorted(
                (role, tuple(sorted(map(self._constituent, players))))
                for role, players in occurrence.roles.items()
                if players
            )
        )
        # Of a rule it is known when it fired.
        start = occurrence.time if occurrence.type in self._rules else occurrence.start
        end = occurrence.time if occurrence.type in self._rules else occurrence.end
        return occurrence.type, attributes, start, end, roles

    def _constituent(self, occurrence: Occurrence) -> tuple[str, int]:
        if occurrence.type == "Timer":
            return "Timer", occurrence.time
        if isinstance(occurrence.label, tuple) and occurrence.label[0] in {"fact", "change"}:
            return f"fact {occurrence.type}", occurrence.time
        if occurrence.label in self._inputs:
            return "input", self._inputs[occurrence.label]
        # A number stands for the whole, which would have to be hashed again and again. That of `begin E` is
        # that of the occurrence itself.
        name, attributes, _, _, roles = self.of(occurrence)
        whole = name, attributes, occurrence.time, roles
        return occurrence.type, self._numbers.setdefault(whole, len(self._numbers))


def _plain(value: object) -> Hashable:
    """Return something to compare values by: true is not one, and the two zeros are the same."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return type(value).__name__, repr(value + 0.0 if isinstance(value, float) else value)


@dataclass
class Difference:
    """What only one of the two detects, and all that both detect."""

    only_oracle: Counter[View] = field(default_factory=Counter)
    only_engine: Counter[View] = field(default_factory=Counter)
    oracle: Detected | None = None
    engine: Detected | None = None
    error: str = ""

    def __str__(self) -> str:
        told = [
            f"only the {who} detects {count} × {_told(view)}"
            for who, views in (("oracle", self.only_oracle), ("engine", self.only_engine))
            for view, count in views.items()
        ]
        return "\n".join([*told, *([self.error] if self.error else [])])


def difference(
    case: Case, oracle: Callable[..., Detected] = by_definition, counts: Counter[str] | None = None
) -> Difference | None:
    """Return what the engine detects otherwise than the oracle, or None.

    What is detected is counted in `counts`: occurrences, and definitions with and without any.
    """
    return next(iter(differences(case, [case.drive], oracle, counts)), None)


def differences(
    case: Case,
    drives: Iterable[Drive],
    oracle: Callable[..., Detected] = by_definition,
    counts: Counter[str] | None = None,
) -> Iterator[Difference | None]:
    """Yield what the engine detects otherwise than the oracle, for each way in which it is driven.

    The oracle looks once; nothing comes where it gives up.
    """
    counts = Counter() if counts is None else counts
    known: dict[str, Any] = {"until": case.until, "since": case.since, "facts": case.facts}
    task = Task(case)
    try:
        with within(ORACLE_SECONDS):
            expected = oracle(parsed(case.text), case.events, **known)
    except (AssertionError, RecursionError, TimeoutError) as error:
        if isinstance(error, AssertionError) and TOO_MANY not in str(error):
            raise
        counts["histories that the oracle gives up"] += 1
        return
    comparison = Comparison(task, expected)
    counts["occurrences"] += comparison.wanted.total()
    for found in expected.fired.values():
        counts["definitions that occur" if found else "definitions that do not"] += 1
    yield from map(comparison.difference, drives)


class Comparison:
    """What the oracle detects, to hold engines against. What another engine wrote is not read again."""

    def __init__(self, task: Task, expected: Detected) -> None:
        self._task = task
        self._expected = expected
        self._views = Views(expected.world)
        self.wanted = self._seen(expected)
        self._right: list[Output] | None = None
        """What an engine wrote that detected all of that."""

    def difference(self, drive: Drive) -> Difference | None:
        """Return what an engine that is driven like that detects otherwise."""
        try:
            outputs = self._task.outputs(drive)
            written = sorted(outputs)
            if written == self._right:
                return None
            found = self._task.read(outputs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (a panic of the engine is none of Exception)
            told = f"the engine fails: {type(error).__name__}: {error}"
            return Difference(oracle=self._expected, error=told)
        got = self._seen(found)
        if got != self.wanted:
            return Difference(self.wanted - got, got - self.wanted, self._expected, found)
        if self._right is not None:
            return Difference(error="the engine writes the same otherwise, such as with other identities")
        self._right = written
        return None

    def _seen(self, detected: Detected) -> Counter[View]:
        return Counter(map(self._views.of, _occurrences(detected)))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise a `TimeoutError` when so much of the processor's time is up.

    The collector of garbage rests meanwhile: raised in one of its callbacks, the error would be lost.
    """

    def up(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, up)
    collecting = gc.isenabled()
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collecting:
            gc.enable()


def _occurrences(detected: Detected) -> Iterable[Occurrence]:
    """Return what was defined, and what rules published."""
    program = detected.world.program
    defines = {d.name.text for d in program.declarations if isinstance(d, tree.Define)}
    defined = (one for name in detected.fired if name in defines for one in detected.of(name))
    raised = detected.world.derived
    published = (one for name in sorted(published_by(program)) for one in raised.get(name, ()))
    return chain(defined, published)


def _told(view: View) -> str:
    assert isinstance(view, tuple)
    name, attributes, start, end, roles = view
    values = ", ".join(f"{attribute} = {_shown(value)}" for attribute, value in attributes)
    players = "; ".join(f"{role}: {', '.join(f'{k}#{n}' for k, n in p)}" for role, p in roles)
    return f"{name}({values}) [{start}, {end}] of {players}"


def _shown(value: Any) -> str:  # noqa: ANN401 (what `_plain` makes of a value)
    if len(value) == 2 and isinstance(value[0], str):
        return str(value[1])
    return f"[{', '.join(map(_shown, value))}]"
