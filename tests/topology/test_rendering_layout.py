"""The layout of drawings: nothing overlaps, whatever the graph."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tocsin.topology.rendering.arrangement import arrange
from tocsin.topology.rendering.geometry import Head, Layout, Rect, Size
from tocsin.topology.rendering.measure import mono_width, sans_width, wrapped

HEAD = Head(100, 40)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[int], list[tuple[int, int]], int]:
    """Boxes of different sizes in up to three bands, with any links between them, cycles included."""
    count = draw(st.integers(1, 14))
    bands = draw(st.integers(1, 3))
    size = st.builds(Size, st.integers(90, 260).map(float), st.integers(40, 160).map(float))
    box = st.integers(0, count - 1)
    return (
        draw(st.lists(size, min_size=count, max_size=count)),
        draw(st.lists(st.integers(0, bands - 1), min_size=count, max_size=count)),
        sorted(set(draw(st.lists(st.tuples(box, box), max_size=24)))),
        bands,
    )


def laid_out(graph: tuple[list[Size], list[int], list[tuple[int, int]], int]) -> Layout:
    sizes, bands, links, count = graph
    return arrange(sizes, bands, links, [20.0] * len(links), [HEAD] * count)


def overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def inside(inner: Rect, outer: Rect) -> bool:
    return (
        outer.x <= inner.x
        and inner.x + inner.width <= outer.x + outer.width
        and outer.y <= inner.y
        and inner.y + inner.height <= outer.y + outer.height
    )


@given(graphs())
def test_boxes_and_bands_do_not_overlap(
    graph: tuple[list[Size], list[int], list[tuple[int, int]], int],
) -> None:
    layout = laid_out(graph)
    assert not any(overlap(one, other) for one, other in combinations(layout.boxes, 2))
    assert not any(overlap(one, other) for one, other in combinations(layout.bands, 2))
    sheet = Rect(0, 0, layout.width, layout.height)
    assert all(inside(band, sheet) for band in layout.bands)


@given(graphs())
def test_a_box_lies_in_its_band_below_the_heading(
    graph: tuple[list[Size], list[int], list[tuple[int, int]], int],
) -> None:
    layout = laid_out(graph)
    for box, size, band in zip(layout.boxes, graph[0], graph[1], strict=True):
        frame = layout.bands[band]
        assert inside(box, frame)
        assert box.y >= frame.y + HEAD.height
        assert (box.width, box.height) >= (size.width, size.height)


@given(graphs())
def test_links_go_from_box_to_box_around_all_others(
    graph: tuple[list[Size], list[int], list[tuple[int, int]], int],
) -> None:
    layout = laid_out(graph)
    for (start, end), route in zip(graph[2], layout.routes, strict=True):
        leave, arrive = route.stretches[0][0], route.stretches[-1][1]
        source, target = layout.boxes[start], layout.boxes[end]
        assert leave.x == source.x + source.width
        assert arrive.x == target.x
        assert target.y <= arrive.y <= target.y + target.height
        if not route.back:
            assert all(left.x <= right.x for left, right in route.stretches)
            passages = [Rect(a.x, a.y, b.x - a.x, 0) for a, b in route.stretches[1:-1]]
            assert not any(overlap(passage, box) for passage in passages for box in layout.boxes)


@given(graphs())
def test_equal_graphs_look_the_same(graph: tuple[list[Size], list[int], list[tuple[int, int]], int]) -> None:
    assert laid_out(graph) == laid_out(graph)


def test_a_chain_is_a_straight_line() -> None:
    layout = arrange([Size(100, 50)] * 4, [0] * 4, [(0, 1), (1, 2), (2, 3)], [0.0] * 3, [HEAD])
    assert len({box.y for box in layout.boxes}) == 1
    assert [box.x for box in layout.boxes] == sorted({box.x for box in layout.boxes})


def test_links_do_not_cross_where_they_need_not() -> None:
    layout = arrange([Size(100, 50)] * 4, [0] * 4, [(0, 3), (1, 2)], [0.0] * 2, [HEAD])
    assert (layout.boxes[0].y < layout.boxes[1].y) == (layout.boxes[3].y < layout.boxes[2].y)


def test_bands_follow_what_they_read_and_strangers_stand_below() -> None:
    layout = arrange([Size(100, 50)] * 3, [0, 1, 2], [(0, 2)], [0.0], [HEAD] * 3)
    reading, stranger, read = layout.bands[2], layout.bands[1], layout.bands[0]
    assert read.x + read.width < reading.x
    assert read.y == reading.y
    assert stranger.y > read.y + read.height
    assert stranger.width == layout.width


def test_text_is_wrapped_between_words_and_cut_at_the_end() -> None:
    assert wrapped("a short line", 40, 2) == ("a short line",)
    assert wrapped("one two three four", 9, 3) == ("one two", "  three", "  four")
    assert wrapped("one two three four five", 9, 2) == ("one two", "  three …")
    assert wrapped("", 9, 2) == ()


def test_widths_grow_with_the_text() -> None:
    assert sans_width("WWW", 10) > sans_width("iii", 10) > 0
    assert mono_width("ab", 10) == 2 * mono_width("a", 10)
