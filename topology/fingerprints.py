"""Fingerprints: which definition a piece of state or an identity belongs to, whatever its layout."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from tocsin.topology.errors import Report, Source
from tocsin.topology.model import Constituent, Rule
from tocsin.topology.plan import EventType, PlanConstituent, SourceNode, Terminator
from tocsin.topology.terms import Term
from tocsin.topology.tokens import tokenize
from tocsin.topology.tree import Duration, Name, Occurrence, Unit

_DIGITS = 16


def of_source(event: EventType, test: Term | None) -> str:
    """Return the fingerprint of a source: of where its state came from, what it holds, and what let it in."""
    return _of_data([event.topic, event.signature, test and test.to_list()])


def of_pattern(
    terminator: Terminator, constituents: Sequence[PlanConstituent], sources: Sequence[SourceNode]
) -> str:
    """Return the fingerprint of a pattern, in which the fingerprints of its sources stand for their ids."""
    parts = [terminator.to_dict(), *(constituent.to_dict() for constituent in constituents)]
    pairs = zip(parts, sources, strict=True)
    return _of_data([{**part, "node": source.fingerprint} for part, source in pairs])


def of_definition(rule: Rule) -> str:
    """Return the fingerprint of a definition.

    It is that of the definition's words in canonical order, with every role named and every bound in
    milliseconds, so that layout does not change it; and it rests on nothing that a later version of the
    compiler might do differently.
    """
    define = rule.define
    order = [attribute.name for attribute in define.attributes]
    pattern = define.pattern
    items = tuple(
        replace(
            item,
            occurrence=_named(item.occurrence),
            within=Duration(item.within.ms, Unit.MILLISECOND),
            anchor=Name(_anchor(rule, index).role),
        )
        for index, item in enumerate(pattern.items, start=1)
    )
    canonical = replace(
        define,
        pattern=replace(pattern, terminator=_named(pattern.terminator), items=items),
        assignments=tuple(sorted(define.assignments, key=lambda a: order.index(a.attribute))),
    )
    tokens, _ = tokenize(Report(Source(str(canonical))))
    return _of_text(" ".join(token.text for token in tokens))


def _anchor(rule: Rule, index: int) -> Constituent:
    return rule.constituents[rule.constituents[index].anchor]


def _named(occurrence: Occurrence) -> Occurrence:
    return replace(occurrence, alias=Name(occurrence.role))


def _of_data(data: object) -> str:
    return _of_text(json.dumps(data, separators=(",", ":"), sort_keys=True))


def _of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
