"""Facts and events that hold together, and what rules do."""

from dataclasses import dataclass, replace

from tocsin.topology import tree as ast
from tocsin.topology.building.handles import Constituent, Facts, Kind, condition, conditions_of, constituent
from tocsin.topology.building.names import BuildingError, Undecided, attribute_name, event_name
from tocsin.topology.building.values import Operand, RoleLike, Value, expression, role_name

# --- conditions ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holding(Undecided):
    """A condition on a fact or an event; `~` denies it."""

    tree: ast.FactCondition | ast.EventCondition

    def __invert__(self) -> "Holding":
        return Holding(replace(self.tree, negated=not self.tree.negated))


@dataclass(frozen=True, slots=True)
class Changing(Undecided):
    """The event that a fact goes from one state to another."""

    tree: ast.ChangeCondition


@dataclass(frozen=True, slots=True)
class When(Undecided):
    """Facts and events that hold together: what triggers a rule on facts."""

    tree: ast.When


def holds(fact: Facts) -> Holding:
    """Return `fact F(…) as f`; denied by `~`: there is no such fact."""
    if not isinstance(fact, Facts):
        raise BuildingError("`holds` takes a fact; an event is taken by `occurs`.")
    return Holding(ast.FactCondition(fact.tree))


def occurs(event: Constituent) -> Holding:
    """Return `event E(…) as e`; denied by `~`: there is no such event."""
    occurrence = constituent(event)
    if isinstance(occurrence, ast.Timer):
        raise BuildingError("A timer cannot be joined with facts; define an event by it and use that.")
    return Holding(ast.EventCondition(occurrence))


def changes(fact: Facts, to: Facts, *, as_: RoleLike | None = None) -> Changing:
    """Return `event change F(…) as f to (…) as e`: both states as facts of one kind; `as_` names the event.

    >>> eqpt = facts("Equipment")
    >>> change = changes(eqpt(state="ONLINE").as_("e"), eqpt(state="ACTIVE"), as_="act")
    >>> change.tree.fact.text, change.tree.alias.text
    ('e', 'act')
    """
    before, after = fact.tree, to.tree
    if before.event != after.event:
        raise BuildingError(f"A fact of kind `{before.event}` cannot change to one of kind `{after.event}`.")
    if after.alias is not None:
        raise BuildingError("The role of a changing fact is given once, to its state before the change.")
    alias = None if as_ is None else role_name(as_)
    return Changing(
        ast.ChangeCondition(before.event, before.conditions, after.conditions, before.alias, alias)
    )


def when(*items: Holding | Changing | Value) -> When:
    """Return facts and events that hold together, and constraints between them.

    >>> alarm, confirmation = kind("Alarm"), kind("Confirmation")
    >>> both = when(
    ...     occurs(alarm.as_("a")),
    ...     occurs(confirmation(alarm=role("a").id).as_("c")),
    ...     relation("c", "after", "a", "1 s", "5 s"),
    ... )
    >>> len(both.tree.items)
    3
    """
    if not items or isinstance(items[0], Value):
        raise BuildingError("`when` begins with a fact or an event: `holds(…)`, `occurs(…)` or `changes(…)`.")
    return When(ast.When(tuple(_item(item) for item in items)))


def _item(given: Holding | Changing | Value) -> ast.WhenItem:
    if isinstance(given, Holding | Changing):
        return given.tree
    return ast.Constraint(condition(given))


# --- actions ------------------------------------------------------------------------------------------------


def publish(event: Kind, **values: Operand) -> ast.Publish:
    """Return the action that raises an event."""
    if not isinstance(event, Kind):
        raise BuildingError("What is published is a kind of event.")
    return ast.Publish(event.tree.event, assigned(event, values))


def assert_fact(fact: Facts, **values: Operand) -> ast.ChangeFact:
    """Return the action that adds a fact."""
    return _change(ast.FactVerb.ASSERT, fact, values)


def update(fact: Facts, **values: Operand) -> ast.ChangeFact:
    """Return the action that replaces the fact with the same key, or adds it."""
    return _change(ast.FactVerb.UPDATE, fact, values)


def modify(role: RoleLike, **values: Operand) -> ast.Modify:
    """Return the action that changes some attributes of a fact that was matched."""
    return ast.Modify(role_name(role), assigned(None, values))


def retract(role: RoleLike) -> ast.Retract:
    """Return the action that takes what was matched out of working memory."""
    return ast.Retract(role_name(role))


def call(target: str) -> ast.Invoke:
    """Return the action that calls a registered function: `call("ops:page")`."""
    return ast.Invoke(target)


def webhook(url: str) -> ast.Webhook:
    """Return the action that posts to an address."""
    return ast.Webhook(url)


def activate(rule: ast.Rule | str) -> ast.Switch:
    """Return the action that activates a rule."""
    return ast.Switch(_rule_name(rule), on=True)


def deactivate(rule: ast.Rule | str) -> ast.Switch:
    """Return the action that deactivates a rule."""
    return ast.Switch(_rule_name(rule), on=False)


def flush(event: Kind) -> ast.Flush:
    """Return the action that forgets what was stored for one event."""
    return ast.Flush(event.tree.event)


def flush_all() -> ast.Flush:
    """Return the action that forgets everything that was stored."""
    return ast.Flush(None)


def assigned(to: Kind | Facts | None, values: dict[str, Operand]) -> tuple[ast.Assignment, ...]:
    """Return the assignments of values to attributes; which ones there are is checked where it is known."""
    if to is not None:
        conditions_of(to, (), values)
    return tuple(
        ast.Assignment(attribute_name(attribute), expression(value)) for attribute, value in values.items()
    )


def _change(verb: ast.FactVerb, fact: Facts, values: dict[str, Operand]) -> ast.ChangeFact:
    if not isinstance(fact, Facts):
        raise BuildingError(f"`{verb}` takes a kind of fact; an event is raised by `publish`.")
    return ast.ChangeFact(verb, fact.tree.event, assigned(fact, values))


def _rule_name(rule: ast.Rule | str) -> ast.Name:
    return rule.name if isinstance(rule, ast.Rule) else event_name(rule)
