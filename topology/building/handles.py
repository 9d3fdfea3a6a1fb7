"""What Python's operators work on: each class holds a node of the tree, and says no more than it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import EllipsisType
from typing import Literal, overload

from tocsin.topology import tree as ast
from tocsin.topology.building.names import (
    BuildingError,
    Length,
    Undecided,
    attribute_name,
    choice,
    duration,
    whole,
)
from tocsin.topology.building.values import Operand, RoleLike, Value, expression, role_name
from tocsin.topology.errors import suggest
from tocsin.topology.printing.events import event
from tocsin.topology.printing.matches import match_expression
from tocsin.topology.printing.patterns import pattern

TakeName = Literal["first", "each", "next"]


@dataclass(frozen=True, slots=True)
class Events(Undecided):
    """An event expression; `tree` is its node.

    `E1 | E2`, `E1 & E2`, `E1 >> E2` (a sequence), `E + "15 min"` and `E.within("5 min")`. They bind as
    Python's operators do, not as the language's: `&` is looser than `>>`. Set parentheses.
    """

    tree: ast.EventExpr

    @overload
    def __or__(self, other: "Events") -> "Events": ...
    @overload
    def __or__(self, other: "Steps") -> "Steps": ...
    def __or__(self, other: "Events | Steps") -> "Events | Steps":
        if isinstance(other, Steps):
            return Steps(ast.Alternatives((match_of(self), other.tree)))
        return Events(ast.Or(self.tree, events(other)))

    @overload
    def __and__(self, other: "Events") -> "Events": ...
    @overload
    def __and__(self, other: "Steps") -> "Steps": ...
    @overload
    def __and__(self, other: "Item | Value") -> "Pattern": ...
    def __and__(self, other: "Events | Steps | Item | Value") -> "Events | Steps | Pattern":
        if isinstance(other, Item | Value):
            return Pattern(ast.Pattern(constituent(self))) & other
        if isinstance(other, Steps):
            return Steps(ast.All((match_of(self), other.tree)))
        return Events(ast.And(self.tree, events(other)))

    @overload
    def __rshift__(self, other: "Events") -> "Events": ...
    @overload
    def __rshift__(self, other: "Steps") -> "Steps": ...
    def __rshift__(self, other: "Events | Steps") -> "Events | Steps":
        if isinstance(other, Steps):
            return Steps(ast.Then(match_of(self), other.tree))
        return Events(ast.Seq(self.tree, events(other)))

    def __add__(self, delay: Length) -> "Events":
        return Events(ast.Plus(self.tree, duration(delay)))

    def within(self, length: Length) -> "Events":
        """Return the occurrences that take no longer, from the first constituent to the last."""
        return Events(ast.Within(self.tree, duration(length)))

    def as_(self, role: RoleLike) -> "Events":
        """Return the same with a name for the part it plays."""
        return Events(_aliased(self.tree, role))

    def __str__(self) -> str:
        return event(self.tree).flat


@dataclass(frozen=True, slots=True)
class Constituent(Events):
    """What can be a constituent of a pattern: an occurrence, a phase of one, or a timer."""

    tree: ast.Constituent

    def as_(self, role: RoleLike) -> "Constituent":
        """Return the same with a name for the part it plays."""
        return Constituent(constituent(Events(_aliased(self.tree, role))))


@dataclass(frozen=True, slots=True)
class Kind(Constituent):
    """A kind of event: alone it is any occurrence of it, called with conditions those that fulfil them.

    A keyword is an equality, and other conditions come first: `temp(this.value > 45, area=a)`. `op[1]` is a
    grouped event. `declaration` is None where the kind is declared elsewhere, `attributes` where they are
    not known.
    """

    tree: ast.Occurrence
    declaration: ast.Event | ast.Named | ast.Define | None = None
    attributes: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the event type."""
        return self.tree.event.text

    def __call__(self, *conditions: Value, **equal: Operand) -> Constituent:
        """Return the occurrences that fulfil conditions."""
        return Constituent(replace(self.tree, conditions=conditions_of(self, conditions, equal)))

    def __getitem__(self, group: int) -> "Kind":
        """Return the events of one execution: the same number, the same execution."""
        return replace(self, tree=replace(self.tree, group=whole(group, "The number of a group", least=0)))

    def __str__(self) -> str:
        """Return the text of the declaration, or the name where there is none."""
        return str(self.declaration) if self.declaration else self.name


