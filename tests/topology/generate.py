"""Strategies for random trees of everything that can be written: all of them can be printed and read back.

They know the grammar, but nothing of names and types. Most words of the language are among the names, where
they are allowed.
"""

from typing import TypeVar

from hypothesis import strategies as st

from tocsin.topology import tree
from tocsin.topology.parsing.words import NOT_ATTRIBUTES, NOT_EVENTS, NOT_ROLES

T = TypeVar("T")
Strategy = st.SearchStrategy

WORDS = (
    *("key", "time", "on", "id", "start", "unit", "by", "s", "min", "e5", "is", "in", "this", "previous"),
    *("after", "before", "during", "starts", "between", "until", "for", "at", "most", "per", "ever", "skip"),
    *("to", "change", "zone", "collect", "match", "begin", "end", "next", "all", "fact", "event", "of"),
    *("wait", "Timer", "any", "not", "last", "then", "context", "priority", "inactive", "Monday", "hour"),
)


def several(things: Strategy[T], low: int = 0, high: int = 3) -> Strategy[tuple[T, ...]]:
    """Return tuples of things."""
    return st.lists(things, min_size=low, max_size=high).map(tuple)


def sealed(strategy: Strategy[T]) -> Strategy[T]:
    """Return the same strategy, not spelled out wherever it is part of another."""

    @st.composite
    def part(draw: st.DrawFn) -> T:
        return draw(strategy)

    return part()


def names_except(reserved: frozenset[str], *plain: str) -> Strategy[tree.Name]:
    """Return names, among them the words of the language that are not reserved."""
    words = [word for word in WORDS if word not in reserved]
    return sealed(st.sampled_from([tree.Name(text) for text in (*plain, *words)]))


events = names_except(NOT_EVENTS, "A", "B2", "Temp", "A_rather_long_name_of_an_event")
roles = names_except(NOT_ROLES, "a", "b2", "t", "a_rather_long_name_of_a_constituent")
attributes = names_except(NOT_ATTRIBUTES, "x", "y_1", "a_rather_long_name_of_an_attribute")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
durations = st.builds(tree.Duration, st.integers(0, 5000), st.sampled_from(tree.Unit))
counts = st.integers(1, 10_000)
aliases = st.none() | roles

# --- expressions --------------------------------------------------------------------------------------------

numbers = st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
literals = st.builds(tree.Literal, st.booleans() | numbers | texts)
parameters = st.builds(tree.Parameter, st.sampled_from(["a", "last", "x1"]))
bounds = st.none() | st.builds(tree.Duration, st.integers(-5000, 5000), st.sampled_from(tree.Unit))
relations = st.builds(tree.Relation, st.sampled_from(tree.RelationOp), roles, roles, several(bounds, high=4))
atoms = st.one_of(
    literals,
    durations,
    parameters,
    st.builds(tree.Reference, attributes, st.none() | roles | events),
    relations,
)


def is_number(expr: tree.Expr) -> bool:
    """Whether it is a number: it takes its sign with it, so the parser never negates one."""
    return isinstance(expr, tree.Literal) and isinstance(expr.value, int | float)


def compound(inner: Strategy[tree.Expr]) -> Strategy[tree.Expr]:
    """Return expressions of expressions."""
    return st.one_of(
        st.builds(tree.Binary, st.sampled_from(tree.BinaryOp), inner, inner),
        st.builds(tree.Junction, st.sampled_from(tree.JunctionOp), several(inner, low=2)),
        st.builds(tree.Unary, st.just(tree.UnaryOp.NOT), inner),
        st.builds(tree.Unary, st.just(tree.UnaryOp.NEG), inner.filter(lambda expr: not is_number(expr))),
        st.builds(tree.IsNull, inner, st.booleans()),
        st.builds(tree.OneOf, inner, several(literals, low=1)),
        st.builds(tree.Call, attributes, several(inner)),
    )


expressions: Strategy[tree.Expr] = sealed(st.recursive(atoms, compound, max_leaves=6))
assignments = st.builds(tree.Assignment, attributes, expressions)

# --- constituents -------------------------------------------------------------------------------------------

