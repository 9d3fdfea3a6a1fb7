"""Declared types: attributes, inheritance, clauses, enums, facts."""

from tests.topology.typed import rule, typed
from tocsin.topology.terms import Scalar
from tocsin.topology.types import Kind, Membership, Type


def types(text: str) -> dict[str, Type]:
    return typed(text, events="").types


def names(type_: Type) -> list[str]:
    return [attribute.name for attribute in type_.attributes]


def test_a_child_has_what_its_parent_has_whatever_the_order_of_the_file() -> None:
    found = types("""
        event Hot extends Temp (limit: double) lateness 3 s;
        event Temp extends Reading (value: double) key area;
        event Reading (area: string, at: timestamp, uid: string)
            on "readings" time at id uid lateness 2 s idle 5 s;
        """)
    hot, temp, reading = found["Hot"], found["Temp"], found["Reading"]
    assert names(hot) == ["area", "at", "uid", "value", "limit"]
    assert (hot.key, hot.id, hot.time, hot.start) == (0, 2, 1, None)
    assert (hot.lateness_ms, hot.idle_timeout_ms, hot.topic) == (3000, 5000, "readings")
    assert (hot.parent, temp.parent, reading.parent) == ("Temp", "Reading", None)
    assert set(reading.subtypes) == {"Reading", "Temp", "Hot"}
    assert set(temp.subtypes) == {"Temp", "Hot"}
    assert reading.key is None


def test_a_rule_on_the_parent_reads_the_attributes_of_the_parent() -> None:
    text = """
        event Reading (area: string, value: double) on "readings" key area;
        event Temp extends Reading (unit: string);
        define High (area: string) from Reading(value > 3) as r where area = r.area;
        define Warm from Temp(value > 3, unit = "C");
        """
    high, warm = typed(text, events="").rules
    assert high.constituents[0].event.subtypes == ("Reading", "Temp")
    assert [term.to_list() for term in warm.constituents[0].conditions] == [
        ["gt", "double", ["field", 0, 1], ["const", "double", 3.0]],
        ["eq", "string", ["field", 0, 2], ["const", "string", "C"]],
    ]


def test_operations_and_units_have_implicit_attributes_first() -> None:
    found = types("""
        unit Transaction (who: string) on "transactions" key id;
        operation Sell (oid: string, tx: string) on "sales" key oid unit Transaction by tx;
        operation SellShort extends Sell (limit: double);
        """)
    assert names(found["Transaction"]) == ["id", "phase", "who"]
    assert found["Transaction"].key == 0
    assert names(found["SellShort"]) == ["call", "phase", "oid", "tx", "limit"]
    assert {a.scalar for a in found["SellShort"].attributes[:2]} == {Scalar.STRING}
    assert found["SellShort"].unit == Membership("Transaction", 3)
    assert [found[name].kind for name in ("Transaction", "Sell")] == [Kind.UNIT, Kind.OPERATION]


def test_an_event_without_a_topic_is_explicit() -> None:
    found = types('event Page (who: string); event Urgent extends Page; event Temp on "temps";')
    assert {name: (type_.topic, type_.explicit) for name, type_ in found.items()} == {
        "Page": ("tocsin.test.Page", True),
        "Urgent": ("tocsin.test.Urgent", True),
        "Temp": ("temps", False),
    }


def test_types_may_share_a_topic() -> None:
    found = types('event Temp (a: string) on "all" key a; event Smoke (a: string) on "all" key a;')
    assert found["Temp"].topic == found["Smoke"].topic == "all"


def test_the_attributes_of_enums_facts_and_definitions() -> None:
    found = typed(
        """
        fact Lamp (id: string, state: State?) key id;
        define Lamps (states: State[], raw: bytes?) from Show as s where states = s.states, raw = s.raw;
        enum State { ON, OFF };
        define Show (states: State[], raw: bytes?)
        from   aperiodic*(Open, Look as l, Open as o) where states = list(l.state), raw = o.raw;
        event Open (raw: bytes?) on "open";
        event Look (state: State) on "look";
        """,
        events="",
    )
    lamp = found.types["Lamp"]
    assert [a.type_text for a in lamp.attributes] == ["string", "State?"]
    assert (lamp.kind, lamp.key, lamp.topic) == (Kind.FACT, 0, "tocsin.test.Lamp")
    assert [a.type_text for a in found.types["Lamps"].attributes] == ["State[]", "bytes?"]
    assert found.enums["State"].symbols == ("ON", "OFF")


def test_a_definition_may_use_itself_and_be_continued_by_another_one() -> None:
    text = """
        define Count (n: long) from Smoke as s where n = 0;
        define Count (n: long) from Smoke($a) as s and last Count as c within 1 h from s where n = c.n + 1;
        """
    first, second = typed(text).rules
    assert first.output is second.output
    assert second.constituents[1].event is first.output


def test_priorities_are_ranked() -> None:
    text = 'priorities low, normal; priorities urgent; rule R on Smoke do call "a:b" priority urgent;'
    assert rule(text).priority == 3
