"""Nesting: of two operands, one has all equality parameters of the other, so that these can join them."""

from tocsin.topology import sources
from tocsin.topology.model import Compilation, Rule


def check_nesting(compilation: Compilation) -> None:
    """Hold that of any two operands of an operator, one has all equality parameters of the other."""
    for rule in compilation.rules:
        if not rule.sound or isinstance(rule.source, sources.Pattern | sources.When):
            continue
        root = rule.source.root if isinstance(rule.source, sources.Match) else rule.source
        with compilation.judging(rule):
            _check(root, rule, compilation)


def _check(node: sources.Operator, rule: Rule, compilation: Compilation) -> bool:
    """Check the operators from the leaves up, and tell whether all is well; one report a rule is enough."""
    operands = sources.operands(node)
    if not all(_check(operand, rule, compilation) for operand in operands):
        return False
    met: list[frozenset[str]] = []
    for operand in operands:
        own = _parameters(operand, rule)
        apart = next((other for other in met if not (own <= other or other <= own)), None)
        if apart is not None:
            _report(operand, min(own - apart), min(apart - own), rule, compilation)
            return False
        met.append(own)
    return True


def _parameters(node: sources.Operator, rule: Rule) -> frozenset[str]:
    """Return the equality parameters at and below a node, the numbers of grouped events apart."""
    names = (name for index in sources.constituents_of(node) for name in rule.constituents[index].equalities)
    return frozenset(name for name in names if not name.startswith("["))


def _report(node: sources.Operator, own: str, other: str, rule: Rule, compilation: Compilation) -> None:
    found = (rule.constituents[index] for index in sources.constituents_of(node))
    constituent = next(c for c in found if own in c.equalities)
    compilation.report.error(
        f"`{constituent.role}` has `${own}` but not `${other}`, and is joined with what has only `${other}`",
        constituent.span,
        "of two parts that are joined, one must have all the parameters of the other that tie constituents",
    )
