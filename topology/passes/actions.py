"""The actions of every rule: what they name exists, and what they give has the declared types."""

import re

from tocsin.topology import model
from tocsin.topology.errors import did_you_mean
from tocsin.topology.model import Compilation, Constituent, Rule
from tocsin.topology.passes.filters import outcome_scope
from tocsin.topology.passes.leaves import fact_type
from tocsin.topology.passes.values import assigned
from tocsin.topology.terms import Const, Term
from tocsin.topology.tree import (
    Action,
    Assignment,
    ChangeFact,
    Flush,
    Invoke,
    Modify,
    Name,
    Publish,
    Retract,
    Switch,
    Webhook,
    When,
)
from tocsin.topology.tree import Rule as RuleDeclaration
from tocsin.topology.types import Kind, Type

_TARGET = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<function>[A-Za-z_]\w*)", re.ASCII)
_URL = re.compile(r"https?://[^\s/?#]+\S*")


def type_actions(compilation: Compilation) -> None:
    """Fill the actions of every rule."""
    names = {rule.name for rule in compilation.rules}
    for rule in compilation.rules:
        if isinstance(rule.declaration, RuleDeclaration):
            with compilation.judging(rule):
                typing = _ActionTyping(rule, names, compilation)
                actions = [typing.of(action) for action in rule.declaration.actions]
                rule.actions = tuple(action for action in actions if action is not None)


