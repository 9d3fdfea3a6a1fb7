"""Inheritance: a child has what its parent has, and an occurrence of it is one of the parent."""

from collections.abc import Mapping

from tocsin.topology.errors import did_you_mean
from tocsin.topology.model import Compilation
from tocsin.topology.terms import Scalar
from tocsin.topology.tree import Event, Name
from tocsin.topology.types import IMPLICIT, Attribute, Kind, Type

_DECLARED = frozenset({Kind.EVENT, Kind.OPERATION, Kind.UNIT})


def inherit_attributes(compilation: Compilation) -> None:
    """Complete the attributes of every declared event: inherited ones first, then implicit, then its own."""
    declared = {name: event for name, event in compilation.declared.items() if isinstance(event, Event)}
    for event in declared.values():
        type_ = compilation.types[event.name.text]
        if event.parent is not None and _accepted(event, event.parent, type_, compilation):
            type_.parent = event.parent.text
    _break_cycles(declared, compilation)
    complete: set[str] = set()
    for name in declared:
        _complete(name, compilation, declared, complete)
    for type_ in compilation.types.values():
        for ancestor in _ancestors(type_, compilation):
            ancestor.subtypes = (*ancestor.subtypes, type_.name)


def _accepted(event: Event, parent: Name, type_: Type, compilation: Compilation) -> bool:
    """Tell whether the parent can be one."""
    other = compilation.types.get(parent.text)
    report = compilation.report
    if other is not None and other.kind is type_.kind and not _is_taken(parent, compilation):
        return True
    compilation.doubtful.add(type_.name)
    compilation.unkeyed.add(type_.name)
    if _is_taken(parent, compilation):
        message = f"`{parent}` cannot be extended: another application detects it"
        report.error(message, parent.span, "a child adds attributes to an event that is published here")
    elif other is not None and other.kind in _DECLARED:
        message = f"{other.described} cannot be the parent of {type_.described}"
        report.error(message, parent.span, "parent and child are opened with the same word")
    elif other is not None or parent.text in compilation.named:
        message = f"`{parent}` cannot be extended: it is not declared with `{event.kind}`"
        report.error(message, parent.span, "a child adds attributes to a declared event")
    elif parent.text not in compilation.program.broken:
        known = [t.name for t in compilation.types.values() if t.kind is type_.kind and t is not type_]
        message = f"there is no {event.kind} `{parent}` to extend"
        report.error(message, parent.span, did_you_mean(parent.text, known))
    return False


def _is_taken(name: Name, compilation: Compilation) -> bool:
    declaration = compilation.declared.get(name.text)
    return isinstance(declaration, Event) and declaration.application is not None


def _break_cycles(declared: Mapping[str, Event], compilation: Compilation) -> None:
    for event in declared.values():
        type_ = compilation.types[event.name.text]
        path = [type_.name, *(ancestor.name for ancestor in _ancestors(type_, compilation))]
        if path[-1] == type_.name and len(path) > 1 and event.parent is not None:
            message = f"{type_.name} extends itself: {' extends '.join(path)}"
            compilation.report.error(message, event.parent.span)
            compilation.doubtful.update(path)
            compilation.unkeyed.update(path)
            type_.parent = None


def _ancestors(type_: Type, compilation: Compilation) -> list[Type]:
    """Return what a type extends, the nearest first; up to itself if it is in a cycle."""
    found: list[Type] = []
    while type_.parent is not None and compilation.types[type_.parent] not in found:
        type_ = compilation.types[type_.parent]
        found.append(type_)
    return found


def _complete(name: str, compilation: Compilation, declared: Mapping[str, Event], complete: set[str]) -> None:
    """Complete a type after its parent; the way up has an end, for cycles are broken."""
    chain = [compilation.types[name]]
    chain += _ancestors(chain[0], compilation)
    for type_ in reversed(chain):
        if type_.name in complete:
            continue
        complete.add(type_.name)
        if type_.parent is None:
            implicit = tuple(Attribute(a, Scalar.STRING) for a in IMPLICIT.get(type_.kind, ()))
            type_.attributes = (*implicit, *_fresh(type_, implicit))
            continue
        parent = compilation.types[type_.parent]
        if parent.name in compilation.doubtful:
            compilation.doubtful.add(type_.name)
        _report_inherited(declared[type_.name], type_, parent, compilation)
        type_.attributes = (*parent.attributes, *_fresh(type_, parent.attributes))


def _fresh(type_: Type, inherited: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    names = {attribute.name for attribute in inherited}
    return tuple(attribute for attribute in type_.attributes if attribute.name not in names)


def _report_inherited(event: Event, type_: Type, parent: Type, compilation: Compilation) -> None:
    implicit = IMPLICIT.get(type_.kind, ())
    for attribute in event.attributes:
        name = attribute.name
        if parent.index_of(name.text) is not None and name.text not in implicit:
            message = f"{type_.name} has the attribute `{name}` from {parent.name}"
            compilation.report.error(message, name.span, "leave it out, or give it another name")
