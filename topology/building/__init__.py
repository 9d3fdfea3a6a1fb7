"""Rules in Python: the same tree as a rule file's, built by operators and functions.

Whatever is built here is a node of the tree, and its text is the rule file: `print(program(…))`. Kinds of
events, roles and parameters are Python values: parts of rules can be kept, passed around and composed.

>>> sell = operation("sell_stock", {"oid": "string", "qty": "int"}, on="sells", key="oid")
>>> price = operation("set_price", {"oid": "string", "price": "double"}, on="prices", key="oid")
>>> busy = named("Busy", end(sell) & begin(price))
>>> ibm = begin(price(oid="IBM")).as_("ibm")
>>> swing = define("Swing", (busy >> ibm).within("1 h"), context="chronicle")
>>> print(program(sell, price, busy, swing), end="")
operation sell_stock (oid: string, qty: int) on "sells" key oid;
operation set_price (oid: string, price: double) on "prices" key oid;
event Busy = end sell_stock and begin set_price;
<BLANKLINE>
define Swing
from   Busy ; begin set_price(oid = "IBM") as ibm within 1 h
context chronicle;
"""

from tocsin.topology.building.actions import (
    When,
    activate,
    assert_fact,
    call,
    changes,
    deactivate,
    flush,
    flush_all,
    holds,
    modify,
    occurs,
    publish,
    retract,
    update,
    webhook,
    when,
)
from tocsin.topology.building.declarations import (
    define,
    enum,
    event,
    fact,
    named,
    operation,
    priorities,
    program,
    rule,
    unit,
)
from tocsin.topology.building.events import (
    abort,
    any_of,
    aperiodic,
    begin,
    commit,
    end,
    facts,
    kind,
    not_between,
    periodic,
    precommit,
    timer,
)
from tocsin.topology.building.handles import Constituent, Events, Facts, Item, Kind, Pattern, Steps, step
from tocsin.topology.building.matches import absent, every, one_of, take_each, take_next, wait
from tocsin.topology.building.names import BuildingError
from tocsin.topology.building.patterns import aggregate, bounded, each, first, last, no
from tocsin.topology.building.values import (
    Role,
    Value,
    fn,
    param,
    params,
    previous,
    relation,
    role,
    roles,
    this,
)

__all__ = [
    "BuildingError",
    "Constituent",
    "Events",
    "Facts",
    "Item",
    "Kind",
    "Pattern",
    "Role",
    "Steps",
    "Value",
    "When",
    "abort",
    "absent",
    "activate",
    "aggregate",
    "any_of",
    "aperiodic",
    "assert_fact",
    "begin",
    "bounded",
    "call",
    "changes",
    "commit",
    "deactivate",
    "define",
    "each",
    "end",
    "enum",
    "event",
    "every",
    "fact",
    "facts",
    "first",
    "flush",
    "flush_all",
    "fn",
    "holds",
    "kind",
    "last",
    "modify",
    "named",
    "no",
    "not_between",
    "occurs",
    "one_of",
    "operation",
    "param",
    "params",
    "periodic",
    "precommit",
    "previous",
    "priorities",
    "program",
    "publish",
    "relation",
    "retract",
    "role",
    "roles",
    "rule",
    "step",
    "take_each",
    "take_next",
    "this",
    "timer",
    "unit",
    "update",
    "wait",
    "webhook",
    "when",
]
