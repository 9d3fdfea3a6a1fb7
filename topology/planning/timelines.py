"""The timeline of a rule: what its ranges and conditions say about how far its constituents lie apart."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tocsin.topology.errors import Span
from tocsin.topology.model import Constituent, Part, Rule
from tocsin.topology.planning.differences import Limit, bounds_to, contradiction
from tocsin.topology.planning.moments import Clock, Instant
from tocsin.topology.sources import Ahead, Backward, Between, Range
from tocsin.topology.terms import Edge, Term
from tocsin.topology.types import Kind


@dataclass(frozen=True, slots=True)
class Reason:
    """Where a limit was written, and the constituent whose candidates it narrows; a filter narrows none."""

    span: Span
    owner: int | None = None


TimeLimit = Limit[Instant, Reason]
Lengths = dict[str, int | None]
"""The types whose occurrences have an interval, and how long it is at most, if that is known."""


@dataclass
class Timeline:
    """Limits on the constituents of a rule.

    Those of constituents that are no part of an occurrence bound themselves only: that something is absent
    within a time says nothing about what is there.
    """

    rule: Rule
    lengths: Lengths
    limits: list[TimeLimit] = field(default_factory=list)

    def __post_init__(self) -> None:
        timed = [c for c in self.rule.constituents if c.event.kind is not Kind.FACT]
        self._clock = Clock({c.index: c.event for c in timed}, self.lengths)
        self._aside = {c.index for c in timed if c.part is not Part.TAKEN}
        for constituent in timed:
            self._say_interval(constituent)
            for condition in constituent.conditions:
                self.say(condition, Reason(constituent.span, constituent.index))

    def say(self, condition: Term, reason: Reason) -> None:
        """Add what a condition says."""
        for (earlier, later), bound_ms in self._clock.differences(condition).items():
            self.limits.append(Limit(earlier, later, bound_ms, reason))

    def place(self, constituent: int, within: Range, reason: Reason) -> None:
        """Add that a constituent lies in a range."""
        own = self._end(constituent)
        match within:
            case Between(first, last):
                bounds = [(own, self._end(first), 0), (self._end(last), own, 0)]
            case Ahead(within_ms, anchor):
                bounds = [(own, self._end(anchor), 0), (self._end(anchor), own, within_ms)]
            case Backward(within_ms, anchor):
                bounds = [(self._end(anchor), own, 0)]
                if within_ms is not None:
                    bounds.append((own, self._end(anchor), within_ms))
        self.limits += [Limit(earlier, later, bound_ms, reason) for earlier, later, bound_ms in bounds]

    def contradiction(self) -> tuple[Span, ...] | None:
        """Return the places of limits that cannot hold together, if any; of nested places the outer."""
        reasons = contradiction(self._certain())
        if reasons is None:
            return None
        spans = {reason.span for reason in reasons}
        return tuple(sorted(span for span in spans if not any(_is_inside(span, other) for other in spans)))

    def horizons(self, target: int) -> Callable[[Constituent], int | None]:
        """Return a function that tells how long before the target a constituent can be at most."""
        certain = self._certain()
        bounds = bounds_to(self._end(target), certain)

        def horizon(constituent: Constituent) -> int | None:
            found = bounds
            own = [limit for limit in self.limits if limit.reason.owner == constituent.index]
            if constituent.index in self._aside and own:
                together = [*certain, *own]
                if contradiction(together) is not None:
                    return 0  # there is never such a one, so none need be kept
                found = bounds_to(self._end(target), together)
            bound = found.get(self._end(constituent.index))
            return None if bound is None else max(0, bound)

        return horizon

    def horizon_of_candidates(self, constituent: int, target: int) -> int | None:
        """Return how long before the target any candidate for a constituent can be.

        What is asked of the one that was chosen does not count: an older one may have been the first.
        """
        limits = [
            limit
            for limit in self._certain()
            if limit.reason.owner == constituent or constituent not in {limit.earlier[0], limit.later[0]}
        ]
        return bounds_to(self._end(target), limits).get(self._end(constituent))

    def _certain(self) -> list[TimeLimit]:
        return [limit for limit in self.limits if limit.reason.owner not in self._aside]

    def _end(self, constituent: int) -> Instant:
        return self._clock.instant(constituent, Edge.END)

    def _say_interval(self, constituent: Constituent) -> None:
        if not self._clock.lasts(constituent.index):
            return
        reason = Reason(constituent.span, constituent.index)
        start, end = self._clock.instant(constituent.index, Edge.START), self._end(constituent.index)
        self.limits.append(Limit(end, start, 0, reason))
        length_ms = self.lengths.get(constituent.event.name)
        if length_ms is not None:
            self.limits.append(Limit(start, end, length_ms, reason))


def _is_inside(span: Span, other: Span) -> bool:
    return span != other and other.start <= span.start and span.end <= other.end
