"""Ties: an equality parameter has a value in every occurrence of an event expression or a match.

They are evaluated for each value on its own. What could occur without any would occur for values that
come later or never, and what is absent or only ends an interval gives none.
"""

from tocsin.topology import sources
from tocsin.topology.model import Compilation, Rule


def check_ties(compilation: Compilation) -> None:
    """Hold that every occurrence has a constituent for each of its equality parameters."""
    for rule in compilation.rules:
        source = rule.source
        if not rule.sound or isinstance(source, sources.Pattern | sources.When):
            continue
        with compilation.judging(rule):
            given = _matched(source.root, rule) if isinstance(source, sources.Match) else _given(source, rule)
            for parameter in rule.equality_parameters():
                if parameter.name not in given:
                    _report(parameter.name, rule, compilation)


def _given(node: sources.Expression, rule: Rule) -> frozenset[str]:  # noqa: PLR0911 (one case a shape)
    """Return the parameters that have a value in every occurrence of a node."""
    match node:
        case sources.Leaf():
            return frozenset(rule.constituents[node.constituent].equalities)
        case sources.Or():
            return _given(node.left, rule) & _given(node.right, rule)
        case sources.And() | sources.Seq():
            return _given(node.left, rule) | _given(node.right, rule)
        case sources.AnyOf():
            choices = [_given(choice, rule) for choice in node.choices]
            # It is missing if all that take part can be such as have none of it.
            return frozenset(
                name
                for name in frozenset().union(*choices)
                if node.star or sum(name not in choice for choice in choices) < node.count
            )
        case sources.Aperiodic(star=False):
            return _given(node.first, rule) | _given(node.middle, rule)
        case sources.Periodic(star=False):
            return _given(node.first, rule)
        case sources.Aperiodic():
            # What has collected nothing has occurred for no value: what is without its middle is none.
            return _given(node.first, rule) | _given(node.middle, rule) | _given(node.last, rule)
        case sources.Periodic() | sources.Not():
            return _given(node.first, rule) | _given(node.last, rule)
        case sources.Point() | sources.Plus() | sources.Within():
            return _given(node.operand, rule)


def _matched(node: sources.MatchNode, rule: Rule) -> frozenset[str]:  # noqa: PLR0911 (one case a kind)
    """Return the parameters that have a value whenever a match comes true."""
    match node:
        case sources.Step():
            return frozenset(rule.constituents[node.constituent].equalities)
        case sources.Then():
            return _matched(node.left, rule) | _matched(node.right, rule)
        case sources.All():
            return frozenset().union(*(_matched(part, rule) for part in node.parts))
        case sources.OneOf() | sources.Alternatives():
            return frozenset.intersection(*(_matched(part, rule) for part in node.parts))
        case sources.Repeat():
            # It comes true by its last element, or by what ends it.
            repeated = _matched(node.operand, rule) if node.low else frozenset[str]()
            ends = node.until is not None and node.high is None
            return repeated | (_matched(node.until, rule) if node.until and ends else frozenset[str]())
        case sources.Denied() | sources.Wait() | sources.Absent():
            return frozenset()
        case _:
            return _matched(node.operand, rule)


def _report(name: str, rule: Rule, compilation: Compilation) -> None:
    constituent = next(c for c in rule.constituents if name in c.equalities)
    shown = name if name.startswith("[") else f"${name}"
    compilation.report.error(
        f"`{rule.name}` can occur with nothing in it that has `{shown}`, which ties constituents",
        constituent.span,
        "let every alternative have it, outside of what is absent or only ends an interval; or define that "
        "part as an event of its own",
    )
