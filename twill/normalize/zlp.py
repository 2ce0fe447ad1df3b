"""The published normalization program, solved exactly (formulation 2.2).

    minimise F   subject to   |c_i x_j - c_j x_i| <= F for all i < j,   1 <= sum of x <= budget,   x non-negative integers

For a fixed F every constraint has the form a * x_j - b * x_i <= F with a, b >= 0, so the solutions form a lattice: with x fixed for one
entry, the least and the greatest solution follow by propagation, and the least one has the smallest sum.  So the least F is found, and
proved, in integer arithmetic alone.  The largest sum at that F is found by branch and bound between the least and the greatest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.int64]


@dataclass(frozen=True)
class Optimum:
    """Values per entry and their distortion F, which is proved least; with `largest_sum` their sum is proved largest at that F."""

    values: tuple[int, ...]
    distortion: int


def least_distortion(costs: Sequence[int], budget: int, *, largest_sum: bool = False) -> Optimum:
    """An optimum of the program for `costs`, at least one of them positive; `budget` is at least 1.

    Without `largest_sum` it is the one of smallest values: the paper does not say which optimum is meant.
    """
    if budget < 1 or max(costs, default=0) < 1:
        raise ValueError("there is nothing to normalize")
    program = _Program(costs)
    distortion, values = program.least(budget)
    if largest_sum:
        values = program.richest(distortion, budget)
    return Optimum(tuple(int(x) for x in values), distortion)


class _Program:
    """The constraints between entries of one cost list.  Every cost is below 2**31 and so is every value."""

    def __init__(self, costs: Sequence[int]) -> None:
        self.costs = np.array(costs, dtype=np.int64)
        self.anchor = int(np.argmax(self.costs))
        self.top = int(self.costs[self.anchor])
        self.positive = np.flatnonzero(self.costs)
        # Equal costs may exchange their values: the earlier entry takes the larger one.
        last: dict[int, int] = {}
        self.twins: list[tuple[int, int]] = []
        for j, cost in enumerate(costs):
            if cost in last:
                self.twins.append((last[cost], j))
            last[cost] = j

    def least(self, budget: int) -> tuple[int, Vector]:
        """The least distortion and the smallest solution for it.

        Some optimum has a positive value for the largest cost: 1 there and 0 elsewhere has at most the distortion of any solution in
        which the largest cost has 0.
        """
        others = np.delete(self.costs, self.anchor)
        found = int(others.max(initial=0))
        values = self._with_anchor(1, found, budget)
        for k in range(1, budget + 1):
            if found > 0 and self._with_anchor(k, found - 1, budget) is not None:
                found = self._least_for(k, found - 1, budget)
                values = self._with_anchor(k, found, budget)
        assert values is not None
        return found, values

    def _least_for(self, k: int, high: int, budget: int) -> int:
        """The least distortion with value `k` for the largest cost; `high` is possible."""
        low = -1
        while high - low > 1:
            middle = (low + high) // 2
            if self._with_anchor(k, middle, budget) is None:
                low = middle
            else:
                high = middle
        return high

    def _with_anchor(self, k: int, distortion: int, budget: int) -> Vector | None:
        """The smallest solution with value `k` for the largest cost, if there is one within the budget."""
        start = np.zeros_like(self.costs)
        start[self.anchor] = k
        values = self._raise(start, distortion, budget)
        return values if values is not None and values[self.anchor] == k else None

    def _raise(self, low: Vector, distortion: int, budget: int) -> Vector | None:
        """The smallest solution that is nowhere below `low`; None when its sum exceeds the budget."""
        divisor = self.costs[self.positive]
        while low.sum() <= budget:
            # c_j * x_i >= c_i * x_j - F
            needed = -((distortion - np.multiply.outer(self.costs, low[self.positive])) // divisor)
            higher = np.maximum(low, needed.max(axis=1))
            for i, j in self.twins:
                higher[i] = max(higher[i], higher[j])
            if np.array_equal(higher, low):
                return low
            low = higher
        return None

    def _lower(self, high: Vector, distortion: int) -> Vector:
        """The greatest solution that is nowhere above `high`."""
        divisor = self.costs[self.positive]
        while True:
            # c_j * x_i <= c_i * x_j + F
            allowed = (np.multiply.outer(self.costs, high[self.positive]) + distortion) // divisor
            lower = np.minimum(high, allowed.min(axis=1))
            for i, j in self.twins:
                lower[j] = min(lower[j], lower[i])
            if np.array_equal(lower, high):
                return high
            high = lower

    def richest(self, distortion: int, budget: int) -> Vector:
        """A solution of the largest sum at `distortion`."""
        best = np.zeros_like(self.costs)
        # With 0 for the largest cost, c_top * x_j <= F for every j: nothing else is positive unless F is that large.
        boxes = [box for k in range(0 if distortion >= self.top else 1, budget + 1) for box in self._box(k, distortion, budget)]
        for low, high in sorted(boxes, key=lambda box: -int(box[1].sum())):
            best = self._branch(low, high, distortion, budget, best)
        return best

    def _box(self, k: int, distortion: int, budget: int) -> Iterator[tuple[Vector, Vector]]:
        """Least and greatest solution with value `k` for the largest cost, if there are any."""
        low = self._with_anchor(k, distortion, budget)
        if low is not None:
            start = np.full_like(self.costs, budget)
            start[self.anchor] = k
            yield low, self._lower(start, distortion)

    def _branch(self, low: Vector, high: Vector, distortion: int, budget: int, best: Vector) -> Vector:
        """The richest solution between `low` and `high`, both solutions, if it is richer than `best`; else `best`."""
        if min(int(high.sum()), budget) <= int(best.sum()):
            return best
        if high.sum() <= budget:
            return high
        if low.sum() > best.sum():
            best = low
        widest = int(np.argmax(high - low))
        middle = int(low[widest] + high[widest]) // 2
        above = low.copy()
        above[widest] = middle + 1
        raised = self._raise(above, distortion, budget)
        if raised is not None and (raised <= high).all():
            best = self._branch(raised, high, distortion, budget, best)
        below = high.copy()
        below[widest] = middle
        return self._branch(low, self._lower(below, distortion), distortion, budget, best)
