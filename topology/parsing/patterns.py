"""What a pattern asks for beside its terminator: selections, bounds, negations, aggregates, conditions."""

from tocsin.topology.errors import Span
from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.expressions import NOT, parse_expression
from tocsin.topology.parsing.lookahead import (
    opens_aggregate,
    opens_bound,
    opens_call,
    opens_comparison,
    opens_condition,
)
from tocsin.topology.parsing.occurrences import parse_constituent, refuse_when
from tocsin.topology.parsing.words import SELECTIONS
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    Aggregated,
    Ahead,
    Backward,
    Between,
    Bounded,
    Condition,
    Constituent,
    Modified,
    Name,
    Negated,
    Occurrence,
    Pattern,
    PatternItem,
    Selected,
    Selection,
    Timer,
)

MAX_ITEMS = 100

_ITEMS = "write `last Temp(…) within …`, `not Rain …`, `$m = avg(…) …`, or a condition such as `$m > 45`"
_EARLIER = "the name of an earlier constituent"


def parse_pattern(cursor: Cursor, terminator: Constituent, start: Span) -> Pattern:
    """Read what follows a terminator that begins at `start`."""
    role = _role(terminator)
    items: list[PatternItem] = []
    while cursor.accept("and"):
        items.append(_item(cursor, role))
        if len(items) > MAX_ITEMS:
            raise ParseError("this pattern is too long", items[-1].span, f"at most {MAX_ITEMS} parts")
    return Pattern(terminator, tuple(items), cursor.since(start))


def opens_item(cursor: Cursor) -> bool:
    """Whether what is next is an `and` that brings an item of a pattern, and not an operand."""
    if not cursor.at("and"):
        return False
    token = cursor.peek()
    if token.kind is Kind.INTEGER or token.text in SELECTIONS:
        return True
    if token.text == "not" and cursor.peek(2).text != "(":
        return True
    return opens_condition(cursor, 1) or opens_comparison(cursor, 1) or opens_bound(cursor, 1)


def _item(cursor: Cursor, role: str) -> PatternItem:
    if opens_condition(cursor):
        return _aggregated(cursor, role) if opens_aggregate(cursor) else _condition(cursor)
    if opens_call(cursor) and not cursor.at("not"):
        return _condition(cursor)
    if opens_comparison(cursor):
        name = cursor.token
        hint = f"name its event, like `{role}.{name.text}`, or put the condition into the event's parentheses"
        raise ParseError(f"it is not clear of which event `{name.text}` is an attribute", name.span, hint)
    if cursor.at("not"):
        return _negated(cursor, role)
    return _bound(cursor) if opens_bound(cursor) else _selected(cursor, role)


def _selected(cursor: Cursor, role: str) -> Selected:
    refuse_when(cursor)
    start = cursor.token
    count = cursor.count("a whole number", low=1) if start.kind is Kind.INTEGER else 1
    example = f"say which one: `last {start.text}(…)`" if start.text[:1].isupper() else _ITEMS
    selection = Selection(cursor.choose(*SELECTIONS, hint=example))
    occurrence = parse_constituent(cursor)
    example = f"say how far back it may lie, like `within 3 min from {role}`"
    within = None
    if cursor.choose("within", "before", hint=example) == "within":
        within = cursor.duration("a duration")
        cursor.expect("from", hint=example)
    anchor = cursor.role(_EARLIER)
    return Selected(selection, occurrence, within, anchor, count, cursor.since(start.span))


def _bound(cursor: Cursor) -> Bounded:
    role = cursor.role(_EARLIER)
    cursor.expect("within")
    within = cursor.duration("a duration")
    cursor.expect("from")
    return Bounded(role, within, cursor.role(_EARLIER), cursor.since(role.span))


def _negated(cursor: Cursor, role: str) -> Negated:
    start = cursor.expect("not").span
    occurrence = parse_constituent(cursor)
    ahead = cursor.at("within") and cursor.peek(3).text == "after"
    when = _ahead(cursor) if ahead else _range(cursor, role)
    return Negated(occurrence, when, cursor.since(start))


def _condition(cursor: Cursor) -> Condition:
    start = cursor.token.span
    expr = parse_expression(cursor, NOT)
    if cursor.at("or"):
        hint = "put it in parentheses: `and ($a > 1 or $b > 2)`"
        raise ParseError("the parts of a pattern are joined by `and`", cursor.token.span, hint)
    return Condition(expr, cursor.since(start))


def _aggregated(cursor: Cursor, role: str) -> Aggregated:
    parameter = cursor.advance()
    cursor.expect("=")
    function = cursor.attribute_name("a function")
    cursor.expect("(")
    limit = None
    if cursor.token.kind is Kind.INTEGER:
        limit = cursor.count("a whole number", low=1)
        cursor.expect("last", hint=f"write `{function}({limit} last …)`")
    occurrence = parse_constituent(cursor)
    attribute = cursor.attribute_name("an attribute") if cursor.accept(".") else None
    argument = _argument(cursor) if cursor.accept(",") else None
    cursor.expect(")", *(() if attribute else (".",)))
    return Aggregated(
        Name(parameter.text[1:], parameter.span),
        function,
        occurrence,
        attribute,
        _range(cursor, role),
        argument,
        limit,
        cursor.since(parameter.span),
    )


def _argument(cursor: Cursor) -> float | int:
    token = cursor.token
    if token.kind not in (Kind.INTEGER, Kind.FLOAT) or not isinstance(token.value, int | float):
        raise cursor.unexpected("a number")
    cursor.advance()
    return token.value


def _range(cursor: Cursor, role: str) -> Between | Backward:
    start = cursor.token.span
    example = f"say in which time, like `within 3 min from {role}` or `between t and {role}`"
    word = cursor.choose("between", "within", "before", hint=example)
    if word == "between":
        first = cursor.role(_EARLIER)
        cursor.expect("and", hint=f"write `between {first} and {role}`")
        return Between(first, cursor.role(_EARLIER), cursor.since(start))
    within = None
    if word == "within":
        within = cursor.duration("a duration")
        cursor.expect("from", hint=example)
    return Backward(within, cursor.role(_EARLIER), cursor.since(start))


def _ahead(cursor: Cursor) -> Ahead:
    start = cursor.expect("within").span
    within = cursor.duration("a duration")
    cursor.expect("after")
    return Ahead(within, cursor.role(_EARLIER), cursor.since(start))


def _role(constituent: Constituent) -> str:
    """Return what a constituent can be called in an example."""
    match constituent:
        case Occurrence():
            return constituent.role
        case Modified(operand=Occurrence() as operand):
            return operand.role
        case Timer(alias=Name() as alias):
            return alias.text
        case _:
            return "t"