class _ActionTyping:
    """The typing of one rule's actions."""

    def __init__(self, rule: Rule, names: set[str], compilation: Compilation) -> None:
        self._compilation = compilation
        self._rule = rule
        self._rules = names
        self._report = compilation.report
        self._scope = outcome_scope(rule, compilation)

    def of(self, action: Action) -> model.Action | None:  # noqa: PLR0911 (one case a kind)
        """Return a typed action, or None after reporting what is wrong with it."""
        match action:
            case Publish():
                return self._publish(action)
            case ChangeFact():
                fact = fact_type(action.fact, self._compilation)
                values = self._values(action.fact, action.assignments, fact)
                return model.ChangeFact(action.verb, fact, values)
            case Modify():
                return self._modify(action)
            case Retract():
                return self._retract(action)
            case Invoke():
                return self._invoke(action)
            case Webhook():
                return self._webhook(action)
            case Switch():
                return self._switch(action)
            case Flush():
                return self._flush(action)

    def _publish(self, action: Publish) -> model.Action | None:
        name = action.event
        event = self._compilation.types.get(name.text)
        if event is not None and event.kind is Kind.EVENT and event.application is None:
            return model.Publish(event, self._values(name, action.assignments, event))
        if event is not None or name.text in self._compilation.named:
            reasons = {
                Kind.EVENT: "another application detects it",
                Kind.DEFINED: "it occurs where its definition says so",
                Kind.FACT: "it is a fact: `assert` it",
                Kind.OPERATION: "it is an operation, which begins and ends",
                Kind.UNIT: "it is a unit of work, which begins and ends",
            }
            reason = reasons[event.kind] if event is not None else "it is an expression"
            message = f"`{name}` cannot be published: {reason}"
            self._report.error(message, name.span, "publish an event declared with `event`")
        elif name.text not in self._compilation.program.broken | self._compilation.doubtful:
            events = [t.name for t in self._compilation.types.values() if t.kind is Kind.EVENT]
            hint = did_you_mean(name.text, events) or f"declare it: `event {name} (…);`"
            self._report.error(f"there is no event `{name}`", name.span, hint)
        return None

    def _values(self, name: Name, assignments: tuple[Assignment, ...], type_: Type) -> tuple[Term, ...]:
        """Return a value for each attribute; an optional one may be left out."""
        declared = [attribute.name for attribute in type_.attributes]
        values, given = assigned(assignments, type_, declared, self._scope)
        missing = [a.name for a in type_.attributes if a.name not in given and not a.optional]
        # What has an unknown name may be one of those missing.
        if missing and given <= set(declared) and type_.name not in self._compilation.doubtful:
            listed = ", ".join(f"`{attribute}`" for attribute in missing)
            what = "attribute" if len(missing) == 1 else "attributes"
            message = f"{type_.name} needs the {what} {listed}"
            self._report.error(message, name.span, f"add `{missing[0]} = …`")
        return tuple(values.get(a.name, Const(a.scalar, None, optional=True)) for a in type_.attributes)

    # --- what was matched -----------------------------------------------------------------------------------

    def _modify(self, action: Modify) -> model.Action | None:
        constituent = self._matched(action.role)
        if constituent is None:
            return None
        type_ = constituent.event
        if type_.kind is not Kind.FACT:
            message = f"`{action.role}` is an event: what has occurred cannot be changed"
            self._report.error(message, action.role.span, "only facts are modified")
            return None
        declared = [attribute.name for attribute in type_.attributes]
        values, _ = assigned(action.assignments, type_, declared, self._scope)
        key = None if type_.key is None else declared[type_.key]
        for assignment in action.assignments:
            if assignment.attribute.text == key:
                message = f"`{key}` is the key of {type_.name}, which cannot be changed"
                hint = f"`retract {action.role}`, and `assert` another one"
                self._report.error(message, assignment.attribute.span, hint)
        pairs = ((declared.index(name), term) for name, term in values.items())
        return model.Modify(constituent.index, tuple(pairs))

    def _retract(self, action: Retract) -> model.Action | None:
        constituent = self._matched(action.role)
        if constituent is None:
            return None
        if constituent.event.kind in {Kind.TIMER, Kind.CHANGE}:
            message = f"`{action.role}` is only a point in time: there is nothing to take out"
            self._report.error(message, action.role.span)
            return None
        return model.Retract(constituent.index)

    def _matched(self, name: Name) -> Constituent | None:
        """Look up what a `when` matched; nothing else is kept, so nothing else can be changed."""
        if isinstance(self._rule.written, When):
            return self._scope.one(name)
        message = f"`{name}` was not matched by a `when`, so it cannot be changed or taken out"
        self._report.error(message, name.span, "facts and events are kept for rules with `when … then …`")
        return None

    # --- the world outside, and other rules -----------------------------------------------------------------

    def _invoke(self, action: Invoke) -> model.Action | None:
        target = _TARGET.fullmatch(action.target)
        if target is None:
            message = f'"{action.target}" does not name a function'
            self._report.error(message, action.span, 'write module and function: `call "ops:page"`')
            return None
        return model.Invoke(target["module"], target["function"])

    def _webhook(self, action: Webhook) -> model.Action | None:
        if not _URL.fullmatch(action.url):
            message = f'"{action.url}" is not the address of a webhook'
            self._report.error(message, action.span, 'it begins with "https://" or "http://" and a host')
            return None
        return model.Webhook(action.url)

    def _switch(self, action: Switch) -> model.Action | None:
        name = action.rule
        if name.text in self._rules:
            return model.Switch(name.text, action.on)
        if name.text not in self._compilation.program.broken:
            message = f"there is no rule `{name}`"
            hint = did_you_mean(name.text, sorted(self._rules))
            if name.text in self._compilation.types:
                hint = "events are not switched, only rules and definitions"
            self._report.error(message, name.span, hint)
        return None

    def _flush(self, action: Flush) -> model.Action | None:
        name = action.event
        if name is None:
            return model.Flush(None)
        type_ = self._compilation.types.get(name.text)
        if name.text in self._compilation.named or (type_ is not None and type_.kind is not Kind.FACT):
            return model.Flush(name.text)
        if type_ is not None:
            message = f"`{name}` is a fact, and nothing is stored for it but itself"
            self._report.error(message, name.span, "facts are taken out with `retract`")
        elif name.text not in self._compilation.program.broken | self._compilation.doubtful:
            events = [t.name for t in self._compilation.types.values() if t.kind is not Kind.FACT]
            hint = did_you_mean(name.text, [*events, *self._compilation.named])
            self._report.error(f"there is no event `{name}`", name.span, hint)
        return None
