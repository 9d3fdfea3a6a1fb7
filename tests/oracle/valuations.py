"""Equality parameters: which they are, and how a source is split by their values.

A parameter that occurs in equalities of at least two constituents of a source is an equality parameter. Snoop
expressions and matches are evaluated for every valuation of theirs on its own, and the results united; a leaf
that does not mention a parameter takes part in all of its valuations.

    for valuation in valuations(leaves):
        valuation.candidates(leaf)       for each of the leaves: its own conditions and the values fulfilled
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

from tests.oracle.history import Occurrence, Value
from tests.oracle.values import Scope, compare, holds, mentions
from tests.oracle.world import World
from tocsin.topology import tree
from tocsin.topology.tree import BinaryOp, JunctionOp


@dataclass(frozen=True, eq=False)
class Leaf:
    """A constituent of a source as it was written; each stands for itself."""

    expr: tree.Constituent
    world: World
    apart: tuple[int, ...] = ()
    """The numbers in brackets of other constituents: executions that this one must not be."""
    several: bool = False
    """Whether one occurrence of the source takes several of it: under a repetition, or in `any(m, E*)`."""

    @cached_property
    def written(self) -> tree.Occurrence | tree.Timer:
        """The occurrence or timer itself, without its phase."""
        if isinstance(self.expr, tree.Modified):
            assert isinstance(self.expr.operand, tree.Occurrence)
            return self.expr.operand
        return self.expr

    @cached_property
    def role(self) -> str:
        """The role it plays; "" for a timer without a name."""
        if isinstance(self.written, tree.Timer):
            return self.written.alias.text if self.written.alias else ""
        return self.written.role

    @cached_property
    def conditions(self) -> tuple[tree.Expr, ...]:
        """Its conditions, one conjunct each; a lone `$x` and `[1]` are written out as equalities."""
        if isinstance(self.written, tree.Timer):
            return ()
        key = self.world.key(self.written.event.text)
        conditions = [
            equality(key, condition.name) if isinstance(condition, tree.Parameter) and key else condition
            for written in self.written.conditions
            for condition in conjuncts(written)
        ]
        if self.written.group is not None:
            conditions.append(equality("call", group_parameter(self.written.group)))
            conditions.extend(difference("call", group_parameter(number)) for number in self.apart)
        return tuple(conditions)

    @cached_property
    def bindings(self) -> Mapping[str, str]:
        """Parameter → the attribute that gives it its value: its first mention in an equality here."""
        bound: dict[str, str] = {}
        for condition in self.conditions:
            if (mention := equality_of(condition)) is not None:
                bound.setdefault(*mention)
        return bound

    def parameters(self, occurrence: Occurrence) -> Mapping[str, Value]:
        """The values that an occurrence in this place gives to the parameters."""
        return {name: occurrence.attributes.get(attribute) for name, attribute in self.bindings.items()}

    @cached_property
    def own_conditions(self) -> tuple[tree.Expr, ...]:
        """The conditions that need nothing but the occurrence itself."""
        known = {f"${name}" for name in self.bindings}
        return tuple(condition for condition in self.conditions if mentions(condition) <= known)

    @cached_property
    def others_conditions(self) -> tuple[tree.Expr, ...]:
        """The conditions that speak of other constituents too."""
        known = {f"${name}" for name in self.bindings}
        return tuple(condition for condition in self.conditions if not mentions(condition) <= known)

    def accepts(self, occurrence: Occurrence) -> bool:
        """Whether the occurrence fulfils the conditions that need nothing else."""
        scope = Scope(own=occurrence, parameters=self.parameters(occurrence))
        return all(holds(condition, scope) for condition in self.own_conditions)


def leaves_of(exprs: Iterable[tree.Constituent], world: World) -> list[Leaf]:
    """The leaves of a source, in the order in which they are written.

    Different numbers in brackets are different executions: each leaf is kept apart from the numbers before
    it.
    """
    leaves: list[Leaf] = []
    numbers: list[int] = []
    for expr in exprs:
        number = getattr(Leaf(expr, world).written, "group", None)
        leaves.append(Leaf(expr, world, tuple(other for other in dict.fromkeys(numbers) if other != number)))
        if number is not None:
            numbers.append(number)
    return leaves


@dataclass(frozen=True)
class Valuation:
    """A value for each of the equality parameters of a source."""

    values: tuple[tuple[str, Value], ...]

    def admits(self, leaf: Leaf, occurrence: Occurrence) -> bool:
        """Whether the occurrence has the values that the leaf's equalities with parameters ask for."""
        given = dict(self.values)
        return all(
            compare(BinaryOp.EQ, value, given[name])
            for name, value in leaf.parameters(occurrence).items()
            if name in given
        )

    def candidates(self, leaf: Leaf) -> tuple[Occurrence, ...]:
        """`E[H]` of a leaf: the occurrences that fulfil its own conditions and fit the valuation."""
        return tuple(
            occurrence
            for occurrence in leaf.world.leaf(leaf.expr)
            if leaf.accepts(occurrence) and self.admits(leaf, occurrence)
        )


