"""Operators of the plan, in the words of the language."""

from collections.abc import Sequence

from tocsin.topology.nodes import Operator, OperatorNode
from tocsin.topology.printer import print_ms


def operation(node: OperatorNode, operands: Sequence[str], sampled: str | None = None) -> str:  # noqa: PLR0911 (one case an operator)
    """Return what an operator does with its operands, and which attribute of the last it collects."""
    details = dict(node.details)
    star = "*" if details.get("star") else ""
    match node.operator:
        case Operator.OR | Operator.AND:
            return f" {node.operator} ".join(operands)
        case Operator.SEQ:
            return " ; ".join(operands)
        case Operator.ANY:
            return f"any({details.get('count')}, {', '.join(operands)}{star})"
        case Operator.APERIODIC:
            return f"aperiodic{star}({', '.join(operands)})"
        case Operator.PERIODIC:
            every = print_ms(int(details.get("every_ms", 0)))
            collect = "" if sampled is None else f" collect {operands[2]}.{sampled}"
            return f"periodic{star}({operands[0]}, {every}{collect}, {operands[1]})"
        case Operator.NOT:
            first, absent, last = operands
            return f"not({absent})[{first}, {last}]"
        case Operator.PLUS:
            return f"{operands[0]} + {print_ms(int(details.get('delay_ms', 0)))}"
        case Operator.MODIFIED:
            return f"{details.get('modifier', 'end')} {operands[0]}"
