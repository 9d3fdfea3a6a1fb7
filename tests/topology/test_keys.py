"""Keys and sub-topologies: which rules are local, what is re-keyed, and what runs in one place for all."""

from collections.abc import Iterable

import pytest

from tests.topology.planned import compiled, placements
from tocsin.topology import Plan
from tocsin.topology.plan import DefineNode, RuleNode, Subtopology


def sub(plan: Plan, name: str) -> Subtopology:
    return next(sub for sub in plan.subtopologies if sub.name == name)


@pytest.mark.parametrize(
    "rule",
    [
        "from Temp",
        "from Tag",  # nothing is kept, so it does not matter where it is looked at
        "from Temp or Smoke",
        "from Tag + 5 min",
        "from Smoke(area = $a) as s and last Temp(area = $a) as t within 1 h from s",
        "from Smoke as s and last Temp(area = s.area) as t within 1 h from s",
        "from Smoke(area = $a) as s and last Temp(area = $a) as t within 1 h from s at most 3 per 1 h",
        "from Smoke(area = $a) ; Temp(area = $a) within 1 h context chronicle disjoint",
        "from not(Rain(area = $a))[Smoke(area = $a), Temp(area = $a)] within 1 h",
        "from Timer(hour = 9) ; Smoke(area = $a) ; Temp(area = $a) within 1 day",
        "from match every (Smoke(area = $a) then Temp(area = $a) within 1 h from Smoke)",
        "from match every (Temp(area = $a) as t {10 while value > previous.value} within 1 h) unbounded",
        "from any(3, Temp(area = $a)*) within 1 h",
        'from Smoke(area = "hall") as s and last Temp(area = "hall") as t within 1 h from s',
        'from Smoke(area = "hall") ; Temp(area = "hall") within 1 h at most 3 per 1 h',
        (
            'from Smoke(area = $a) as s and last Temp(area = $a, area = "hall") as t within 1 h from s '
            'and not Rain(area = "hall") between t and s'
        ),
        (
            "from Smoke(area = $a) as s and each Temp(area = $a) as t within 1 h from s "
            "and not Rain(area = $a, area = t.area) between t and s"
        ),
        "from Timer(hour = 9) as t and each Temp as l within 1 h from t",
    ],
)
def test_local(rule: str) -> None:
    plan = compiled(f"define D {rule};")
    assert placements(plan) == {"D": "local"}
    assert [(s.name, s.kind, s.forwards, s.groups) for s in plan.subtopologies] == [
        ("local", "local", (), ())
    ]


def belonging(plan: Plan, nodes: Iterable[int]) -> list[str]:
    """Return the definitions and rules among some nodes, in the order of the file."""
    found = [plan.nodes[number] for number in nodes]
    subscribers = [node for node in found if isinstance(node, DefineNode | RuleNode)]
    return [node.rule for node in sorted(subscribers, key=lambda node: node.order)]


@pytest.mark.parametrize(
    "rule",
    [
        "from Smoke as s and last Temp as t within 1 h from s",
        "from Smoke(area = $a) as s and last Temp(area = $b) as t within 1 h from s",
        (
            "from Smoke(area = $a) as s and last Temp(area = $a) as t within 1 h from s "
            "and not Rain between t and s"
        ),  # what must not be there may be anywhere
        "from Smoke ; Temp",
        "from Smoke as s ; Temp(area = s.area) within 1 h",  # the context is not told apart by area
        "from Smoke(area = $a) ; Temp ; Rain(area = $a) within 1 h",
        "from Temp at most 3 per 1 h",  # counted over all areas
        "from Smoke as s and last Temp(area = s.area) as t within 1 h from s at most 3 per 1 h",
        "from Timer(hour = 9)",
        'from Timer(hour = 9) or Temp(area = "hall")',  # each partition has its own clock
        'from match every not Temp(area = "hall") for 1 h',
        "from Timer(hour = 9) as t and last Temp as l within 1 h from t",
        "from Temp(value = $v) ; Rain(mm = $v) within 1 h",  # doubles have no partition
        "from Badge(person = $p) as b ; Badge(area = $p) as c within 1 h",  # one event in two places
        # What is absent or measured ties nothing that is there: where there is none, the areas differ.
        (
            "from Smoke(area = $a) as s and each Temp(area = $b) as t within 1 h from s "
            "and not Rain(area = $a, area = $b) between t and s"
        ),
        (
            "from Smoke(area = $a) as s and each Temp(area = $b) as t within 1 h from s "
            "and $n = count(Rain(area = $a, area = $b)) between t and s"
        ),
        'from Smoke(area = "hall") as s and last Temp(area = "roof") as t within 1 h from s',
        'from Smoke(area = "hall") ; Temp(area = $a) ; Rain(area = $a) within 1 h',
        # The last one of all is chosen, and then it is asked whether its area is the right one.
        "from Smoke(area = $a) as s and last Temp(area = $b) as t within 1 h from s and $a = $b",
        (
            "from Smoke(area = $a) as s and last Temp(area = $b) as t within 1 h from s "
            "and each Rain(area = $a, area = $b) as r within 1 h from s"
        ),
    ],
)
def test_global(rule: str) -> None:
    assert placements(compiled(f"define D {rule};")) == {"D": "global"}


