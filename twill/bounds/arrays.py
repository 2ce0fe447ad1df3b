"""Matrices of least differences as arrays: `gaps.Gaps` for large graphs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from twill.bounds.gaps import FAR, Separations

Numbers = NDArray[np.int64]


class ArrayGaps:
    """A matrix as an array."""

    def __init__(self, values: Numbers) -> None:
        self.values = values

    @classmethod
    def of(cls, count: int, arcs: Iterable[tuple[int, int, int]]) -> ArrayGaps:
        """The direct gaps of a graph, not closed."""
        values = np.full((count, count), FAR, dtype=np.int64)
        np.fill_diagonal(values, 0)
        for u, v, weight in arcs:
            values[u, v] = max(values[u, v], weight)
        return cls(values)

    def __getitem__(self, pair: tuple[int, int]) -> int:
        return int(self.values[pair])

    def copy(self) -> ArrayGaps:
        """See Gaps."""
        return ArrayGaps(self.values.copy())

    def close(self) -> None:
        """See Gaps."""
        values = self.values
        for k in range(len(values)):
            through = values[:, k : k + 1] + values[k : k + 1, :]
            through[through < FAR // 2] = FAR
            np.maximum(values, through, out=values)

    def tighten(self, u: int, v: int, gap: int) -> bool:
        """See Gaps."""
        values = self.values
        if gap <= values[u, v]:
            return True
        if gap + values[v, u] > 0:
            return False
        np.maximum(values, values[:, u : u + 1] + gap + values[v : v + 1, :], out=values)
        return True

    def essential(self, count: int) -> list[tuple[int, int, int]]:
        """See Gaps."""
        values = self.values[:count, :count]
        leader = (values + values.T == 0).argmax(axis=1)
        others = [(int(u), v) for v, u in enumerate(leader) if u != v]
        leaders = np.unique(leader)
        gaps = values[np.ix_(leaders, leaders)]
        needed = gaps > FAR // 2
        np.fill_diagonal(needed, val=False)
        for w in range(len(leaders)):
            through = gaps[:, w : w + 1] + gaps[w : w + 1, :]
            through[w, :] = through[:, w] = 2 * FAR
            needed &= through < gaps
        arcs = [*((u, v) for pair in others for u, v in (pair, pair[::-1])), *((leaders[u], leaders[v]) for u, v in np.argwhere(needed))]
        return [(int(u), int(v), int(values[u, v])) for u, v in arcs]

    def turns(self, pairs: Separations) -> list[tuple[int, int]]:
        """See Gaps."""
        first, last = self._turns(pairs)
        return list(zip(first.tolist(), last.tolist(), strict=True))

    def loose(self, pairs: Separations) -> list[tuple[int, int, int]] | None:
        """See Gaps."""
        first, last = self._turns(pairs)
        if (first > last).any():
            return None
        us, vs, low, high = _arrays(pairs)
        forward, backward = low - last * pairs.ii, first * pairs.ii - high
        found = [(us, vs, forward, q) for q in np.flatnonzero(forward > self.values[us, vs])]
        found += [(vs, us, backward, q) for q in np.flatnonzero(backward > self.values[vs, us])]
        return [(int(begin[q]), int(end[q]), int(gap[q])) for begin, end, gap, q in found]

    def _turns(self, pairs: Separations) -> tuple[Numbers, Numbers]:
        us, vs, low, high = _arrays(pairs)
        return -((-self.values[vs, us] - low) // pairs.ii), (high - self.values[us, vs]) // pairs.ii


@lru_cache(maxsize=4)
def _arrays(pairs: Separations) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    columns = (pairs.first, pairs.second, pairs.low, pairs.high)
    first, second, low, high = (np.array(column, dtype=np.int64) for column in columns)
    return first, second, low, high
