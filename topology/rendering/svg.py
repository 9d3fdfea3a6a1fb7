"""Diagrams as SVG: one self-contained file, light or dark as its reader has it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from tocsin.topology.rendering.arrangement import arrange
from tocsin.topology.rendering.diagram import Band, Box, Chip, Diagram, Link
from tocsin.topology.rendering.geometry import Head, Layout, Point, Rect, Route, Size
from tocsin.topology.rendering.layout import LANE_GAP
from tocsin.topology.rendering.measure import mono_width, sans_width, wrapped
from tocsin.topology.rendering.style import STYLE

MARGIN = 24
HEADER = 58
TAG_SIZE, TITLE_SIZE, LINE_SIZE, CHIP_SIZE = 9.5, 14.0, 11.0, 10.0
SIDE, TOP = 14, 11
TAG_HEIGHT, TITLE_HEIGHT, LINE_HEIGHT, CHIP_HEIGHT = 14, 20, 16, 18
CHIP_GAP, CHIP_SIDE = 5, 7
TITLE_COLUMNS, LINE_COLUMNS, BAND_COLUMNS, MOST_LINES = 32, 40, 46, 3
LEAST_WIDTH, ROW_WIDTH = 92, 220
CORNER = 8

TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0.5 0.8 7.5 4 0.5 7.2Z"/></marker>'
)


@dataclass(frozen=True, slots=True)
class _Content:
    """What a box shows, in lines, and how much room that takes."""

    box: Box
    titles: tuple[str, ...]
    lines: tuple[str, ...]
    chips: tuple[tuple[Chip, ...], ...]
    size: Size


def to_svg(diagram: Diagram) -> str:
    """Return the diagram as an SVG document; equal diagrams give equal text."""
    contents = [_content(box) for box in diagram.boxes]
    layout = arrange(
        [content.size for content in contents],
        [box.band for box in diagram.boxes],
        [(link.start, link.end) for link in diagram.links],
        [mono_width(link.label, CHIP_SIZE) for link in diagram.links],
        [_head(band) for band in diagram.bands],
    )
    width = max(layout.width, _header_width(diagram), *_reaches(diagram, layout)) + 2 * MARGIN
    height = layout.height + HEADER + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {_extent(width, height)} role="img">',
        f"<title>{escape(diagram.title)}</title>",
        f"<style>{STYLE}</style>",
        f"<defs>{TIP}</defs>",
        '<rect class="paper" width="100%" height="100%"/>',
        _text("heading", MARGIN, MARGIN + 16, diagram.title),
        _text("subheading", MARGIN, MARGIN + 37, diagram.subtitle),
        f'<g transform="translate({MARGIN} {MARGIN + HEADER})">',
        *(_band(band, frame) for band, frame in zip(diagram.bands, layout.bands, strict=True)),
        *_links(diagram, layout),
        *(line for i, content in enumerate(contents) for line in _box(content, layout.boxes[i])),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


# --- boxes --------------------------------------------------------------------------------------------------


def _content(box: Box) -> _Content:
    lines = tuple(part for line in box.lines for part in wrapped(line, LINE_COLUMNS, MOST_LINES))
    titles = wrapped(box.title, TITLE_COLUMNS, MOST_LINES)
    rows = tuple(_rows(box.chips))
    width = max(
        sans_width(box.tag.upper(), TAG_SIZE) * 1.12,
        *(sans_width(line, TITLE_SIZE) for line in titles),
        *(mono_width(line, LINE_SIZE) for line in lines),
        *(_row_width(row) for row in rows),
        LEAST_WIDTH - 2 * SIDE,
    )
    height = 2 * TOP + TAG_HEIGHT + TITLE_HEIGHT * len(titles) + LINE_HEIGHT * len(lines)
    height += (CHIP_HEIGHT + CHIP_GAP) * len(rows) + 2 if rows else 0
    return _Content(box, titles, lines, rows, Size(round(width + 2 * SIDE), height))


def _box(content: _Content, place: Rect) -> Iterator[str]:
    box = content.box
    shared = " shared" if box.shared else ""
    yield f'<g class="box {box.look}{shared}">'
    if box.tooltip:
        yield f"<title>{escape(box.tooltip)}</title>"
    if box.shared:
        yield _rect("behind", Rect(place.x + 4, place.y + 4, place.width, place.height), CORNER)
    yield _rect("face", place, CORNER)
    yield f'<path class="edge" d="{_left_edge(place)}"/>'
    x, y = place.x + SIDE, place.y + TOP
    yield _text("tag", x, y + 9, box.tag.upper())
    y += TAG_HEIGHT
    for line in content.titles:
        yield _text("title", x, y + 14, line)
        y += TITLE_HEIGHT
    for line in content.lines:
        yield _text("line", x, y + 11.5, line)
        y += LINE_HEIGHT
    for row in content.chips:
        yield from _chips(row, x, y + CHIP_GAP)
        y += CHIP_HEIGHT + CHIP_GAP
    yield "</g>"


def _rows(chips: Iterable[Chip]) -> Iterator[tuple[Chip, ...]]:
    """Yield chips in rows that are not too wide."""
    row: tuple[Chip, ...] = ()
    for chip in chips:
        if row and _row_width((*row, chip)) > ROW_WIDTH:
            yield row
            row = ()
        row = (*row, chip)
    if row:
        yield row


def _row_width(row: Sequence[Chip]) -> float:
    return sum(_chip_width(chip) for chip in row) + CHIP_GAP * (len(row) - 1)


def _chips(chips: Iterable[Chip], x: float, y: float) -> Iterator[str]:
    for chip in chips:
        width = _chip_width(chip)
        yield f'<g class="chip {chip.look}">{_rect("pill", Rect(x, y, width, CHIP_HEIGHT), CHIP_HEIGHT / 2)}'
        yield f"{_text('word', x + width / 2, y + 12.5, chip.text)}</g>"
        x += width + CHIP_GAP


def _chip_width(chip: Chip) -> float:
    return round(sans_width(chip.text, CHIP_SIZE) + 2 * CHIP_SIDE)


def _left_edge(place: Rect) -> str:
    """Return the outline of the coloured edge on the left of a box."""
    x, y, bottom = place.x, place.y, place.y + place.height
    return (
        f"M{_n(x + CORNER)} {_n(y)}A{CORNER} {CORNER} 0 0 0 {_n(x)} {_n(y + CORNER)}"
        f"V{_n(bottom - CORNER)}A{CORNER} {CORNER} 0 0 0 {_n(x + CORNER)} {_n(bottom)}"
        f"A4 {CORNER} 0 0 1 {_n(x + 4)} {_n(bottom - CORNER)}V{_n(y + CORNER)}"
        f"A4 {CORNER} 0 0 1 {_n(x + CORNER)} {_n(y)}Z"
    )


# --- bands and links ----------------------------------------------------------------------------------------


def _band(band: Band, frame: Rect) -> str:
    lines = [_text("band-name", frame.x + 18, frame.y + 26, band.title)]
    lines += [
        _text("band-rest", frame.x + 18, frame.y + 45 + 15 * i, line) for i, line in enumerate(_remarks(band))
    ]
    return f'<g class="band {band.look}">{_rect("area", frame, 14)}{"".join(lines)}</g>'


def _head(band: Band) -> Head:
    remarks = _remarks(band)
    width = max(sans_width(band.title, 13), *(sans_width(line, 11.5) for line in remarks))
    return Head(width + 36, 26 + 15 * len(remarks))


def _remarks(band: Band) -> tuple[str, ...]:
    return tuple(part for line in band.lines for part in wrapped(line, BAND_COLUMNS, MOST_LINES))


def _header_width(diagram: Diagram) -> float:
    return max(sans_width(diagram.title, 19), sans_width(diagram.subtitle, 12))


def _reaches(diagram: Diagram, layout: Layout) -> Iterator[float]:
    """Yield how far to the right the labels reach that stand beside the boxes: of links that lead back."""
    for link, route in zip(diagram.links, layout.routes, strict=True):
        if route.back:
            yield route.stretches[0][0].x + LANE_GAP + 5 + mono_width(link.label, CHIP_SIZE)


def _links(diagram: Diagram, layout: Layout) -> Iterator[str]:
    for link, route in zip(diagram.links, layout.routes, strict=True):
        kind = " over-topic" if link.over_topic else " back" if route.back else ""
        yield f'<path class="link{kind}" marker-end="url(#tip)" d="{_path(route)}"/>'
    for link, route in zip(diagram.links, layout.routes, strict=True):
        yield _label(link, route)


def _label(link: Link, route: Route) -> str:
    """Return the label of a link where it arrives, or of one that leads back where it leaves."""
    if route.back:
        leave = route.stretches[0][0]
        return _text("label leaving", leave.x + LANE_GAP + 5, leave.y + 14, link.label)
    arrive = route.stretches[-1][1]
    return _text("label", arrive.x - 11, arrive.y - 5, link.label)


def _path(route: Route) -> str:
    if route.back:
        return _cornered([route.stretches[0][0], *(end for _, end in route.stretches)])
    (start, _), *_ = route.stretches
    path = [f"M{_n(start.x)} {_n(start.y)}"]
    place = start
    for index, (left, right) in enumerate(route.stretches[1:], start=1):
        # The tip is straight, so that the arrow points into the box.
        arrive = Point(left.x - 6, left.y) if index == len(route.stretches) - 1 else left
        bend = (arrive.x - place.x) / 2
        turns = (Point(place.x + bend, place.y), Point(arrive.x - bend, arrive.y), arrive)
        path.append("C" + " ".join(f"{_n(turn.x)} {_n(turn.y)}" for turn in turns))
        if right.x > arrive.x or arrive.x < left.x:
            path.append(f"H{_n(max(left.x, right.x))}")
        place = right
    return "".join(path)


def _cornered(points: list[Point]) -> str:
    """Return a path at right angles with round corners."""
    path = [f"M{_n(points[0].x)} {_n(points[0].y)}"]
    for before, corner, behind in zip(points, points[1:], points[2:], strict=False):
        enter, leave = _towards(corner, before), _towards(corner, behind)
        path.append(f"L{_n(enter.x)} {_n(enter.y)}Q{_n(corner.x)} {_n(corner.y)} {_n(leave.x)} {_n(leave.y)}")
    path.append(f"L{_n(points[-1].x)} {_n(points[-1].y)}")
    return "".join(path)


def _towards(corner: Point, other: Point) -> Point:
    """Return the point on the way from a corner to another point where its rounding ends."""
    across, down = other.x - corner.x, other.y - corner.y
    length = max(abs(across), abs(down)) or 1.0
    part = min(CORNER, length / 2) / length
    return Point(corner.x + across * part, corner.y + down * part)


# --- text ---------------------------------------------------------------------------------------------------


def _text(look: str, x: float, y: float, text: str) -> str:
    return f'<text class="{look}" x="{_n(x)}" y="{_n(y)}">{escape(text, quote=False)}</text>' if text else ""


def _extent(width: float, height: float) -> str:
    w, h = _n(width), _n(height)
    return f'width="{w}" height="{h}" viewBox="0 0 {w} {h}"'


def _rect(look: str, place: Rect, radius: float) -> str:
    return (
        f'<rect class="{look}" x="{_n(place.x)}" y="{_n(place.y)}" width="{_n(place.width)}"'
        f' height="{_n(place.height)}" rx="{_n(radius)}"/>'
    )


def _n(number: float) -> str:
    """Return a number with at most one decimal."""
    return f"{number:.1f}".removesuffix(".0")
