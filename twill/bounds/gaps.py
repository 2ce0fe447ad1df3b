"""Matrices of least differences: gaps[u, v] = least t_v - t_u that follows from what is known about the starts t.

Two forms with the same values: lists for small graphs, which need no import, and arrays (`twill.bounds.arrays`) for large ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

FAR = -(2**60)
"""No path.  Path weights below half of it are forgotten, which only weakens what is derived from them."""

FEW = 72
"""Nodes of the largest graph for which lists are the faster form: importing numpy alone costs as much as a closure of this size."""


class Separations(NamedTuple):
    """For every q: low[q] <= t[second[q]] - t[first[q]] + k * ii <= high[q] for some integer k, high[q] - low[q] < ii."""

    ii: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]


class Gaps(Protocol):
    """A matrix of least differences."""

    def __getitem__(self, pair: tuple[int, int]) -> int: ...

    def copy(self) -> Gaps:
        """An independent matrix with the same values."""
        ...

    def close(self) -> None:
        """Make the gap of every pair at least the weight of its longest path; there is no positive cycle."""
        ...

    def tighten(self, u: int, v: int, gap: int) -> bool:
        """Require t_v - t_u >= gap in a closed matrix and close it again; False on a contradiction, which spoils the values."""
        ...

    def essential(self, count: int) -> list[tuple[int, int, int]]:
        """Arcs (u, v, gap) among the first `count` nodes of a closed matrix that imply all gaps of these nodes.

        Of nodes a fixed distance apart all but the first are told by their distance to that; of the others no arc can be left out.
        """
        ...

    def turns(self, pairs: Separations) -> list[tuple[int, int]]:
        """First and last k that each separation has left; none is left where the first is larger."""
        ...

    def loose(self, pairs: Separations) -> list[tuple[int, int, int]] | None:
        """Arcs (u, v, gap) that say more than the matrix and follow from the separations; None when one has no k left."""
        ...


class ListGaps:
    """A matrix as a list of rows."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.rows = rows

    @classmethod
    def of(cls, count: int, arcs: Iterable[tuple[int, int, int]]) -> ListGaps:
        """The direct gaps of a graph, not closed."""
        rows = [[FAR] * count for _ in range(count)]
        for v, row in enumerate(rows):
            row[v] = 0
        for u, v, weight in arcs:
            rows[u][v] = max(rows[u][v], weight)
        return cls(rows)

    def __getitem__(self, pair: tuple[int, int]) -> int:
        return self.rows[pair[0]][pair[1]]

    def copy(self) -> ListGaps:
        """See Gaps."""
        return ListGaps([row.copy() for row in self.rows])

    def close(self) -> None:
        """See Gaps."""
        for k, onwards in enumerate(self.rows):
            known = [(v, gap) for v, gap in enumerate(onwards) if gap > FAR // 2]
            for row in self.rows:
                through = row[k]
                if through > FAR // 2:
                    for v, gap in known:
                        if through + gap > row[v] and through + gap >= FAR // 2:
                            row[v] = through + gap

    def tighten(self, u: int, v: int, gap: int) -> bool:
        """See Gaps."""
        rows = self.rows
        if gap <= rows[u][v]:
            return True
        if gap + rows[v][u] > 0:
            return False
        # Only what is later from u can be later from anywhere else by way of u and v.
        later = [
            (w, gap + more) for w, (old, more) in enumerate(zip(rows[u], rows[v], strict=True)) if gap + more > old and more > FAR // 2
        ]
        for row in rows:
            through = row[u]
            # Nothing changes in a row without a way to u, or whose way to v is as long already.
            if through + gap > row[v] and through > FAR // 2:
                for w, more in later:
                    if through + more > row[w]:
                        row[w] = through + more
        return True

    def essential(self, count: int) -> list[tuple[int, int, int]]:
        """See Gaps."""
        rows = self.rows
        leader = [next(u for u in range(v + 1) if rows[u][v] + rows[v][u] == 0) for v in range(count)]
        leaders = sorted(set(leader))
        found = [(u, v, rows[u][v]) for w in range(count) if leader[w] != w for u, v in ((leader[w], w), (w, leader[w]))]
        for u in leaders:
            row = rows[u]
            between = [(w, row[w]) for w in leaders if w != u and row[w] > FAR // 2]
            found += [(u, v, gap) for v, gap in between if not any(ahead + rows[w][v] >= gap for w, ahead in between if w != v)]
        return found

    def turns(self, pairs: Separations) -> list[tuple[int, int]]:
        """See Gaps."""
        rows, ii = self.rows, pairs.ii
        return [
            (-((-rows[v][u] - low) // ii), (high - rows[u][v]) // ii)
            for u, v, low, high in zip(pairs.first, pairs.second, pairs.low, pairs.high, strict=True)
        ]

    def loose(self, pairs: Separations) -> list[tuple[int, int, int]] | None:
        """See Gaps."""
        rows, ii = self.rows, pairs.ii
        found: list[tuple[int, int, int]] = []
        for u, v, low, high in zip(pairs.first, pairs.second, pairs.low, pairs.high, strict=True):
            ahead, back = rows[u][v], rows[v][u]
            first, last = -((-back - low) // ii), (high - ahead) // ii  # as in `turns`
            if first > last:
                return None
            if low - last * ii > ahead:
                found.append((u, v, low - last * ii))
            if first * ii - high > back:
                found.append((v, u, first * ii - high))
        return found
