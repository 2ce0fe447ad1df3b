"""Longest paths at a fixed initiation interval: what the dependences together imply for every pair of ops (formulation 5.1, item 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_MOST = 2**40
"""Along a positive cycle paths grow without end; beyond this they are cut."""


def longest_paths(count: int, arcs: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Pairs (u, v, gap) with M_v - M_u >= gap along some path of two or more arcs that says more than the direct arc.

    `arcs` are (u, v, delay - distance * II).  The graph must have no positive cycle; with one, the numbers are still consequences
    of the arcs (they only grow), so nothing wrong is derived from an infeasible interval.
    """
    direct: list[dict[int, int]] = [{} for _ in range(count)]
    for u, v, gap in arcs:
        direct[u][v] = max(gap, direct[u].get(v, gap))
    best = [dict(row) for row in direct]
    for k in range(count):
        onwards = list(best[k].items())
        for row in best:
            through = row.get(k)
            if through is not None:
                for v, gap in onwards:
                    if through + gap > row.get(v, -_MOST):
                        row[v] = min(through + gap, _MOST)
    for u, row in enumerate(best):
        yield from ((u, v, gap) for v, gap in sorted(row.items()) if u != v and gap > direct[u].get(v, -_MOST))
