"""What a rule waits for behind `when`, what it does, and the clauses of definitions and rules."""

from collections.abc import Iterable

from tocsin.topology.printing.events import alias, event, occurrence
from tocsin.topology.printing.expressions import (
    print_assignment,
    print_duration,
    print_expression,
    print_string,
)
from tocsin.topology.printing.layout import Listed, Piece, Row, fill, fits, lay_flat
from tocsin.topology.tree import (
    Action,
    Assignment,
    ChangeCondition,
    ChangeFact,
    Constraint,
    Define,
    Detection,
    EventCondition,
    Expr,
    FactCondition,
    Flush,
    Invoke,
    Modify,
    Publish,
    Rate,
    Retract,
    Rule,
    Switch,
    Trigger,
    Webhook,
    When,
)


def when(conditions: When, before: str, indent: int) -> str:
    """Return facts and events, one to a line, and constraints behind what they follow."""
    margin = f"\n{' ' * indent}"
    aligned = any(isinstance(item, EventCondition | ChangeCondition) for item in conditions.items)
    text = before
    for item in conditions.items:
        if isinstance(item, Constraint):
            constraint = print_expression(item.expr)
            flat = f"{text}, {constraint}"
            text = flat if fits(flat) else f"{text},{margin}{constraint}"
        else:
            start = text if text is before else f"{text}{margin}"
            text = _condition(item, "fact " if aligned else "fact").lay(start, indent)
    return text


def _condition(item: FactCondition | EventCondition | ChangeCondition, fact: str) -> Piece:
    match item:
        case FactCondition():
            return Row(Piece(f"{'not fact' if item.negated else fact} "), occurrence(item.occurrence))
        case EventCondition():
            return Row(Piece("not event " if item.negated else "event "), event(item.occurrence))
        case ChangeCondition():
            return Row(
                Piece(f"event change {item.type}"),
                _state(item.before),
                Piece(f"{alias(item.fact)} to "),
                _state(item.after),
                Piece(alias(item.alias)),
            )


def _state(exprs: tuple[Expr, ...]) -> Piece:
    return Listed([Piece(print_expression(expr)) for expr in exprs])


def actions(things: Iterable[Action], before: str, indent: int) -> str:
    """Return what a rule does."""
    return lay_flat(before, [_action(thing) for thing in things], indent)


def _action(action: Action) -> Piece:  # noqa: PLR0911 (one case a kind)
    match action:
        case Publish():
            return _with_values(f"publish {action.event}", action.assignments)
        case ChangeFact():
            return _with_values(f"{action.verb} {action.fact}", action.assignments)
        case Modify():
            return _with_values(f"modify {action.role}", action.assignments)
        case Retract():
            return Piece(f"retract {action.role}")
        case Invoke():
            return Piece(f"call {print_string(action.target)}")
        case Webhook():
            return Piece(f"webhook {print_string(action.url)}")
        case Switch():
            return Piece(f"{'activate' if action.on else 'deactivate'} {action.rule}")
        case Flush():
            return Piece(f"flush {action.event or 'all'}")


def _with_values(words: str, assignments: tuple[Assignment, ...]) -> Piece:
    if not assignments:
        return Piece(words)
    return Row(Piece(f"{words} "), Listed([Piece(print_assignment(value)) for value in assignments]))


def clauses(rule: Define | Rule) -> list[str]:
    """Return the lines of the clauses behind everything else."""
    lines = [f"consuming {', '.join(map(str, rule.consuming))}"] if rule.consuming else []
    words = [*_detection(rule.detection), *_rate(rule.rate)]
    words += ["unbounded"] if rule.unbounded else []
    if isinstance(rule, Rule):
        words += [f"coupling {rule.coupling}"] if rule.coupling else []
        words += [f"priority {rule.priority}"] if rule.priority is not None else []
        words += _trigger(rule.mode)
        words += ["inactive"] if rule.inactive else []
    return [*lines, fill(words)] if words else lines


def _detection(detection: Detection | None) -> list[str]:
    if detection is None:
        return []
    words = [f"context {detection.context}"] if detection.context else []
    words += ["disjoint"] if detection.disjoint else []
    if skip := detection.skip:
        words.append(f"skip to {skip.to} {skip.role}" if skip.role else f"skip to {skip.to}")
    return words


def _rate(rate: Rate | None) -> list[str]:
    if rate is None:
        return []
    return [f"at most {rate.count} " + (f"per {print_duration(rate.per)}" if rate.per else "ever")]


def _trigger(trigger: Trigger | None) -> list[str]:
    if trigger is None:
        return []
    back = f" {print_duration(trigger.back)}" if trigger.back else ""
    return [f"trigger {trigger.mode}{back}"]
