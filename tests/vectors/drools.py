"""Drools: interval relations as truth tables, and rules with a pseudo clock.

A rule over events alone is a `when` rule. Windows, aggregates and absence ahead are asked from one event, as
TESLA does. An event of Drools starts at its timestamp and lasts; one of Tocsin stands at its end.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import drl
from .cases import Case, Check, Event, Inexpressible, Translation
from .checks import same_bag, same_list
from .declare import declare, duration

if TYPE_CHECKING:
    from tests.oracle.run import Detected

AGGREGATES = {"average": "avg", "sum": "sum", "count": "count", "min": "min", "max": "max"}
PAIR = re.compile(r"pair of an? (?P<a>\w+) \w+ and an? (?P<b>\w+) ")
DISTANCE = re.compile(r"(?P<b>\w+) starts .* after (?P<a>\w+) ends")
AVERAGED = re.compile(r"the average (?P<attribute>\w+) over the last .* is at least (?P<least>\d+),")
NAME = "Case"


def translate(case: Case) -> Translation:
    """Translate a truth table or a rule."""
    if case.expected and all("op" in row for row in case.expected):
        return _truth_table(case)
    conditions = drl.read(_whole(case))
    patterns = [
        replace(condition, variable=condition.variable or f"e{i}")
        for i, condition in enumerate(conditions)
        if isinstance(condition, drl.Pattern)
    ]
    absences = [condition.pattern for condition in conditions if isinstance(condition, drl.Absence)]
    accumulations = [condition for condition in conditions if isinstance(condition, drl.Accumulation)]
    if accumulations:
        return _accumulated(case, patterns, absences, accumulations)
    if any(pattern.window for pattern in patterns):
        return _windowed(case, patterns, absences)
    if absences:
        return _absent(case, patterns, absences)
    return _joined(case, patterns)


# --- forms of rules -----------------------------------------------------------------------------------------


def _truth_table(case: Case) -> Translation:
    """One rule for each operator with its parameters, over all pairs of intervals."""
    (type_,) = {event.type for event in case.events}
    rules = {row["op"]: f"Row{i}" for i, row in enumerate(case.expected)}
    lines = [
        f"rule {name}\nwhen  event {type_} as left\n      event {type_} as right, "
        f"{_relation(replace(drl.read_operator(op), other='right'), 'left')}\n"
        f'then  call "vectors:found"\nunbounded;'
        for op, name in rules.items()
    ]

    def check(detected: "Detected") -> str | None:
        pairs = {op: {(r["left"], r["right"]) for r in _roles(detected, name)} for op, name in rules.items()}
        wrong = [
            f"{row['left']} {row['op']} {row['right']} should be {row['expected']}"
            for row in case.expected
            if ((row["left"], row["right"]) in pairs[row["op"]]) is not row["expected"]
        ]
        return "; ".join(wrong) or None

    events, declarations = _declared(case)
    return Translation("\n\n".join([declarations, *lines]), events, check)


def _joined(case: Case, patterns: Sequence[drl.Pattern]) -> Translation:
    """Every combination of events."""
    bound = _bound(patterns)
    items = "\n      ".join(f"event {_occurrence(pattern, bound)}" for pattern in patterns)
    rule = f'rule {NAME}\nwhen  {items}\nthen  call "vectors:found"\nunbounded;'
    events, declarations = _declared(case)
    return Translation(f"{declarations}\n\n{rule}", events, _check(case), _until(case))


def _absent(case: Case, patterns: Sequence[drl.Pattern], absences: Sequence[drl.Pattern]) -> Translation:
    """An event, and others that do not come in a time after it, or did not before it."""
    if len(patterns) != 1:
        raise Inexpressible("absence ahead of a combination of events")
    bound = _bound(patterns)
    items = [f"not {_occurrence(absence, bound)} {_range(absence, patterns[0])}" for absence in absences]
    define = _define("", _occurrence(patterns[0], bound), items, "")
    events, declarations = _declared(case)
    return Translation(f"{declarations}\n\n{define}", events, _check(case), _until(case))


def _windowed(case: Case, patterns: Sequence[drl.Pattern], absences: Sequence[drl.Pattern]) -> Translation:
    """What is in a window when the rules are evaluated, which is an event of its own."""
    if len(patterns) != 1 or absences or not all("t" in row for row in case.expected):
        raise Inexpressible("a join of windows")
    (pattern,) = patterns
    window = pattern.window
    assert window is not None
    selection, extent = _of_window(window, "evaluation")
    item = f"{selection or 'each'} {_occurrence(pattern, {})} {extent}"
    define = _define("", "Evaluation as evaluation", [item], "")
    events, declarations = _declared(case, types={"Evaluation": ()})
    evaluations = tuple(Event(f"evaluation{row['t']}", "Evaluation", row["t"], {}) for row in case.expected)
    together = tuple(sorted((*events, *evaluations), key=lambda event: event.t))
    return Translation(f"{declarations}\n\n{define}", together, _check(case, once=pattern.variable))


def _accumulated(
    case: Case,
    patterns: Sequence[drl.Pattern],
    absences: Sequence[drl.Pattern],
    accumulations: Sequence[drl.Accumulation],
) -> Translation:
    """Aggregates over windows, at each event of one type."""
    types = {accumulation.pattern.type for accumulation in accumulations}
    newest = [p for p in patterns if p.window in {None, drl.Window("length", 1)}]
    if absences or len(patterns) > 1 or newest != patterns or (not patterns and len(types) > 1):
        raise Inexpressible("aggregates over windows in a join")
    trigger = patterns[0] if patterns else drl.Pattern(types.pop(), variable="newest")
    bound = _bound([trigger])
    names = [f"value{i}" for i, _ in enumerate(accumulations)]
    values = [f"floor(${n})" if a.whole else f"${n}" for n, a in zip(names, accumulations, strict=True)]
    items = [
        f"${name} = {_aggregate(accumulation, bound, str(trigger.variable))}"
        for name, accumulation in zip(names, accumulations, strict=True)
    ]
    tests = [
        f"{value} {op} {operand}"
        for value, accumulation in zip(values, accumulations, strict=True)
        for op, operand in accumulation.comparisons
    ]
    head = ", ".join(f"{n}: {_result_type(a)}" for n, a in zip(names, accumulations, strict=True))
    tail = f"if {' and '.join(tests)}\n" if tests else ""
    where = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
    define = _define(f" ({head})", _occurrence(trigger, bound), items, f"{tail}where {where}\n")

    def check(detected: "Detected") -> str | None:
        expected = [(row["t"], *row.get("values", [row.get("value")])) for row in case.expected]
        got = [(o.time, *(o.attributes[name] for name in names)) for o in detected.of(NAME)]
        return same_list(expected, got)

    events, declarations = _declared(case)
    return Translation(f"{declarations}\n\n{define}", events, check)


def _define(head: str, terminator: str, items: Iterable[str], clauses: str) -> str:
    source = "\n  and ".join([terminator, *items])
    return f"define {NAME}{head}\nfrom {source}\n{clauses}unbounded;"


def _whole(case: Case) -> str:
    """The rule's conditions. Where the notation is cut short, the words say what is left out."""
    native = str(case.pattern["native"]).removesuffix("with @duration").strip()
    rest = native.lstrip(". ")
    words = str(case.pattern["words"])
    types = {event.type for event in case.events}
    if rest.startswith("this "):
        named = PAIR.search(words) or DISTANCE.search(words)
        if named and len(types) == 1:
            (type_,) = types
            a, b = (f'{_attribute_of(case, named[role])} == "{named[role]}"' for role in ("a", "b"))
            return f"$a : {type_}( {a} ) $b : {type_}( {b}, {rest} )"
    elif native != rest:
        named = AVERAGED.search(words)
        if named and len(types) == 1:
            (type_,) = types
            value = "intValue" if "whole part" in words else "doubleValue"
            accumulated = f"{type_}( $amt : {named['attribute']} ) {rest}"
            return f"Number( $r : {value} >= {named['least']} ) from accumulate( {accumulated} )"
    return native


