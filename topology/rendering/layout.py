"""A layered layout: boxes in columns from left to right, in bands that follow each other in stages.

A band that reads another one stands to its right; bands of one stage stand below each other. A link over
several columns passes through a place kept free in each of them. The order in a column is by barycentres, and
heights are the least squares to the neighbours that keep order and distance. It is deterministic.
"""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tocsin.topology.rendering import layers
from tocsin.topology.rendering.geometry import Head, Layout, Point, Rect, Route, Size

SWEEPS = 12
BAND_PADDING = 22
BAND_GAP = 20
BOX_GAP = 22
LINK_GAP = 16
LANE_GAP = 14
GUTTER = 44
PORT_GAP = 15


@dataclass(frozen=True, slots=True)
class _Across:
    """The left edges and the widths of columns and of stages."""

    xs: list[float]
    widths: list[float]
    stage_xs: list[float]
    stage_widths: list[float]


@dataclass(slots=True)
class _Cell:
    """What takes room in a column: a box, or the passage of a link (`box` is None)."""

    box: int | None
    layer: int
    band: int
    height: float
    y: float = 0.0
    before: list["_Cell"] = field(default_factory=list)
    behind: list["_Cell"] = field(default_factory=list)
    rank: int = 0


def lay_out(
    sizes: Sequence[Size],
    bands: Sequence[int],
    links: Sequence[tuple[int, int]],
    label_widths: Sequence[float],
    heads: Sequence[Head],
) -> Layout:
    """Return the layout of boxes that lie in bands and are linked."""
    stages = layers.stages(bands, links, len(heads))
    stage_of = [stages[band] for band in bands]
    backward = layers.backward(stage_of, links)
    forward = [(start, end) for i, (start, end) in enumerate(links) if i not in backward]
    layer_of, stage_at = layers.layers(stage_of, forward)
    cells = [_Cell(i, layer_of[i], bands[i], size.height) for i, size in enumerate(sizes)]
    passing = _passing(stages, stage_at)
    chains = {
        i: _chain(cells[start], cells[end], passing)
        for i, (start, end) in enumerate(links)
        if i not in backward
    }
    columns = _columns([*cells, *(cell for chain in chains.values() for cell in chain[1:-1])])
    _order(columns)
    _place(columns, stages)
    across = _across(columns, stage_at, sizes, label_widths, chains, heads, stages)
    frames = _stack(columns, stages, across, heads, lanes=len(backward))
    boxes = tuple(
        Rect(across.xs[cell.layer], cell.y - cell.height / 2, across.widths[cell.layer], cell.height)
        for cell in cells
    )
    routes = _routes(links, boxes, chains, across, frames)
    width = max((frame.x + frame.width for frame in frames), default=0.0)
    height = max((frame.y + frame.height for frame in frames), default=0.0)
    return Layout(width, height, boxes, routes, frames)


# --- columns ------------------------------------------------------------------------------------------------


def _passing(stages: Sequence[int], stage_at: Sequence[int]) -> Callable[[int, int, int], int]:
    """Return how a link passes a column: in the band of one of its ends, or in the last one there."""

    def band(layer: int, first: int, last: int) -> int:
        there = [band for band, stage in enumerate(stages) if stage == stage_at[layer]]
        return next((own for own in (last, first) if own in there), there[-1])

    return band


def _chain(first: _Cell, last: _Cell, passing: Callable[[int, int, int], int]) -> list[_Cell]:
    """Return the cells a link passes, new ones between its ends, and make them neighbours."""
    between = range(first.layer + 1, last.layer)
    passages = (_Cell(None, layer, passing(layer, first.band, last.band), 0.0) for layer in between)
    chain = [first, *passages, last]
    for left, right in pairwise(chain):
        left.behind.append(right)
        right.before.append(left)
    return chain


def _columns(cells: Iterable[_Cell]) -> list[list[_Cell]]:
    columns: dict[int, list[_Cell]] = defaultdict(list)
    for cell in cells:
        columns[cell.layer].append(cell)
    return [columns[layer] for layer in sorted(columns)]


# --- order --------------------------------------------------------------------------------------------------


def _order(columns: list[list[_Cell]]) -> None:
    """Order each column by the barycentres of its neighbours, and keep the one with the fewest crossings."""
    for column in columns:
        _rank(column, key=lambda cell: cell.band)
    best, fewest = [list(column) for column in columns], _crossings(columns)
    for sweep in range(SWEEPS):
        forward = sweep % 2 == 0
        for column in columns if forward else reversed(columns):
            _rank(column, key=_barycentre(forward=forward))
        if (crossings := _crossings(columns)) < fewest:
            best, fewest = [list(column) for column in columns], crossings
    for column, ordered in zip(columns, best, strict=True):
        column[:] = ordered
        _rank(column, key=lambda cell: cell.band)


