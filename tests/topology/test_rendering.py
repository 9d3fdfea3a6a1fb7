"""Plans in words and pictures: what is told and drawn of each node, and of the whole."""

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tocsin.topology import Plan, compile_rules, format_rules
from tocsin.topology.rendering import draw_mermaid, draw_svg, explain
from tocsin.topology.rendering.describe import describe
from tocsin.topology.rendering.diagram import Diagram, Look
from tocsin.topology.rendering.measure import mono_width
from tocsin.topology.rendering.picture import picture
from tocsin.topology.rendering.svg import CHIP_SIZE, MARGIN
from tocsin.topology.rendering.view import View

EXAMPLES = Path(__file__).parents[2] / "examples"
SVG = "{http://www.w3.org/2000/svg}"

HEAD = """
enum State { OFFLINE, ONLINE, ACTIVE };
event Temp (area: string, value: double, n: int, note: string?) on "temps" key area;
event Smoke (area: string) on "smoke" key area;
event Rain (area: string) on "rain" key area;
event Login (user: string, site: string, ok: boolean) on "logins" key site;
operation Sell (oid: string, qty: int) on "sells" key oid;
event Alarm (id: string, eqpt: string) on "alarms" key eqpt id id;
fact Equipment (id: string, state: State) key id on "equipment";
"""


def plan_of(text: str) -> Plan:
    return compile_rules(HEAD + text, app="site")


def example(name: str) -> Plan:
    path = EXAMPLES / name / f"{name}.tocsin"
    return compile_rules(path.read_text(), str(path), app=name)


@pytest.mark.parametrize("name", ["fire", "stock"])
def test_the_examples_are_in_the_one_true_layout(name: str) -> None:
    text = (EXAMPLES / name / f"{name}.tocsin").read_text()
    assert format_rules(text) == text


# What is told of a node.


@pytest.mark.parametrize(
    "condition",
    [
        "value > 45",
        'area = "north"',
        "value >= 0.5 and n < 3",
        "n < 3 or n = -7",
        "not (n = 1 or n = 2)",
        "(value + n) * 2 - 1 > value % 3 / 4",
        "-value < 3",
        "note is null or note is not null",
        'area in ("north", "south")',
        "n in (1, 2, 3)",
        'starts_with(lower(coalesce(note, area)), "a")',
        "round(abs(value)) != n",
    ],
)
def test_conditions_are_told_as_they_were_written(condition: str) -> None:
    view = View(plan_of(f"define D from Temp({condition});"))
    assert " and ".join(describe(view, 0).lines) == condition


