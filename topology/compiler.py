"""The front door: text to tree, text to plan, text to text."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tocsin.topology.errors import AppNameError, Report, Source
from tocsin.topology.event_types import plan_type
from tocsin.topology.model import Compilation
from tocsin.topology.parsing import parse_program
from tocsin.topology.passes import PASSES
from tocsin.topology.passes.taken import APP_NAME
from tocsin.topology.plan import Plan
from tocsin.topology.planning.memory import remembered
from tocsin.topology.tree import Program


def parse(text: str, filename: str = "<rules>") -> Program:
    """Return the tree of a rule file; raise RuleErrors with every mistake in its syntax."""
    report = Report(Source(text, filename))
    program = parse_program(report)
    report.check()
    return program


def format_rules(text: str, filename: str = "<rules>") -> str:
    """Return a rule file in the one true layout, with all its comments.

    >>> print(format_rules('event Tick(at:timestamp) key at on "ticks";'), end="")
    event Tick (at: timestamp) on "ticks" key at;
    """
    return str(parse(text, filename))


def compile_rules(
    rules: str | Program,
    filename: str = "<rules>",
    *,
    app: str,
    partitions: Mapping[str, int] | None = None,
) -> Plan:
    """Return the plan of a rule file, or of rules built in code; raise RuleErrors with every mistake in it.

    `partitions` is how many the input topics have; those that are not told of have the same number.

    >>> plan = compile_rules('event Tick (id: long) on "ticks" key id; define Tock from Tick;', app="clock")
    >>> [event.topic for event in plan.defined_types]
    ['tocsin.clock.Tock']
    """
    if not APP_NAME.fullmatch(app):
        message = f"{app!r} cannot name an application: use 1 to 100 letters, digits, `-`, `_` and `.`"
        raise AppNameError(message)
    # What was built in code is read back from its text, so that mistakes have a place.
    text = str(rules)
    report = Report(Source(text, filename))
    with _uncollected():
        program = parse_program(report)
        compilation = Compilation(app, program, report, set(program.broken), partitions or {})
        for run in PASSES:
            run(compilation)
    known = remembered(compilation)
    return Plan(
        app,
        types=tuple(plan_type(event, known.get(name)) for name, event in compilation.types.items()),
        nodes=tuple(compilation.nodes),
        subtopologies=tuple(compilation.subtopologies),
        enums=tuple(compilation.enums.values()),
        warnings=report.warnings(),
        text=text,
    )


def replan(plan: Plan, partitions: Mapping[str, int]) -> Plan:
    """Return the plan of the same rules for input topics with so many partitions.

    Only where they differ is it another one: events are sent on to where there are as many as needed.
    """
    counts = {topic: partitions[topic] for topic in plan.input_topics if topic in partitions}
    if len(set(counts.values())) <= 1:
        return plan
    return compile_rules(plan.text, app=plan.app, partitions=counts)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for cyclic garbage: what is made lives until the plan is, and is searched in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
