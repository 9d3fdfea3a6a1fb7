"""What the tests of the plan share: declarations, and the plan's plain data by kind."""

from typing import Any

from tocsin.topology import Plan, RuleErrors, compile_rules

EVENTS = """
enum State { OFFLINE, ONLINE, ACTIVE };
event Temp (area: string, value: double, at: timestamp) on "temps" key area time at;
event Smoke (area: string, level: long) on "smoke" key area;
event Rain (area: string, mm: double) on "rain" key area;
event Badge (person: string, area: string) on "badges" key person;
event Tag (id: string) on "tags";
event Stay (area: string, began: timestamp) on "stays" key area start began;
event Alarm (id: string, eqpt: string) on "alarms" key eqpt id id;
event Confirm (alarm: string, eqpt: string) on "confirms" key eqpt;
event Page (who: string);
operation Set (oid: string, price: double) on "sets" key oid;
fact Equipment (id: string, state: State) key id on "equipment";
fact Confirmed (eqpt: string, alarm: string) key eqpt;
"""

Node = dict[str, Any]


def compiled(rules: str) -> Plan:
    """Compile rules over the shared declarations."""
    return compile_rules(EVENTS + rules, app="test")


def nodes(plan: Plan, kind: str) -> list[Node]:
    """Return the nodes of a kind."""
    return [node for node in plan.to_dict()["nodes"] if node["kind"] == kind]


def node(plan: Plan, kind: str) -> Node:
    """Return the only node of a kind."""
    (found,) = nodes(plan, kind)
    return found


def messages(rules: str) -> list[str]:
    """Return what is wrong with rules."""
    try:
        compiled(rules)
    except RuleErrors as errors:
        return [diagnostic.message for diagnostic in errors.diagnostics]
    return []


def placements(plan: Plan) -> dict[str, str]:
    """Return where each rule runs."""
    return {rule.name: rule.kind for rule in plan.summary()}
