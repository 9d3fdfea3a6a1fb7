"""Patterns: a terminator, and what it asks of the past and of the time ahead, in textual order."""

from tocsin.topology import sources
from tocsin.topology.elaborate import truth
from tocsin.topology.errors import suggest
from tocsin.topology.functions import aggregate, in_percent, is_aggregate
from tocsin.topology.model import Compilation, Constituent, Parameter, Part, Rule
from tocsin.topology.passes.certainty import note_certain
from tocsin.topology.passes.conditions import type_conditions
from tocsin.topology.passes.leaves import add_leaf, check_role
from tocsin.topology.scopes import Scope
from tocsin.topology.terms import Computed, Scalar
from tocsin.topology.tree import (
    Aggregated,
    Ahead,
    Backward,
    Between,
    Bounded,
    Condition,
    Modified,
    Name,
    Negated,
    Occurrence,
    Pattern,
    PatternItem,
    Selected,
    Timer,
)
from tocsin.topology.tree import Constituent as Written


def type_patterns(compilation: Compilation) -> None:
    """Fill constituents, parameters and source of every rule with a pattern."""
    for rule in compilation.rules:
        if isinstance(rule.written, Pattern):
            with compilation.judging(rule):
                _PatternTyping(rule, rule.written, compilation).run()


class _PatternTyping:
    """The typing of one pattern."""

    def __init__(self, rule: Rule, pattern: Pattern, compilation: Compilation) -> None:
        self._rule = rule
        self._pattern = pattern
        self._compilation = compilation
        self._report = compilation.report
        self._aggregates = 0
        occurrences = [pattern.terminator, *(i.occurrence for i in pattern.items if isinstance(i, Selected))]
        self._roles = frozenset(_role(written).text for written in occurrences)

    def run(self) -> None:
        """Fill the rule."""
        self._add(self._pattern.terminator, Part.TAKEN)
        items = [self._item(item) for item in self._pattern.items]
        self._rule.source = sources.Pattern(tuple(item for item in items if item is not None))

    def _item(self, item: PatternItem) -> sources.Item | None:  # noqa: PLR0911 (one case a kind)
        match item:
            case Selected():
                return self._selected(item)
            case Bounded():
                constituent, anchor = self._anchor(item.role), self._anchor(item.anchor)
                if constituent is not None and constituent is anchor:
                    self._report.error(f"`{item.role}` is bounded by itself", item.span)
                if constituent is None or anchor is None:
                    return None
                return sources.Bounded(constituent.index, sources.Backward(item.within.ms, anchor.index))
            case Negated():
                place = self._range(item.range)
                constituent = self._add(item.occurrence, Part.ABSENT)
                return None if place is None else sources.Negated(constituent.index, place)
            case Aggregated():
                return self._aggregated(item)
            case Condition():
                term = truth(item.expr, self._scope())
                if term is None:
                    return None
                note_certain(term, self._rule)
                return sources.Filtered(term)

    def _selected(self, item: Selected) -> sources.Item | None:
        anchor = self._anchor(item.anchor)
        constituent = self._add(item.occurrence, Part.TAKEN)
        if anchor is None:
            constituent.sound = False
            return None
        within_ms = None if item.within is None else item.within.ms
        place = sources.Backward(within_ms, anchor.index)
        return sources.Selected(constituent.index, item.selection, place, item.count)

    def _add(self, written: Written, part: Part) -> Constituent:
        role = _role(written)
        free = part is not Part.TAKEN or check_role(role, self._rule, self._compilation)
        constituent = add_leaf(written, part, self._rule, self._compilation)
        constituent.sound = constituent.sound and free
        if constituent.occurrence is not None:
            scope = self._scope(constituent)
            type_conditions(constituent, constituent.occurrence.conditions, scope)
        return constituent

    def _scope(self, own: Constituent | None = None) -> Scope:
        visible = tuple(c for c in self._rule.taken() if c is not own)
        # A negated or aggregated constituent may have the name of one that is taken.
        others = self._roles - {c.role for c in visible}
        return Scope(self._compilation, self._rule, visible, own, others=others, aggregating=False)

    def _anchor(self, name: Name) -> Constituent | None:
        taken = list(self._rule.taken())
        by_role = [c for c in taken if c.role == name.text]
        by_type = [c for c in taken if c.occurrence is not None and c.occurrence.event == name]
        found = by_role or (by_type if len(by_type) == 1 else [])
        if found:
            return found[0]
        hint = suggest(name.text, [c.role for c in taken], "earlier ones are")
        if by_type:
            hint = "there are several of this type: use the name given with `as`"
        self._report.error(f"no earlier constituent is called `{name}`", name.span, hint)
        return None

    def _range(self, place: Between | Backward | Ahead) -> sources.Range | None:
        if isinstance(place, Between):
            first, last = self._anchor(place.first), self._anchor(place.last)
            if first is not None and first is last:
                self._report.error(f"nothing lies between `{place.first}` and itself", place.span)
            return None if first is None or last is None else sources.Between(first.index, last.index)
        anchor = self._anchor(place.anchor)
        if anchor is None:
            return None
        if isinstance(place, Ahead):
            return sources.Ahead(place.within.ms, anchor.index)
        return sources.Backward(None if place.within is None else place.within.ms, anchor.index)

    # --- aggregates -----------------------------------------------------------------------------------------

    def _aggregated(self, item: Aggregated) -> sources.Item | None:
        place = self._range(item.range)
        constituent = self._add(item.occurrence, Part.MEASURED)
        typed = self._aggregate_type(item, constituent)
        name = item.parameter
        if name.text in self._rule.parameters:
            message = f"`${name}` already has a value"
            self._report.error(message, name.span, "call the aggregate something else, and compare the two")
            return None
        if typed is None or place is None or isinstance(place, sources.Ahead):
            self._rule.lost.add(name.text)
            return None
        field, scalar, optional = typed
        number, self._aggregates = self._aggregates, self._aggregates + 1
        self._rule.parameters[name.text] = Parameter(name.text, Computed(number, scalar, optional=optional))
        return sources.Aggregated(
            number,
            name.text,
            item.function.text,
            constituent.index,
            field,
            place,
            scalar,
            item.argument,
            item.limit,
        )

    def _aggregate_type(
        self, item: Aggregated, constituent: Constituent
    ) -> tuple[int | None, Scalar, bool] | None:
        """Return the attribute that is aggregated, the type of the result, and whether it may be null."""
        function, scope = item.function, self._scope(constituent)
        if not is_aggregate(function, scope) or not self._check_argument(item):
            return None
        if function.text == "list":
            message = "`list` cannot be given to a parameter: it has many values"
            self._report.error(message, function.span, "take `count`, `first`, `last` or another aggregate")
            return None
        if item.attribute is None:
            if function.text == "count":
                return None, Scalar.LONG, False
            name = constituent.event.name
            message = f"`{function}` needs an attribute of {name}"
            self._report.error(message, function.span, f"like `{function}({name}(…).value)`")
            return None
        index = scope.index(constituent, item.attribute)
        if index is None:
            return None
        attribute = constituent.event.attributes[index]
        typed = aggregate(function, [(attribute, item.attribute)], scope, empty=True)
        return None if typed is None else (index, *typed)

    def _check_argument(self, item: Aggregated) -> bool:
        percentile = item.function.text == "percentile"
        if percentile and item.argument is None:
            message = "`percentile` needs a percentage"
            self._report.error(message, item.function.span, "like `percentile(Temp().value, 95)`")
            return False
        if not percentile and item.argument is not None:
            self._report.error(f"`{item.function}` takes no number", item.function.span)
            return False
        return item.argument is None or in_percent(item.argument, item.function.span, self._report)


def _role(written: Written) -> Name:
    if isinstance(written, Timer):
        return written.alias or Name("Timer", written.span)
    occurrence = written.operand if isinstance(written, Modified) else written
    assert isinstance(occurrence, Occurrence)
    return occurrence.alias or occurrence.event
