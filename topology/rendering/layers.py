"""Which column a box stands in: one behind the last of those that lead to it, in the stage of its band."""

from collections import defaultdict
from collections.abc import Iterable, Sequence


def stages(bands: Sequence[int], links: Sequence[tuple[int, int]], count: int) -> list[int]:
    """Return for each band how many others lie before it."""
    between = sorted({(bands[start], bands[end]) for start, end in links if bands[start] != bands[end]})
    closing = _closing(count, between)
    return _longest(count, [link for i, link in enumerate(between) if i not in closing])


def backward(stage_of: Sequence[int], links: Sequence[tuple[int, int]]) -> set[int]:
    """Return the links that lead back: to an earlier stage, or to where they came from."""
    back = {i for i, (start, end) in enumerate(links) if stage_of[start] > stage_of[end]}
    ahead = [i for i in range(len(links)) if i not in back]
    closing = _closing(len(stage_of), [links[i] for i in ahead])
    return back | {ahead[i] for i in closing}


def _closing(count: int, links: Sequence[tuple[int, int]]) -> set[int]:
    """Return the links that close a cycle, found by a walk in depth from the first box on."""
    leaving: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for i, (start, end) in enumerate(links):
        leaving[start].append((i, end))
    found: set[int] = set()
    state = [0] * count  # 0 not seen, 1 on the path, 2 done
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(leaving[root]))]
        while path:
            box, rest = path[-1]
            for i, end in rest:
                if state[end] == 1:
                    found.add(i)
                elif state[end] == 0:
                    state[end] = 1
                    path.append((end, iter(leaving[end])))
                    break
            else:
                state[box] = 2
                path.pop()
    return found


def _longest(count: int, links: Iterable[tuple[int, int]]) -> list[int]:
    """Return for each box the length of the longest way to it."""
    leaving: dict[int, list[int]] = defaultdict(list)
    missing = [0] * count
    for start, end in links:
        leaving[start].append(end)
        missing[end] += 1
    lengths = [0] * count
    ready = [box for box in range(count) if not missing[box]]
    for box in ready:
        for end in leaving[box]:
            lengths[end] = max(lengths[end], lengths[box] + 1)
            missing[end] -= 1
            if not missing[end]:
                ready.append(end)
    return lengths


def layers(stage_of: Sequence[int], links: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return the column of each box, and the stage of each column: a stage begins where the last one ends."""
    inside = [(start, end) for start, end in links if stage_of[start] == stage_of[end]]
    own = _longest(len(stage_of), inside)
    layers = [0] * len(stage_of)
    stage_at: list[int] = []
    for stage in sorted(set(stage_of)):
        members = [box for box, its in enumerate(stage_of) if its == stage]
        for box in members:
            layers[box] = len(stage_at) + own[box]
        stage_at += [stage] * (1 + max(own[box] for box in members))
    return layers, stage_at
