"""Terms and match programs of a plan in the language's own words: turned into a tree, and printed."""

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.topology import sources, tree
from tocsin.topology.printing.expressions import print_expression
from tocsin.topology.printing.matches import match_expression
from tocsin.topology.terms import (
    Apply,
    Collected,
    Computed,
    Const,
    Edge,
    Field,
    Moment,
    Numbered,
    Place,
    Previous,
    Related,
    Scalar,
    Term,
    Valued,
)
from tocsin.topology.tree import Name

_BINARY = {
    "eq": tree.BinaryOp.EQ,
    "ne": tree.BinaryOp.NE,
    "lt": tree.BinaryOp.LT,
    "le": tree.BinaryOp.LE,
    "gt": tree.BinaryOp.GT,
    "ge": tree.BinaryOp.GE,
    "add": tree.BinaryOp.ADD,
    "sub": tree.BinaryOp.SUB,
    "mul": tree.BinaryOp.MUL,
    "div": tree.BinaryOp.DIV,
    "mod": tree.BinaryOp.MOD,
}
_JUNCTION = {"and": tree.JunctionOp.AND, "or": tree.JunctionOp.OR}
_MOMENT = {Edge.START: "startof", Edge.END: "timeof"}
_EXACT = 2**53  # up to here a double that is whole is written without a fraction