NODES = [
    ("Smoke ; Temp(value > 45) within 5 min", "Smoke ; Temp: within 5 min"),
    ("Smoke and Temp and Rain within 5 min", "… and Rain: within 5 min"),
    ("Smoke or Temp", "Smoke or Temp"),
    ("Smoke(area = $a) ; Temp(area = $a) within 5 min", "Smoke ; Temp: same area; within 5 min"),
    (
        "Smoke(area = $a) as s ; Login(user = $a) as l within 5 min",
        "Smoke ; Login: s.area = l.user; within 5 min",
    ),
    ("any(2, Smoke, Temp, Rain) within 5 min", "any(2, Smoke, Temp, Rain): within 5 min"),
    ("any(3, Smoke*) within 5 min", "any(3, Smoke*): within 5 min"),
    ("aperiodic*(Smoke, Temp, Rain) within 5 min", "aperiodic*(Smoke, Temp, Rain): within 5 min"),
    ("periodic(Smoke, 10 s, Rain) within 5 min", "periodic(Smoke, 10 s, Rain): within 5 min"),
    (
        "periodic*(Smoke, 10 s collect Temp.value, Rain) within 5 min",
        "periodic*(Smoke, 10 s collect Temp.value, Rain): within 5 min",
    ),
    ("not(Rain)[Smoke, Temp] within 5 min", "not(Rain)[Smoke, Temp]: within 5 min"),
    ("Smoke + 15 min", "Smoke + 15 min"),
    ("begin (Smoke ; Temp within 5 min)", "begin …"),
    ("begin Sell ; end Sell within 5 min", "begin Sell ; end Sell: within 5 min"),
    (
        "Smoke(area = $a) as s and 3 last Temp(area = $a, value > 45) as t within 3 min from s",
        "pattern Smoke as s: 3 last Temp as t within 3 min from s; t.area = s.area",
    ),
    (
        "Smoke as s and last Temp as t within 9 s from s and not Rain(area = t.area) between t and s",
        "pattern Smoke as s: last Temp as t within 9 s from s; not Rain between t and s; Rain.area = t.area",
    ),
    (
        "Smoke as s and $m = avg(Temp.value) within 3 min from s and $m > 40",
        "pattern Smoke as s: avg(Temp.value) within 3 min from s; avg(Temp.value) > 40",
    ),
    ("Smoke as s and not Rain within 9 s after s", "pattern Smoke as s: not Rain within 9 s after s"),
    (
        "Smoke as s and each Temp as t within 1 h from s and t within 9 s from s",
        "pattern Smoke as s: each Temp as t within 1 h from s; t within 9 s from s",
    ),
    (
        "match every (Temp as t {3 while value > previous.value} then not Rain for 5 min within 1 h)",
        "match Temp, Rain: every (t{3 while t.value > previous.value} then not Rain for 5 min within 1 h)",
    ),
    (
        "match Temp as t then Smoke | Rain then (each Login{2,} until Smoke) within 1 h",
        "match Temp, Smoke, Rain, Login: t then (Smoke | Rain) then each Login{2,} until Smoke within 1 h",
    ),
    (
        'Timer(hour = 3, weekday = Friday) zone "Europe/Rome" as n and last Smoke within 1 h from n',
        "pattern Timer(weekday = Friday, hour = 3, minute = 0) as n: last Smoke within 1 h from n",
    ),
]


@pytest.mark.parametrize(("source", "sentence"), NODES, ids=[source for source, _ in NODES])
def test_a_node_is_told_in_the_words_of_the_language(source: str, sentence: str) -> None:
    view = View(plan_of(f"define D from {source};"))
    (subscriber,) = view.subscribers
    assert describe(view, view.subscriber(subscriber).input).sentence == sentence


def test_facts_and_rules_are_told_too() -> None:
    text = """
    rule Confirm when fact Equipment(state = "ACTIVE") as e event Alarm(eqpt = e.id) as a,
      timeof(a) > 5 then modify e (state = "OFFLINE"), retract a;
    rule Woken when event change Equipment(state = "ONLINE") as e to (state = "ACTIVE") as act
    then call "ops:woken" priority 7;
    rule Rest on Rain do deactivate Woken, flush Rain, webhook "https://example.org";
    """
    told = explain(plan_of(text))
    assert 'fact Equipment: state = "ACTIVE"' in told
    assert "when e, a: a.eqpt = e.id; timeof(a) > 5" in told
    assert "rule Confirm: modify e; retract a" in told
    assert 'change Equipment: from state = "ONLINE"; to state = "ACTIVE"' in told
    assert 'rule Woken: call "ops:woken"  [detached; priority 7]' in told
    assert 'rule Rest: deactivate Woken; flush Rain; webhook "https://example.org"' in told


def test_what_a_repeated_step_is_tied_by_is_told() -> None:
    told = explain(plan_of("define D from match every (Temp($a) as t {3} within 1 h) unbounded;"))
    assert "runs local: its events are tied by $a, the key of their topics" in told


# What is told of a plan.


def test_a_plan_is_told_from_what_it_reads_to_what_it_writes() -> None:
    assert explain(example("fire")) == (
        "fire: 1 definition in 4 nodes\n"
        "\n"
        "local: one task a partition\n"
        "  reads smoke, temps\n"
        "\n"
        "  #3 complex event Fire: tocsin.fire.Fire\n"
        "  └─ #2 pattern Smoke as s: last Temp as t within 3 min from s; t.area = s.area  [keeps 3 min]\n"
        "     ├─ #1 source Smoke\n"
        "     └─ #0 source Temp: value > 45\n"
        "\n"
        "what it costs\n"
        "  Fire\n"
        "    runs local: its events are tied by $a, the key of their topics\n"
        "    looks back 3 min\n"
        "    keeps the last Temp for each area, for 3 min\n"
        "    writes tocsin.fire.Fire, keyed by area\n"
    )


