"""Which plans workers can run: the language is larger than what they can do so far."""

from tocsin._engine import Engine
from tocsin.topology.plan import Placement, Plan, Subtopology
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
    try:
        Engine.check(plan.to_json())
    except ValueError as error:
        raise NotRunnable(f"The rules cannot run yet: {error}.") from error
    return plan.subtopologies[0]
