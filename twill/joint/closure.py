"""Longest paths at a fixed initiation interval: what the dependences together imply for every pair of ops (formulation 5.1, item 5)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

_NONE = -(2**60)


def longest_paths(count: int, arcs: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Pairs (u, v, gap) with M_v - M_u >= gap along some path of two or more arcs that says more than the direct arc.

    `arcs` are (u, v, delay - distance * II).  The graph must have no positive cycle; with one, the numbers are still consequences
    of the arcs (they only grow), so nothing wrong is derived from an infeasible interval.
    """
    direct = np.full((count, count), _NONE, dtype=np.int64)
    for u, v, gap in arcs:
        direct[u, v] = max(direct[u, v], gap)
    best = direct.copy()
    for k in range(count):
        through = best[:, k : k + 1] + best[k : k + 1, :]
        best = np.maximum(best, np.where(through > _NONE // 2, through, _NONE))
        best = np.minimum(best, 2**40)
    for u in range(count):
        for v in range(count):
            if u != v and best[u, v] > direct[u, v] and best[u, v] > _NONE // 2:
                yield u, v, int(best[u, v])
