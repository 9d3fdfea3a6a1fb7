"""The words of the language, and which of them cannot be names where."""

from tocsin.topology.tree import Modifier, RelationOp, Selection, Unit

OPENERS = ("event", "operation", "unit", "enum", "fact", "priorities", "define", "rule")
"""What a declaration may start with."""

MODIFIERS = {modifier.value: modifier for modifier in Modifier}
SELECTIONS = {selection.value: selection for selection in Selection}
RELATIONS = {op.value: op for op in RelationOp}

UNITS = {
    "ms": Unit.MILLISECOND,
    "millisecond": Unit.MILLISECOND,
    "milliseconds": Unit.MILLISECOND,
    "s": Unit.SECOND,
    "second": Unit.SECOND,
    "seconds": Unit.SECOND,
    "min": Unit.MINUTE,
    "minute": Unit.MINUTE,
    "minutes": Unit.MINUTE,
    "h": Unit.HOUR,
    "hour": Unit.HOUR,
    "hours": Unit.HOUR,
    "day": Unit.DAY,
    "days": Unit.DAY,
    "week": Unit.WEEK,
    "weeks": Unit.WEEK,
}

NOT_ATTRIBUTES = frozenset({"and", "or", "not", "true", "false", "null"})
"""What means something in every expression; everything else can be the name of an attribute."""

NOT_ROLES = NOT_ATTRIBUTES | {
    *("as", "define", "event", "from", "rule", "where", "within"),
    *("do", "if", "then", "when"),
}
"""What would be read as the next part of a rule where a constituent's name is missing."""

NOT_EVENTS = NOT_ROLES | {
    *OPENERS,
    *MODIFIERS,
    *SELECTIONS,
    *("all", "any", "aperiodic", "every", "match", "next", "periodic", "Timer", "wait"),
}
"""What opens something else than an occurrence where an event may stand."""

CLAUSES = ("if", "where", "consuming", "context", "disjoint", "skip", "at", "unbounded")
RULE_CLAUSES = ("if", *CLAUSES[2:], "coupling", "priority", "trigger", "inactive")

EVENT_CLAUSES = ("of", "on", "key", "id", "time", "start", "lateness", "idle", "nulls", "unit")

STARTS_LINE = NOT_EVENTS | {*CLAUSES, *RULE_CLAUSES, *EVENT_CLAUSES}
"""Such a word at the start of a line belongs to what comes next: what is missing is missing before it."""
