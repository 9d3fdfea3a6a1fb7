"""Horizons: a proved bound on how long each constituent must be kept for what completes an occurrence.

What is kept is bounded by windows and temporal constraints, through chains of them by shortest paths; by
the `within` of expressions and matches; or, where only the latest counts and nothing tells several apart, by
number.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tocsin.topology.errors import Span
from tocsin.topology.model import Compilation, Constituent, Rule
from tocsin.topology.planning.algebra import STORING, accumulates, resets, slots
from tocsin.topology.planning.lifetimes import lifetime, multiplying
from tocsin.topology.planning.soundness import sound_rules
from tocsin.topology.planning.timelines import Lengths, Reason, Timeline
from tocsin.topology.sources import (
    Aggregated,
    Ahead,
    Backward,
    Between,
    Bounded,
    Changed,
    Expression,
    Filtered,
    Item,
    Match,
    Negated,
    Pattern,
    Plus,
    Selected,
    When,
    Within,
    constituents_of,
    operands,
    own_constituents,
)
from tocsin.topology.tree import Context, Selection, TriggerMode
from tocsin.topology.tree import Pattern as PatternTree
from tocsin.topology.types import Kind

_OR_SAY_SO = "or say `unbounded` if that is meant"
_SNIPPET_LENGTH = 60

_Kept = Selected | Negated | Aggregated
"""What a pattern looks up."""


def bound_horizons(compilation: Compilation) -> None:
    """Bound how long the constituents of every rule are kept; None where there is no bound in time."""
    types = compilation.types
    lengths: Lengths = {
        name: None
        for name, event in types.items()
        if any(types[sub].start is not None for sub in event.with_subtypes) or event.kind is Kind.DEFINED
    }
    definitions = Counter(rule.output.name for rule in compilation.rules if rule.output is not None)
    found: dict[str, list[int | None]] = {}
    for rule in sound_rules(compilation):
        horizons = _Horizons(rule, compilation, lengths)
        horizons.find()
        if rule.output is not None:
            name = rule.output.name
            found.setdefault(name, []).append(horizons.length())
            known = [length for length in found[name] if length is not None]
            if len(known) == definitions[name]:
                lengths[name] = max(known)


class _Horizons:
    """The horizons of one rule."""

    def __init__(self, rule: Rule, compilation: Compilation, lengths: Lengths) -> None:
        self._rule = rule
        self._report = compilation.report
        self._lengths = lengths
        self._tree = rule.written

    def find(self) -> None:
        """Fill the horizons, and report what has none and what can never be."""
        rule = self._rule
        match rule.source:
            case Pattern() as pattern:
                self._pattern(pattern)
            case When() as when:
                self._when(when)
            case Match() as match:
                self._match(match)
            case expression:
                self._expression(expression)
        unbounded = any(constituent.horizon_ms is None for constituent in rule.constituents)
        if rule.trigger is TriggerMode.PREVIOUS and rule.back_ms is None and unbounded:
            self._report.error(
                f"nothing tells how far back `{rule.name}` has to read: what it keeps has no bound in time",
                rule.declaration.name.span,
                "say it, like `trigger previous 1 day`",
            )

    # --- patterns -------------------------------------------------------------------------------------------

    def _pattern(self, pattern: Pattern) -> None:
        if not pattern.items:
            return
        assert isinstance(self._tree, PatternTree)
        timeline = Timeline(self._rule, self._lengths)
        for item, tree in zip(pattern.items, self._tree.items, strict=True):
            _place(item, tree.span, timeline)
        if self._contradictory(timeline):
            return
        horizon = timeline.horizons(0)
        for constituent in self._rule.constituents[1:]:
            constituent.horizon_ms = horizon(constituent)
        endless: set[int] = set()
        for item, tree in zip(pattern.items, self._tree.items, strict=True):
            if isinstance(item, Selected) and item.selection is Selection.FIRST:
                found = timeline.horizon_of_candidates(item.constituent, 0)
                self._rule.constituents[item.constituent].horizon_ms = found
            if isinstance(item, Selected | Negated | Aggregated) and not self._rule.unbounded:
                self._check(item, tree.span, endless)

    def _check(self, item: _Kept, span: Span, endless: set[int]) -> None:
        """Report what nothing bounds; what hangs on one of the `endless` is reported there."""
        constituent = self._rule.constituents[item.constituent]
        if constituent.horizon_ms is not None or self._few(item, constituent):
            return
        endless.add(constituent.index)
        name = constituent.event.name
        match item.range:
            case Backward(within_ms=None, anchor=index):
                anchor = self._rule.constituents[index].role
                self._report.error(
                    f"nothing bounds how long before `{anchor}` it may lie, so every {name} would be kept "
                    "forever",
                    span,
                    f"write `within … from {anchor}` instead of `before {anchor}`, {_OR_SAY_SO}",
                )
            case Between(first=index) | Backward(anchor=index) | Ahead(anchor=index) if index not in endless:
                anchor = self._rule.constituents[index].role
                self._report.error(
                    f"nothing bounds how long ago `{anchor}` may be, so every {name} would be kept forever",
                    span,
                    f"write `within … from …` instead of `before …` where `{anchor}` is chosen, {_OR_SAY_SO}",
                )

    def _few(self, item: _Kept, constituent: Constituent) -> bool:
        """Tell whether a number bounds what is kept: the last ones of all, and none of them used up."""
        if item.range != Backward(None, 0):
            return False
        latest = (isinstance(item, Selected) and item.selection is Selection.LAST) or (
            isinstance(item, Aggregated) and item.limit is not None
        )
        free = not constituent.match and constituent.where is None
        return latest and free and constituent.index not in self._rule.consuming

    # --- facts and events -----------------------------------------------------------------------------------

    def _when(self, when: When) -> None:
        timeline = Timeline(self._rule, self._lengths)
        absent = {c.constituent for c in when.conditions if not isinstance(c, Changed) and c.negated}
        for constraint, span in zip(when.constraints, when.spans, strict=True):
            timeline.say(constraint, Reason(span))
        if self._contradictory(timeline):
            return
        events = list(_events(when, self._rule))
        for other in events:
            horizon = timeline.horizons(other.index)
            for constituent in self._rule.constituents:
                if constituent is other or constituent.event.kind is Kind.FACT:
                    continue
                found = horizon(constituent)
                if found is None and constituent.horizon_ms is not None:
                    self._report_later(constituent, other)
                known = constituent.horizon_ms
                constituent.horizon_ms = None if found is None or known is None else max(known, found)
        for index in absent if not events else ():
            self._report_ever(self._rule.constituents[index])

    def _report_later(self, constituent: Constituent, other: Constituent) -> None:
        if self._rule.unbounded:
            return
        first, second = constituent.role, other.role
        self._report.error(
            f"nothing bounds how long after `{first}` the event `{second}` may come, so every "
            f"{constituent.event.name} would be kept forever",
            constituent.span,
            f"add a constraint, like `{second} after [0 s, 1 h] {first}`, {_OR_SAY_SO}",
        )

    def _report_ever(self, constituent: Constituent) -> None:
        if constituent.event.kind is Kind.FACT:
            return
        constituent.horizon_ms = None
        if not self._rule.unbounded:
            self._report.error(
                f"no event bounds how long ago `{constituent.role}` must have been, so every "
                f"{constituent.event.name} would be kept forever",
                constituent.span,
                f"add an event condition and a constraint with it, {_OR_SAY_SO}",
            )

    # --- expressions and matches ----------------------------------------------------------------------------

    def _match(self, match: Match) -> None:
        kept = lifetime(match.root).kept
        for constituent in self._rule.constituents:
            constituent.horizon_ms = kept.get(constituent.index, 0)
        forever = next((c for c in self._rule.constituents if c.horizon_ms is None), None)
        if forever is not None and not self._rule.unbounded:
            self._report.error(
                f"nothing bounds how long `{forever.role}` is kept while the match waits for more",
                forever.span,
                f"add `within …` to what follows it, {_OR_SAY_SO}",
            )
        growing = next(multiplying(match.root), None)
        if growing is not None and not self._rule.unbounded:
            self._report.error(
                "`every` starts this again each time it comes true, but it can come true several times: "
                "more and more of them would run",
                self._rule.constituents[next(constituents_of(growing))].span,
                f"let it come true once (not with `each`, `every`, `|` or `{{2,5}}`), {_OR_SAY_SO}",
            )

    def _expression(self, expression: Expression) -> None:
        self._hold(expression, _Hold())
        endless = next(self._endless(expression, bounded=False), None)
        if endless is not None and not self._rule.unbounded:
            first = self._rule.constituents[next(slots(endless))]
            each = [p.name for p in self._rule.equality_parameters() if not p.name.startswith("[")]
            recent = self._rule.context is Context.RECENT and not accumulates(endless) and each
            why = f", one for each value of `${each[0]}`" if recent else ""
            reset = isinstance(expression, Within)
            where = (
                "what stands before `+` or behind `end`, where no outer bound reaches"
                if reset
                else "the expression"
            )
            self._report.error(
                f"nothing bounds how long `{first.role}` is kept for what is to follow it{why}",
                first.span,
                f"add `within …` to {where}, {_OR_SAY_SO}",
            )

    def _hold(self, node: Expression, above: "_Hold") -> None:
        """Fill in how long what is below a node is held by the nodes above it."""
        hold = above.at(node)
        for index in own_constituents(node):
            self._rule.constituents[index].horizon_ms = hold.held_ms
        if resets(node):
            hold = hold.anew(node.delay_ms if isinstance(node, Plus) else 0)
        for operand in operands(node):
            self._hold(operand, hold)

    def _endless(self, node: Expression, *, bounded: bool) -> Iterator[Expression]:
        """Yield the operators that neither time nor number bounds."""
        bounded = bounded or isinstance(node, Within)
        if isinstance(node, STORING) and not bounded:
            tied = any(self._rule.constituents[index].equalities for index in slots(node))
            if self._rule.context is not Context.RECENT or tied or accumulates(node):
                yield node
        for operand in operands(node):
            yield from self._endless(operand, bounded=bounded and not resets(node))

    # --- what they have in common ---------------------------------------------------------------------------

    def _contradictory(self, timeline: Timeline) -> bool:
        spans = timeline.contradiction()
        if spans is None:
            return False
        texts = [f"`{self._snippet(span)}`" for span in spans]
        if len(texts) == 1:
            message = f"{texts[0]} can never be: it contradicts itself"
        else:
            message = f"{', '.join(texts[:-1])} and {texts[-1]} can never hold together"
        self._report.error(message, spans[-1], "no order of events in time fulfils them")
        return True

    def _snippet(self, span: Span) -> str:
        text = " ".join(self._report.source[span].split())
        return text if len(text) <= _SNIPPET_LENGTH else f"{text[:_SNIPPET_LENGTH]}…"

    def length(self) -> int | None:
        """Return how long an occurrence lasts at most, once the horizons are found."""
        total = 0
        for constituent in self._rule.taken():
            lasting = self._lengths.get(constituent.event.name, 0)
            if constituent.horizon_ms is None or lasting is None:
                return None
            total = max(total, constituent.horizon_ms + lasting)
        return total + (_ahead(self._rule.source) if isinstance(self._rule.source, Pattern) else 0)


@dataclass(frozen=True, slots=True)
class _Hold:
    """How long nodes above hold what is below them: `since_ms` up to where the bound counts from."""

    since_ms: int = 0
    within_ms: int | None = None
    held_ms: int | None = 0

    def at(self, node: Expression) -> "_Hold":
        """Return what holds at a node."""
        if isinstance(node, Within):
            known = self.within_ms
            return replace(self, within_ms=node.within_ms if known is None else min(known, node.within_ms))
        if not isinstance(node, STORING) or self.held_ms is None:
            return self
        held_ms = None if self.within_ms is None else max(self.held_ms, self.since_ms + self.within_ms)
        return replace(self, held_ms=held_ms)

    def anew(self, delay_ms: int) -> "_Hold":
        """Return what holds below a node whose occurrences begin anew: the bound does not reach there."""
        if self.held_ms is None:
            return _Hold(held_ms=None)
        return _Hold(self.held_ms + delay_ms, None, self.held_ms + delay_ms)


def _place(item: Item, span: Span, timeline: Timeline) -> None:
    match item:
        case Selected() | Negated() | Aggregated():
            timeline.place(item.constituent, item.range, Reason(span, item.constituent))
        case Bounded():
            timeline.place(item.constituent, item.range, Reason(span))
        case Filtered():
            timeline.say(item.condition, Reason(span))


def _ahead(pattern: Pattern) -> int:
    negations = (item.range for item in pattern.items if isinstance(item, Negated))
    return max((within.within_ms for within in negations if isinstance(within, Ahead)), default=0)


def _events(when: When, rule: Rule) -> Iterator[Constituent]:
    for condition in when.conditions:
        if isinstance(condition, Changed):
            yield rule.constituents[condition.event]
        elif condition.event and not condition.negated:
            yield rule.constituents[condition.constituent]
