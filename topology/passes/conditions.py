"""The conditions of a constituent: its phase, its parameters, and whatever else it must fulfil."""

from collections.abc import Iterable, Iterator

from tocsin.topology.elaborate import truth
from tocsin.topology.model import Constituent, Parameter, Part
from tocsin.topology.passes.certainty import note_certain, note_own
from tocsin.topology.scopes import Scope
from tocsin.topology.terms import Apply, Const, Field, Scalar, Term, Valued, conjuncts
from tocsin.topology.tree import (
    Binary,
    BinaryOp,
    Expr,
    Junction,
    JunctionOp,
    Name,
    Occurrence,
    Pattern,
    Reference,
    When,
)
from tocsin.topology.tree import Parameter as WrittenParameter
from tocsin.topology.types import CALL, PHASE, Kind


def shared_parameters(occurrences: Iterable[Occurrence]) -> frozenset[str]:
    """Return the equality parameters of an event expression or a match: what several constituents mention."""
    mentioned: set[str] = set()
    shared: set[str] = set()
    for occurrence in occurrences:
        names = {mention[1].name for part in _parts(occurrence) if (mention := _mention(part)) is not None}
        if occurrence.group is not None:
            names.add(group_parameter(occurrence.group))
        shared |= mentioned & names
        mentioned |= names
    return frozenset(shared)


def group_parameter(number: int) -> str:
    """Return the parameter that the number in `Op[1]` stands for; no written one can have its name."""
    return f"[{number}]"


def type_conditions(
    constituent: Constituent, expressions: Iterable[Expr], scope: Scope, shared: frozenset[str] = frozenset()
) -> None:
    """Fill the conditions of a constituent, and bind the parameters it is the first to mention.

    `shared` are the parameters for each value of which the source is evaluated on its own; elsewhere a
    parameter is a name for the attribute that was mentioned with it first.
    """
    typing = _Typing(constituent, scope, shared)
    typing.add_phase()
    typing.add_group()
    parts = [typing.spelled(part) for expr in expressions for part in _conjuncts(expr)]
    # Bindings first, so that the order of conditions within one constituent does not matter.
    rest = [part for part in parts if part is not None and not typing.bind(part)]
    for part in rest:
        typing.add(part)
    typing.close()


