"""The compiler: ten thousand varied rules in one file, and how much of their graph they share."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from tocsin.topology import Plan, compile_rules
from tocsin.topology.plan import DefineNode, RuleNode
from tocsin.topology.planning.reach import below

RULES = 10_000
EVENTS = """
enum State { OFFLINE, ONLINE, ACTIVE };
event Temp     (area: string, sensor: string, value: double, at: timestamp) on "temps" key area time at;
event Smoke    (area: string, density: double)                              on "smoke" key area;
event Rain     (area: string, mm: double)                                   on "rain" key area;
event Door     (area: string, open: boolean, by: string)                    on "doors" key area;
event Login    (user: string, country: string, ok: boolean)                 on "logins" key user;
event Transfer (user: string, amount: double, to: string)                   on "transfers" key user;
event Alarm    (id: string, eqpt: string, level: int)                       on "alarms" key eqpt id id;
event Confirm  (alarm: string, eqpt: string)                                on "confirmations" key eqpt;
fact  Equipment (id: string, state: State, area: string) key id on "equipment";
"""
AREAS = ("north", "south", "east", "west", "hall", "yard", "roof", "dock")
WINDOWS = ("30 s", "1 min", "3 min", "10 min", "1 h")
CONTEXTS = ("recent", "chronicle", "continuous", "cumulative", "unrestricted")

Random = random.Random


def last(number: int, rng: Random) -> str:
    """TESLA: what was last, and not interrupted."""
    window, limit = rng.choice(WINDOWS), rng.randrange(40, 60)
    return f"""
define Fire{number} (area: string, value: double)
from   Smoke(area = $a) as s
  and  last Temp(area = $a, value > {limit}) as t within {window} from s
  and  not Rain(area = $a, mm > {rng.randrange(3)}) between t and s
where  area = $a, value = t.value;"""


def average(number: int, rng: Random) -> str:
    """TESLA: an aggregate over a window."""
    window = rng.choice(WINDOWS)
    return f"""
define Hot{number} (area: string, mean: double)
from   Door(area = $a, open = true) as d
  and  $m = avg(Temp(area = $a).value) within {window} from d
  and  $n = count(Temp(area = $a)) within {window} from d
  and  $m > {rng.randrange(30, 50)} and $n >= {rng.randrange(2, 6)}
where  area = $a, mean = $m;"""


def chain(number: int, rng: Random) -> str:
    """TESLA: a chain of constituents, each before the other."""
    return f"""
define Spree{number} (user: string, total: double)
from   Transfer(user = $u, amount > {rng.randrange(1, 9) * 100}) as c
  and  each Transfer(user = $u, amount > {rng.randrange(1, 9) * 100}) as b within {rng.choice(WINDOWS)} from c
  and  last Login(user = $u, country != "home") as a within {rng.choice(WINDOWS)} from b
where  user = $u, total = b.amount + c.amount
consuming b;"""


def sequence(number: int, rng: Random) -> str:
    """Snoop: one entity's events in order."""
    first, second = rng.sample(
        ["Temp(area = $x)", "Smoke(area = $x)", "Rain(area = $x)", "Door(area = $x)"], 2
    )
    third = f"Temp(area = $x, value > {rng.randrange(40, 60)})"
    return f"""
define Order{number}
from   ({first} and {second}) ; {third} within {rng.choice(WINDOWS)}
context {rng.choice(CONTEXTS)};"""


def absence(number: int, rng: Random) -> str:
    """Snoop: what did not come between two events, in one area."""
    area, limit = rng.choice(AREAS), rng.randrange(40, 60)
    return f"""
define Dry{number}
from   not(Rain(area = "{area}"))[Smoke(area = "{area}"), Temp(area = "{area}", value > {limit})]
       within {rng.choice(WINDOWS)}
context {rng.choice(CONTEXTS)};"""


