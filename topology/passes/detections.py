"""How occurrences are formed: context, disjointness, skipping, consumption, rate, unboundedness."""

from tocsin.topology import sources
from tocsin.topology.errors import Span
from tocsin.topology.model import Compilation, Rate, Rule
from tocsin.topology.passes.filters import outcome_scope
from tocsin.topology.tree import Detection, Skip


def apply_detections(compilation: Compilation) -> None:
    """Fill what the clauses about the formation of occurrences say."""
    for rule in compilation.rules:
        with compilation.judging(rule):
            rule.unbounded = rule.declaration.unbounded
            if rule.declaration.detection is not None:
                _apply_detection(rule.declaration.detection, rule, compilation)
            _apply_consuming(rule, compilation)
            _apply_rate(rule, compilation)


def _apply_detection(detection: Detection, rule: Rule, compilation: Compilation) -> None:
    rule.disjoint = detection.disjoint
    if detection.skip is not None:
        _apply_skip(detection.skip, rule, compilation)
    match rule.source:
        case sources.Pattern(items=()):
            # Of a single event there is nothing to choose.
            rule.context = detection.context
        case sources.Pattern() if detection.context or detection.disjoint:
            hint = "a pattern says `each`, `last` or `first`, and `consuming` what is used up"
            _refuse_context(detection, compilation, hint)
        case sources.Match() if detection.context:
            hint = "a match says with `each`, `next` and `every` what it takes, and can be `disjoint`"
            _refuse_context(detection, compilation, hint)
        case sources.When() if detection.context or detection.disjoint:
            hint = "`when` takes every combination; limit it with conditions"
            _refuse_context(detection, compilation, hint)


def _refuse_context(detection: Detection, compilation: Compilation, hint: str) -> None:
    word = f"context {detection.context}" if detection.context else "disjoint"
    message = f"`{word}` is for event expressions (`A ; B`, `A and B`, …)"
    compilation.report.error(message, detection.span, hint)


def _apply_skip(skip: Skip, rule: Rule, compilation: Compilation) -> None:
    if not isinstance(rule.source, sources.Match):
        message = "only behind a match there is something to skip"
        compilation.report.error(message, skip.span, "an event expression can be `disjoint`")
        return
    if skip.role is not None:
        outcome_scope(rule, compilation).all_of(skip.role)
    rule.skip = skip


def _apply_consuming(rule: Rule, compilation: Compilation) -> None:
    names = rule.declaration.consuming
    if not names:
        return
    if not isinstance(rule.source, sources.Pattern):
        hint = "choose a context: `chronicle` uses each occurrence once"
        if isinstance(rule.source, sources.Match | sources.When):
            retract = "`retract` what is not to be matched again"
            hint = "make it `disjoint`" if isinstance(rule.source, sources.Match) else retract
        span = Span(names[0].span.start, names[-1].span.end)
        compilation.report.error("only a pattern can be `consuming`", span, hint)
        return
    scope = outcome_scope(rule, compilation)
    consumed: list[int] = []
    for name in names:
        constituent = scope.one(name)
        if constituent is not None and constituent.index in consumed:
            compilation.report.error(f"`{name}` is consumed twice", name.span, "leave one of them out")
        elif constituent is not None:
            consumed.append(constituent.index)
    rule.consuming = tuple(consumed)


def _apply_rate(rule: Rule, compilation: Compilation) -> None:
    rate = rule.declaration.rate
    if rate is None:
        return
    if rate.per is not None and rate.per.ms == 0:
        compilation.report.error("the time of a rate must be longer than 0", rate.per.span)
    rule.rate = Rate(rate.count, None if rate.per is None else rate.per.ms)
