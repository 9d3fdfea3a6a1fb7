"""Which plans workers can run: the language is larger than what they can do so far."""

from tocsin.topology.plan import Placement, Plan, Subtopology
from tocsin.topology.subscribers import RuleNode
from tocsin.workers.errors import NotRunnable


def sole_subtopology(plan: Plan) -> Subtopology:
    """Return the one sub-topology of a plan that workers can run, or raise NotRunnable."""
    if not plan.subtopologies:
        raise NotRunnable("The file defines nothing: there is no rule to run.")
    for rule in plan.summary():
        if rule.kind != Placement.LOCAL:
            raise NotRunnable(
                f"{rule.name} cannot run yet: its constituents are not tied by the keys of their topics, and "
                "workers run only rules that are local. 'tocsin check' shows where each rule belongs."
            )
    for node in plan.nodes:
        if isinstance(node, RuleNode):
            raise NotRunnable(f"{node.rule} cannot run yet: it acts, and workers only detect so far.")
    return plan.subtopologies[0]
