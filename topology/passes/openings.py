"""Openings: a match that is evaluated for each value of a parameter begins with an event, which has one."""

from tocsin.topology import sources
from tocsin.topology.model import Compilation, Rule


def check_openings(compilation: Compilation) -> None:
    """Hold that no match with equality parameters begins with the mere passing of time."""
    for rule in compilation.rules:
        if rule.sound and isinstance(rule.source, sources.Match) and rule.equality_parameters():
            with compilation.judging(rule):
                _check(rule.source.root, rule, compilation)


def _check(root: sources.MatchNode, rule: Rule, compilation: Compilation) -> None:
    if begins_alone(root):
        name = rule.equality_parameters()[0].name
        compilation.report.error(
            f"this match can begin without an event, but only an event has a value for `${name}`",
            rule.declaration.name.span,
            "begin with an event: `A then not B for 1 min`, `A then wait 1 min`",
        )


def begins_alone(root: sources.MatchNode) -> bool:
    """Tell whether a match can begin with the mere passing of time."""
    return any(isinstance(node, sources.Wait | sources.Absent) for node in _opening(root))


def _opening(node: sources.MatchNode) -> list[sources.MatchNode]:
    """Return the nodes that a match can begin with."""
    match node:
        case sources.Step() | sources.Wait() | sources.Absent():
            return [node]
        case sources.Then():
            behind = _opening(node.right) if _can_be_nothing(node.left) else []
            return [*_opening(node.left), *behind]
        case sources.All() | sources.OneOf() | sources.Alternatives():
            return [opening for part in node.parts for opening in _opening(part)]
        case sources.Repeat() if node.until is not None:
            return [*_opening(node.operand), *_opening(node.until)]
        case sources.Denied():
            return []
        case _:
            return _opening(node.operand)


def _can_be_nothing(node: sources.MatchNode) -> bool:  # noqa: PLR0911 (one case a kind)
    """Tell whether a match can come true where it is started."""
    match node:
        case sources.Step() | sources.Wait() | sources.Absent():
            return False
        case sources.Denied():
            return True
        case sources.Then():
            return _can_be_nothing(node.left) and _can_be_nothing(node.right)
        case sources.All():
            return all(_can_be_nothing(part) for part in node.parts)
        case sources.OneOf() | sources.Alternatives():
            return any(_can_be_nothing(part) for part in node.parts)
        case sources.Repeat():
            return node.until is None and (node.low == 0 or _can_be_nothing(node.operand))
        case _:
            return _can_be_nothing(node.operand)