class _Typing:
    """The typing of one constituent's conditions."""

    def __init__(self, constituent: Constituent, scope: Scope, shared: frozenset[str]) -> None:
        self._constituent = constituent
        self._scope = scope
        self._rule = scope.rule
        self._shared = shared
        self._local: list[str] = []

    def add_phase(self) -> None:
        """Ask for the phase of an operation or a unit of work."""
        index = self._constituent.event.index_of(PHASE)
        if self._constituent.phase is not None and index is not None:
            phase = Const(Scalar.STRING, self._constituent.phase.value)
            self._compare("eq", self._scope.field(self._constituent, index), phase)

    def add_group(self) -> None:
        """Tie a grouped event to those with its number, and keep it apart from the others."""
        occurrence, event = self._constituent.occurrence, self._constituent.event
        if occurrence is None or occurrence.group is None or event.name in self._scope.compilation.doubtful:
            return
        index = event.index_of(CALL)
        if event.kind is not Kind.OPERATION or index is None:
            message = f"{event.described} cannot be numbered: only operations have executions to tell apart"
            self._scope.report.error(message, occurrence.span, f"declare it with `operation {event.name} …`")
            self._constituent.sound = False
            return
        name = group_parameter(occurrence.group)
        field = self._scope.field(self._constituent, index)
        numbers = [p for p in self._rule.parameters.values() if p.name.startswith("[")]
        if name not in self._rule.parameters:
            self._declare(name, field)
        else:
            self._rule.parameters[name].places.append(field)
            if name not in self._shared:
                self._compare("eq", field, self._rule.parameters[name].value)
                return
            self._constituent.equalities[name] = index
        # In expressions every one of them: of alternatives only one is there, and A* may have collected none.
        for other in numbers:
            if other.name != name:
                self._compare("ne", field, other.value)

    def spelled(self, part: Expr) -> Expr | None:
        """Return a condition with a parameter alone written out: the key equals it."""
        if not isinstance(part, WrittenParameter):
            return part
        event = self._constituent.event
        if event.key is not None:
            name = Name(event.attributes[event.key].name, part.span)
            return Binary(BinaryOp.EQ, Reference(name, span=part.span), part, span=part.span)
        if event.name not in self._scope.compilation.doubtful | self._scope.compilation.unkeyed:
            self._scope.report.error(
                f"`${part.name}` alone stands for the key, but {event.described} declares none",
                part.span,
                f"say which attribute it is: `… = ${part.name}`",
            )
        self._lose(part.name)
        return None

    def bind(self, part: Expr) -> bool:
        """Take note of an equality with a parameter; tell whether that is all the condition says."""
        attribute, parameter = _mention(part) or (None, None)
        if attribute is None or parameter is None:
            return False
        known = self._rule.parameters.get(parameter.name)
        field = self._scope.attribute(self._constituent, attribute)
        if field is None:
            self._lose(parameter.name)
            return True
        if known is None:
            self._bind_first(parameter, field, part)
            return True
        known.places.append(field)
        if parameter.name not in self._shared or parameter.name in self._constituent.equalities:
            return False
        # The condition is checked, and left to the valuation.
        if truth(part, self._scope) is None:
            self._constituent.sound = False
        self._constituent.equalities[parameter.name] = field.field
        return True

    def add(self, part: Expr) -> None:
        """Add a condition."""
        term = truth(part, self._scope)
        if term is None:
            self._constituent.sound = False
            return
        self._constituent.conditions += conjuncts(term)
        note_own(term, self._constituent)
        # Of patterns and conditions over facts, everything taken is there; of others, not always.
        if self._constituent.part is Part.TAKEN and isinstance(self._rule.written, Pattern | When):
            note_certain(term, self._rule)

    def close(self) -> None:
        """Forget the parameters that have a meaning only within a constituent of which nothing is taken."""
        for name in self._local:
            del self._rule.parameters[name]
            self._rule.spent[name] = self._constituent.role

    def _bind_first(self, parameter: WrittenParameter, field: Field, part: Expr) -> None:
        if parameter.name in self._rule.lost:
            return
        if parameter.name in self._rule.spent:
            self._scope.parameter(parameter)
            self._lose(parameter.name)
        elif field.optional:
            attribute = self._constituent.event.attributes[field.field].name
            self._scope.report.error(
                f"`{attribute}` may be absent, so it cannot give `${parameter.name}` its value",
                part.span,
                f"compare with `{self._constituent.role}.{attribute}` where you need it",
            )
            self._lose(parameter.name)
        else:
            self._declare(parameter.name, field)

    def _declare(self, name: str, field: Field) -> None:
        if name in self._shared:
            value = Valued(name, field.scalar, enum=field.enum)
            self._rule.parameters[name] = Parameter(name, value, [field])
            self._constituent.equalities[name] = field.field
            return
        self._rule.parameters[name] = Parameter(name, field, [field])
        if field.scalar.wide is Scalar.DOUBLE:
            # What is not a number equals nothing, so it gives no value.
            self._constituent.conditions.append(Apply("eq", Scalar.DOUBLE, (field, field), Scalar.BOOLEAN))
        if self._constituent.part is not Part.TAKEN:
            self._local.append(name)

    def _lose(self, name: str) -> None:
        self._constituent.sound = False
        if name not in self._rule.parameters:
            self._rule.lost.add(name)

    def _compare(self, op: str, left: Term, right: Term) -> None:
        self._constituent.conditions.append(Apply(op, Scalar.STRING, (left, right), Scalar.BOOLEAN))


def _parts(occurrence: Occurrence) -> Iterator[Expr]:
    return (part for condition in occurrence.conditions for part in _conjuncts(condition))


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, Junction) and expr.op is JunctionOp.AND:
        for operand in expr.operands:
            yield from _conjuncts(operand)
    else:
        yield expr


def _mention(part: Expr) -> tuple[Name | None, WrittenParameter] | None:
    """Return an attribute and the parameter it equals; a parameter alone equals the key."""
    match part:
        case Binary(BinaryOp.EQ, Reference(of=None, attribute=attribute), WrittenParameter() as parameter):
            return attribute, parameter
        case Binary(BinaryOp.EQ, WrittenParameter() as parameter, Reference(of=None, attribute=attribute)):
            return attribute, parameter
        case WrittenParameter():
            return None, part
        case _:
            return None