def _attribute_of(case: Case, value: str) -> str:
    """The attribute that has this value in some event."""
    for event in case.events:
        for name, found in event.attrs.items():
            if found == value:
                return name
    raise Inexpressible(f"notation: {case.pattern['words']}")


# --- pieces of rules ----------------------------------------------------------------------------------------


def _bound(patterns: Iterable[drl.Pattern]) -> dict[str, str]:
    """What the variables of the patterns stand for: a role's attribute."""
    return {
        constraint.variable: f"{pattern.variable}.{constraint.attribute}"
        for pattern in patterns
        for constraint in pattern.constraints
        if isinstance(constraint, drl.Binding)
    }


def _occurrence(pattern: drl.Pattern, bound: Mapping[str, str]) -> str:
    conditions = []
    for constraint in pattern.constraints:
        match constraint:
            case drl.Comparison(attribute, op, value):
                conditions.append(f"{attribute} {op} {_value(value, bound)}")
            case drl.Temporal():
                conditions.append(_relation(constraint, "this"))
    role = f" as {pattern.variable}" if pattern.variable else ""
    return f"{pattern.type}({', '.join(conditions)}){role}"


def _value(value: str, bound: Mapping[str, str]) -> str:
    if not value.startswith("$"):
        return value
    name = value.removeprefix("$")
    return name if "." in name else bound[name]


