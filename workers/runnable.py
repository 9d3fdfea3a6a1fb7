"""Which plans workers can run: the language is larger than what they can do so far."""

from collections.abc import Iterator

from tocsin.topology.passes.openings import begins_alone
from tocsin.topology.plan import DefineNode, MatchingNode, Plan, RuleNode, Subtopology, TimerNode
from tocsin.topology.planning.reach import below
from tocsin.workers.errors import NotRunnable
from tocsin.workers.topics import sent_on


def check_runnable(plan: Plan, *, exactly_once: bool = True) -> None:
    """Raise NotRunnable for a plan that workers cannot run."""
    if not plan.subtopologies:
        raise NotRunnable("The file defines nothing: there is no rule to run.")
    for node in plan.nodes:
        if isinstance(node, RuleNode):
            raise NotRunnable(f"{node.rule} cannot run yet: it acts, and workers only detect so far.")
    if not exactly_once and (sent := sent_on(plan)):
        # An event that is sent again would be another one where it arrives.
        raise NotRunnable(
            f"These rules cannot run at least once: events are sent on by {', '.join(sorted(sent))}, which "
            "needs transactions. Tie the events by the keys of their topics, or run exactly once."
        )
    for sub in plan.subtopologies:
        # What is sent on does not tell when time began, and where there is no topic nothing does.
        for rule in _beginning_alone(plan, sub) if plan.behind(sub) or not sub.topics else ():
            raise NotRunnable(
                f"{rule} cannot run yet: it may begin with a time alone, and its events are not tied by the "
                "keys of their topics, or these differ in their partitions. Tie them by a key, or let it "
                "begin with an event."
            )


def _beginning_alone(plan: Plan, sub: Subtopology) -> Iterator[str]:
    """Yield the definitions of a sub-topology that may begin without an event."""
    for number in sub.subscribers:
        node = plan.nodes[number]
        alone = any(_begins_alone(plan.nodes[other]) for other in below(number, plan.nodes))
        if isinstance(node, DefineNode) and alone:
            yield node.rule


def _begins_alone(node: object) -> bool:
    """Tell whether something may begin with a time of the calendar, or with what stays away."""
    match node:
        case TimerNode():
            return True
        case MatchingNode():
            return begins_alone(node.program)
        case _:
            return False