def test_a_route_for_what_is_keyed_by_something_else() -> None:
    plan = compiled("""
        define Seen (area: string)
        from Badge(area = $a) as b and last Temp(area = $a, value > 45) as t within 1 h from b
        where area = $a;""")
    assert placements(plan) == {"Seen": "route"}
    route, routed = plan.subtopologies
    assert (route.name, route.kind, route.topics) == ("route", "route", ("badges",))
    assert [forward.to_dict() for forward in route.forwards] == [
        {"type": 3, "nodes": [1], "key": 1, "topic": "tocsin.test.Badge-by-area"}
    ]
    assert route.nodes == (1,)
    assert (routed.name, routed.kind) == ("routed", "local")
    assert routed.topics == ("temps", "tocsin.test.Badge-by-area")
    assert plan.input_topics == ("badges", "temps")
    assert plan.type_named("Seen").key == 0  # type: ignore[union-attr]


def test_an_event_is_read_by_one_attribute_in_one_place() -> None:
    plan = compiled("""
        define A from Badge(area = $a) as b and last Temp(area = $a) as t within 1 h from b;
        define B from Badge(area = $a) as b and last Rain(area = $a) as r within 1 h from b;
        define C from Badge(person = $p) as b and last Tag(id = $p) as t within 1 h from b;
        """)
    assert placements(plan) == {"A": "route", "B": "route", "C": "route"}
    topics = {s.name: s.topics for s in plan.subtopologies if s.kind == "local"}
    assert topics == {
        "routed": ("rain", "temps", "tocsin.test.Badge-by-area"),
        "routed-2": ("badges", "tocsin.test.Tag-by-id-routed-2"),
    }


def test_each_has_what_is_sent_to_it_for_itself() -> None:
    plan = compiled("""
        define A from Badge(area = $a) as b and last Alarm(id = $a) as t within 1 h from b;
        define B from Badge(area = $a) as b and last Alarm(eqpt = $a) as t within 1 h from b;
        """)
    topics = [topic for sub in plan.subtopologies for topic in sub.topics if topic.startswith("tocsin")]
    assert sorted(topics) == [
        "tocsin.test.Alarm-by-id",
        "tocsin.test.Badge-by-area",
        "tocsin.test.Badge-by-area-routed-2",
    ]


def test_a_global_rule_stays_where_it_is_when_others_come() -> None:
    one = "define Alone from Tag ; Page within 1 h;"
    two = "define Storm from Rain(mm > 3) ; Smoke within 1 h;"

    def place(plan: Plan) -> list[int]:
        groups = enumerate(sub(plan, "global").groups)
        return [number for number, group in groups if "Alone" in belonging(plan, group.subscribers)]

    assert len(place(compiled(one))) == 1
    assert place(compiled(two + one)) == place(compiled(one))


def test_the_key_that_spares_most_routes() -> None:
    plan = compiled("define D from Smoke(area = $a, level = $l) ; Temp(area = $a, at = $l) within 1 h;")
    assert placements(plan) == {"D": "local"}