occurrences = st.builds(
    tree.Occurrence, events, several(expressions), aliases, st.none() | st.integers(1, 99)
)
phases = occurrences | st.builds(tree.Modified, st.sampled_from(tree.Modifier), occurrences)
RANGES = {
    tree.TimeField.YEAR: (1970, 9999),
    tree.TimeField.MONTH: (1, 12),
    tree.TimeField.DAY: (1, 31),
    tree.TimeField.WEEKDAY: (1, 7),
    tree.TimeField.HOUR: (0, 23),
    tree.TimeField.MINUTE: (0, 59),
    tree.TimeField.SECOND: (0, 59),
}
time_values = st.sampled_from(list(RANGES)).flatmap(
    lambda field: st.builds(tree.TimeValue, st.just(field), st.none() | st.integers(*RANGES[field]))
)
timers = st.builds(
    tree.Timer,
    st.lists(time_values, min_size=1, unique_by=lambda value: value.field).map(tuple),
    st.none() | texts,
    aliases,
)
constituents = sealed(phases | timers)

# --- the event algebra --------------------------------------------------------------------------------------


def composed(inner: Strategy[tree.EventExpr]) -> Strategy[tree.EventExpr]:
    """Return event expressions of event expressions."""
    choices = several(inner, low=1)
    chosen = choices.flatmap(
        lambda some: st.builds(tree.AnyOf, st.integers(1, len(some)), st.just(some), st.just(False))
    )
    collected = st.builds(tree.Collected, occurrences, attributes)
    return st.one_of(
        st.builds(tree.Or, inner, inner),
        st.builds(tree.And, inner, inner),
        st.builds(tree.Seq, inner, inner),
        st.builds(tree.Modified, st.sampled_from(tree.Modifier), inner),
        chosen,
        st.builds(tree.AnyOf, counts, st.tuples(inner), st.just(True)),
        st.builds(tree.Aperiodic, inner, inner, inner, st.booleans()),
        st.builds(tree.Periodic, inner, durations, inner, st.booleans(), st.none() | collected, aliases),
        st.builds(tree.Not, inner, inner, inner),
        st.builds(tree.Plus, inner, durations, aliases),
        st.builds(tree.Within, inner, durations),
    )


event_expressions: Strategy[tree.EventExpr] = sealed(
    st.recursive(occurrences | timers, composed, max_leaves=6)
)


def is_constituent(expr: tree.EventExpr) -> bool:
    """Whether it is read as a pattern where it stands alone."""
    single = expr.operand if isinstance(expr, tree.Modified) else expr
    return isinstance(single, tree.Occurrence) or isinstance(expr, tree.Timer)


# --- patterns -----------------------------------------------------------------------------------------------

backward = st.builds(tree.Backward, st.none() | durations, roles)
past = backward | st.builds(tree.Between, roles, roles)
comparisons = st.builds(tree.Binary, st.sampled_from(sorted(tree.COMPARISONS)), parameters, expressions)
items = st.one_of(
    st.builds(
        tree.Selected, st.sampled_from(tree.Selection), constituents, st.none() | durations, roles, counts
    ),
    st.builds(tree.Bounded, roles, durations, roles),
    st.builds(tree.Negated, constituents, past | st.builds(tree.Ahead, durations, roles)),
    st.builds(
        tree.Aggregated,
        st.builds(tree.Name, st.sampled_from(["a", "last", "x1"])),
        attributes,
        constituents,
        st.none() | attributes,
        past,
        st.none() | st.integers(0, 100) | st.floats(0, 100),
        st.none() | counts,
    ),
    st.builds(
        tree.Condition,
        comparisons
        | st.builds(tree.Unary, st.just(tree.UnaryOp.NOT), comparisons)
        | st.builds(tree.Junction, st.sampled_from(tree.JunctionOp), several(comparisons, low=2)),
    ),
)
patterns = sealed(st.builds(tree.Pattern, constituents, several(items)))

# --- matches ------------------------------------------------------------------------------------------------


def matched(inner: Strategy[tree.MatchExpr]) -> Strategy[tree.MatchExpr]:
    """Return match expressions of match expressions."""
    high = st.none() | st.integers(10, 20)
    parts = several(inner, low=2)
    return st.one_of(
        st.builds(tree.Taking, st.sampled_from([tree.Take.EACH, tree.Take.NEXT]), inner),
        st.builds(
            tree.Repeat,
            inner,
            st.integers(0, 10),
            high,
            st.sampled_from(tree.Take),
            st.none() | expressions,
            st.none() | inner,
        ),
        st.builds(tree.Then, inner, inner),
        st.builds(tree.All, parts),
        st.builds(tree.OneOfMatches, parts),
        st.builds(tree.Alternatives, parts),
        st.builds(tree.Denied, inner),
        st.builds(tree.Every, inner),
        st.builds(tree.InTime, inner, durations, aliases),
        st.builds(tree.AtMost, inner, st.integers(0, 1000)),
        st.builds(tree.While, inner, expressions),
        st.builds(tree.Absent, inner, durations, aliases),
    )