def valuations(leaves: Sequence[Leaf]) -> list[Valuation]:
    """Every valuation of the equality parameters for which something occurred, in the order of occurrence."""
    names = equality_parameters(leaves)
    values = [observed(leaves, name) for name in names]
    choices = (dict(zip(names, choice, strict=True)) for choice in product(*values))
    return [Valuation(tuple(choice.items())) for choice in choices if groups_differ(choice)]


def equality_parameters(leaves: Iterable[Leaf]) -> list[str]:
    """The parameters with equalities in at least two constituents, in the order of their first mention.

    One that is taken several times counts as several: the same value is meant for all of them.
    """
    mentioned = [name for leaf in leaves for name in leaf.bindings for _ in range(2 if leaf.several else 1)]
    return [name for name in dict.fromkeys(mentioned) if mentioned.count(name) > 1]


def observed(leaves: Iterable[Leaf], name: str) -> list[Value]:
    """The values a parameter can have, in the order of the occurrences that have them; null is none."""
    occurrences = {
        occurrence: leaf.parameters(occurrence)[name]
        for leaf in leaves
        if name in leaf.bindings
        for occurrence in leaf.world.leaf(leaf.expr)
    }
    ordered = sorted(occurrences.items(), key=lambda item: item[0].position)
    return list(dict.fromkeys(value for _, value in ordered if value is not None))


def groups_differ(values: Mapping[str, Value]) -> bool:
    groups = [value for name, value in values.items() if is_group(name)]
    return all(one != other for one, other in combinations(groups, 2))


def group_parameter(number: int) -> str:
    """The parameter that `Op[1]` stands for; its name is none that could be written."""
    return f"[{number}]"


def is_group(parameter: str) -> bool:
    return parameter.startswith("[")


def equality(attribute: str, parameter: str) -> tree.Binary:
    return tree.Binary(BinaryOp.EQ, tree.Reference(tree.Name(attribute)), tree.Parameter(parameter))


def difference(attribute: str, parameter: str) -> tree.Binary:
    return tree.Binary(BinaryOp.NE, tree.Reference(tree.Name(attribute)), tree.Parameter(parameter))


def equality_of(condition: tree.Expr) -> tuple[str, str] | None:
    """The parameter and the attribute, if the condition is `attribute = $p`, either way round."""
    match condition:
        case tree.Binary(
            BinaryOp.EQ, tree.Reference(of=None, attribute=attribute), tree.Parameter(name=name)
        ) | tree.Binary(BinaryOp.EQ, tree.Parameter(name=name), tree.Reference(of=None, attribute=attribute)):
            return name, attribute.text
        case _:
            return None


def conjuncts(condition: tree.Expr) -> Iterator[tree.Expr]:
    """`a and b` as a and b."""
    if isinstance(condition, tree.Junction) and condition.op is JunctionOp.AND:
        for operand in condition.operands:
            yield from conjuncts(operand)
    else:
        yield condition