def accumulation(number: int, rng: Random) -> str:
    """Snoop: everything between two events."""
    return f"""
define Batch{number} (area: string, count: long, mean: double?)
from   aperiodic*(Door(area = $x, open = true), Temp(area = $x) as t, Door(area = $x, open = false))
       within {rng.choice(WINDOWS)}
where  area = $x, count = count(t), mean = avg(t.value)
context {rng.choice(("cumulative", "chronicle"))};"""


def guess(number: int, rng: Random) -> str:
    """A match: failures, then a success."""
    return f"""
define Guess{number} (user: string)
from   match every (Login(user = $u, ok = false) as f {{{rng.randrange(2, 6)}}}
         then Login(user = $u, ok = true) as s within {rng.choice(WINDOWS)})
where  user = $u
unbounded;"""


def rise(number: int, rng: Random) -> str:
    """A match: readings that rise, or a door that stays open."""
    window = rng.choice(WINDOWS)
    return f"""
define Rise{number} (area: string)
from   match every ((Temp(area = $a, value > {rng.randrange(20, 40)}) as r {{3 while value > previous.value}}
         then (Smoke(area = $a) or not Door(area = $a, open = false) for {window})) within 1 h)
where  area = $a
unbounded;"""


def confirmation(number: int, rng: Random) -> str:
    """RETE: facts and events, and the times between them."""
    return f"""
rule Confirmed{number}
when   fact Equipment(state = "ACTIVE", area = "{rng.choice(AREAS)}") as e
       event Alarm(eqpt = e.id, level >= {rng.randrange(1, 4)}) as a
       event Confirm(alarm = a.id, eqpt = e.id) as c, c after [0 s, {rng.choice(WINDOWS)}] a
then   call "ops:confirmed";"""


def page(number: int, rng: Random) -> str:
    """ECA: something is done about an expression that others use, too."""
    limit = rng.randrange(40, 60)
    return f"""
rule Page{number}
on     Smoke(area = $x) ; Temp(area = $x, value > {limit}) as t within {rng.choice(WINDOWS)}
if     t.value > {limit + rng.randrange(20)}
do     call "ops:page"
context {rng.choice(CONTEXTS)} priority {rng.randrange(10)};"""


FAMILIES: tuple[Callable[[int, Random], str], ...] = (
    last,
    average,
    chain,
    sequence,
    absence,
    accumulation,
    guess,
    rise,
    confirmation,
    page,
)


@dataclass(frozen=True, slots=True)
class Figures:
    """What one compilation took and gave."""

    rules: int
    characters: int
    seconds: float
    cpu_seconds: float
    shared: int
    unshared: int


def rules(count: int, seed: int = 1) -> Iterator[str]:
    """Yield a file's events and rules: the families in turn, with constants from a few."""
    rng = Random(seed)
    yield EVENTS
    for number in range(count):
        yield FAMILIES[number % len(FAMILIES)](number, rng)


def run(count: int) -> Figures:
    """Compile that many rules."""
    text = "\n".join(rules(count))
    start, cpu_start = time.perf_counter(), time.process_time()
    plan = compile_rules(text, app="bench")
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    return Figures(count, len(text), seconds, cpu_seconds, len(plan.nodes), unshared(plan))


def unshared(plan: Plan) -> int:
    """Return how many nodes there would be if every rule had its own."""
    subscribers = (n for n, node in enumerate(plan.nodes) if isinstance(node, DefineNode | RuleNode))
    return sum(len(below(subscriber, plan.nodes)) for subscriber in subscribers)


def main() -> None:
    """Compile and print the figures."""
    table = Table("rules", "kB", "s", "CPU s", "rules/s", "nodes, shared", "nodes, unshared", "ratio")
    for count in (RULES // 10, RULES):
        figures = run(count)
        table.add_row(
            f"{figures.rules:,}",
            f"{figures.characters / 1000:,.0f}",
            f"{figures.seconds:.1f}",
            f"{figures.cpu_seconds:.1f}",
            f"{figures.rules / figures.seconds:,.0f}",
            f"{figures.shared:,}",
            f"{figures.unshared:,}",
            f"{figures.unshared / figures.shared:.1f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