def test_what_is_shared_is_told_once_with_all_its_contexts() -> None:
    told = explain(example("stock"))
    assert told.startswith("stock: 2 definitions and 2 rules in 18 nodes (30 if nothing were shared)\n")
    (shared,) = re.findall(r"#15 .*\[.*", told)
    assert shared == (
        "#15 … ; …: within 1 day  [chronicle, recent; keeps 1 day; shared by RecentX, ChronicleX]"
    )
    assert told.count("#15 ") == 2
    assert "#15 … ; … (above)" in told
    assert "runs global: nothing ties all its events to one key" in told
    assert "  sends to tocsin.stock.global-events\n    end sell_stock\n" in told


def test_a_route_is_told_with_its_key() -> None:
    told = explain(plan_of("define Guess from Login(user = $u) ; Login(user = $u, ok = true) within 1 min;"))
    assert "  sends to tocsin.site.Login-by-user\n    Login, by user\n    Login: ok = true, by user\n" in told
    assert "runs local behind a route: its events are tied by $u" in told


def test_a_file_without_rules_has_a_plan_too() -> None:
    plan = plan_of("")
    assert explain(plan) == "site: no rules in no nodes\n"
    assert "no rules" in draw_svg(plan)
    assert "flowchart LR" in draw_mermaid(plan)


# What is drawn.


def titles(diagram: Diagram) -> list[tuple[Look, str]]:
    return [(box.look, box.title) for box in diagram.boxes]


def links(diagram: Diagram) -> set[tuple[str, str]]:
    name = [
        f"{box.title}({', '.join(box.lines)})" if box.look is Look.SOURCE else box.title
        for box in diagram.boxes
    ]
    return {(name[link.start], name[link.end]) for link in diagram.links}


def test_a_source_that_lets_all_pass_is_drawn_as_its_event() -> None:
    diagram = picture(example("fire"))
    assert titles(diagram) == [
        (Look.EVENT, "Smoke"),
        (Look.EVENT, "Temp"),
        (Look.SOURCE, "Temp"),
        (Look.OPERATOR, "Smoke as s"),
        (Look.DEFINE, "Fire"),
    ]
    assert links(diagram) == {
        ("Temp", "Temp(value > 45)"),
        ("Smoke", "Smoke as s"),
        ("Temp(value > 45)", "Smoke as s"),
        ("Smoke as s", "Fire"),
    }
    assert {link.label for link in diagram.links} == {"", "s", "t"}


def test_parts_that_are_linked_over_a_topic_are_drawn_apart() -> None:
    diagram = picture(example("stock"))
    assert [band.title for band in diagram.bands] == ["route", "global"]
    over = {
        (diagram.boxes[link.start].band, diagram.boxes[link.end].band)
        for link in diagram.links
        if link.over_topic
    }
    assert over == {(0, 1)}
    # What R2 keeps is its own: it counts events from before its activation.
    assert [box.title for box in diagram.boxes if box.shared] == [
        "end sell_stock",
        "begin set_price",
        "… ; …",
    ]
    chips = {box.title: [chip.text for chip in box.chips] for box in diagram.boxes}
    assert chips["… ; …"] == ["chronicle", "recent", "keeps 1 day", "shared by 2"]
    assert chips["R2"] == ["recent", "priority 20", "trigger previous"]


def test_an_event_is_drawn_where_its_topic_is_read() -> None:
    diagram = picture(plan_of("define A from Smoke; define B from Smoke ; Login within 1 min;"))
    smokes = [diagram.bands[box.band].title for box in diagram.boxes if box.title == "Smoke"]
    assert sorted(smokes) == ["local", "route"]


