"""The one true layout: tree to text, such that reading it back gives the same tree."""

from tocsin.topology.printing.declarations import declaration, program
from tocsin.topology.printing.expressions import print_duration, print_expression, print_ms
from tocsin.topology.tree import Declaration, Program

__all__ = ["print_duration", "print_expression", "print_ms", "print_tree"]


def print_tree(node: Declaration | Program) -> str:
    """Return the canonical text of a declaration, or of a file with all its comments."""
    return program(node) if isinstance(node, Program) else declaration(node)