steps = st.builds(tree.Step, phases) | st.builds(tree.Wait, durations, aliases)
match_expressions: Strategy[tree.MatchExpr] = sealed(st.recursive(steps, matched, max_leaves=6))
matches = st.builds(tree.Match, match_expressions)

# --- rules --------------------------------------------------------------------------------------------------

facts = st.one_of(
    st.builds(tree.FactCondition, occurrences, st.booleans()),
    st.builds(tree.EventCondition, phases, st.booleans()),
    st.builds(tree.ChangeCondition, events, several(expressions), several(expressions), aliases, aliases),
)
whens = st.builds(
    tree.When,
    st.builds(
        lambda first, rest: (first, *rest), facts, several(facts | st.builds(tree.Constraint, expressions))
    ),
)
values = several(assignments)
actions = st.one_of(
    st.builds(tree.Publish, events, values),
    st.builds(tree.ChangeFact, st.sampled_from(tree.FactVerb), events, values),
    st.builds(tree.Modify, roles, several(assignments, low=1)),
    st.builds(tree.Retract, roles),
    st.builds(tree.Invoke, texts),
    st.builds(tree.Webhook, texts),
    st.builds(tree.Switch, events, st.booleans()),
    st.builds(tree.Flush, st.none() | events),
)
triggers = st.just(tree.Trigger(tree.TriggerMode.NOW)) | st.builds(
    tree.Trigger, st.just(tree.TriggerMode.PREVIOUS), st.none() | durations
)

# --- declarations -------------------------------------------------------------------------------------------

heads = several(st.builds(tree.Attribute, attributes, attributes, st.booleans(), st.booleans()), high=4)
topics = st.none() | st.builds(tree.Topic, texts)
declared_events = st.builds(
    tree.Event,
    events,
    heads,
    topics,
    key=st.none() | attributes,
    time=st.none() | attributes,
    lateness=st.none() | durations,
    idle=st.none() | durations,
    kind=st.sampled_from(tree.EventKind),
    parent=st.none() | events,
    id=st.none() | attributes,
    start=st.none() | attributes,
    unit=st.none() | st.builds(tree.Membership, events, attributes),
    application=st.none() | st.builds(tree.Application, texts),
    nulls=st.none() | st.builds(tree.Nulls, st.sampled_from(tree.NullPolicy)),
)
skips = st.just(tree.Skip(tree.SkipTo.NEXT)) | st.builds(
    tree.Skip, st.sampled_from([tree.SkipTo.FIRST, tree.SkipTo.LAST]), roles
)
contexts = st.sampled_from(tree.Context)
detections = st.one_of(
    st.none(),
    st.builds(tree.Detection, contexts, st.booleans()),
    st.builds(tree.Detection, st.none() | contexts, st.just(False), skips),
    st.just(tree.Detection(disjoint=True)),
)
rates = st.none() | st.builds(tree.Rate, st.integers(1, 1_000_000), st.none() | durations)
sources = patterns | matches | event_expressions.filter(lambda expr: not is_constituent(expr))
defines = st.builds(
    tree.Define,
    events,
    heads,
    sources,
    values,
    st.none() | expressions,
    several(roles),
    detections,
    rates,
    st.booleans(),
)
rules = st.builds(
    tree.Rule,
    events,
    sources | whens,
    several(actions, low=1),
    st.none() | expressions,
    several(roles),
    detections,
    rates,
    st.booleans(),
    st.none() | st.sampled_from(tree.Coupling),
    st.none() | st.integers(-1000, 1000) | attributes,
    st.none() | triggers,
    st.booleans(),
)
declarations = sealed(
    st.one_of(
        declared_events,
        st.builds(tree.Enumeration, events, several(attributes, low=1)),
        st.builds(tree.Fact, events, heads, st.none() | attributes, topics),
        st.builds(tree.Named, events, event_expressions),
        st.builds(tree.Priorities, several(attributes, low=1)),
        defines,
        rules,
    )
)
programs = st.builds(tree.Program, several(declarations, high=4))
