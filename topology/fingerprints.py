"""Fingerprints: which definition a piece of state or an identity belongs to, whatever its layout.

A node's is that of its canonical meaning: names of roles and parameters take no part in it. A subscriber's is
that of its text in canonical form, so that it rests on nothing that a later version of the compiler might do
differently.
"""

import hashlib
import operator
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args

from tocsin.topology.model import Rule
from tocsin.topology.tree import (
    Absent,
    Ahead,
    Backward,
    Between,
    Bounded,
    Context,
    Define,
    Detection,
    Duration,
    InTime,
    Modify,
    Name,
    Occurrence,
    Reference,
    Relation,
    Retract,
    Selected,
    Skip,
    Trivia,
    Unit,
    When,
)
from tocsin.topology.tree import Rule as RuleDeclaration

_DIGITS = 16
_ROLES: Mapping[type, tuple[str, ...]] = {
    Absent: ("since",),
    Ahead: ("anchor",),
    Backward: ("anchor",),
    Between: ("first", "last"),
    Bounded: ("role", "anchor"),
    Define: ("consuming",),
    InTime: ("since",),
    Modify: ("role",),
    Reference: ("of",),
    Relation: ("left", "right"),
    Retract: ("role",),
    RuleDeclaration: ("consuming",),
    Selected: ("anchor",),
    Skip: ("role",),
}
"""Where the tree names a role."""
_BLANKS = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<between>(?<=\w)\s+(?=\w))|\s+')

Tree = TypeVar("Tree")


def of_text(text: str) -> str:
    """Return the fingerprint of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def of_definition(rule: Rule) -> str:
    """Return the fingerprint of a definition or rule.

    It is that of its words in canonical order, with named expressions expanded, every role named and every
    time in milliseconds, so that layout does not change it.
    """
    roles = {c.occurrence.event.text: c.role for c in rule.taken() if c.occurrence is not None}
    canonical = _Canonical({**roles, **{c.role: c.role for c in rule.taken()}})
    return of_text(_BLANKS.sub(_blank, str(canonical.of(_expanded(rule)))))


def _expanded(rule: Rule) -> Define | RuleDeclaration:
    """Return the declaration without what is said of it elsewhere, and what does not change its meaning."""
    source = rule.written
    detection = _said(rule.declaration.detection)
    declaration = replace(rule.declaration, detection=detection, unbounded=False, trivia=Trivia())
    if not isinstance(declaration, Define):
        return replace(declaration, trigger=source)
    assert not isinstance(source, When)
    order = {attribute.name.text: place for place, attribute in enumerate(declaration.attributes)}
    assignments = sorted(declaration.assignments, key=lambda given: order[given.attribute.text])
    return replace(declaration, source=source, assignments=tuple(assignments))


def _said(detection: Detection | None) -> Detection | None:
    """Return what is said of the formation of occurrences beyond what holds anyhow."""
    if detection is None or detection.context is not Context.RECENT:
        return detection
    rest = replace(detection, context=None)
    return None if rest == Detection() else rest


def _blank(found: re.Match[str]) -> str:
    """Keep strings as they are, and one blank between words: the rest is layout."""
    return found[0] if found["string"] else " " * bool(found["between"])


class _Canonical:
    """Rewrites trees: occurrences say their role, roles are named by it, times are in milliseconds."""

    def __init__(self, roles: Mapping[str, str]) -> None:
        self._roles = roles

    def of(self, node: Tree) -> Tree:
        """Return a tree in canonical form."""
        return self._of(node)  # type: ignore[no-any-return]

    def _of(self, node: Any) -> Any:  # noqa: ANN401 (whatever stands in a tree)
        if isinstance(node, tuple):
            parts = tuple(map(self._of, node))
            return node if all(map(operator.is_, parts, node)) else parts
        if isinstance(node, Duration):
            return Duration(node.ms, Unit.MILLISECOND)
        changed = {}
        for name in _parts(node.__class__):
            before = getattr(node, name)
            after = self._of(before)
            if after is not before:
                changed[name] = after
        for name in _ROLES.get(node.__class__, ()):
            named = self._named(getattr(node, name))
            if named != getattr(node, name):
                changed[name] = named
        if isinstance(node, Occurrence) and node.alias is None:
            changed["alias"] = Name(node.role)
        return replace(node, **changed) if changed else node

    def _named(self, named: Any) -> Any:  # noqa: ANN401 (a name, several, or none)
        if isinstance(named, tuple):
            return tuple(map(self._named, named))
        return None if named is None else Name(self._roles.get(named.text, named.text))


@cache
def _parts(kind: Any) -> tuple[str, ...]:  # noqa: ANN401 (whatever stands in a tree)
    """Return the fields of a node that can hold others."""
    if kind is Name or not is_dataclass(kind):
        return ()
    return tuple(
        part.name for part in fields(kind) if part.name not in {"span", "trivia"} and not _is_plain(part.type)
    )


def _is_plain(kind: Any) -> bool:  # noqa: ANN401 (what annotations are)
    """Tell whether a field of a type can only hold names and values."""
    if isinstance(kind, UnionType):
        return all(map(_is_plain, get_args(kind)))
    return isinstance(kind, type) and issubclass(kind, Name | str | int | float | NoneType)