def test_a_global_rule_makes_again_what_it_reads() -> None:
    plan = compiled("""
        define Fire (area: string)
        from Smoke(area = $a) as s and last Temp(area = $a) as t within 3 min from s where area = $a;
        define Spread from Fire as f ; Fire as g ; Rain(mm > 3) within 1 h;
        define Storm from Rain(mm > 3) ; Smoke within 1 h;
        define Both from Spread and Storm within 1 day;
        define Alone from Tag ; Page within 1 h;
        """)
    assert placements(plan) == {
        "Fire": "local",
        "Spread": "global",
        "Storm": "global",
        "Both": "global",
        "Alone": "global",
    }
    route, local, everywhere = (sub(plan, name) for name in ("route", "local", "global"))
    assert {forward.topic for forward in route.forwards} == {"tocsin.test.global-events"}
    assert [plan.types[f.type].name for f in route.forwards] == ["Temp", "Smoke", "Rain", "Tag", "Page"]
    assert route.topics == tuple(sorted(plan.types[f.type].topic for f in route.forwards))
    assert local.forwards == ()
    assert everywhere.topics == ("tocsin.test.global-events",)
    # Spread, Storm and Both have to do with each other, Alone has not.
    assert len(everywhere.groups) == 4
    groups = [group for group in everywhere.groups if group.subscribers]
    assert sorted(belonging(plan, group.subscribers) for group in groups) == [
        ["Alone"],
        ["Spread", "Storm", "Both"],
    ]
    assert sorted(belonging(plan, group.nodes) for group in groups) == [
        ["Alone"],
        ["Fire", "Spread", "Storm", "Both"],
    ]
    assert belonging(plan, local.subscribers) == ["Fire"]
    assert belonging(plan, everywhere.subscribers) == ["Spread", "Storm", "Both", "Alone"]


def test_what_is_made_of_something_global_is_global() -> None:
    plan = compiled("""
        define Fire (area: string) from Smoke(area = $a) where area = $a;
        define Any (area: string) from Fire as f ; Temp as t within 1 h where area = t.area;
        define Later (area: string)
        from Any(area = $a) as x and last Fire(area = $a) as f within 1 h from x where area = $a;
        define Last from Later as x ; Temp within 1 h;
        """)
    assert {s.name: belonging(plan, s.subscribers) for s in plan.subtopologies} == {
        "route": [],
        "local": ["Fire"],
        "global": ["Any", "Later", "Last"],
    }


def test_what_is_made_of_something_routed_is_routed() -> None:
    plan = compiled("""
        define Seen (area: string)
        from Badge(area = $a) as b and last Temp(area = $a) as t within 1 h from b where area = $a;
        define Twice (area: string) from Seen(area = $a) ; Rain(area = $a) within 1 h where area = $a;
        """)
    assert placements(plan) == {"Seen": "route", "Twice": "route"}
    assert sub(plan, "routed").topics == ("rain", "temps", "tocsin.test.Badge-by-area")


def test_a_complex_event_by_another_attribute_than_its_own_is_global() -> None:
    plan = compiled("""
        define Seen (area: string, person: string)
        from Badge(area = $a) as b and last Temp(area = $a) as t within 1 h from b
        where area = $a, person = b.person;
        define Who from Seen(person = $p) ; Tag(id = $p) within 1 h;
        """)
    assert placements(plan) == {"Seen": "route", "Who": "global"}


def test_an_event_that_is_needed_by_two_attributes_is_read_in_one_place() -> None:
    plan = compiled("""
        define Seen (area: string)
        from Badge(area = $a) as b and last Temp(area = $a) as t within 1 h from b where area = $a;
        define Two from Seen(area = $a) ; Badge(person = $a) within 1 h;
        """)
    assert placements(plan) == {"Seen": "route", "Two": "global"}


def test_recursion_stays_local_if_its_key_is_carried_on() -> None:
    plan = compiled("""
        define Rep (area: string, n: long)
        from Temp(area = $a) as t and last Rep(area = $a) as r within 1 min from t
        where area = $a, n = r.n + 1;
        define Rep (area: string, n: long) from Smoke(area = $a) where area = $a, n = 0;
        """)
    assert placements(plan) == {"Rep": "local"}
    assert plan.type_named("Rep").key == 0  # type: ignore[union-attr]
    assert plan.input_topics == ("smoke", "temps")


