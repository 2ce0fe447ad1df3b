"""Longest paths and positive cycles in weighted graphs, exactly.

Nodes are numbers 0 .. count - 1; an arc (u, v, w) says t_v - t_u >= w for the starts t.
"""

from __future__ import annotations

from collections.abc import Sequence

from twill.bounds.gaps import FEW, Gaps, ListGaps

Arc = tuple[int, int, int]


def positive_cycle(count: int, arcs: Sequence[Arc]) -> tuple[int, ...] | None:
    """Indices of arcs that form a simple cycle of positive total weight, in order; None when there is no such cycle.

    Bellman-Ford for longest paths from a virtual source (all potentials 0).  A cycle among the predecessor arcs has positive weight
    (the classical lemma on predecessor graphs), so it is reported as soon as it closes; without one, potentials settle after at
    most `count` passes.
    """
    potential = [0] * count
    arriving: list[int | None] = [None] * count
    changed = True
    while changed:
        changed = False
        for index, (u, v, weight) in enumerate(arcs):
            if potential[u] + weight > potential[v]:
                potential[v] = potential[u] + weight
                arriving[v] = index
                changed = True
        cycle = _closed(count, arcs, arriving) if changed else None
        if cycle is not None:
            return cycle
    return None


def _closed(count: int, arcs: Sequence[Arc], arriving: Sequence[int | None]) -> tuple[int, ...] | None:
    """A cycle of the graph whose only arcs are the arriving ones, as arc indices in order."""
    walk = [-1] * count  # the walk, named by its start, that came by first
    for start in range(count):
        node, index = start, arriving[start]
        while index is not None and walk[node] < 0:
            walk[node] = start
            node = arcs[index][0]
            index = arriving[node]
        if index is not None and walk[node] == start:
            return _unwind(arcs, arriving, node)
    return None


def _unwind(arcs: Sequence[Arc], arriving: Sequence[int | None], node: int) -> tuple[int, ...]:
    backwards: list[int] = []
    at = node
    while not backwards or at != node:
        index = arriving[at]
        assert index is not None
        backwards.append(index)
        at = arcs[index][0]
    return tuple(reversed(backwards))


def earliest(count: int, arcs: Sequence[Arc]) -> list[int]:
    """The smallest starts t >= 0 that the arcs, which have no positive cycle, allow."""
    starts = [0] * count
    changed = True
    while changed:
        changed = False
        for u, v, weight in arcs:
            if starts[u] + weight > starts[v]:
                starts[v], changed = starts[u] + weight, True
    return starts


def longest_paths(count: int, arcs: Sequence[Arc]) -> Gaps:
    """gaps[u, v] = weight of the longest path from u to v (0 for u = v), FAR when there is none.

    The graph has no positive cycle.  Weights and path sums are below 2**60 (costs are below 2**31); those below FAR count as FAR.
    """
    if count <= FEW:
        gaps: Gaps = ListGaps.of(count, arcs)
    else:
        from twill.bounds.arrays import ArrayGaps

        gaps = ArrayGaps.of(count, arcs)
    gaps.close()
    return gaps
