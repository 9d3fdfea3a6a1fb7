"""The roles of a source: what its occurrences are made of, in the order in which it is written."""

from collections.abc import Iterable, Iterator

from tocsin.topology import tree


def written(source: object) -> Iterator[str]:
    """The role of every constituent; what is absent or only looked at is none, and "" is an unnamed timer.

    A timer stands before what it counts from.
    """
    match source:
        case tree.Occurrence(role=role):
            yield role
        case tree.Timer(alias=alias) | tree.Plus(alias=alias) | tree.Periodic(alias=alias):
            yield alias.text if alias else ""
        case tree.Wait(alias=alias) if alias:
            yield alias.text
        case tree.ChangeCondition(type=name, fact=fact, alias=alias):
            yield (fact or name).text
            yield alias.text if alias else f"change {name.text}"
    for part in parts(source):
        yield from written(part)


def parts(source: object) -> Iterable[object]:  # noqa: C901, PLR0911 (one case a kind)
    """What of a source its occurrences are made of."""
    match source:
        case tree.Pattern(terminator=terminator, items=items):
            return [terminator, *(item.occurrence for item in items if isinstance(item, tree.Selected))]
        case tree.When(items=items):
            return items
        case tree.FactCondition(negated=negated) | tree.EventCondition(negated=negated):
            return () if negated else (source.occurrence,)
        case tree.Match(expr=expr):
            return (expr,)
        case tree.Step(occurrence=occurrence):
            return (occurrence,)
        case tree.Denied() | tree.Absent():
            return ()
        case tree.Not(first=first, last=last):
            return first, last
        case tree.Aperiodic(star=False, first=first, middle=middle):
            return first, middle
        case tree.Periodic(star=False, first=first):
            return (first,)
        case tree.EventExpr() | tree.MatchExpr():
            return source.operands
        case _:
            return ()
