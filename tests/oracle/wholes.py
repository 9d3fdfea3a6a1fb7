"""A role alone as a value, written out: `Alarm(eqpt = e)` means `Alarm(eqpt = e.id)`, by id or else key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tests.oracle.roles import written
from tests.oracle.values import AGGREGATES, MOMENTS
from tests.oracle.world import World
from tocsin.topology import tree


def without_wholes(program: tree.Program) -> tree.Program:
    """The program in which every value is an attribute."""
    world = World.of(program, ())
    declarations = (
        Wholes.of(d, world).everywhere(d) if isinstance(d, tree.Define | tree.Rule) else d
        for d in program.declarations
    )
    return replace(program, declarations=tuple(declarations))


@dataclass(frozen=True)
class Wholes:
    """The roles of a definition and the types of what plays them; `own` are attributes that need no role."""

    world: World
    types: Mapping[str, str]
    own: frozenset[str] = frozenset()

    @staticmethod
    def of(definition: tree.Define | tree.Rule, world: World) -> "Wholes":
        """Those of a definition: in its clauses, a bare attribute is one of the only constituent."""
        source = definition.source if isinstance(definition, tree.Define) else definition.trigger
        types, roles = dict(players(source)), list(written(source))
        wholes = Wholes(world, types)
        return wholes.within(types[roles[0]]) if len(roles) == 1 and roles[0] in types else wholes

    def within(self, name: str) -> "Wholes":
        """In the conditions of an event or a fact of a type: its own attributes come first."""
        declared = [
            *(self.world.declared.get(a) or self.world.facts.get(a) for a in self.world.ancestors(name)),
            *(
                d
                for d in self.world.program.declarations
                if isinstance(d, tree.Define) and d.name.text == name
            ),
        ]
        own = frozenset(attribute.name.text for d in declared if d for attribute in d.attributes)
        return replace(self, own=own)

    def everywhere(self, node: Any) -> Any:  # noqa: ANN401, PLR0911 (any part of a tree)
        """A part of a tree with all roles in it written out that stand for a value."""
        match node:
            case tuple():
                return tuple(map(self.everywhere, node))
            case tree.Reference(of=None, attribute=role):
                identity = None if role.text in self.own else self.identity(self.types.get(role.text, ""))
                return node if identity is None else tree.Reference(tree.Name(identity), role)
            case tree.Call(function=function) if function.text in AGGREGATES | MOMENTS:
                return node
            case tree.Occurrence(event=name, conditions=conditions):
                return replace(node, conditions=self.within(name.text).everywhere(conditions))
            case tree.ChangeCondition(type=name, before=before, after=after):
                inside = self.within(name.text)
                return replace(node, before=inside.everywhere(before), after=inside.everywhere(after))
            case tree.Name():
                return node
            case _ if is_dataclass(node) and not isinstance(node, type):
                changed = {f.name: self.everywhere(getattr(node, f.name)) for f in fields(node) if f.compare}
                return replace(node, **changed)
            case _:
                return node

    def identity(self, name: str) -> str | None:
        """The attribute that tells occurrences, or facts, of a type apart."""
        for ancestor in self.world.ancestors(name):
            event = self.world.declared.get(ancestor)
            if event and event.id:
                return event.id.text
        return self.world.key(name)


def players(source: object) -> Iterator[tuple[str, str]]:
    """The roles of a source, and the types of what plays them."""
    match source:
        case tree.Occurrence(role=role, event=name):
            yield role, name.text
        case tree.ChangeCondition(type=name, fact=fact, alias=alias):
            yield from ((role.text, name.text) for role in (fact or name, alias) if role)
        case tuple():
            for part in source:
                yield from players(part)
        case _ if is_dataclass(source) and not isinstance(source, tree.Expr):
            for f in fields(source):
                yield from players(getattr(source, f.name))
