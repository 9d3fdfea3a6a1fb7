"""Tokens to tree: recursive descent, recovering at the end of each declaration."""

from tocsin.topology.parsing.program import parse_program

__all__ = ["parse_program"]
