"""SnoopIB: the operators of Snoop over intervals, in contexts.

An occurrence of SnoopIB comes after another if it starts after that one ends, where Snoop's comes after if it
ends later. The relation between intervals is a condition of the later operand, and an operand that is
composite is a definition of its own, which has an interval.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NoReturn

from .cases import Case, Inexpressible, Translation
from .checks import same_set
from .declare import declare

if TYPE_CHECKING:
    from tests.oracle.history import Occurrence
    from tests.oracle.run import Detected

TOKEN = re.compile(r"\s*(Plus|\w+|[;Δ∇¬()\[\],])")
DELAY = re.compile(r"Plus\([^,]*, *(\d+)\)")
CONTEXT = re.compile(r"\((unrestricted|recent|chronicle|continuous|cumulative)\)\s*$")


def translate(case: Case) -> Translation:
    """Translate one expression, or several that stand `against` each other."""
    native = str(case.pattern["native"])
    context = CONTEXT.search(native)
    expressions = [CONTEXT.sub("", part).strip() for part in native.split(" against ")]
    names = {expression: f"Case{i}" for i, expression in enumerate(expressions)}
    program = Writer(context[1] if context else "unrestricted")
    for expression, name in names.items():
        program.define(name, expression)
    events = tuple(
        replace(event, t=event.attrs["end"], attrs={"start": event.attrs["start"]}) for event in case.events
    )
    delays = sum(int(delay) for delay in DELAY.findall(native))

    def check(detected: "Detected") -> str | None:
        differences = []
        for expression, name in names.items():
            rows = [
                row for row in case.expected if row.get("pattern", expression) == expression and row["events"]
            ]
            expected = ((frozenset(row["events"]), tuple(row["interval"])) for row in rows)
            got = ((frozenset(_events(o)), (o.start, o.end)) for o in detected.of(name))
            difference = same_set(expected, got)
            differences += [f"{expression}: {difference}"] if difference else []
        return "; ".join(differences) or None

    declarations = declare(events, timestamps={"start"}, clauses="start start")
    text = "\n\n".join([declarations, *program.definitions])
    return Translation(text, events, check, until=max(event.t for event in events) + delays)


def _events(occurrence: "Occurrence") -> Iterator[str]:
    """The ids of the events that an occurrence is made of, through all definitions; timers have none."""
    for constituent in occurrence.constituents:
        if constituent.roles:
            yield from _events(constituent)
        elif constituent.type != "Timer":
            yield str(constituent.label)


@dataclass(frozen=True)
class Node:
    """An operator over its operands, `Plus` with its delay; without an operator, the name of an event."""

    operator: str = ""
    operands: tuple["Node", ...] = ()
    word: str = ""


@dataclass
class Writer:
    """Reads expressions and writes definitions."""

    context: str
    definitions: list[str] = field(default_factory=list)
    parts: int = 0

    def define(self, name: str, expression: str) -> None:
        """Write the definitions for an expression, the last one under this name."""
        reader = Reader(expression)
        node = reader.expression()
        reader.end()
        self._add(name, node)

    def _add(self, name: str, node: Node) -> None:
        source = self._source(node)
        context = "" if node.operator in {"", "¬"} else f"context {self.context} "
        self.definitions.append(f"define {name}\nfrom {source}\n{context}unbounded;")

    def _source(self, node: Node) -> str:
        """One operator, over the names of its operands."""
        match node.operator, [self._operand(operand) for operand in node.operands]:
            case "", []:
                return f"{node.word} as a"
            case ";", [left, right]:
                return f"{left} as a ; {right}(this after a) as b"
            case "Δ", [left, right]:
                return f"{left} as a and {right} as b"
            case "∇", [left, right]:
                return f"{left} as a or {right} as b"
            case "¬", [absent, first, last]:
                return self._not(absent, first, last)
            case "Plus", [operand]:
                return f"end ({operand} as a + {node.word} ms)"
            case _:
                raise AssertionError(node)

    def _not(self, absent: str, first: str, last: str) -> str:
        """Unrestricted, NOT is a pattern: what is absent would lie between the two intervals."""
        if self.context != "unrestricted":
            raise Inexpressible("NOT with a condition between its second and third operand, in a context")
        between = f"{absent}(this after [0 ms, *] a, this before [0 ms, *] b) between a and b"
        return f"{last} as b and each {first}(this before b) as a before b and not {between}"

    def _operand(self, node: Node) -> str:
        """The name of an operand: an event's, or that of a definition made for it."""
        if not node.operator:
            return node.word
        self.parts += 1
        name = f"Part{self.parts}"
        self._add(name, node)
        return name


class Reader:
    """Reads an expression in the notation of the thesis."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = TOKEN.findall(text)
        if "".join(self._tokens) != re.sub(r"\s", "", text):
            self._fail()

    def expression(self) -> Node:
        """`;` binds loosest, then OR, then AND."""
        return self._pairs(";∇Δ")

    def end(self) -> None:
        """Nothing may follow."""
        if self._tokens:
            self._fail()

    def _pairs(self, operators: str) -> Node:
        if not operators:
            return self._primary()
        left = self._pairs(operators[1:])
        while self._take(operators[0]):
            left = Node(operators[0], (left, self._pairs(operators[1:])))
        return left

    def _primary(self) -> Node:
        if self._take("("):
            inner = self.expression()
            self._expect(")")
            return inner
        if self._take("¬"):
            self._expect("(")
            absent = self.expression()
            for sign in ")[":
                self._expect(sign)
            first = self.expression()
            self._expect(",")
            last = self.expression()
            self._expect("]")
            return Node("¬", (absent, first, last))
        if self._take("Plus"):
            self._expect("(")
            operand = self.expression()
            self._expect(",")
            delay = self._word()
            self._expect(")")
            return Node("Plus", (operand,), delay)
        name = self._word()
        if self._tokens[:1] == ["("]:
            self._fail()
        return Node(word=name)

    def _take(self, token: str) -> bool:
        found: bool = self._tokens[:1] == [token]
        if found:
            del self._tokens[0]
        return found

    def _expect(self, token: str) -> None:
        if not self._take(token):
            self._fail()

    def _word(self) -> str:
        if not self._tokens or not re.fullmatch(r"\w+", self._tokens[0]):
            self._fail()
        word: str = self._tokens.pop(0)
        return word

    def _fail(self) -> NoReturn:
        raise Inexpressible(f"notation: {self._text}")
