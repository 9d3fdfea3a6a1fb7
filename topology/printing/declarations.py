"""Declarations, and whole files with their comments."""

from collections.abc import Iterable, Sequence

from tocsin.topology.printing.events import event
from tocsin.topology.printing.expressions import (
    print_assignment,
    print_duration,
    print_expression,
    print_string,
)
from tocsin.topology.printing.layout import Listed, Piece, Row, Trailed, fits, lay_flat
from tocsin.topology.printing.matches import match_expression
from tocsin.topology.printing.patterns import pattern
from tocsin.topology.printing.rules import actions, clauses, when
from tocsin.topology.tree import (
    Application,
    Attribute,
    Declaration,
    Define,
    Enumeration,
    Event,
    Fact,
    Match,
    Name,
    Named,
    Pattern,
    Priorities,
    Program,
    Rule,
    Source,
    Topic,
    When,
)

_MARGIN = 7  # behind `from`, `where` and their like
_INDENT = 2


def program(program: Program) -> str:
    """Return a file; rules stand apart, other declarations as they stood."""
    blocks: list[str] = []
    previous: Declaration | None = None
    for declared in program.declarations:
        above = list(declared.trivia.above)
        rules = isinstance(declared, Define | Rule) or isinstance(previous, Define | Rule)
        spaced = rules or above[:1] == [""]
        while above[:1] == [""]:
            above.pop(0)
        if previous is not None and spaced:
            blocks.append("")
        blocks += above
        behind = declared.trivia.behind
        text = declaration(declared)
        blocks.append(f"{text}  {behind}" if behind else text)
        previous = declared
    rest = list(program.comments)
    while rest[-1:] == [""]:
        rest.pop()
    if not blocks:
        rest = rest[1:] if rest[:1] == [""] else rest
    return "".join(f"{line}\n" for line in (*blocks, *rest))


def declaration(declared: Declaration) -> str:
    """Return a declaration, up to its `;`."""
    match declared:
        case Event():
            text = _event(declared)
        case Fact():
            topic = _words(key=declared.key, on=declared.topic)
            text = _headed(f"fact {declared.name}", declared.attributes, topic)
        case Enumeration():
            text = _enumeration(declared)
        case Named():
            text = event(declared.expr).lay(f"event {declared.name} = ", _INDENT)
        case Priorities():
            text = lay_flat("priorities ", [Piece(str(name)) for name in declared.names], _INDENT)
        case Define():
            text = _define(declared)
        case Rule():
            text = _rule(declared)
    return f"{text};"


def _event(event: Event) -> str:
    parent = f" extends {event.parent}" if event.parent else ""
    words = _words(of=event.application, on=event.topic)
    words += _words(key=event.key, id=event.id, time=event.time, start=event.start)
    words += [f"lateness {print_duration(event.lateness)}"] if event.lateness else []
    words += [f"idle {print_duration(event.idle)}"] if event.idle else []
    words += [f"nulls {event.nulls.policy}"] if event.nulls else []
    words += [f"unit {event.unit.unit} by {event.unit.by}"] if event.unit else []
    return _headed(f"{event.kind} {event.name}{parent}", event.attributes, words)


def _words(**clauses: Name | Topic | Application | None) -> list[str]:
    def text(clause: Name | Topic | Application) -> str:
        return str(clause) if isinstance(clause, Name) else print_string(clause.name)

    return [f"{word} {text(clause)}" for word, clause in clauses.items() if clause]


def _headed(head: str, attributes: tuple[Attribute, ...], words: Sequence[str]) -> str:
    listed = Row(Piece(" "), _attributes(attributes)) if attributes else Piece("")
    return (Trailed(listed, " ".join(words)) if words else listed).lay(head, _INDENT)


def _attributes(attributes: Iterable[Attribute]) -> Piece:
    texts = [f"{a.name}: {a.type}{'[]' if a.many else ''}{'?' if a.optional else ''}" for a in attributes]
    return Listed([Piece(text) for text in texts])


def _enumeration(enumeration: Enumeration) -> str:
    head = f"enum {enumeration.name}"
    flat = f"{head} {{ {', '.join(map(str, enumeration.symbols))} }}"
    if fits(flat):
        return flat
    return Listed([Piece(str(symbol)) for symbol in enumeration.symbols], "{}").lay(f"{head} ", 0)


def _define(define: Define) -> str:
    lines = [_headed(f"define {define.name}", define.attributes, ())]
    lines.append(_source(define.source, "from   "))
    if define.condition:
        lines.append(f"if     {print_expression(define.condition)}")
    if define.assignments:
        values = [Piece(print_assignment(assignment)) for assignment in define.assignments]
        lines.append(lay_flat("where  ", values, _MARGIN))
    return "\n".join([*lines, *clauses(define)])


def _rule(rule: Rule) -> str:
    waits = isinstance(rule.trigger, When)
    lines = [f"rule {rule.name}"]
    if isinstance(rule.trigger, When):
        lines.append(when(rule.trigger, "when   ", _MARGIN))
    else:
        lines.append(_source(rule.trigger, "on     "))
    if rule.condition:
        lines.append(f"if     {print_expression(rule.condition)}")
    lines.append(actions(rule.actions, "then   " if waits else "do     ", _MARGIN))
    return "\n".join([*lines, *clauses(rule)])


def _source(source: Source, before: str) -> str:
    match source:
        case Pattern():
            return pattern(source, before, _MARGIN)
        case Match():
            return match_expression(source.expr, root=True).lay(f"{before}match ", _MARGIN)
        case _:
            return event(source, root=True).lay(before, _MARGIN)
