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

from twill.bounds.gaps import Gaps, Separations
from twill.bounds.paths import Arc, longest_paths
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
        self._pairs = Separations(ii, *(tuple(getattr(p, name) for p in pairs) for name in ("first", "second", "low", "high")))

    @property
    def shortest(self) -> int:
        """Length of an iteration that dependences alone enforce."""
        return self._alone[self.origin, self.end]

    @property
    def size(self) -> int:
        """Entries that one pass over the matrix and the separations looks at."""
        return (self.end + 1) ** 2 + len(self._pairs.first)

    def slack(self, q: int) -> int:
        """How far the difference of separation `q` may vary within one turn."""
        return self._pairs.high[q] - self._pairs.low[q]

    def at(self, horizon: int) -> Gaps | None:
        """gaps[u, v] = least t_v - t_u when the iteration lasts at most `horizon` cycles; None when it cannot."""
        gaps = self._alone.copy()
        if not gaps.tighten(self.end, self.origin, -horizon) or not self.settle(gaps):
            return None
        return None if self._overfull(gaps, horizon) else gaps

    def _overfull(self, gaps: Gaps, horizon: int) -> bool:
        """Whether the energy rule contradicts `horizon`."""
        rows: dict[str, list[tuple[int, int, int]]] = {}
        for v, op in enumerate(self._problem.ops):
            for row in op.reservations:
                head, tail = gaps[self.origin, v] + row.offset, gaps[v, self.end] - row.offset - row.duration
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
            if self.limited(kept, q, first, first) is None:
                kept = self.limited(kept, q, first + 1, last)
            elif self.limited(kept, q, last, last) is None:
                kept = self.limited(kept, q, first, last - 1)
            else:
                break
        return kept

    def limited(self, gaps: Gaps, q: int, first: int, last: int) -> Gaps | None:
        """A copy of `gaps` with the turn of pair `q` limited to first .. last; None on a contradiction."""
        pairs, copy = self._pairs, gaps.copy()
        u, v = pairs.first[q], pairs.second[q]
        fits = copy.tighten(u, v, pairs.low[q] - last * self.ii) and copy.tighten(v, u, first * self.ii - pairs.high[q])
        return copy if fits and self.settle(copy) else None

    def settle(self, gaps: Gaps) -> bool:
        """Apply the separation rule until nothing changes; False on a contradiction."""
        for _ in range(_SWEEPS):
            found = gaps.loose(self._pairs)
            if found is None or not all(gaps.tighten(*arc) for arc in found):
                return False
            if not found:
                break
        return True

    def turns(self, gaps: Gaps) -> list[tuple[int, int]]:
        """First and last turn that each separation has left under `gaps`."""
        return gaps.turns(self._pairs)
