"""Which plans workers can run: the language is larger than what they can do so far."""

from tocsin.topology.plan import Plan
from tocsin.topology.subscribers import RuleNode
from tocsin.workers.errors import NotRunnable


def check_runnable(plan: Plan) -> None:
    """Raise NotRunnable for a plan that workers cannot run."""
    if not plan.subtopologies:
        raise NotRunnable("The file defines nothing: there is no rule to run.")
    for node in plan.nodes:
        if isinstance(node, RuleNode):
            raise NotRunnable(f"{node.rule} cannot run yet: it acts, and workers only detect so far.")