def _relation(temporal: drl.Temporal, left: str) -> str:
    """A temporal operator; Drools reads the two bounds of a distance in either order."""
    given = temporal.bounds
    if temporal.op in {"after", "before"} and None not in given:
        given = tuple(sorted(bound for bound in given if bound is not None))
    bounds = ", ".join("*" if bound is None else duration(bound) for bound in given)
    relation = f"{left} {temporal.op} {f'[{bounds}] ' if bounds else ''}{temporal.other}"
    return f"not ({relation})" if temporal.negated else relation


def _range(absence: drl.Pattern, anchor: drl.Pattern) -> str:
    """The time in which an event does not come: the reach of its temporal constraint."""
    for constraint in absence.constraints:
        match constraint:
            case drl.Temporal("after", (_, int(latest)), anchor.variable, negated=False):
                return f"within {duration(latest)} after {anchor.variable}"
            case drl.Temporal("before", _, anchor.variable, negated=False):
                return f"before {anchor.variable}"
    raise Inexpressible("absence without an end")


def _of_window(window: drl.Window, anchor: str) -> tuple[str, str]:
    """How a window is selected from, and how far it reaches; the end of a time window is exclusive."""
    if window.kind == "length":
        return f"{window.size} last", f"before {anchor}"
    return "", f"within {duration(window.size - 1)} from {anchor}"


def _aggregate(accumulation: drl.Accumulation, bound: Mapping[str, str], anchor: str) -> str:
    if accumulation.function not in AGGREGATES:
        raise Inexpressible(f"the aggregate {accumulation.function}")
    pattern = accumulation.pattern
    limit, extent = _of_window(pattern.window, anchor) if pattern.window else ("", f"before {anchor}")
    attributes = {c.variable: c.attribute for c in pattern.constraints if isinstance(c, drl.Binding)}
    argument = accumulation.argument
    attribute = "" if argument is None else f".{attributes[argument.removeprefix('$')]}"
    occurrence = f"{limit} {_occurrence(pattern, bound)}".strip()
    return f"{AGGREGATES[accumulation.function]}({occurrence}{attribute}) {extent}"


def _result_type(accumulation: drl.Accumulation) -> str:
    return "long" if accumulation.function == "count" else "double?"


# --- events and results -------------------------------------------------------------------------------------


def _declared(case: Case, types: Mapping[str, Iterable[str]] | None = None) -> tuple[tuple[Event, ...], str]:
    """The events, each where it ends, and their declarations."""
    if not any("end" in event.attrs for event in case.events):
        return case.events, declare(case.events, types=types)
    events = tuple(
        replace(event, t=event.attrs["end"], attrs=_without(event.attrs, "end", "duration"))
        for event in case.events
    )
    return events, declare(events, types=types, timestamps={"start"}, clauses="start start")


def _without(attrs: Mapping[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in attrs.items() if name not in names}


def _until(case: Case) -> int:
    """When the rules are evaluated last; events that last may end later."""
    evaluated = (int(row["t"]) for row in case.expected if "t" in row)
    ended = (int(event.attrs["end"]) for event in case.events if "end" in event.attrs)
    return max(*evaluated, *ended, case.until or 0, 0)


def _check(case: Case, once: str | None = None) -> Check:
    """Firings so far at each evaluation, counted or bound; `once` names a role that fires once for an event.

    What lasts is evaluated in Drools when it starts, here when it ends: then only all firings are compared.
    """
    lasting = any("end" in event.attrs for event in case.events)
    steps = [row for row in case.expected if "t" in row] or [{"bind": [row["bind"] for row in case.expected]}]

    def check(detected: "Detected") -> str | None:
        found = [(o.time, roles) for o, roles in zip(detected.of(NAME), _roles(detected, NAME), strict=True)]
        if once:
            found = list({roles[once]: (t, roles) for t, roles in reversed(found)}.values())
        fired, differences = 0, []
        for step in steps:
            so_far = [roles for t, roles in found if lasting or "t" not in step or t <= step["t"]]
            fired += step.get("fired", 0)
            counted = same_list([fired], [len(so_far)])
            difference = _difference(step["bind"], so_far) if "bind" in step else counted
            if difference:
                differences.append(f"at {step.get('t', 'the end')}: {difference}")
        return "; ".join(differences) or None

    return check


def _difference(expected: Sequence[Mapping[str, str]], found: Sequence[Mapping[str, str]]) -> str | None:
    """Compare the roles that are asserted; where none is, there must be nothing."""
    asserted = sorted({role for binding in expected for role in binding})
    return same_bag(
        [tuple((role, binding[role]) for role in asserted) for binding in expected],
        [tuple((role, roles[role]) for role in asserted) for roles in found],
    )


def _roles(detected: "Detected", name: str) -> list[dict[str, str]]:
    """The ids of the events that each occurrence of a rule or definition is made of, by role."""
    return [
        {role: str(player.label) for role, (player, *_) in occurrence.roles.items() if role}
        for occurrence in detected.of(name)
    ]