def _rank(column: list[_Cell], key: Callable[[_Cell], object]) -> None:
    column.sort(key=key)  # type: ignore[arg-type]  # keys of one column are of one type
    for rank, cell in enumerate(column):
        cell.rank = rank


def _barycentre(*, forward: bool) -> Callable[[_Cell], tuple[int, float]]:
    def key(cell: _Cell) -> tuple[int, float]:
        near = cell.before if forward else cell.behind
        return cell.band, sum(other.rank for other in near) / len(near) if near else cell.rank

    return key


def _crossings(columns: Sequence[Sequence[_Cell]]) -> int:
    """Count the links that cross another one: the inversions of their ends."""
    count = 0
    for column in columns:
        ends: list[int] = []
        links = ((cell.rank, sorted(other.rank for other in cell.behind)) for cell in column)
        for _, behind in sorted(links):
            count += sum(len(ends) - bisect_right(ends, rank) for rank in behind)
            for rank in behind:
                insort(ends, rank)
    return count


# --- heights ------------------------------------------------------------------------------------------------


def _place(columns: Sequence[Sequence[_Cell]], stages: Sequence[int]) -> None:
    """Give each cell the height of its neighbours, as near as order and distance allow."""
    for column in columns:
        _settle(column, [0.0] * len(column))
    for sweep in range(2 * SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _settle(column, [_wanted(cell, stages) for cell in column])


def _wanted(cell: _Cell, stages: Sequence[int]) -> float:
    """Return the mean height of the neighbours, without those in another band above or below."""
    near = [
        other.y
        for other in (*cell.before, *cell.behind)
        if other.band == cell.band or stages[other.band] != stages[cell.band]
    ]
    return sum(near) / len(near) if near else cell.y


def _settle(column: Sequence[_Cell], wanted: Sequence[float]) -> None:
    """Move the cells of each band to the least squares of what they want (pool adjacent violators)."""
    for band in sorted({cell.band for cell in column}):
        cells = [(cell, want) for cell, want in zip(column, wanted, strict=True) if cell.band == band]
        offset, pools = 0.0, list[tuple[float, int]]()
        offsets = []
        for i, (cell, want) in enumerate(cells):
            offset += _distance(cells[i - 1][0], cell) if i else 0.0
            offsets.append(offset)
            mean, size = want - offset, 1
            while pools and pools[-1][0] > mean:
                other, count = pools.pop()
                mean, size = (mean * size + other * count) / (size + count), size + count
            pools.append((mean, size))
        means = [mean for mean, size in pools for _ in range(size)]
        for (cell, _), mean, own in zip(cells, means, offsets, strict=True):
            cell.y = mean + own


def _distance(upper: _Cell, lower: _Cell) -> float:
    gap = LINK_GAP if upper.box is None or lower.box is None else BOX_GAP
    return (upper.height + lower.height) / 2 + gap


def _stack(
    columns: Sequence[Sequence[_Cell]],
    stages: Sequence[int],
    across: _Across,
    heads: Sequence[Head],
    *,
    lanes: int,
) -> tuple[Rect, ...]:
    """Move the bands of a stage below each other, everything to the top, and return the frames of the bands.

    All stages have the same height; below their boxes is room for the lanes of links that lead back.
    """
    cells = [
        [cell for column in columns for cell in column if cell.band == band] for band in range(len(heads))
    ]
    for own in cells:
        _close_gaps(own)
    tops = [0.0] * len(heads)
    for stage in sorted(set(stages)):
        floor: float | None = None
        for band in (band for band, its in enumerate(stages) if its == stage):
            top = _upper(cells[band]) - BAND_PADDING - heads[band].height
            shift = 0.0 if floor is None else max(0.0, floor + BAND_GAP - top)
            for cell in cells[band]:
                cell.y += shift
            tops[band] = top + shift
            floor = _lower(cells[band]) + BAND_PADDING
    highest = min(tops, default=0.0)
    bottom = max((_lower(own) for own in cells), default=0.0) + BAND_PADDING + lanes * LANE_GAP - highest
    for cell in (cell for own in cells for cell in own):
        cell.y -= highest
    frames = []
    for band, stage in enumerate(stages):
        group = [other for other, its in enumerate(stages) if its == stage]
        place = group.index(band)
        top = tops[band] - highest if place else 0.0
        end = tops[group[place + 1]] - highest - BAND_GAP if band != group[-1] else bottom
        frames.append(Rect(across.stage_xs[stage], top, across.stage_widths[stage], end - top))
    return tuple(frames)


def _close_gaps(cells: Iterable[_Cell]) -> None:
    """Move what is below an empty strip up."""
    floor: float | None = None
    shift = 0.0
    for cell in sorted(cells, key=lambda cell: cell.y - cell.height / 2):
        top = cell.y - cell.height / 2 - shift
        if floor is not None and top > floor + BOX_GAP:
            shift += top - floor - BOX_GAP
        cell.y -= shift
        bottom = cell.y + cell.height / 2
        floor = bottom if floor is None else max(floor, bottom)


def _upper(cells: Iterable[_Cell]) -> float:
    return min((cell.y - cell.height / 2 for cell in cells), default=0.0)


def _lower(cells: Iterable[_Cell]) -> float:
    return max((cell.y + cell.height / 2 for cell in cells), default=0.0)


# --- across -------------------------------------------------------------------------------------------------


def _across(
    columns: Sequence[Sequence[_Cell]],
    stage_at: Sequence[int],
    sizes: Sequence[Size],
    label_widths: Sequence[float],
    chains: dict[int, list[_Cell]],
    heads: Sequence[Head],
    stages: Sequence[int],
) -> _Across:
    """Return where columns and stages begin, and how wide they are."""
    widths = [
        max((sizes[cell.box].width for cell in column if cell.box is not None), default=0.0)
        for column in columns
    ]
    labels = [0.0] * len(columns)
    for i, chain in chains.items():
        layer = chain[-1].layer
        labels[layer] = max(labels[layer], label_widths[i])
    xs: list[float] = []
    stage_xs: list[float] = []
    stage_widths: list[float] = []
    x = 0.0
    for layer, width in enumerate(widths):
        crossing = sum(len(cell.behind) for cell in columns[layer - 1]) if layer else 0
        room = labels[layer] + min(3.0 * crossing, 36.0)
        if layer == 0 or stage_at[layer] != stage_at[layer - 1]:
            # The links from one stage to the next bend between the bands and in the padding.
            x += BAND_GAP + room / 2 if layer else 0.0
            stage_xs.append(x)
            x += BAND_PADDING + (max(room / 2, labels[layer]) if layer else 0.0)
        else:
            x += GUTTER + room
        xs.append(x)
        x += width
        if layer + 1 == len(widths) or stage_at[layer + 1] != stage_at[layer]:
            x += BAND_PADDING
            least = max(
                head.width for head, stage in zip(heads, stages, strict=True) if stage == stage_at[layer]
            )
            x = max(x, stage_xs[-1] + least)
            stage_widths.append(x - stage_xs[-1])
    return _Across(xs, widths, stage_xs, stage_widths)


def _routes(
    links: Sequence[tuple[int, int]],
    boxes: Sequence[Rect],
    chains: dict[int, list[_Cell]],
    across: _Across,
    frames: Sequence[Rect],
) -> tuple[Route, ...]:
    ports = _ports(links, boxes, chains)
    lane = max((frame.y + frame.height for frame in frames), default=0.0) - BAND_PADDING / 2
    routes = []
    for i, (start, end) in enumerate(links):
        leave = Point(boxes[start].x + boxes[start].width, boxes[start].middle)
        arrive = Point(boxes[end].x, ports[i])
        if i in chains:
            passages = [
                (
                    Point(across.xs[cell.layer], cell.y),
                    Point(across.xs[cell.layer] + across.widths[cell.layer], cell.y),
                )
                for cell in chains[i][1:-1]
            ]
            routes.append(Route(((leave, leave), *passages, (arrive, arrive))))
            continue
        turn, back = leave.x + LANE_GAP, arrive.x - LANE_GAP
        corners = (
            *(leave, Point(turn, leave.y), Point(turn, lane)),
            *(Point(back, lane), Point(back, arrive.y), arrive),
        )
        lane -= LANE_GAP
        routes.append(Route(tuple(pairwise(corners)), back=True))
    return tuple(routes)


def _ports(
    links: Sequence[tuple[int, int]], boxes: Sequence[Rect], chains: dict[int, list[_Cell]]
) -> dict[int, float]:
    """Return the height at which each link arrives: spread over the side of the box, as they come."""
    arriving: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for i, (_, end) in enumerate(links):
        height = chains[i][-2].y if i in chains else float("inf")
        arriving[end].append((height, i))
    ports = {}
    for end, coming in arriving.items():
        box = boxes[end]
        gap = min(PORT_GAP, box.height / len(coming))
        first = box.middle - gap * (len(coming) - 1) / 2
        for place, (_, i) in enumerate(sorted(coming)):
            ports[i] = first + place * gap
    return ports