@dataclass(frozen=True, slots=True)
class Facts(Undecided):
    """A kind of fact, alone or with conditions: what may stand in `holds`."""

    tree: ast.Occurrence
    declaration: ast.Fact | None = None
    attributes: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name of the fact."""
        return self.tree.event.text

    def __call__(self, *conditions: Value, **equal: Operand) -> "Facts":
        """Return the facts that fulfil conditions."""
        return replace(self, tree=replace(self.tree, conditions=conditions_of(self, conditions, equal)))

    def as_(self, role: RoleLike) -> "Facts":
        """Return the same with a name for the part it plays."""
        return replace(self, tree=replace(self.tree, alias=role_name(role)))

    def __str__(self) -> str:
        """Return the text of the declaration, or the name where there is none."""
        return str(self.declaration) if self.declaration else self.name


@dataclass(frozen=True, slots=True)
class Item(Undecided):
    """What a terminator asks for: joined to it, and to other items, by `&`."""

    tree: ast.PatternItem


@dataclass(frozen=True, slots=True)
class Pattern(Undecided):
    """A terminator and what it asks for; a condition on parameters may be joined too.

    >>> print(kind("Smoke")(area=param("a")).as_("s") & last(kind("Temp"), within="3 min", from_="s"))
    Smoke(area = $a) as s
      and  last Temp within 3 min from s
    """

    tree: ast.Pattern

    def __and__(self, other: Item | Value) -> "Pattern":
        given: object = other
        if not isinstance(given, Item | Value):
            message = (
                "Behind `&` in a pattern stands an item (`last(…)`, `no(…)`, …) or a condition on parameters."
            )
            raise BuildingError(message)
        item = given.tree if isinstance(given, Item) else _on_parameters(given)
        return Pattern(replace(self.tree, items=(*self.tree.items, item)))

    def __str__(self) -> str:
        return pattern(self.tree, "", indent=7)


@dataclass(frozen=True, slots=True)
class Steps(Undecided):
    """A match; `tree` is its node. A single event that is joined to it becomes a step.

    `M1 >> M2` (then), `M1 & M2`, `M1 | M2` (each on its own), `~M` (not).
    """

    tree: ast.MatchExpr

    def __rshift__(self, other: "Steps | Constituent") -> "Steps":
        return Steps(ast.Then(self.tree, match_of(other)))

    def __and__(self, other: "Steps | Constituent") -> "Steps":
        joined = self.tree.parts if isinstance(self.tree, ast.All) else (self.tree,)
        return Steps(ast.All((*joined, match_of(other))))

    def __or__(self, other: "Steps | Constituent") -> "Steps":
        joined = self.tree.parts if isinstance(self.tree, ast.Alternatives) else (self.tree,)
        return Steps(ast.Alternatives((*joined, match_of(other))))

    def __invert__(self) -> "Steps":
        return Steps(ast.Denied(self.tree))

    def times(
        self,
        low: int,
        high: int | EllipsisType | None = None,
        *,
        take: TakeName = "first",
        while_: Value | None = None,
        until: "Steps | Constituent | None" = None,
    ) -> "Steps":
        """Return a repetition: `times(3)` exactly, `times(2, 5)`, `times(2, ...)` at least.

        `take` says how the second and later ones are found; `while_` compares each with the one before, as in
        `this.value > previous.value`. With `until` it is true once: when that comes after enough of them.
        """
        least = whole(low, "The number of repetitions", least=0)
        most = least if high is None else None if high is ... else whole(high, "The number of repetitions")
        if most is not None and most < least:
            raise BuildingError(f"At least {low} and at most {high} repetitions can never be.")
        return Steps(
            ast.Repeat(
                self.tree,
                least,
                most,
                choice(ast.Take, take, "way to take events"),
                None if while_ is None else condition(while_),
                None if until is None else match_of(until),
            )
        )

    def within(self, length: Length, *, from_: RoleLike | None = None) -> "Steps":
        """Return what comes true in time, counted from where it was started, or from an event's time."""
        return Steps(ast.InTime(self.tree, duration(length), None if from_ is None else role_name(from_)))

    def while_(self, holds: Value) -> "Steps":
        """Return the match that is ended by the first occurrence that violates a condition."""
        return Steps(ast.While(self.tree, condition(holds)))

    def at_most(self, count: int) -> "Steps":
        """Return the match that comes true no more than so many times."""
        return Steps(ast.AtMost(self.tree, whole(count, "The number of times", least=0)))

    def __str__(self) -> str:
        return match_expression(self.tree).flat


