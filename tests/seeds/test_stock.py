"""The STOCK program of Appendix B: class-level and instance-level events, operations, and a unit of work."""

from typing import Any

from tests.oracle import run
from tests.oracle.history import Input, Occurrence, event

DECLARATIONS = """
    operation SellStock (oid: string, qty: int)      on "sell_stock" key oid;
    operation SetPrice  (oid: string, price: double) on "set_price"  key oid;
    operation GetPrice  (oid: string)                on "get_price"  key oid;
    unit Transaction on "transactions";

    -- The class-level events of STOCK: e1, e2 and e4.
    event Sold    = end SellStock as sold;
    event Pricing = begin SetPrice as pricing;
    event Busy    = Sold and Pricing;

    -- An instance-level event: the same method, of one object.
    event PricingIbm = begin SetPrice(oid = "IBM") as ibm;
"""


def program() -> list[Input]:
    """What main() does, one call after the other."""
    steps: list[tuple[str, dict[str, Any]]] = [
        ("SetPrice", {"oid": "IBM", "price": 115.00}),
        ("SetPrice", {"oid": "DEC", "price": 100.00}),
        ("SellStock", {"oid": "Microsoft", "qty": 200}),
        ("GetPrice", {"oid": "DEC"}),
        ("SetPrice", {"oid": "IBM", "price": 75.95}),
    ]
    events = [event("Transaction", t=0, id="t1", phase="begin")]
    for n, (operation, arguments) in enumerate(steps, start=1):
        for t, phase in ((10 * n, "begin"), (10 * n + 5, "end")):
            events.append(event(operation, t=t, call=f"c{n}", phase=phase, **arguments))
    events.append(event("Transaction", t=100, id="t1", phase="precommit"))
    events.append(event("Transaction", t=101, id="t1", phase="commit"))
    return events


def parameters(occurrence: Occurrence) -> list[tuple[str, float]]:
    """The parameters of a rule as the report prints them: object and value, in the order of the calls."""
    calls = sorted(
        (call for call in occurrence.constituents if call.type != "Transaction"),
        key=lambda call: call.position,
    )
    return [(c.attributes["oid"], c.attributes.get("price", c.attributes.get("qty"))) for c in calls]


R2 = """
    rule R2 on Busy ; PricingIbm do call "stock:action2"
    context recent priority 20 trigger previous 1 day unbounded;
"""

R1_IMMEDIATE = 'rule R1 on Busy do call "stock:action1" context cumulative unbounded;'

R1_DEFERRED = """
    rule R1 on aperiodic*(begin Transaction as tx, Busy, precommit Transaction as pre) do call "stock:action1"
    context cumulative unbounded;
"""
"""§4.3: a deferred rule "is executed as a transformed rule (with an A* event) in immediate coupling mode"."""


def test_r2_fires_with_class_and_instance_level_events() -> None:
    """{{DEC, price, 100.00}, {Microsoft, qty, 200}, {IBM, price, 75.95}}.

    The begin of IBM.set_price(75.95) ends the sequence, as the original program has it; the preprocessed
    one says "end", by when (Microsoft, 200) and (IBM, 75.95) would have been the most recent Busy.
    """
    (fired,) = run.detect(DECLARATIONS + R2, program()).of("R2")
    assert parameters(fired) == [("DEC", 100.00), ("Microsoft", 200), ("IBM", 75.95)]


def test_r1_fires_at_precommit() -> None:
    """{{IBM, price, 115.00}, {DEC, price, 100.00}, {Microsoft, qty, 200}}: both prices, in cumulative."""
    (fired,) = run.detect(DECLARATIONS + R1_DEFERRED, program()).of("R1")
    assert parameters(fired) == [("IBM", 115.00), ("DEC", 100.00), ("Microsoft", 200)]
    assert fired.time == 100


def test_r2_fires_first() -> None:
    """R2 "because it is in immediate mode", R1 "later since it is in deferred mode"."""
    detected = run.detect(DECLARATIONS + R1_DEFERRED + R2, program())
    assert detected.of("R2")[0].position < detected.of("R1")[0].position


def test_without_deferring_r1_would_fire_first() -> None:
    """Busy occurs with the end of sell_stock, with the same parameters."""
    detected = run.detect(DECLARATIONS + R1_IMMEDIATE + R2, program())
    (fired,) = detected.of("R1")
    assert parameters(fired) == [("IBM", 115.00), ("DEC", 100.00), ("Microsoft", 200)]
    assert fired.position < detected.of("R2")[0].position


def test_the_same_event_in_two_contexts() -> None:
    """One Busy serves R1 in the cumulative and R2 in the recent context, in which it occurs twice."""
    rules = DECLARATIONS + 'rule Recent on Busy do call "stock:log" unbounded;' + R1_IMMEDIATE
    detected = run.detect(rules, program())
    assert [parameters(o) for o in detected.of("Recent")] == [
        [("DEC", 100.00), ("Microsoft", 200)],
        [("Microsoft", 200), ("IBM", 75.95)],
    ]
    assert len(detected.of("R1")) == 1


def test_deferred_class_level_rule() -> None:
    """§4.3: deferred_R1 = A*(beg_trans, any_stk_price, pre_commit), in the chronicle context."""
    rules = (
        DECLARATIONS
        + """
        define Prices (prices: double[])
        from   aperiodic*(begin Transaction as tx, Pricing, precommit Transaction as pre)
        where  prices = list(pricing.price)
        context chronicle unbounded;
        """
    )
    (fired,) = run.detect(rules, program()).of("Prices")
    assert fired.attributes == {"prices": (115.00, 100.00, 75.95)}


def test_units_of_work_do_not_mix() -> None:
    """§4.4: what belongs to another transaction takes no part, if the expression ties them by their id."""
    rules = """
        unit Transaction on "transactions" key id;
        event Change (tx: string, n: int) on "changes" unit Transaction by tx;
        define Deferred (numbers: int[])
        from   aperiodic*(begin Transaction($t) as b, Change(tx = $t) as c, precommit Transaction($t) as p)
        where  numbers = list(c.n)
        unbounded;
    """
    events = [
        event("Transaction", t=1, id="t1", phase="begin"),
        event("Transaction", t=2, id="t2", phase="begin"),
        event("Change", t=3, tx="t1", n=1),
        event("Change", t=4, tx="t2", n=2),
        event("Change", t=5, tx="t1", n=3),
        event("Transaction", t=6, id="t2", phase="precommit"),
        event("Transaction", t=7, id="t1", phase="abort"),
    ]
    found = run.detect(rules, events).of("Deferred")
    assert [o.attributes["numbers"] for o in found] == [(2,)]
