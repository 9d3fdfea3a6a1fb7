"""Rules: what holds together behind `when`, and what is done behind `do` and `then`."""

from tocsin.topology.errors import suggest
from tocsin.topology.parsing.cursor import Cursor, ParseError
from tocsin.topology.parsing.expressions import parse_assignment, parse_conditions, parse_expression
from tocsin.topology.parsing.occurrences import parse_alias, parse_occurrence, parse_phase
from tocsin.topology.parsing.words import NOT_EVENTS
from tocsin.topology.tokens import Kind
from tocsin.topology.tree import (
    Action,
    Assignment,
    ChangeCondition,
    ChangeFact,
    Constraint,
    EventCondition,
    Expr,
    FactCondition,
    FactVerb,
    Flush,
    Invoke,
    Modify,
    Publish,
    Retract,
    Switch,
    Webhook,
    When,
    WhenItem,
)

MAX_ITEMS = 100
MAX_ACTIONS = 100


def parse_when(cursor: Cursor) -> When:
    """Read what stands behind `when`."""
    cursor.begin_source()
    start = cursor.token.span
    items = [_item(cursor)]
    while cursor.at("fact", "event", "not", ","):
        items.append(_constraint(cursor) if cursor.accept(",") else _item(cursor))
        if len(items) > MAX_ITEMS:
            raise ParseError("this rule is too long", items[-1].span, f"at most {MAX_ITEMS} conditions")
    return When(tuple(items), cursor.since(start))


def _constraint(cursor: Cursor) -> Constraint:
    start = cursor.token.span
    if cursor.at("fact", "event") and cursor.peek().text[:1].isupper():
        hint = "a comma is followed by a constraint, like `, b after [1 s, 5 s] a`"
        raise ParseError("no comma stands between facts and events", cursor.previous.span, hint)
    return Constraint(parse_expression(cursor), cursor.since(start))


def _item(cursor: Cursor) -> WhenItem:
    start = cursor.token.span
    negated = cursor.accept("not") is not None
    kind = cursor.choose("fact", "event", hint="say what it is: `fact Equipment(…)` or `event Alarm(…)`")
    if kind == "fact":
        return FactCondition(parse_occurrence(cursor), negated, cursor.since(start))
    if cursor.at("change") and cursor.peek().kind is Kind.WORD and cursor.peek().text not in NOT_EVENTS:
        if negated:
            hint = "use `not fact …` or `not event …`"
            raise ParseError("a change cannot be denied", cursor.token.span, hint)
        return _change(cursor)
    return EventCondition(parse_phase(cursor), negated, cursor.since(start))


def _change(cursor: Cursor) -> ChangeCondition:
    start = cursor.previous.span
    cursor.expect("change")
    fact = cursor.name("the name of a fact")
    before = _state(cursor)
    role = parse_alias(cursor)
    cursor.expect("to", hint='write `event change Pump(state = "OFF") to (state = "ON")`')
    after = _state(cursor)
    alias = parse_alias(cursor)
    cursor.count_constituent(cursor.since(start))
    return ChangeCondition(fact, before, after, role, alias, cursor.since(start))


def _state(cursor: Cursor) -> tuple[Expr, ...]:
    if not cursor.at("("):
        cursor.expect("(", hint="say in which state the fact is, in parentheses")
    return parse_conditions(cursor)


def parse_actions(cursor: Cursor) -> tuple[Action, ...]:
    """Read what stands behind `do` or `then`."""
    actions = cursor.several(_action)
    if len(actions) > MAX_ACTIONS:
        raise ParseError("this rule does too much", actions[-1].span, f"at most {MAX_ACTIONS} actions")
    return actions


_VERBS = (
    *("publish", "assert", "update", "modify", "retract"),
    *("call", "webhook", "activate", "deactivate", "flush"),
)


def _action(cursor: Cursor) -> Action:  # noqa: PLR0911 (one case a kind)
    start = cursor.token
    if start.text not in _VERBS:
        raise cursor.unexpected("an action", suggest(start.text, _VERBS, "actions are"))
    cursor.advance()
    match start.text:
        case "publish":
            event = cursor.name("the name of an event")
            return Publish(event, _values(cursor), cursor.since(start.span))
        case "assert" | "update":
            fact = cursor.name("the name of a fact")
            return ChangeFact(FactVerb(start.text), fact, _values(cursor), cursor.since(start.span))
        case "modify":
            role = cursor.role("the name of a fact that was matched")
            cursor.expect("(", hint=f"say what changes, like `modify {role} (state = …)`")
            values = cursor.several(parse_assignment)
            cursor.expect(")", ",")
            return Modify(role, values, cursor.since(start.span))
        case "retract":
            return Retract(cursor.role("the name of a fact that was matched"), cursor.since(start.span))
        case "call":
            target = cursor.text("a function in double quotes", 'write `call "ops:page"`')
            return Invoke(target, cursor.since(start.span))
        case "webhook":
            url = cursor.text("an address in double quotes", 'write `webhook "https://example.com/hook"`')
            return Webhook(url, cursor.since(start.span))
        case "flush":
            stored = None if cursor.accept("all") else cursor.name("the name of an event, or `all`")
            return Flush(stored, cursor.since(start.span))
        case _:
            rule = cursor.name("the name of a rule")
            return Switch(rule, start.text == "activate", cursor.since(start.span))


def _values(cursor: Cursor) -> tuple[Assignment, ...]:
    if not cursor.accept("("):
        return ()
    values = () if cursor.at(")") else cursor.several(parse_assignment)
    cursor.expect(")", ",")
    return values
