"""Snoop's events (§2.1, §4.1, §5.5, §6.1): temporal ones, modifiers, names, oid variables, grouped events."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.oracle import run
from tests.oracle.history import Input, event
from tests.seeds.notation import CONTEXTS, constituents, history, lines, occurrences, players

DAY_MS = 86_400_000


def ms(*fields: int, zone: str = "UTC") -> int:
    return int(datetime(*fields, tzinfo=ZoneInfo(zone)).timestamp() * 1000)  # type: ignore[arg-type,misc]


def points(timer: str, since: int, until: int) -> list[str]:
    """When a timer occurs, in UTC."""
    found = run.detect(f"define At from {timer} or {timer};", [], since=since, until=until).of("At")
    return [f"{datetime.fromtimestamp(o.time / 1000, UTC):%a %Y-%m-%d %H:%M:%S}" for o in found]


class TestAbsolute:
    """§2.1.1: a field may hold a wild card, "which matches any valid value for that field"."""

    def test_a_point_in_time(self) -> None:
        """2 p.m. on March 15th, 1994: <(14:00:00)03/15/94>."""
        timer = "Timer(year = 1994, month = 3, day = 15, hour = 14, minute = 0, second = 0)"
        assert points(timer, ms(1994, 1, 1), ms(1996, 1, 1)) == ["Tue 1994-03-15 14:00:00"]

    def test_a_point_of_every_day(self) -> None:
        """The text: "to print the local branch report at 5 p.m. each day": <(17:00:00)*/*/*>."""
        timer = "Timer(year = *, month = *, day = *, hour = 17, minute = 0, second = 0)"
        expected = ["Sun 2023-12-31 17:00:00", "Mon 2024-01-01 17:00:00"]
        assert points(timer, ms(2023, 12, 31, 12), ms(2024, 1, 2, 12)) == expected
        assert points("Timer(hour = 17)", ms(2023, 12, 31, 12), ms(2024, 1, 2, 12)) == expected

    def test_granularity(self) -> None:
        """The text: "a wild card can be used … for increasing the granularity of the time line"."""
        found = points("Timer(minute = *, second = 30)", ms(2024, 1, 1), ms(2024, 1, 1, 0, 3))
        assert [at[-8:] for at in found] == ["00:00:30", "00:01:30", "00:02:30"]

    def test_a_weekday(self) -> None:
        """TESLA's Timer(H = 9, M = 0, D = Friday)."""
        found = points("Timer(H = 9, M = 0, D = Friday)", ms(2024, 1, 1), ms(2024, 1, 15))
        assert found == ["Fri 2024-01-05 09:00:00", "Fri 2024-01-12 09:00:00"]

    def test_the_ends_are_inside(self) -> None:
        at = ms(2024, 1, 1, 17)
        assert points("Timer(hour = 17)", at, at) == ["Mon 2024-01-01 17:00:00"]
        assert points("Timer(hour = 17)", at + 1, at + DAY_MS - 1) == []

    def test_a_zone(self) -> None:
        """5 p.m. in Rome is 4 p.m. UTC in winter and 3 p.m. in summer."""
        timer = 'Timer(hour = 17) zone "Europe/Rome"'
        assert points(timer, ms(2024, 1, 1), ms(2024, 1, 2)) == ["Mon 2024-01-01 16:00:00"]
        assert points(timer, ms(2024, 7, 1), ms(2024, 7, 2)) == ["Mon 2024-07-01 15:00:00"]

    def test_when_the_clock_is_put_forward(self) -> None:
        """On 31 March 2024 there was no half past two in Rome."""
        timer = 'Timer(hour = 2, minute = 30) zone "Europe/Rome"'
        found = points(timer, ms(2024, 3, 30), ms(2024, 4, 2))
        assert found == ["Sat 2024-03-30 01:30:00", "Mon 2024-04-01 00:30:00"]

    def test_when_the_clock_is_put_back(self) -> None:
        """On 27 October 2024 there were two."""
        timer = 'Timer(hour = 2, minute = 30) zone "Europe/Rome"'
        found = points(timer, ms(2024, 10, 27), ms(2024, 10, 28))
        assert found == ["Sun 2024-10-27 00:30:00", "Sun 2024-10-27 01:30:00"]

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_as_a_constituent(self, context: str) -> None:
        """A day's deposits are collected until 5 p.m.; one at 17:00 sharp is before the timer."""
        rules = f"""
            event Open; event Deposit (amount: int);
            define Report (total: long, balance: int[])
            from   aperiodic*(Open, Deposit as d, Timer(hour = 17) as t)
            where  total = sum(d.amount), balance = list(d.amount)
            context {context} unbounded;
        """
        nine, five = ms(2024, 1, 1, 9), ms(2024, 1, 1, 17)
        events = [
            event("Open", t=nine),
            event("Deposit", t=nine + 1, amount=10),
            event("Deposit", t=five, amount=5),
            event("Deposit", t=five + 1, amount=1),
        ]
        (report,) = run.detect(rules, events).of("Report")
        assert report.attributes == {"total": 15, "balance": (10, 5)}
        assert report.time == five


class TestRelative:
    """§2.1.1: event + [timestring]; "the reference point may be any event"."""

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_a_time_after_an_event(self, context: str) -> None:
        assert occurrences("A + 15 min", "A1@0 B1@900", context) == ["A1 @900"]

    def test_it_occurs_when_nothing_else_does(self) -> None:
        assert occurrences("A + 15 min", "A1@0", "recent", until=899.999) == []
        assert occurrences("A + 15 min", "A1@0", "recent", until=900) == ["A1 @900"]

    def test_it_stands_behind_the_events_of_its_time(self) -> None:
        assert occurrences("(A + 2 s) ; B", "A1@1 B1@3 B2@4", "chronicle") == ["A1 @3 B2"]

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_after_a_composite(self, context: str) -> None:
        assert occurrences("(A ; B) + 1 s", "A1 B1 C1@9", context) == ["A1 B1 @3"]

    def test_it_is_a_point(self) -> None:
        """What is measured from it begins where it occurs; its constituents are kept."""
        found = occurrences("(A + 10 s) ; B within 2 s", "A1@1 B1@12 B2@14", "unrestricted")
        assert found == ["A1 @11 B1"]

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_a_bound_around_it_does_not_reach_what_it_is_counted_from(self, context: str) -> None:
        """What begins anew measures nothing of what was before, however long that took."""
        history = "A1@1 C1@9 B1@21"
        assert occurrences("((A ; C) + 10 s ; B) within 5 s", history, context) == ["A1 C1 @19 B1"]
        assert occurrences("(((A ; C) within 5 s) + 10 s ; B) within 5 s", history, context) == []
        assert occurrences("(end (A ; C) ; B) within 12 s", history, context) == ["A1 C1 B1"]
        assert occurrences("(begin (A ; C) ; B) within 12 s", history, context) == []


class TestPeriodic:
    """§2.1.2: P and P*, which "includes a parameter for each occurrence of the periodic event"."""

    def test_until_the_end_comes(self) -> None:
        assert lines(occurrences("periodic(A, 10 s, B)", "A1@0", "recent", until=35)) == (
            "A1 @10 | A1 @20 | A1 @30"
        )

    @pytest.mark.parametrize("context", CONTEXTS)
    def test_a_collected_parameter(self, context: str) -> None:
        """Samples of a price every 10 s: what the last Price before each tick carried, if there was one."""
        rules = f"""
            event Open; event Close; event Price (oid: string, value: double);
            define Samples (values: double[], times: long)
            from   periodic*(Open, 10 s collect Price(oid = "IBM").value, Close) as tick
            where  values = list(tick.value), times = count(tick)
            context {context} unbounded;
        """
        events = [
            event("Open", t=0),
            event("Price", t=11_000, oid="IBM", value=5.0),
            event("Price", t=12_000, oid="IBM", value=6.0),
            event("Price", t=13_000, oid="DEC", value=9.0),
            event("Price", t=30_000, oid="IBM", value=7.0),
            event("Close", t=35_000),
        ]
        (samples,) = run.detect(rules, events).of("Samples")
        assert samples.attributes == {"values": (6.0, 7.0), "times": 3}

    def test_nested(self) -> None:
        """E1 and E3 are any events: a heartbeat while a composite interval is open."""
        assert lines(occurrences("periodic(A and B, 2 s, C)", "A1@1 B1@2 C1@7", "chronicle")) == "A1 B1 @4"
        assert lines(occurrences("periodic(A and B, 2 s, C)", "A1@1 B1@2 C1@7", "recent")) == (
            "A1 B1 @4 | A1 B1 @6"
        )


class TestModifiers:
    """§2.1: begin-of and end-of "transform an arbitrary interval on the time line into event occurrences"."""

    @pytest.mark.parametrize(("modifier", "interval"), [("begin", (1, 1)), ("end", (3, 3)), ("", (1, 3))])
    def test_of_a_composite(self, modifier: str, interval: tuple[int, int]) -> None:
        rules = f"event A; event B; event C; define Span from {modifier} (A ; B) unbounded;"
        (found,) = run.detect(rules, history("A1@1 B1@3")).of("Span")
        assert (found.start // 1000, found.end // 1000) == interval
        assert found.time == 3000

    def test_of_an_event_with_an_interval(self) -> None:
        """`within` counts from the point that is taken."""
        rules = """
            event Job (from_ms: timestamp) start from_ms; event Alarm;
            define Whole from Job ; Alarm within 5 ms;
            define Behind from end Job ; Alarm within 5 ms;
        """
        events = [event("Job", t=10, from_ms=2), event("Alarm", t=12)]
        detected = run.detect(rules, events)
        assert [o.start for o in detected.of("Behind")] == [10]
        assert detected.of("Whole") == ()

    def test_of_an_operation(self) -> None:
        """The text: "By default end of a method is taken to be the event generator" (§4.1)."""
        rules = """
            operation Save (n: int);
            define Begun from begin Save or begin Save as again;
            define Ended from end Save or end Save as again;
            define Saved from Save or Save as again;
        """
        events = [
            event("Save", t=1, call="a", phase="begin", n=1),
            event("Save", t=2, call="a", phase="end", n=1),
        ]
        detected = run.detect(rules, events)
        times = {name: {o.time for o in detected.of(name)} for name in ("Begun", "Ended", "Saved")}
        assert times == {"Begun": {1}, "Ended": {2}, "Saved": {2}}


class TestNamedEvents:
    """§4.1: by "late binding of parameter context … reusability of events is readily supported"."""

    def test_the_rule_binds_the_context(self) -> None:
        rules = """
            event A; event B;
            event Both = A and B;
            rule Newest on Both do call "log:it" context recent unbounded;
            rule Oldest on Both do call "log:it" context chronicle unbounded;
            rule All    on Both do call "log:it" context cumulative unbounded;
        """
        detected = run.detect(rules, history("A1 A2 B1"))
        found = {name: [constituents(o) for o in detected.of(name)] for name in ("Newest", "Oldest", "All")}
        assert found == {"Newest": ["A2 B1"], "Oldest": ["A1 B1"], "All": ["A1 A2 B1"]}

    def test_names_in_names(self) -> None:
        rules = """
            event A; event B; event C;
            event Both = A and B;
            event Three = Both ; C;
            define Found from Three ; A as last context chronicle unbounded;
        """
        (found,) = run.detect(rules, history("A1 B1 C1 A2")).of("Found")
        assert (players(found, "A"), players(found, "last")) == ("A1", "A2")

    def test_a_named_constituent_takes_conditions(self) -> None:
        """A class-level event, and an instance-level one made of it."""
        rules = """
            event Price (oid: string, value: double);
            event IbmPrice = Price(oid = "IBM");
            define High from IbmPrice(value > 100) as p or IbmPrice(value > 200) as q;
        """
        events = [
            event("Price", t=1, label="low", oid="IBM", value=50.0),
            event("Price", t=2, label="other", oid="DEC", value=150.0),
            event("Price", t=3, label="high", oid="IBM", value=150.0),
        ]
        assert [constituents(o) for o in run.detect(rules, events).of("High")] == ["high"]


CHANGES = "event ChangePrice (oid: string, price: double) key oid; "


def changes(line: str) -> list[Input]:
    """`IBM1 DEC1`: a change of the price of IBM, one of DEC."""
    return [
        event("ChangePrice", t=n, label=word, oid=word[:-1], price=float(n))
        for n, word in enumerate(line.split(), start=1)
    ]


class TestOidVariables:
    """§6.1: "a parameter which is either a constant or a variable representing the oid"."""

    @staticmethod
    def found(expression: str, line: str, context: str) -> list[str]:
        rules = f"{CHANGES} define Found from {expression} context {context} unbounded;"
        return [constituents(o) for o in run.detect(rules, changes(line)).of("Found")]

    def test_a_constant(self) -> None:
        """Change_price(IBM): when "the method Change_price is executed for the IBM object"."""
        found = self.found(
            'ChangePrice(oid = "IBM") or ChangePrice(oid = "HP") as hp', "IBM1 DEC1 IBM2", "recent"
        )
        assert found == ["IBM1", "IBM2"]

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            ("unrestricted", "IBM1 IBM2 | IBM1 IBM3 | IBM2 IBM3 | DEC1 DEC2"),
            ("recent", "IBM1 IBM2 | IBM2 IBM3 | DEC1 DEC2"),
            ("chronicle", "IBM1 IBM2 | IBM2 IBM3 | DEC1 DEC2"),
            ("continuous", "IBM1 IBM2 | IBM2 IBM3 | DEC1 DEC2"),
            ("cumulative", "IBM1 IBM2 | IBM2 IBM3 | DEC1 DEC2"),
        ],
    )
    def test_the_same_oid(self, context: str, expected: str) -> None:
        """Change_price(X) ; Change_price(X): each oid on its own, in every context."""
        found = self.found("ChangePrice($x) as a ; ChangePrice($x) as b", "IBM1 DEC1 IBM2 IBM3 DEC2", context)
        assert lines(found) == expected

    @pytest.mark.parametrize(
        ("context", "expected"),
        [
            # HP1 finds the most recent one, DEC1; IBM2 finds HP1; DEC2 finds IBM2.
            ("recent", "IBM1 DEC1 | DEC1 HP1 | HP1 IBM2 | IBM2 DEC2"),
            # IBM1 goes with DEC1, DEC1 with HP1, HP1 with IBM2, IBM2 with DEC2.
            ("chronicle", "IBM1 DEC1 | DEC1 HP1 | HP1 IBM2 | IBM2 DEC2"),
        ],
    )
    def test_different_oids(self, context: str, expected: str) -> None:
        """Change_price(X) ; Change_price(Y): "the sequence of events on two different oid's"."""
        expression = "ChangePrice($x) as a ; ChangePrice(oid = $y, $y != $x) as b"
        assert lines(self.found(expression, "IBM1 DEC1 HP1 IBM2 DEC2", context)) == expected

    def test_a_condition_chooses_among_what_is_stored(self) -> None:
        """IBM2 finds IBM1 and DEC1 in the list, but only DEC1 is a candidate: IBM1 stays, for DEC2."""
        expression = "ChangePrice($x) as a ; ChangePrice(oid = $y, $y != $x, price > 2) as b"
        assert lines(self.found(expression, "IBM1 DEC1 IBM2 DEC2", "chronicle")) == "DEC1 IBM2 | IBM1 DEC2"
        assert (
            lines(self.found(expression, "IBM1 DEC1 IBM2 DEC2", "continuous"))
            == "DEC1 IBM2 | IBM1 DEC2 | IBM2 DEC2"
        )
        # recent: DEC1 replaced IBM1, and IBM2 replaced DEC1.
        assert lines(self.found(expression, "IBM1 DEC1 IBM2 DEC2", "recent")) == "DEC1 IBM2 | IBM2 DEC2"

    def test_one_oid_for_all_that_is_collected(self) -> None:
        """A variable has one value in an occurrence: three changes of one oid, and all changes of each."""
        line = "IBM1 DEC1 IBM2 DEC2 IBM3"
        assert self.found("any(3, ChangePrice($x)*)", line, "chronicle") == ["IBM1 IBM2 IBM3"]
        each = "aperiodic*(ChangePrice(price = 1) as a, ChangePrice($x) as b, ChangePrice(price = 5) as c)"
        assert self.found(each, line, "chronicle") == ["IBM1 DEC1 DEC2 IBM3", "IBM1 IBM2 IBM3"]

    def test_parameters_in_the_outcome(self) -> None:
        """Two valuations, and the parameters of what occurred: accumulated ones are sets."""
        rules = f"""
            {CHANGES}
            event Audit (oid: string) key oid;
            define Audited (oid: string, prices: double[], highest: double, at: timestamp)
            from   ChangePrice(oid = $x) as p ; Audit(oid = $x) as a
            if     count(p) > 1
            where  oid = $x, prices = list(p.price), highest = max(p.price), at = timeof(a)
            context cumulative unbounded;
        """
        events = [
            *changes("IBM1 DEC1 IBM2"),
            event("Audit", t=4, oid="IBM"),
            event("Audit", t=5, oid="DEC"),
        ]
        (audited,) = run.detect(rules, events).of("Audited")
        assert audited.attributes == {"oid": "IBM", "prices": (1.0, 3.0), "highest": 3.0, "at": 4}


class TestGroupedEvents:
    """§5.5: UBILAB's grouped events, "a useful mechanism and we are exploring the ways of providing this"."""

    RULES = """
        operation OpA;
        define Nested
        from   begin OpA[1] as b1 ; begin OpA[2] as b2 ; end OpA[2] as e2 ; end OpA[1] as e1
        unbounded;
    """

    @staticmethod
    def calls(line: str) -> list[Input]:
        """`(a (b )b )a`: begin and end of the executions a and b."""
        return [
            event("OpA", t=n, label=word, call=word[1], phase="begin" if word[0] == "(" else "end")
            for n, word in enumerate(line.split(), start=1)
        ]

    def test_an_execution_within_an_execution(self) -> None:
        """If "during the execution of OP_A the same operation is once more executed completely"."""
        found = run.detect(self.RULES, self.calls("(a (b )b )a")).of("Nested")
        assert [constituents(o) for o in found] == ["(a (b )b )a"]

    @pytest.mark.parametrize("line", ["(a )a (b )b", "(a (b )a )b", "(a )a"])
    def test_others_are_not(self, line: str) -> None:
        assert run.detect(self.RULES, self.calls(line)).of("Nested") == ()

    def test_two_within_one(self) -> None:
        """Each pair of executions is looked at on its own."""
        found = run.detect(self.RULES, self.calls("(a (b (c )c )b )a")).of("Nested")
        assert {constituents(o) for o in found} == {"(b (c )c )b", "(a (c )c )a", "(a (b )b )a"}


class TestInheritance:
    """§4.1: a class-level rule "satisfies the inheritance property"."""

    def test_an_occurrence_of_the_child_is_one_of_the_parent(self) -> None:
        rules = """
            event Reading (area: string); event Temp extends Reading (value: double); define Twice from
            Reading(area = $a) as first ; Reading(area = $a) as second context chronicle unbounded;
        """
        events = [
            event("Reading", t=1, label="r1", area="north"),
            event("Temp", t=2, label="t1", area="north", value=20.0),
            event("Temp", t=3, label="t2", area="south", value=21.0),
        ]
        assert [constituents(o) for o in run.detect(rules, events).of("Twice")] == ["r1 t1"]


class TestClauses:
    """What is done with the occurrences once they are detected."""

    def test_a_condition_does_not_take_part_in_detection(self) -> None:
        """It is checked when the event has occurred: IBM1 was used up by IBM2, which did not pass."""
        rules = f"""
            {CHANGES}
            define Rise from ChangePrice as a ; ChangePrice as b if b.price > a.price + 1
            context chronicle unbounded;
            define Any from ChangePrice as a ; ChangePrice as b context chronicle unbounded;
        """
        detected = run.detect(rules, changes("IBM1 IBM2 IBM3"))
        assert [constituents(o) for o in detected.of("Any")] == ["IBM1 IBM2", "IBM2 IBM3"]
        assert detected.of("Rise") == ()

    def test_a_rate_counts_for_each_valuation(self) -> None:
        """At most one in 2 ms for each oid; a window includes its ends."""
        rules = f"""
            {CHANGES}
            define Again from ChangePrice($x) as a ; ChangePrice($x) as b at most 1 per 2 ms unbounded;
        """
        detected = run.detect(rules, changes("IBM1 IBM2 DEC1 DEC2 IBM3 DEC3 IBM4"))
        assert [constituents(o) for o in detected.of("Again")] == ["IBM1 IBM2", "DEC1 DEC2", "IBM2 IBM3"]
