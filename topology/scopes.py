"""Scopes: what names mean at one place of a rule.

Every lookup returns None after it has reported a mistake, so that one mistake is reported once.
"""

from dataclasses import dataclass

from tocsin.topology.errors import Report, did_you_mean, suggest
from tocsin.topology.model import Compilation, Constituent, Parameter, Part, Rule
from tocsin.topology.terms import Field, Previous, Term
from tocsin.topology.tree import Expr, Match, Name, Pattern, Reference, When
from tocsin.topology.tree import Parameter as WrittenParameter
from tocsin.topology.types import Kind

_SNIPPET_LENGTH = 40

THIS, PREVIOUS = "this", "previous"


@dataclass(frozen=True)
class Scope:
    """What names mean at one place.

    `visible` are the constituents that can be named, `own` the one whose conditions these are, `previous` the
    one whose element before can be named. `others` are roles of the source that cannot be named here.
    `repeated` tells that `own` is taken again and again, so that what was taken before can be aggregated;
    `aggregating`, that roles can be aggregated at all.
    """

    compilation: Compilation
    rule: Rule
    visible: tuple[Constituent, ...] = ()
    own: Constituent | None = None
    previous: Constituent | None = None
    others: frozenset[str] = frozenset()
    repeated: bool = False
    aggregating: bool = True

    @property
    def report(self) -> Report:
        """Where mistakes go."""
        return self.compilation.report

    def snippet(self, expr: Expr) -> str:
        """Return the text of an expression for a message."""
        if isinstance(expr, Reference) and expr.of is None:
            return expr.attribute.text
        text = " ".join(self.report.source[expr.span].split())
        return text if len(text) <= _SNIPPET_LENGTH else f"{text[:_SNIPPET_LENGTH]}…"

    # --- roles ----------------------------------------------------------------------------------------------

    def players(self, name: Name) -> tuple[Constituent, ...]:
        """Return the constituents that can be meant by a role, or by the type of just one of them."""
        if name.text == THIS:
            return () if self.own is None else (self.own,)
        known = self.visible if self.own is None or self.own in self.visible else (*self.visible, self.own)
        by_role = tuple(c for c in known if c.named and c.role == name.text)
        by_type = tuple(c for c in known if c.occurrence is not None and c.occurrence.event == name)
        return by_role or (by_type if len(by_type) == 1 else ())

    def one(self, name: Name) -> Constituent | None:
        """Look up a role that must hold a single occurrence."""
        players = self.players(name)
        if not players:
            self._report_role(name)
            return None
        # Two with one name by mistake were reported already.
        if players[0].several or (len(players) > 1 and all(c.sound for c in players)):
            self.report_several(name, f"`{name}`")
            return None
        return players[0]

    def all_of(self, name: Name) -> tuple[Constituent, ...]:
        """Look up a role that may hold several occurrences."""
        players = self.players(name)
        if not players:
            self._report_role(name)
        return players

    def report_several(self, name: Name, what: str) -> None:
        """Say that a role holds several."""
        self.report.error(
            f"{what} can stand for several events at once",
            name.span,
            "say which or how many: `first(…)`, `last(…)`, `count(…)`, `list(…)`; "
            "or give each its own name with `as`",
        )

    def _report_role(self, name: Name) -> None:
        text = name.text
        roles = list(dict.fromkeys(c.role for c in self.visible if c.named))
        noun = self._noun
        if text in {THIS, PREVIOUS}:
            meaning = "the event whose conditions these are" if text == THIS else "the one before in a repeat"
            self.report.error(f"`{name}` means nothing here", name.span, f"it is {meaning}")
        elif any(c.role == text and c.part is Part.ABSENT for c in self.rule.constituents):
            message = f"`{name}` is what does not occur, so there is nothing to take from it"
            self.report.error(message, name.span, suggest(text, roles, f"the {noun} has"))
        elif text in self.others and isinstance(self.rule.written, Match):
            message = f"`{name}` need not be there yet where this is looked for"
            hint = f"compare the two behind both of them, with `while {name}.…`"
            self.report.error(message, name.span, hint)
        elif text in self.others:
            message = f"`{name}` comes later in the {noun}"
            self.report.error(message, name.span, f"compare the two in the conditions of `{name}`")
        elif sum(c.occurrence is not None and c.occurrence.event == name for c in self.visible) > 1:
            message = f"several constituents are of the type `{name}`"
            self.report.error(message, name.span, "use the name given with `as`")
        else:
            message = f"the {noun} has no constituent `{name}`"
            self.report.error(message, name.span, suggest(text, roles, "it has"))

    @property
    def _noun(self) -> str:
        match self.rule.written:
            case Pattern():
                return "pattern"
            case Match():
                return "match"
            case When():
                return "rule"
            case _:
                return "expression"

    # --- attributes and parameters --------------------------------------------------------------------------

    def index(self, constituent: Constituent, name: Name) -> int | None:
        """Look up the index of an attribute of a constituent."""
        event = constituent.event
        index = event.index_of(name.text)
        if index is None and event.name not in self.compilation.doubtful:
            known = [attribute.name for attribute in event.attributes]
            subject = "a point in time" if event.kind is Kind.TIMER and not known else event.described
            message = f"{subject} has no attribute `{name}`"
            hint = suggest(name.text, known, "it has")
            if any(name.text in enum.symbols for enum in self.compilation.enums.values()):
                hint = f'the symbols of an enumeration are written in quotes: `"{name}"`'
            if event.kind is Kind.TIMER:
                hint = hint or f"its time is `timeof({constituent.role})`"
            self.report.error(message, name.span, hint)
        return index

    def attribute(self, constituent: Constituent, name: Name) -> Field | None:
        """Look up an attribute of a constituent."""
        index = self.index(constituent, name)
        return None if index is None else self.field(constituent, index)

    def field(self, constituent: Constituent, index: int) -> Field:
        """Return the term of an attribute; what conditions prove to be there is not optional."""
        attribute = constituent.event.attributes[index]
        missing = attribute.optional and index not in constituent.present
        certain = (constituent.index, index) in self.rule.certain
        return Field(
            constituent.index,
            index,
            attribute.scalar,
            optional=(missing or self.may_lack(constituent)) and not certain,
            enum=attribute.enum.name if attribute.enum else None,
            many=attribute.many,
        )

    def may_lack(self, constituent: Constituent) -> bool:
        """Tell whether a constituent need not be there."""
        return constituent.optional and (constituent.index, None) not in self.rule.certain

    def element_before(self, name: Name, previous: Name) -> Term | None:
        """Look up an attribute of the element before."""
        constituent = self.previous
        if constituent is None:
            self.report.error(
                f"`{PREVIOUS}` means nothing here",
                previous.span,
                "it is the one before, in the `while` of a repeat: `Temp{3 while value > previous.value}`",
            )
            return None
        index = self.index(constituent, name)
        if index is None:
            return None
        attribute = constituent.event.attributes[index]
        return Previous(
            constituent.index,
            index,
            attribute.scalar,
            optional=attribute.optional,
            enum=attribute.enum.name if attribute.enum else None,
            many=attribute.many,
        )

    def parameter(self, expr: WrittenParameter) -> Term | None:
        """Look up the value of a parameter."""
        parameter = self.rule.parameters.get(expr.name)
        if parameter is not None:
            return self._value(parameter, expr)
        if expr.name in self.rule.lost:
            return None
        if expr.name in self.rule.spent:
            role = self.rule.spent[expr.name]
            self.report.error(
                f"`${expr.name}` has a value only within `{role}`, of which nothing is taken",
                expr.span,
                f"mention it in an earlier constituent, like `… = ${expr.name}`",
            )
            return None
        hint = did_you_mean(expr.name, self.rule.parameters, prefix="$")
        self.report.error(
            f"the parameter `${expr.name}` has no value here",
            expr.span,
            hint or f"bind it in this or an earlier constituent, like `area = ${expr.name}`",
        )
        return None

    def _value(self, parameter: Parameter, expr: WrittenParameter) -> Term | None:
        value = parameter.value
        if not isinstance(value, Field):
            return value
        constituent = self.rule.constituents[value.constituent]
        if constituent.several:
            self.report_several(Name(constituent.role, expr.span), f"`${expr.name}`")
            return None
        return self.field(constituent, value.field)