def test_recursion_is_global_if_its_key_is_lost() -> None:
    plan = compiled("""
        define Rep (area: string, n: long)
        from Temp(area = $a) as t and last Rep(area = $a) as r within 1 min from t
        where area = "all", n = r.n + 1;
        """)
    assert placements(plan) == {"Rep": "global"}
    assert plan.type_named("Rep").key is None  # type: ignore[union-attr]


def test_the_key_of_several_definitions_is_what_all_carry() -> None:
    plan = compiled("""
        define D (a: string, b: string) from Temp(area = $a) where a = $a, b = $a;
        define D (a: string, b: string) from Smoke(area = $a) where a = "x", b = $a;
        """)
    assert plan.type_named("D").key == 1  # type: ignore[union-attr]


CONFIRMED = """
rule Note
when event Alarm(eqpt = $e) as a event Confirm(eqpt = $e, alarm = a.id) as c, c after [0 s, 1 h] a
then assert Confirmed (eqpt = {eqpt}, alarm = a.id);
rule Forget
when fact Confirmed(eqpt = $e) as f event Alarm(eqpt = $e) as a then retract f;
"""


def test_rules_that_share_facts_run_together() -> None:
    assert placements(compiled(CONFIRMED.format(eqpt="$e"))) == {"Note": "local", "Forget": "local"}
    # A fact that belongs to another partition than the rule that asserts it.
    assert placements(compiled(CONFIRMED.format(eqpt="a.id"))) == {"Note": "global", "Forget": "global"}


def test_a_single_event_changes_facts_at_its_own_key() -> None:
    rules = """
        rule Note on Alarm(eqpt = $e) as a do assert Confirmed (eqpt = {eqpt}, alarm = a.id);
        rule Use when fact Confirmed(eqpt = $e) as f event Confirm(eqpt = $e) as c then call "a:b";
        """
    assert placements(compiled(rules.format(eqpt="$e"))) == {"Note": "local", "Use": "local"}
    assert placements(compiled(rules.format(eqpt="a.id"))) == {"Note": "global", "Use": "global"}


@pytest.mark.parametrize(
    "absent",
    [
        "not event Rain(area = $a, area = $b) as r, r before [0 s, 1 min] t",
        "not fact Equipment(id = $a, id = $b)",
    ],
)
def test_an_absent_condition_ties_nothing(absent: str) -> None:
    plan = compiled(f"""
        rule R when event Smoke(area = $a) as s event Temp(area = $b) as t, t after [0 s, 1 min] s {absent}
        then call "a:b";""")
    assert placements(plan) == {"R": "global"}


def test_a_single_condition_stands_where_its_event_is() -> None:
    rules = """
        rule Note when event Alarm as a then assert Confirmed (eqpt = {eqpt}, alarm = a.id);
        rule Forget when event Confirm as c fact Confirmed(eqpt = c.eqpt) as f then retract f;
        """
    assert placements(compiled(rules.format(eqpt="a.eqpt"))) == {"Note": "local", "Forget": "local"}
    assert placements(compiled(rules.format(eqpt="a.id"))) == {"Note": "global", "Forget": "global"}
    assert placements(compiled('rule R when fact Equipment as e then call "a:b";')) == {"R": "local"}


def test_a_fact_of_a_topic_is_read_by_its_key() -> None:
    plan = compiled("""
        rule R when fact Equipment(id = $e, state = "ACTIVE") as e event Alarm(eqpt = $e) as a
        then call "a:b";""")
    assert placements(plan) == {"R": "local"}
    assert plan.subtopologies[0].topics == ("alarms", "equipment")


def test_a_change_of_a_fact_is_where_the_fact_is() -> None:
    plan = compiled("""
        rule R when event change Equipment(state = "ONLINE") as e to (state = "ACTIVE") as act
                    event Alarm(eqpt = e.id) as a, a after [0 s, 1 min] act
        then call "a:b";""")
    assert placements(plan) == {"R": "local"}


def test_subtypes_are_read_from_their_own_topics() -> None:
    plan = compiled("""
        event Heat extends Temp (source: string) on "heats";
        define D from Smoke(area = $a) as s and last Temp(area = $a) as t within 1 h from s;
        """)
    assert plan.subtopologies[0].topics == ("heats", "smoke", "temps")
