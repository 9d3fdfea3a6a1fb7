"""Makes a failing case small: fewer events, fewer and simpler rules, as long as it still fails."""

import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from tests.oracle.history import Change
from tests.oracle.run import parse
from tocsin.topology import RuleErrors, tree

from .run import Case, Drive, difference

Fails = Callable[[Case], bool]
T = TypeVar("T")


def differs(case: Case) -> bool:
    """Whether a case is one in which the engine differs from the oracle."""
    try:
        return difference(case) is not None
    except (RuleErrors, AssertionError, KeyError):
        return False  # a program that does not compile, or a history that has lost what it needs


def shrunk(case: Case, seconds: float = 60, fails: Fails = differs) -> Case:
    """Return a smaller case that fails too, found in so many seconds."""
    deadline = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < deadline:
        again = False
        for smaller in candidates(case):
            if time.monotonic() > deadline:
                break
            if fails(smaller):
                case, again = smaller, True
                break
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Yield cases that are a step simpler, the boldest steps first."""
    if case.drive.seed is not None:
        yield replace(case, drive=Drive())
    yield from (replace(case, events=events) for events in _fewer(case.events))
    yield from (replace(case, facts=facts) for facts in _fewer(case.facts))
    program = parse(case.text)
    for smaller in simpler(program):
        yield replace(case, text=str(smaller))


def _fewer(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    size = (len(items) + 1) // 2
    while size:
        for at in range(0, len(items), size):
            yield items[:at] + items[at + size :]
        size //= 2


def simpler(node: Any) -> Iterator[Any]:  # noqa: ANN401 (any part of a tree)
    """Yield trees with something left out, or a part in the place of the whole."""
    if isinstance(node, tree.Name) or not is_dataclass(node):
        return
    if isinstance(node, tree.Junction):
        yield from node.operands
    if isinstance(node, tree.Binary | tree.Unary):
        yield from (child for child in node.children if not isinstance(child, tree.Literal))
    if isinstance(node, tree.EventExpr):
        yield from node.operands
    for part in fields(node):
        if part.name in {"span", "trivia", "comments", "broken"}:
            continue
        value = getattr(node, part.name)
        if part.default is None and value is not None:
            yield replace(node, **{part.name: None})
        # `any` of nothing is nothing that could be written.
        least = 1 if isinstance(node, tree.AnyOf) else 0
        for smaller in _simpler_value(value, least):
            yield replace(node, **{part.name: smaller})


def _simpler_value(value: Any, least: int) -> Iterator[Any]:  # noqa: ANN401 (any part of a tree)
    if isinstance(value, tuple):
        for at in range(len(value) if len(value) > least else 0):
            yield value[:at] + value[at + 1 :]
        for at, element in enumerate(value):
            for smaller in simpler(element):
                yield (*value[:at], smaller, *value[at + 1 :])
    else:
        yield from simpler(value)


def as_test(case: Case, told: str) -> str:
    """Return a test that fails as the case does, to be put into a file of tests."""
    lines = "".join(f"    {line}\n" for line in case.text.strip().splitlines())
    events = "".join(f"        {_event(event)},\n" for event in case.events)
    comments = "".join(f"    # {line}\n" for line in told.splitlines())
    facts = "".join(f"        {_fact(change)},\n" for change in case.facts)
    given = f", facts=(\n{facts}    )" if facts else ""
    drive = "" if case.drive.seed is None else f", drive=Drive({case.drive.seed})"
    return (
        f'def test_found() -> None:\n{comments}    rules = """\n{lines}    """\n'
        f"    history = [\n{events}    ]\n"
        f"    assert difference(Case(rules, tuple(history), until={case.until}{drive}{given})) is None\n"
    )


def _fact(change: Change) -> str:
    key = "" if change.key is None else f", key={change.key!r}"
    if change.state is None:
        return f'retraction("{change.type}", t={change.position.time}{key})'
    values = "".join(f", {name}={value!r}" for name, value in change.state.items() if value is not None)
    return f'fact("{change.type}", t={change.position.time}{key}{values})'


def _event(event: Any) -> str:  # noqa: ANN401
    values = "".join(f", {name}={value!r}" for name, value in event.attributes.items() if value is not None)
    return f'event("{event.type}", t={event.t}{values})'
