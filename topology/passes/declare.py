"""Declarations: every name stands for one thing, and every attribute has a type."""

from collections.abc import Sequence

from tocsin.topology.errors import suggest
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.terms import Scalar
from tocsin.topology.tree import (
    Attribute,
    Declaration,
    Define,
    Enumeration,
    Event,
    Fact,
    Name,
    Named,
    Priorities,
)
from tocsin.topology.tree import Rule as RuleDeclaration
from tocsin.topology.types import IMPLICIT, Kind, Type
from tocsin.topology.types import Attribute as TypedAttribute
from tocsin.topology.types import Enumeration as TypedEnumeration

RESERVED_ATTRIBUTE = "detection"


def declare_names(compilation: Compilation) -> None:
    """Fill enums, priorities, named expressions and types with their own attributes, and open the rules."""
    declarations = compilation.program.declarations
    for declaration in declarations:
        if isinstance(declaration, Enumeration):
            _declare_enum(declaration, compilation)
    for declaration in declarations:
        if isinstance(declaration, Priorities):
            _declare_priorities(declaration, compilation)
            continue
        name = declaration.name
        other = compilation.declared.setdefault(name.text, declaration)
        if other is not declaration and not _continues(declaration, other):
            hint = "one needs another name"
            if isinstance(declaration, Define) and isinstance(other, Define):
                hint = "several definitions of one event need the same attributes"
            compilation.report.error(f"`{name}` is declared twice", name.span, hint)
            compilation.doubtful.add(name.text)
        _declare(declaration, compilation, first=other is declaration)


def _continues(declaration: Declaration, other: Declaration) -> bool:
    """Tell whether a definition adds occurrences to an event that is defined already."""
    if not isinstance(declaration, Define) or not isinstance(other, Define):
        return False
    return declaration.attributes == other.attributes


def _declare(declaration: Declaration, compilation: Compilation, *, first: bool) -> None:
    match declaration:
        case Event() | Fact() | Define():
            kind = _kind(declaration)
            topic = f"tocsin.{compilation.app}.{declaration.name}"
            type_ = Type(declaration.name.text, kind, topic=topic, subtypes=(declaration.name.text,))
            type_.attributes = _attributes(declaration, kind, compilation)
            if first:
                compilation.types[type_.name] = type_
            elif isinstance(declaration, Define) and type_.name not in compilation.doubtful:
                type_ = compilation.types[type_.name]
            if isinstance(declaration, Define):
                compilation.rules.append(Rule(declaration, type_))
        case RuleDeclaration():
            compilation.rules.append(Rule(declaration))
        case Named() if first:
            compilation.named[declaration.name.text] = declaration
        case _:
            pass


def _kind(declaration: Event | Fact | Define) -> Kind:
    match declaration:
        case Event():
            return Kind(declaration.kind.value)
        case Fact():
            return Kind.FACT
        case Define():
            return Kind.DEFINED


def _declare_enum(declaration: Enumeration, compilation: Compilation) -> None:
    symbols: dict[str, Name] = {}
    for symbol in declaration.symbols:
        if symbol.text in symbols:
            compilation.report.error(f"`{symbol}` is twice in {declaration.name}", symbol.span)
        symbols.setdefault(symbol.text, symbol)
    enum = TypedEnumeration(declaration.name.text, tuple(symbols))
    compilation.enums.setdefault(enum.name, enum)


def _declare_priorities(declaration: Priorities, compilation: Compilation) -> None:
    for name in declaration.names:
        if name.text in compilation.priorities:
            message = f"the priority class `{name}` is declared twice"
            compilation.report.error(message, name.span, "the order of the classes must be clear")
        compilation.priorities.setdefault(name.text, len(compilation.priorities) + 1)


def _attributes(
    declaration: Event | Fact | Define, kind: Kind, compilation: Compilation
) -> tuple[TypedAttribute, ...]:
    before = len(compilation.report.diagnostics)
    attributes: dict[str, TypedAttribute] = {}
    for attribute in declaration.attributes:
        name = attribute.name
        if name.text in attributes:
            compilation.report.error(f"attribute `{name}` is declared twice", name.span)
        _check_reserved(name, kind, compilation)
        typed = _typed(attribute, kind, compilation)
        if typed is not None:
            attributes.setdefault(name.text, typed)
    if len(compilation.report.diagnostics) > before:
        compilation.doubtful.add(declaration.name.text)
    return tuple(attributes.values())


def _check_reserved(name: Name, kind: Kind, compilation: Compilation) -> None:
    if kind is Kind.DEFINED and name.text == RESERVED_ATTRIBUTE:
        compilation.report.error(
            f"`{RESERVED_ATTRIBUTE}` cannot be an attribute of a defined event",
            name.span,
            "every complex event has a field of that name, with its identity and provenance",
        )
    if name.text in IMPLICIT.get(kind, ()):
        article = "an" if kind is Kind.OPERATION else "a"
        message = f"{article} {kind} has the attribute `{name}` without saying so"
        compilation.report.error(message, name.span, "leave it out: it is a string")


def _typed(attribute: Attribute, kind: Kind, compilation: Compilation) -> TypedAttribute | None:
    if attribute.many and kind is not Kind.DEFINED:
        compilation.report.error(
            f"`{attribute.name}` cannot be a list: only a defined event has lists",
            attribute.span,
            f"leave out the `[]` of `{attribute.type}[]`",
        )
    name, text = attribute.name.text, attribute.type.text
    if text in compilation.enums:
        enum = compilation.enums[text]
        return TypedAttribute(name, Scalar.STRING, attribute.optional, attribute.many, enum)
    if text in _SCALARS:
        return TypedAttribute(name, Scalar(text), attribute.optional, attribute.many)
    if text not in compilation.program.broken:
        hint = _suggest_type(text, compilation)
        compilation.report.error(f"there is no type `{attribute.type}`", attribute.type.span, hint)
    return None


_SCALARS: Sequence[str] = [scalar.value for scalar in Scalar]


def _suggest_type(text: str, compilation: Compilation) -> str | None:
    return suggest(text, [*_SCALARS, *compilation.enums], "types are")
