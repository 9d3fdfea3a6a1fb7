"""A whole fact or event as a value: `Alarm(eqpt = e)` means `Alarm(eqpt = e.id)`, by key or own id."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import COMPARISONS


@dataclass(frozen=True)
class Wholes:
    """The roles of a rule and the types of what plays them."""

    world: World
    types: Mapping[str, str]

    @staticmethod
    def of(rule: tree.Rule, world: World) -> "Wholes":
        """Those of a `when` rule; other rules have no facts, and their events are named by attributes."""
        items = rule.trigger.items if isinstance(rule.trigger, tree.When) else ()
        return Wholes(world, roles_of(items))

    def in_condition(self, expr: tree.Expr, own: str | None = None) -> tree.Expr:
        """A condition with comparisons of wholes written out; `own` is the type it is a condition of."""
        match expr:
            case tree.Binary(op=op, left=left, right=right) if op in COMPARISONS:
                return replace(expr, left=self.in_value(left, own), right=self.in_value(right, own))
            case tree.Unary(operand=operand):
                return replace(expr, operand=self.in_condition(operand, own))
            case tree.Junction(operands=operands):
                return replace(expr, operands=tuple(self.in_condition(operand, own) for operand in operands))
            case _:
                return expr

    def in_value(self, expr: tree.Expr, own: str | None = None) -> tree.Expr:
        """`e` as `e.id`; a name that is one of the own attributes is that attribute."""
        match expr:
            case tree.Reference(of=None, attribute=role) if role.text in self.types:
                identity = self.identity(self.types[role.text])
                if identity and (own is None or role.text not in self.attributes(own)):
                    return tree.Reference(tree.Name(identity), role)
        return expr

    def identity(self, name: str) -> str | None:
        """The attribute that tells occurrences, or facts, of a type apart."""
        for ancestor in self.world.ancestors(name):
            event = self.world.declared.get(ancestor)
            if event and event.id:
                return event.id.text
        return self.world.key(name)

    def attributes(self, name: str) -> set[str]:
        declarations = [
            self.world.declared.get(a) or self.world.facts.get(a) for a in self.world.ancestors(name)
        ]
        return {attribute.name.text for d in declarations if d for attribute in d.attributes}


def roles_of(items: tuple[tree.WhenItem, ...]) -> dict[str, str]:
    """The roles of a rule, and the types of what plays them."""
    roles: dict[str, str] = {}
    for item in items:
        match item:
            case (
                tree.FactCondition(occurrence=occurrence)
                | tree.EventCondition(occurrence=tree.Occurrence() as occurrence)
                | tree.EventCondition(occurrence=tree.Modified(operand=tree.Occurrence() as occurrence))
            ):
                roles[occurrence.role] = occurrence.event.text
            case tree.ChangeCondition(type=name, fact=fact):
                roles[(fact or name).text] = name.text
    return roles
