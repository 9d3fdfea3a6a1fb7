"""What a few tokens ahead tell: whether a part of a pattern is a condition, a bound or an aggregate."""

from tocsin.topology.parsing.cursor import Cursor
from tocsin.topology.parsing.words import RELATIONS, UNITS
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import COMPARISONS, Modifier, Selection

_RANGES = frozenset({"between", "within", "before"})
_BEHIND_CALL = frozenset({*COMPARISONS, "-", "*", "/", "%", "is", "in"})
"""What follows a value and no event; `Temp(…) + 5 min` is one."""
_BEFORE_EVENT = frozenset({*Selection, *Modifier})
"""What an event may follow, whose name may be that of a relation: `last after within 3 min from s`."""


def opens_condition(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether a condition is next: something that neither an event nor a part of a pattern begins with."""
    before = ""
    while cursor.peek(ahead).text in {"(", "not", "-"}:
        before = cursor.peek(ahead).text
        ahead += 1
    first, second = cursor.peek(ahead), cursor.peek(ahead + 1).text
    match first.kind:
        case Kind.PARAMETER | Kind.FLOAT | Kind.STRING:
            return True
        case Kind.INTEGER:
            return second in UNITS or second in _BEHIND_CALL or second == "+"
        case Kind.WORD if second == "(":
            return cursor.peek(_behind_parenthesis(cursor, ahead + 2)).text in _BEHIND_CALL
        case Kind.WORD if first.text in _BEFORE_EVENT:
            return second == "."
        case Kind.WORD if second in RELATIONS:
            # `not Rain before s` is a negation, and `Temp before s` one of which it is not said which.
            plain = second != "before" or cursor.peek(ahead + 2).text == "["
            return plain or not (before == "not" or first.text[:1].isupper())
        case _:
            return first.kind is Kind.WORD and second == "."


def opens_call(cursor: Cursor) -> bool:
    """Whether a function is called, where no event can stand without a word before it."""
    if cursor.token.kind is not Kind.WORD or cursor.peek().text != "(" or cursor.token.text[:1].isupper():
        return False
    return cursor.peek(_behind_parenthesis(cursor, 2)).text not in {"as", *_RANGES}


def opens_comparison(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether an attribute is compared that nobody says the event of."""
    return cursor.peek(ahead).kind is Kind.WORD and cursor.peek(ahead + 1).text in COMPARISONS


def opens_bound(cursor: Cursor, ahead: int = 0) -> bool:
    """Whether `t within 8 s from s` is next."""
    name, within, amount, unit, after = (cursor.peek(ahead + n) for n in range(5))
    return (
        name.kind is Kind.WORD
        and within.text == "within"
        and amount.kind is Kind.INTEGER
        and unit.text in UNITS
        and after.text == "from"
    )


def opens_aggregate(cursor: Cursor) -> bool:
    """Whether `$m = avg(…` goes on as `…) within 3 min from s` does, and is no comparison with a value."""
    parameter, equals, function, bracket = (cursor.peek(n) for n in range(4))
    if parameter.kind is not Kind.PARAMETER or function.kind is not Kind.WORD:
        return False
    if (equals.text, bracket.text) != ("=", "("):
        return False
    depth, ahead = 1, 4
    while depth and (token := cursor.peek(ahead)).kind is not Kind.END:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        ahead += 1
        if token.text == ")" and cursor.peek(ahead).text == ".":
            return True
    return cursor.peek(ahead).text in _RANGES


def _behind_parenthesis(cursor: Cursor, ahead: int) -> int:
    """Return how far ahead the token is that stands behind a parenthesis just opened."""
    depth = 1
    while depth and (token := cursor.peek(ahead)).kind is not Kind.END:
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        ahead += 1
    return ahead
