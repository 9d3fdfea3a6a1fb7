"""Match programs: how the typed tree of a match is renumbered and written into the plan."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tocsin.topology.sources import (
    Absent,
    All,
    Alternatives,
    AtMost,
    Denied,
    Every,
    InTime,
    MatchNode,
    OneOf,
    Repeat,
    Step,
    Taking,
    Then,
    Wait,
    While,
    operands,
)
from tocsin.topology.terms import renumber

Dict = dict[str, Any]

_JOINED = {Then: "then", All: "and", OneOf: "or", Alternatives: "alternatives"}


def renumber_program(  # noqa: PLR0911 (one case a kind)
    node: MatchNode, slots: Mapping[int, int], parameters: Mapping[str, int]
) -> MatchNode:
    """Return the program with constituents and equality parameters by other numbers."""

    def again(part: MatchNode) -> MatchNode:
        return renumber_program(part, slots, parameters)

    match node:
        case Step(constituent):
            return Step(slots[constituent])
        case Wait():
            return replace(node, tick=slots[node.tick])
        case Then(left, right):
            return Then(again(left), again(right))
        case OneOf() | All() | Alternatives():
            return replace(node, parts=tuple(map(again, node.parts)))
        case Repeat():
            condition = None if node.condition is None else renumber(node.condition, slots, parameters)
            until = None if node.until is None else again(node.until)
            return replace(node, operand=again(node.operand), condition=condition, until=until)
        case While(operand, condition):
            return While(again(operand), renumber(condition, slots, parameters))
        case InTime() | Absent():
            since = None if node.since is None else slots[node.since]
            return replace(node, operand=again(node.operand), since=since)
        case Taking() | Every() | AtMost() | Denied():
            return replace(node, operand=again(node.operand))


def program_to_dict(node: MatchNode) -> Dict:  # noqa: PLR0911 (one case a kind)
    """Return the JSON form of a program."""
    match node:
        case Step(slot):
            return {"op": "step", "slot": slot}
        case Wait():
            return {"op": "wait", "delay_ms": node.delay_ms, "slot": node.tick}
        case Then() | All() | OneOf() | Alternatives():
            return {"op": _JOINED[type(node)], "of": [program_to_dict(part) for part in operands(node)]}
        case Taking():
            return {"op": "taking", "take": node.take.value, "of": program_to_dict(node.operand)}
        case Every() | Denied():
            name = "every" if isinstance(node, Every) else "not"
            return {"op": name, "of": program_to_dict(node.operand)}
        case AtMost():
            return {"op": "at_most", "count": node.count, "of": program_to_dict(node.operand)}
        case While():
            return {
                "op": "while",
                "where": node.condition.to_list(),
                "of": program_to_dict(node.operand),
            }
        case InTime() | Absent():
            return {
                "op": "within" if isinstance(node, InTime) else "absent",
                "within_ms": node.within_ms,
                "since": node.since,
                "of": program_to_dict(node.operand),
            }
        case Repeat():
            return {
                "op": "repeat",
                "low": node.low,
                "high": node.high,
                "take": node.take.value,
                "where": None if node.condition is None else node.condition.to_list(),
                "until": None if node.until is None else program_to_dict(node.until),
                "of": program_to_dict(node.operand),
            }
