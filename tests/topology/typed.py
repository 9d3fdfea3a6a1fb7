"""Rules up to the typed model: what the tests of the typing passes share."""

from tocsin.topology.errors import Report, Source
from tocsin.topology.model import Compilation, Rule
from tocsin.topology.parsing import parse_program
from tocsin.topology.passes import TYPING

EVENTS = """
enum State { OFFLINE, ONLINE, ACTIVE };
event Temp (area: string, value: double, n: int, note: string?, at: timestamp) on "temps" key area;
event Smoke (area: string, level: long, state: State) on "smoke" key area;
event Rain (area: string) on "rain" key area;
event Page (who: string, level: long?);
unit Transaction on "transactions" key id;
operation Sell (oid: string, price: double, tx: string) on "sales" key oid unit Transaction by tx;
fact Equipment (id: string, state: State, area: string?) key id;
event Alarm (id: string, eqpt: string) on "alarms" key eqpt id id;
"""


def typed(rules: str, events: str = EVENTS) -> Compilation:
    """Return the model of a rule file; raise RuleErrors with every mistake in it."""
    report = Report(Source(events + rules))
    program = parse_program(report)
    compilation = Compilation("test", program, report, doubtful=set(program.broken))
    for run in TYPING:
        run(compilation)
    report.check()
    return compilation


def rule(text: str) -> Rule:
    """Return the last rule of a file."""
    return typed(text).rules[-1]


def holding(found: Rule) -> dict[str, str]:
    """Return what the roles of a rule can hold: `1`, `?` (one or none), `+` (one or more) or `*`."""
    return {
        c.role: ("*" if c.optional else "+") if c.several else "?" if c.optional else "1"
        for c in found.taken()
    }
