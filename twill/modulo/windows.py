"""What dependences and exclusive units imply for every pair of starts when an iteration may last `horizon` cycles.

A matrix of least differences over the ops, the origin (start of the iteration) and its end.  All rules are exact integer reasoning,
so a contradiction is a proof; the first two are applied until nothing changes:

    closure     t_v - t_u >= gap(u, v) and t_w - t_v >= gap(v, w)  imply  t_w - t_u >= gap(u, v) + gap(v, w)
    separation  low <= t_v - t_u + k * II <= high: the differences still possible leave an interval [first, last] of turns k, and
                these leave low - last * II <= t_v - t_u <= high - first * II
    energy      rows of one iteration that begin `head` or later and end `tail` or more before its end share capacity * (horizon -
                head - tail) server-cycles of their unit
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from twill.bounds.paths import Arc, Gaps, longest_paths
from twill.modulo.circle import Separation
from twill.problem import Problem

_SWEEPS = 200  # differences might creep towards a contradiction cycle by cycle; stopping early only loses strength


class Windows:
    """Differences of starts at one interval, for any horizon.

    `arcs` are the dependences (source, destination, delay - distance * II), without a positive cycle; `pairs` all separations.
    """

    def __init__(self, problem: Problem, ii: int, arcs: Sequence[Arc], pairs: Sequence[Separation]) -> None:
        self._problem = problem
        count = len(problem.ops)
        self.ii = ii
        self.origin, self.end = count, count + 1
        frame = [(self.origin, v, 0) for v in range(count)] + [(v, self.end, op.span) for v, op in enumerate(problem.ops)]
        self._alone = longest_paths(count + 2, [*arcs, *frame])
        self._first = np.array([p.first for p in pairs], dtype=np.int64)
        self._second = np.array([p.second for p in pairs], dtype=np.int64)
        self._low = np.array([p.low for p in pairs], dtype=np.int64)
        self._high = np.array([p.high for p in pairs], dtype=np.int64)

    @property
    def shortest(self) -> int:
        """Length of an iteration that dependences alone enforce."""
        return int(self._alone[self.origin, self.end])

    def at(self, horizon: int) -> Gaps | None:
        """gaps[u, v] = least t_v - t_u when the iteration lasts at most `horizon` cycles; None when it cannot."""
        gaps = self._alone.copy()
        if not self._tighten(gaps, self.end, self.origin, -horizon) or not self._settle(gaps):
            return None
        return None if self._overfull(gaps, horizon) else gaps

    def _overfull(self, gaps: Gaps, horizon: int) -> bool:
        """Whether the energy rule contradicts `horizon`."""
        rows: dict[str, list[tuple[int, int, int]]] = {}
        for v, op in enumerate(self._problem.ops):
            for row in op.reservations:
                head, tail = int(gaps[self.origin, v]) + row.offset, int(gaps[v, self.end]) - row.offset - row.duration
                rows.setdefault(row.unit, []).append((head, tail, row.duration * row.amount))
        for unit, latest_first in ((unit, sorted(found, reverse=True)) for unit, found in rows.items()):
            capacity = self._problem.limits.unit_capacity(unit)
            for least in {tail for _, tail, _ in latest_first}:
                energy = 0
                for head, tail, area in latest_first:
                    energy += area if tail >= least else 0
                    if energy > capacity * max(0, horizon - head - least):
                        return True
        return False

    def excludes(self, horizon: int) -> bool:
        """Whether trying out turns shows that no iteration lasts at most `horizon` cycles; False says nothing.

        A first or last turn of a pair that leads to a contradiction is struck off, until nothing changes or no turn is left.
        """
        gaps = self.at(horizon)
        before: list[tuple[int, int]] = []
        while gaps is not None and before != self.turns(gaps):
            before = self.turns(gaps)
            for q in range(len(before)):
                gaps = None if gaps is None else self._probe(gaps, q)
        return gaps is None

    def _probe(self, gaps: Gaps, q: int) -> Gaps | None:
        """`gaps` without the first and last turns of pair `q` that contradict; None when no turn is left."""
        kept: Gaps | None = gaps
        while kept is not None:
            first, last = self.turns(kept)[q]
            if first == last:
                break
            if self._limited(kept, q, first, first) is None:
                kept = self._limited(kept, q, first + 1, last)
            elif self._limited(kept, q, last, last) is None:
                kept = self._limited(kept, q, first, last - 1)
            else:
                break
        return kept

    def _limited(self, gaps: Gaps, q: int, first: int, last: int) -> Gaps | None:
        """A copy of `gaps` with the turn of pair `q` limited to first .. last; None on a contradiction."""
        u, v, copy = self._first[q], self._second[q], gaps.copy()
        fits = self._tighten(copy, u, v, self._low[q] - last * self.ii) and self._tighten(copy, v, u, first * self.ii - self._high[q])
        return copy if fits and self._settle(copy) else None

    def _settle(self, gaps: Gaps) -> bool:
        """Apply the separation rule until nothing changes; False on a contradiction."""
        for _ in range(_SWEEPS):
            changed = self._sweep(gaps)
            if changed is None:
                return False
            if not changed:
                break
        return True

    def turns(self, gaps: Gaps) -> list[tuple[int, int]]:
        """First and last turn that each separation has left under `gaps`."""
        first, last = self._turns(gaps)
        return list(zip(first.tolist(), last.tolist(), strict=True))

    def _turns(self, gaps: Gaps) -> tuple[Gaps, Gaps]:
        least, most = gaps[self._first, self._second], -gaps[self._second, self._first]
        return -((most - self._low) // self.ii), (self._high - least) // self.ii

    def _sweep(self, gaps: Gaps) -> bool | None:
        """Apply the separation rule to all pairs once: whether something changed, None on a contradiction."""
        first, last = self._turns(gaps)
        if (first > last).any():
            return None
        least, most = self._low - last * self.ii, self._high - first * self.ii
        forward = least > gaps[self._first, self._second]
        backward = -most > gaps[self._second, self._first]
        for q in np.flatnonzero(forward):
            if not self._tighten(gaps, self._first[q], self._second[q], least[q]):
                return None
        for q in np.flatnonzero(backward):
            if not self._tighten(gaps, self._second[q], self._first[q], -most[q]):
                return None
        return bool(forward.any() or backward.any())

    @staticmethod
    def _tighten(gaps: Gaps, u: int, v: int, gap: int) -> bool:
        """Require t_v - t_u >= gap and close; False on a contradiction."""
        if gap <= gaps[u, v]:
            return True
        if gap + gaps[v, u] > 0:
            return False
        np.maximum(gaps, gaps[:, u : u + 1] + gap + gaps[v : v + 1, :], out=gaps)
        return True
