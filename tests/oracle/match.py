"""Matches: what `from match …` means, over a whole history.

`[[M]](s)`, the *run* of an expression started at s, is the list of its Matches in the order of their
positions, and its end, if it has one: from there on nothing more can come of it. An end is a Fail, or M is
*through*. Each method below is the definition of one construct, by recursion over the expression; s carries
what was taken before (`env`) and which of the events to come the first step takes (`take`).

Time goes by in events and in timers; the timers of one match that are due at one time stand at one position.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import product

from tests.oracle.history import Found, Occurrence, Position, composite, in_order, timer
from tests.oracle.match_runs import Env, Match, Run, Start, cut, failure, in_time, succeeded, through, united
from tests.oracle.valuations import Leaf, Valuation, valuations
from tests.oracle.values import Scope, holds
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import SkipTo, Take

STARTS_LIMIT = 200_000
"""How many runs the oracle is willing to look at: what is repeated with `each` grows as 2ⁿ."""


def detect(definition: tree.Define | tree.Rule, world: World) -> list[Found]:
    """The occurrences of a match: of every valuation on its own, after `disjoint` or `skip`."""
    source = definition.source if isinstance(definition, tree.Define) else definition.trigger
    assert isinstance(source, tree.Match)
    written = list(steps(source.expr))
    leaves = {id(step): Leaf(step.occurrence, world) for step in written}
    found: list[Found] = []
    for valuation in valuations([leaves[id(step)] for step in written]):
        matcher = Matcher(world, world.order(definition), leaves, valuation)
        found += kept(definition.detection, matcher.occurrences(definition.name.text, source.expr))
    return found


def steps(expr: tree.MatchExpr) -> Iterator[tree.Step]:
    """The steps of an expression, in the order in which they are written.

    A repeated one is there twice, as it stands for several events: `Temp(area = $a){10}` are ten of one area.
    """
    if isinstance(expr, tree.Step):
        yield expr
    for operand in expr.operands:
        yield from steps(operand)
    if isinstance(expr, tree.Repeat) and expr.high != 1:
        yield from steps(expr.operand)


# --- the constructs -----------------------------------------------------------------------------------------


@dataclass
class Matcher:
    """Runs the expressions of one match for one valuation."""

    world: World
    order: int
    leaves: Mapping[int, Leaf]
    valuation: Valuation
    starts: int = field(default=0, init=False)

    def occurrences(self, name: str, expr: tree.MatchExpr) -> list[Found]:
        """Every Match at the root is an occurrence; one at the very start, before any event, is none."""
        beginning = Position(self.world.since, -1)
        found: list[Found] = []
        times: Counter[object] = Counter()
        for match in self.run(expr, Start(beginning, Env())).matches:
            if match.at == beginning:
                continue
            occurrence = composite(name, match.env.roles, match.at)
            label = (occurrence.label, match.at)
            times[label] += 1
            parameters = dict(match.env.parameters) | dict(self.valuation.values)
            occurrence = replace(occurrence, label=(*label, times[label]))
            found.append(Found(occurrence, parameters, self.valuation.values))
        return found

    def run(self, expr: tree.MatchExpr, start: Start) -> Run:  # noqa: C901, PLR0911, PLR0912 (one case a kind)
        """`[[expr]](start)`."""
        self.starts += 1
        assert self.starts <= STARTS_LIMIT, "too many ways to match for the oracle"
        match expr:
            case tree.Step():
                return self.step(expr, start)
            case tree.Taking(take=take, operand=operand):
                return self.run(operand, replace(start, take=take))
            case tree.Then(left=left, right=right):
                return self.then(left, right, start)
            case tree.All(parts=parts):
                return self.all_of(parts, start)
            case tree.OneOfMatches(parts=parts):
                return self.one_of(parts, start)
            case tree.Alternatives(parts=parts):
                return united([self.run(part, start) for part in parts])
            case tree.Every(operand=operand):
                return self.every(operand, start)
            case tree.Repeat(until=None):
                return self.repeat(expr, start)
            case tree.Repeat(until=until) if until is not None:
                return self.collect(expr, until, start)
            case tree.InTime():
                return self.within(expr, start)
            case tree.AtMost(operand=operand, count=count):
                run = self.run(operand, start)
                return cut(run, run.matches[count]) if len(run.matches) > count else run
            case tree.While(operand=operand, condition=condition):
                run = self.run(operand, start)
                wrong = (match for match in run.matches if not holds(condition, match.env.scope()))
                return cut(run, next(wrong, None))
            case tree.Wait(duration=duration, alias=alias):
                return self.wait(start, duration.ms, alias)
            case tree.Denied(operand=operand):
                here = Match(start.at, start.env)
                denied = self.run(operand, start).matches
                return failure(denied[0].at, [here]) if denied else Run([here])
            case tree.Absent():
                return self.absent(expr, start)
            case _:
                raise AssertionError(expr)

    # --- events

    def step(self, step: tree.Step, start: Start) -> Run:
        """The first event after the start that fits, each of them, or the next of the stream if it fits."""
        leaf = self.leaves[id(step)]
        coming = [o for o in self.candidates[id(step)] if o.position > start.at]
        match start.take:
            case Take.FIRST:
                first = next((match for o in coming if (match := self.taken(leaf, o, start))), None)
                return through(first) if first else Run()
            case Take.EACH:
                return Run([match for o in coming if (match := self.taken(leaf, o, start))])
            case Take.NEXT:
                following = next((o for o in self.stream if o.position > start.at), None)
                if following is None:
                    return Run()
                match = self.taken(leaf, following, start) if following in coming else None
                return through(match) if match else failure(following.position)

    def taken(self, leaf: Leaf, occurrence: Occurrence, start: Start) -> Match | None:
        """The Match with this event, if it fulfils what the step asks beside its own conditions."""
        parameters = leaf.parameters(occurrence)
        scope = Scope(
            own=occurrence,
            roles=start.env.roles,
            parameters={**dict(start.env.parameters), **parameters, **dict(self.valuation.values)},
            previous=start.previous,
        )
        if all(holds(condition, scope) for condition in (*leaf.others_conditions, start.condition)):
            return Match(occurrence.position, start.env.with_taken(leaf.role, occurrence, parameters))
        return None

    @cached_property
    def candidates(self) -> Mapping[int, Sequence[Occurrence]]:
        """What fulfils the own conditions of each step and fits the valuation."""
        return {key: self.valuation.candidates(leaf) for key, leaf in self.leaves.items()}

    @cached_property
    def stream(self) -> Sequence[Occurrence]:
        """The stream of the match: all events of the types it names, of the valuation; no conditions."""
        return in_order(
            {
                occurrence
                for leaf in self.leaves.values()
                for occurrence in self.world.leaf(leaf.expr)
                if self.valuation.admits(leaf, occurrence)
            }
        )

    # --- one after the other, together, one of them

    def then(self, left: tree.MatchExpr, right: tree.MatchExpr, start: Start) -> Run:
        """Every Match of the left starts the right."""
        first = self.run(left, start)
        rest = [self.run(right, start.behind(match)) for match in first.matches]
        return succeeded(first, rest)

    def all_of(self, parts: Sequence[tree.MatchExpr], start: Start) -> Run:
        """A Match of a part together with each combination of the others' so far.

        The first Fail ends it, and comes before what else is at its position. It is through with the last
        part; those denied are never waited for.
        """
        runs = [self.run(part, start) for part in parts]
        awaited = [run for part, run in zip(parts, runs, strict=True) if not isinstance(part, tree.Denied)]
        failed = min((run.end for run in runs if run.end is not None and run.failed), default=None)
        done = None
        if awaited and all(run.end is not None and not run.failed for run in awaited):
            done = max(run.end for run in awaited if run.end is not None)
        arrivals = sorted(
            ((match.at, i, match) for i, run in enumerate(runs) for match in run.matches),
            key=lambda arrival: arrival[:2],
        )
        so_far: list[list[Match]] = [[] for _ in parts]
        matches = []
        for at, i, match in arrivals:
            if (failed is not None and at >= failed) or (done is not None and at > done):
                break
            so_far[i].append(match)
            choices = [[match] if other == i else so_far[other] for other in range(len(parts))]
            matches += [
                Match(at, start.env.joined(one.env for one in choice)) for choice in product(*choices)
            ]
        if failed is not None and (done is None or failed <= done):
            return failure(failed, matches)
        return Run(matches, done)

    def one_of(self, parts: Sequence[tree.MatchExpr], start: Start) -> Run:
        """Every Match of a part, up to where the first of them is through. It fails with the last."""
        runs = [self.run(part, start) for part in parts]
        done = min(
            ((run.end, i) for i, run in enumerate(runs) if run.end is not None and not run.failed),
            default=None,
        )
        if done is None:
            return united(runs)
        arrivals = [(match.at, i, match) for i, run in enumerate(runs) for match in run.matches]
        until_then = sorted((a for a in arrivals if a[:2] <= done), key=lambda arrival: arrival[:2])
        return Run([match for *_, match in until_then], done[0])

    # --- again and again

    def every(self, operand: tree.MatchExpr, start: Start) -> Run:
        """At each Match and each Fail of an instance a fresh one is started; it never ends.

        An instance that comes true or fails where it was started is dropped: it would do so for ever.
        """
        matches: list[Match] = []
        pending = [start.at]
        while pending:
            at = pending.pop(0)
            run = self.run(operand, replace(start, at=at))
            if any(match.at == at for match in run.matches):
                continue
            matches += run.matches
            pending += [match.at for match in run.matches]
            if run.failed and run.end is not None and run.end > at:
                pending.append(run.end)
        return Run(in_time(matches))

    def repeat(self, repeat: tree.Repeat, start: Start) -> Run:
        """A Match at each number of iterations from low to high; each starts where the last came true.

        It fails where nothing can come any more and it has never been true; otherwise it is through there.
        """
        # Iterations are as many as events, too many for recursion: each stands behind the one that led to it.
        starts = [(0, start)]
        iterations: list[tuple[Run | None, range]] = []
        for count, begun in starts:
            run = None if count == repeat.high else self.run(repeat.operand, begun)
            matches = run.matches if run else ()
            iterations.append((run, range(len(starts), len(starts) + len(matches))))
            starts += [(count + 1, self.next_start(repeat, match)) for match in matches]
        runs: dict[int, Run] = {}
        for number in reversed(range(len(starts))):
            (count, begun), (iteration, following) = starts[number], iterations[number]
            here = [Match(begun.at, begun.env)] if count >= repeat.low else []
            rest = Run((), begun.at)
            if iteration is not None:
                rest = succeeded(iteration, [runs.pop(later) for later in following])
            failed = rest.failed and not here and not rest.matches
            runs[number] = Run([*here, *rest.matches], rest.end, failed=failed)
        return runs[0]

    def next_start(self, repeat: tree.Repeat, match: Match) -> Start:
        previous = match.env.taken[-1][1] if match.env.taken else None
        return Start(match.at, match.env, repeat.take, previous, repeat.condition)

    def collect(self, repeat: tree.Repeat, until: tree.MatchExpr, start: Start) -> Run:
        """Iterations one after the other, up to `high`, until U comes true: a Match if there are enough.

        U wins over an element at its position. Where U fails or an iteration does, the whole fails.
        """
        ending = self.run(until, Start(start.at, start.env))
        closing = ending.matches[0] if ending.matches else None
        closed = closing.at if closing else ending.end
        env, count = start.env, 0
        iteration: Start | None = start
        while iteration is not None and count != repeat.high:
            begun, run = iteration, self.run(repeat.operand, iteration)
            iteration = None
            room = None if repeat.high is None else repeat.high - count
            elements = [match for match in run.matches if closed is None or match.at < closed][:room]
            env = env.joined(match.env for match in elements)
            count += len(elements)
            if run.end is None or (closed is not None and run.end >= closed) or count == repeat.high:
                break
            if run.failed:
                return failure(run.end)
            if run.end > begun.at:
                iteration = self.next_start(repeat, Match(run.end, env))
        if closing and count >= repeat.low:
            return through(Match(closing.at, start.env.joined([env, closing.env])))
        return Run() if closed is None else failure(closed)

    # --- time

    def due(self, time: int) -> Position | None:
        """The position of a timer, if time comes that far."""
        return Position(time, 1, (self.order,)) if time <= self.world.until else None

    def origin(self, since: tree.Name | None, at: Position, env: Env) -> int | None:
        """Where a duration counts from: the start, or the first event of a role; None if it has none."""
        if since is None:
            return at.time
        players = env.roles.get(since.text, ())
        return players[0].time if players else None

    def within(self, expr: tree.InTime, start: Start) -> Run:
        """Matches up to the deadline; a Fail there if it is not through."""
        origin = self.origin(expr.since, start.at, start.env)
        if origin is None:
            return self.within_from_inside(expr, start)
        run = self.run(expr.operand, start)
        last = origin + expr.duration.ms
        if run.end is not None and run.end.time <= last:
            return run
        matches = [match for match in run.matches if match.at.time <= last]
        deadline = self.due(last)
        return Run(matches) if deadline is None else failure(max(deadline, start.at), matches)

    def within_from_inside(self, expr: tree.InTime, start: Start) -> Run:
        """The deadline is known as soon as the role it counts from has an event: what comes then is in time.

        Where that is not a part of its own, as in a repeat, each Match has its deadline and none is a Fail.
        """
        limits, operand = [expr], expr.operand
        while isinstance(operand, tree.InTime) and self.origin(operand.since, start.at, start.env) is None:
            limits.append(operand)
            operand = operand.operand

        def limited(part: tree.MatchExpr) -> tree.MatchExpr:
            if isinstance(part, tree.Denied):
                return part
            return reduce(lambda inner, limit: replace(limit, operand=inner), reversed(limits), part)

        match operand:
            case tree.Step() | tree.Wait():
                return self.run(operand, start)
            case tree.Then(left=left, right=right):
                return self.then(limited(left), limited(right), start)
            case tree.OneOfMatches(parts=parts) | tree.Alternatives(parts=parts):
                return self.run(replace(operand, parts=tuple(map(limited, parts))), start)
            case tree.Taking() | tree.Every() | tree.InTime() | tree.While() as around:
                return self.run(replace(around, operand=limited(around.operand)), start)
            case tree.All(parts=parts):
                run = self.all_of([limited(part) for part in parts], start)
            case _:
                run = self.run(operand, start)
        timely = [match for match in run.matches if all(self.timely(limit, match) for limit in limits)]
        return replace(run, matches=timely)

    def timely(self, expr: tree.InTime, match: Match) -> bool:
        origin = self.origin(expr.since, match.at, match.env)
        return origin is None or match.at.time <= origin + expr.duration.ms

    def wait(self, start: Start, duration_ms: int, alias: tree.Name | None) -> Run:
        """True, and through, when the time is up."""
        at = self.due(start.at.time + duration_ms)
        if at is None:
            return Run()
        if alias is None:
            return through(Match(at, start.env))
        occurrence = timer(at, ("wait", self.order, alias.text, at))
        return through(Match(at, start.env.with_taken(alias.text, occurrence, {})))

    def absent(self, expr: tree.Absent, start: Start) -> Run:
        """True, and through, when the time is up and the operand has not come true; a Fail where it does."""
        origin = self.origin(expr.since, start.at, start.env)
        assert origin is not None, "the role is bound before"
        deadline = self.due(origin + expr.duration.ms)
        present = self.run(expr.operand, Start(start.at, start.env, start.take)).matches
        if present and (deadline is None or present[0].at <= deadline):
            return failure(present[0].at)
        return Run() if deadline is None else through(Match(max(deadline, start.at), start.env))


# --- which of them are passed on ----------------------------------------------------------------------------


def kept(detection: tree.Detection | None, found: Sequence[Found]) -> list[Found]:
    """What `disjoint` and `skip` leave, in order of completion; at one position the one that started first.

    After an occurrence was passed on, those are dropped that start too early.
    """
    if detection is None or not (detection.disjoint or detection.skip):
        return list(found)
    passed: list[Found] = []
    for one in sorted(found, key=completion):
        if all(allowed(detection, before.occurrence, one.occurrence) for before in passed):
            passed.append(one)
    return passed


def completion(found: Found) -> tuple[Position, Position, list[Position]]:
    occurrence = found.occurrence
    return occurrence.position, occurrence.initiated, sorted(c.position for c in occurrence.constituents)


def allowed(detection: tree.Detection, before: Occurrence, candidate: Occurrence) -> bool:
    """Whether a candidate starts late enough after one that was passed on before it."""
    if detection.skip is None:
        return candidate.initiated > before.position
    if detection.skip.to is SkipTo.NEXT:
        return candidate.initiated > before.initiated
    assert detection.skip.role is not None
    players = before.roles.get(detection.skip.role.text, ())
    if not players:
        return True
    return candidate.initiated >= players[0 if detection.skip.to is SkipTo.FIRST else -1].initiated
