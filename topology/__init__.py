"""The language and the plan: text to tokens, tree, passes, plan."""

from tocsin.topology.compiler import compile_rules, format_rules, parse, replan
from tocsin.topology.errors import AppNameError, Diagnostic, RuleErrors, Source, Span, TocsinError
from tocsin.topology.plan import EventType, Origin, Plan, PlanField, RuleSummary
from tocsin.topology.terms import Scalar

__all__ = [
    "AppNameError",
    "Diagnostic",
    "EventType",
    "Origin",
    "Plan",
    "PlanField",
    "RuleErrors",
    "RuleSummary",
    "Scalar",
    "Source",
    "Span",
    "TocsinError",
    "compile_rules",
    "format_rules",
    "parse",
    "replan",
]