@dataclass(frozen=True, slots=True)
class Slot:
    """What a slot is called, and its attributes."""

    role: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wording:
    """How the terms of a node are worded: by its slots, one of which may be the event at hand.

    An equality parameter is worded as the first place that holds its value, an aggregate as what it computes.
    """

    slots: Sequence[Slot]
    own: int | None = None
    parameters: Sequence[Sequence[Place]] = ()
    aggregates: Sequence[tree.Expr] = ()

    def text(self, term: Term) -> str:
        """Return a term in the language's words."""
        return print_expression(self.expression(term))

    def program(self, node: sources.MatchNode) -> str:
        """Return a match program in the language's words."""
        return match_expression(self._match(node)).flat

    def role(self, slot: int) -> Name:
        """Return what a slot is called."""
        return Name("this" if slot == self.own else self.slots[slot].role)

    def place(self, slot: int, field: int | None) -> tree.Reference:
        """Return an attribute of a slot, or the slot as such."""
        if field is None:
            return tree.Reference(self.role(slot))
        fields = self.slots[slot].fields
        attribute = Name(fields[field] if field < len(fields) else f"attribute{field}")
        return tree.Reference(attribute, None if slot == self.own else self.role(slot))

    def expression(self, term: Term) -> tree.Expr:  # noqa: C901, PLR0911 (one case a kind)
        """Return the expression of a term."""
        match term:
            case Field():
                return self.place(term.constituent, term.field)
            case Const():
                return _literal(term)
            case Apply():
                return self._apply(term)
            case Numbered() if term.number < len(self.parameters):
                return self.place(*self.parameters[term.number][0])
            case Numbered():
                return tree.Parameter(str(term.number + 1))
            case Valued():
                return tree.Parameter(term.name)
            case Computed():
                return self.aggregates[term.aggregate]
            case Collected():
                return self._collected(term)
            case Previous():
                attribute = self.place(term.constituent, term.field).attribute
                return tree.Reference(attribute, Name("previous"))
            case Moment():
                return tree.Call(Name(_MOMENT[term.edge]), (tree.Reference(self.role(term.constituent)),))
            case Related():
                bounds = tuple(None if ms is None else milliseconds(ms) for ms in term.bounds_ms)
                op = tree.RelationOp(term.op)
                return tree.Relation(op, self.role(term.left), self.role(term.right), bounds)

    def _apply(self, term: Apply) -> tree.Expr:  # noqa: PLR0911 (one case a kind)
        if term.op == "cast":
            return self.expression(term.args[0])
        if term.op == "not" and isinstance(inner := term.args[0], Apply) and inner.op == "is_null":
            return tree.IsNull(self.expression(inner.args[0]), negated=True)
        args = tuple(self.expression(arg) for arg in term.args)
        match term.op:
            case op if op in _BINARY:
                return tree.Binary(_BINARY[op], *args)
            case op if op in _JUNCTION:
                return tree.Junction(_JUNCTION[op], _flat(_JUNCTION[op], args))
            case "not" | "neg":
                return tree.Unary(tree.UnaryOp.NOT if term.op == "not" else tree.UnaryOp.NEG, args[0])
            case "is_null":
                return tree.IsNull(args[0])
            case "in":
                return tree.OneOf(args[0], tuple(arg for arg in args[1:] if isinstance(arg, tree.Literal)))
            case function:
                return tree.Call(Name(function), args)

    def _collected(self, term: Collected) -> tree.Expr:
        places = tuple(self.place(slot, field) for slot, field in term.places)
        argument = () if term.argument is None else (tree.Literal(term.argument),)
        return tree.Call(Name(term.function), (*dict.fromkeys(places), *argument))

    def _match(self, node: sources.MatchNode) -> tree.MatchExpr:  # noqa: C901, PLR0911, PLR0912 (one case a kind)
        match node:
            case sources.Step(slot):
                return tree.Step(tree.Occurrence(self.role(slot)))
            case sources.Wait():
                return tree.Wait(milliseconds(node.delay_ms))
            case sources.Taking():
                return tree.Taking(node.take, self._match(node.operand))
            case sources.Repeat():
                return self._repeat(node)
            case sources.Then():
                return tree.Then(self._match(node.left), self._match(node.right))
            case sources.All():
                return tree.All(self._matches(node.parts))
            case sources.OneOf():
                return tree.OneOfMatches(self._matches(node.parts))
            case sources.Alternatives():
                return tree.Alternatives(self._matches(node.parts))
            case sources.Denied():
                return tree.Denied(self._match(node.operand))
            case sources.Every():
                return tree.Every(self._match(node.operand))
            case sources.AtMost():
                return tree.AtMost(self._match(node.operand), node.count)
            case sources.While():
                return tree.While(self._match(node.operand), self.expression(node.condition))
            case sources.InTime():
                return tree.InTime(self._match(node.operand), milliseconds(node.within_ms), self._since(node))
            case sources.Absent():
                return tree.Absent(self._match(node.operand), milliseconds(node.within_ms), self._since(node))

    def _matches(self, nodes: Sequence[sources.MatchNode]) -> tuple[tree.MatchExpr, ...]:
        return tuple(self._match(node) for node in nodes)

    def _repeat(self, node: sources.Repeat) -> tree.Repeat:
        condition = None if node.condition is None else self.expression(node.condition)
        until = None if node.until is None else self._match(node.until)
        return tree.Repeat(self._match(node.operand), node.low, node.high, node.take, condition, until)

    def _since(self, node: sources.InTime | sources.Absent) -> Name | None:
        return None if node.since is None else self.role(node.since)


def milliseconds(length_ms: int) -> tree.Duration:
    """Return a length in milliseconds as a duration in the largest unit that leaves no remainder."""
    fitting = [unit for unit in tree.Unit if unit is not tree.Unit.WEEK and length_ms % unit.value == 0]
    unit = max(fitting, key=lambda unit: unit.value) if length_ms else tree.Unit.SECOND
    return tree.Duration(length_ms // unit.value, unit)


def _literal(term: Const) -> tree.Expr:
    value = term.value
    if value is None:
        return tree.Reference(Name("null"))
    if (
        term.scalar is Scalar.DOUBLE
        and isinstance(value, float)
        and value.is_integer()
        and abs(value) < _EXACT
    ):
        return tree.Literal(int(value))
    return tree.Literal(value)


def _flat(op: tree.JunctionOp, args: Sequence[tree.Expr]) -> tuple[tree.Expr, ...]:
    """Return the operands of a junction that the plan has as a balanced tree."""
    return tuple(
        part
        for arg in args
        for part in (arg.operands if isinstance(arg, tree.Junction) and arg.op is op else (arg,))
    )