def test_a_defined_event_is_drawn_once_and_feeds_what_is_made_of_it() -> None:
    diagram = picture(
        plan_of("""
        define Fire (area: string) from Smoke(area = $a) where area = $a;
        define Again (area: string)
        from Fire(area = $a) as f and last Again(area = $a) as g within 1 h from f where area = $a;
        rule Page on Fire if area = "x" do call "ops:page";
        """)
    )
    assert {("Smoke", "Fire"), ("Fire", "Fire as f"), ("Fire", "Page"), ("Fire as f", "Again")} <= links(
        diagram
    )
    assert ("Again", "Again()") in links(diagram)  # fed back


@pytest.mark.parametrize(
    "action", ['update Equipment (id = e.id, state = "ACTIVE")', 'modify e (state = "ACTIVE")']
)
def test_rules_are_linked_back_to_the_facts_they_change(action: str) -> None:
    plan = plan_of(f"rule R when fact Equipment as e event Alarm(eqpt = e.id) as a then {action};")
    diagram = picture(plan)
    assert ("R", "Equipment") in links(diagram)
    assert draw_svg(plan).count('class="link back"') == 1
    assert [link.label for link in diagram.links if diagram.boxes[link.start].title == "R"] == [
        action.split(maxsplit=1)[0]
    ]


def test_the_sheet_is_wide_enough_for_the_labels_of_links_back() -> None:
    plan = plan_of("rule R when fact Equipment as e event Alarm(eqpt = e.id) as a then retract e;")
    root = ET.fromstring(draw_svg(plan))  # noqa: S314 – our own
    (label,) = (text for text in root.iter(f"{SVG}text") if text.get("class") == "label leaving")
    right = float(label.get("x", "0")) + mono_width(label.text or "", CHIP_SIZE)
    assert right + MARGIN <= float(root.get("width", "0")) - MARGIN


# The drawings.


def drawing(name: str) -> ET.Element:
    return ET.fromstring(draw_svg(example(name)))  # noqa: S314 – our own


def test_a_drawing_is_one_file_of_its_own() -> None:
    text = draw_svg(example("stock"))
    assert text == draw_svg(example("stock"))
    assert "prefers-color-scheme:dark" in text
    assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"]
    root = drawing("stock")
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


def test_a_drawing_says_everything_and_more_where_the_mouse_is() -> None:
    root = drawing("stock")
    words = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    for said in (
        "R1",
        "cumulative",
        "deferred",
        "keeps 1 day",
        "shared by 2",
        "tocsin.stock.ChronicleX",
        "set_IBM_price",
    ):
        assert said in words
    hints = [hint.text or "" for hint in root.iter(f"{SVG}title")]
    assert any(hint.endswith("used by RecentX, ChronicleX") for hint in hints)


def test_what_users_write_is_no_markup() -> None:
    plan = plan_of("""define D from Temp(note = "<b> & 'c' \\"d\\"");""")
    lines = [text.text for text in ET.fromstring(draw_svg(plan)).iter(f"{SVG}text")]  # noqa: S314 – our own
    assert 'note = "<b> & \'c\' \\"d\\""' in lines
    (line,) = [line for line in draw_mermaid(plan).splitlines() if "note" in line]
    assert "<b>Temp</b><br/>note = #34;#60;b#62; #38; #39;c#39; #92;#34;d#92;#34;#34;" in line


def test_long_texts_are_cut_in_the_drawing_and_whole_in_its_hint() -> None:
    options = ", ".join(f'"area {i}"' for i in range(40))
    root = ET.fromstring(draw_svg(plan_of(f"define D from Temp(area in ({options}));")))  # noqa: S314 – our own
    lines = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert any(line.endswith("…") for line in lines)
    assert max(map(len, lines)) <= 60
    assert any("area 39" in (hint.text or "") for hint in root.iter(f"{SVG}title"))


def test_mermaid_has_every_box_and_link() -> None:
    diagram = picture(example("stock"))
    lines = draw_mermaid(example("stock")).splitlines()
    assert sum(bool(re.match(r"    n\d+\W", line)) for line in lines) == len(diagram.boxes)
    assert sum("-->" in line or "-.->" in line for line in lines) == len(diagram.links)
    assert (
        '  subgraph band1["global: one place for all partitions#59; reads tocsin.stock.global-events"]'
        in lines
    )
    assert all(a != b for a, b in pairwise(lines))
