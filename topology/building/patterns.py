"""TESLA's patterns: a terminator, and what it asks of the past and of the time ahead."""

from typing import Literal

from tocsin.topology import tree as ast
from tocsin.topology.building.handles import Constituent, Item, constituent
from tocsin.topology.building.names import BuildingError, Length, attribute_name, duration, whole
from tocsin.topology.building.values import RoleLike, Value, expression, role_name

AggregateName = Literal[
    "count", "sum", "avg", "min", "max", "stddev", "distinct", "first", "last", "percentile", "list"
]  # fmt: skip


def each(
    of: Constituent,
    *,
    within: Length | None = None,
    from_: RoleLike | None = None,
    before: RoleLike | None = None,
) -> Item:
    """Return `each E within … from …`: an occurrence for every such event before another one."""
    return _selected(ast.Selection.EACH, 1, of, _backward(within, from_, before))


def last(
    of: Constituent,
    *,
    within: Length | None = None,
    from_: RoleLike | None = None,
    before: RoleLike | None = None,
    count: int = 1,
) -> Item:
    """Return `last E within … from …`, or with a count the last so many: one occurrence for each."""
    return _selected(ast.Selection.LAST, count, of, _backward(within, from_, before))


def first(
    of: Constituent,
    *,
    within: Length | None = None,
    from_: RoleLike | None = None,
    before: RoleLike | None = None,
    count: int = 1,
) -> Item:
    """Return `first E within … from …`, or with a count the first so many: one occurrence for each."""
    return _selected(ast.Selection.FIRST, count, of, _backward(within, from_, before))


def bounded(role: RoleLike, *, within: Length, from_: RoleLike) -> Item:
    """Return `d within 5 min from c`: one more bound for a constituent that was selected before."""
    return Item(ast.Bounded(role_name(role), duration(within), role_name(from_)))


def no(
    of: Constituent,
    *,
    between: tuple[RoleLike, RoleLike] | None = None,
    within: Length | None = None,
    from_: RoleLike | None = None,
    before: RoleLike | None = None,
    after: RoleLike | None = None,
) -> Item:
    """Return `not E …`: no such event between two others, or in some time before one or after one.

    `between=(t, s)`, `within="1 h", from_=s`, `before=s`, or `within="10 min", after=s`, decided when that
    time is up.
    """
    if after is None:
        return Item(ast.Negated(constituent(of), _range(between, within, from_, before)))
    if within is None or between is not None or from_ is not None or before is not None:
        raise BuildingError("`after=` says from when on; it needs `within=` and nothing else.")
    return Item(ast.Negated(constituent(of), ast.Ahead(duration(within), role_name(after))))


def aggregate(  # noqa: PLR0913 (one keyword a clause)
    parameter: Value,
    function: AggregateName,
    of: Constituent,
    attribute: str | None = None,
    argument: float | None = None,
    *,
    between: tuple[RoleLike, RoleLike] | None = None,
    within: Length | None = None,
    from_: RoleLike | None = None,
    before: RoleLike | None = None,
    limit: int | None = None,
) -> Item:
    """Return `$m = avg(Temp(…).value) within 3 min from s`: a parameter computed of many events.

    >>> item = aggregate(param("m"), "avg", kind("Temp"), "value", within="3 min", from_="s")
    >>> item.tree.function.text
    'avg'
    """
    assigned = expression(parameter)
    if not isinstance(assigned, ast.Parameter):
        raise BuildingError('What an aggregate is assigned to is a parameter, such as param("m").')
    return Item(
        ast.Aggregated(
            ast.Name(assigned.name),
            ast.Name(function),
            constituent(of),
            None if attribute is None else attribute_name(attribute),
            _range(between, within, from_, before),
            argument,
            None if limit is None else whole(limit, "The limit of an aggregate"),
        )
    )


def _selected(selection: ast.Selection, count: int, of: Constituent, bound: ast.Backward) -> Item:
    number = whole(count, "The number of selected events")
    return Item(ast.Selected(selection, constituent(of), bound.within, bound.anchor, number))


def _range(
    between: tuple[RoleLike, RoleLike] | None,
    within: Length | None,
    from_: RoleLike | None,
    before: RoleLike | None,
) -> ast.Between | ast.Backward:
    if between is None:
        return _backward(within, from_, before)
    if within is not None or from_ is not None or before is not None:
        raise BuildingError("`between=` says the whole range; leave out `within=`, `from_=` and `before=`.")
    return ast.Between(role_name(between[0]), role_name(between[1]))


def _backward(within: Length | None, from_: RoleLike | None, before: RoleLike | None) -> ast.Backward:
    if within is not None and from_ is not None and before is None:
        return ast.Backward(duration(within), role_name(from_))
    if before is not None and within is None and from_ is None:
        return ast.Backward(None, role_name(before))
    raise BuildingError('Say how far back: `within="3 min", from_=s`, or `before=s` where there is no bound.')
