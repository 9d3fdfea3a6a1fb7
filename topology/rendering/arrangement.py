"""The whole sheet: bands that have nothing to do with each other are laid out apart, one below the other."""

from collections.abc import Sequence

from tocsin.topology.rendering.geometry import Head, Layout, Point, Rect, Route, Size
from tocsin.topology.rendering.layout import BAND_GAP, lay_out


def arrange(
    sizes: Sequence[Size],
    bands: Sequence[int],
    links: Sequence[tuple[int, int]],
    label_widths: Sequence[float],
    heads: Sequence[Head],
) -> Layout:
    """Return the layout of boxes that lie in bands and are linked."""
    boxes: dict[int, Rect] = {}
    routes: dict[int, Route] = {}
    frames: dict[int, Rect] = {}
    top, width = 0.0, 0.0
    for group in _groups(bands, links, len(heads)):
        own = [box for box, band in enumerate(bands) if band in group]
        place = {box: i for i, box in enumerate(own)}
        inside = [link for link, (start, _) in enumerate(links) if bands[start] in group]
        if not own:
            frames |= {band: Rect(0.0, top, heads[band].width, heads[band].height) for band in group}
            top += heads[group[0]].height + BAND_GAP
            width = max(width, heads[group[0]].width)
            continue
        part = lay_out(
            [sizes[box] for box in own],
            [group.index(bands[box]) for box in own],
            [(place[links[link][0]], place[links[link][1]]) for link in inside],
            [label_widths[link] for link in inside],
            [heads[band] for band in group],
        )
        boxes |= {box: _lower(rect, top) for box, rect in zip(own, part.boxes, strict=True)}
        routes |= {link: _lower_route(route, top) for link, route in zip(inside, part.routes, strict=True)}
        frames |= {band: _lower(frame, top) for band, frame in zip(group, part.bands, strict=True)}
        top += part.height + BAND_GAP
        width = max(width, part.width)
    widened = _widened([frames[band] for band in range(len(heads))], width)
    # The edges as the bands have them, so that rounding leaves none of them outside.
    return Layout(
        max((frame.x + frame.width for frame in widened), default=0.0),
        max((frame.y + frame.height for frame in widened), default=0.0),
        tuple(boxes[box] for box in range(len(sizes))),
        tuple(routes[link] for link in range(len(links))),
        widened,
    )


def _groups(bands: Sequence[int], links: Sequence[tuple[int, int]], count: int) -> list[list[int]]:
    """Return the bands that are linked with each other, however indirectly."""
    group = list(range(count))
    for start, end in links:
        first, second = sorted((group[bands[start]], group[bands[end]]))
        group = [first if its == second else its for its in group]
    return [[band for band in range(count) if group[band] == first] for first in sorted(set(group))]


def _widened(frames: Sequence[Rect], width: float) -> tuple[Rect, ...]:
    """Let the frames that end a row reach the right edge."""
    return tuple(
        Rect(frame.x, frame.y, width - frame.x, frame.height)
        if not any(other.x > frame.x and _beside(frame, other) for other in frames)
        else frame
        for frame in frames
    )


def _beside(one: Rect, other: Rect) -> bool:
    return one.y < other.y + other.height and other.y < one.y + one.height


def _lower(rect: Rect, by: float) -> Rect:
    return Rect(rect.x, rect.y + by, rect.width, rect.height)


def _lower_route(route: Route, by: float) -> Route:
    return Route(tuple((Point(a.x, a.y + by), Point(b.x, b.y + by)) for a, b in route.stretches), route.back)