# --- from Python to the tree --------------------------------------------------------------------------------


def events(given: object) -> ast.EventExpr:
    """Return the expression of events, or say what was given instead."""
    if isinstance(given, Events):
        return given.tree
    if isinstance(given, Facts):
        raise BuildingError(f"`{given.name}` is a fact: it holds, it does not occur. Use it in `holds(…)`.")
    if isinstance(given, Steps):
        raise BuildingError(
            "A match cannot be part of an event expression; define an event by it and use that."
        )
    raise BuildingError(f"{given!r} is not an event.")


def constituent(given: object) -> ast.Constituent:
    """Return the constituent, or say why this is none."""
    match events(given):
        case ast.Occurrence() | ast.Timer() as single:
            return single
        case ast.Modified(operand=ast.Occurrence()) as phase:
            return phase
        case _:
            message = (
                "Only a single event can be a constituent here; give the expression a name with `named(…)`."
            )
            raise BuildingError(message)


def conditions_of(
    of: Kind | Facts, given: Sequence[Value], equal: Mapping[str, Operand]
) -> tuple[ast.Expr, ...]:
    """Return the conditions of an occurrence: those given, then equalities."""
    for attribute in equal:
        if of.attributes is not None and attribute not in of.attributes:
            hint = suggest(attribute, of.attributes, "its attributes are")
            raise BuildingError(f"`{of.name}` has no attribute `{attribute}`{f'; {hint}' if hint else ''}")
    equalities = (
        ast.Binary(ast.BinaryOp.EQ, ast.Reference(attribute_name(attribute)), expression(value))
        for attribute, value in equal.items()
    )
    return (*(condition(each) for each in given), *equalities)


def condition(given: object) -> ast.Expr:
    """Return the expression of a condition; what Python has already decided is a mistake."""
    if isinstance(given, Value):
        return given.tree
    raise BuildingError(f"{given!r} is not a condition such as `this.value > 45`.")


def _aliased(expr: ast.EventExpr, role: RoleLike) -> ast.EventExpr:
    match expr:
        case ast.Occurrence() | ast.Timer() | ast.Plus() | ast.Periodic():
            return replace(expr, alias=role_name(role))
        case ast.Modified(operand=ast.Occurrence() as occurrence):
            return replace(expr, operand=replace(occurrence, alias=role_name(role)))
        case _:
            message = (
                "Only a single event, a timer, `E + …` and `periodic(…)` can have a role: "
                "give one to the parts of the expression."
            )
            raise BuildingError(message)


def step(of: Constituent) -> Steps:
    """Return the step that takes one event, with which a match is begun: `step(a) >> b >> c`."""
    occurrence = constituent(of)
    if isinstance(occurrence, ast.Timer):
        raise BuildingError("A timer cannot be a step of a match; `wait(…)` lets time pass.")
    return Steps(ast.Step(occurrence))


def match_of(given: object) -> ast.MatchExpr:
    if isinstance(given, Steps):
        return given.tree
    if isinstance(given, Constituent):
        return step(given).tree
    if isinstance(given, Events):
        message = (
            "An event expression cannot be part of a match; begin the match with a step: `step(a) >> b`."
        )
        raise BuildingError(message)
    raise BuildingError(f"{given!r} is not a part of a match.")


def _on_parameters(given: Value) -> ast.Condition:
    match _leftmost(given.tree):
        case ast.Parameter() | ast.Duration() | ast.Reference(of=ast.Name()):
            return ast.Condition(given.tree)
        case ast.Literal(value=value) if not isinstance(value, bool):
            return ast.Condition(given.tree)
        case _:
            message = (
                "A condition in a pattern begins with a parameter, an attribute of a role or a number, as "
                f"`$m > 45` and `t.value > 45` do; `{given}` does not."
            )
            raise BuildingError(message)


def _leftmost(expr: ast.Expr) -> ast.Expr:
    """Return what an expression begins with, not counting parentheses and `not`."""
    match expr:
        case ast.Binary() | ast.Junction() | ast.IsNull() | ast.OneOf() | ast.Unary(op=ast.UnaryOp.NOT):
            return _leftmost(expr.children[0])
        case _:
            return expr
