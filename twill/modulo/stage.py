"""One problem at one interval, prepared for questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from twill.bounds.recurrence import plain_weights
from twill.modulo.branch import Branching
from twill.modulo.circle import circles, peaks, separations
from twill.modulo.symmetry import interchangeable
from twill.modulo.windows import Windows
from twill.problem import Problem

if TYPE_CHECKING:
    from twill.modulo.question import Question


class Stage:
    """`problem` at interval `ii`, which satisfies every recurrence and overloads no unit.

    Of schedules that differ in the names of interchangeable ops only one is kept, so what it shows holds for lengths, not for every op.
    """

    def __init__(self, problem: Problem, ii: int) -> None:
        self.problem, self.ii = problem, ii
        units = circles(problem, ii)
        self._pairs = [pair for circle in units for pair in separations(circle, ii)]
        self._peaks = [peak for circle in units for peak in peaks(circle)]
        first, *others = interchangeable(problem) or (0,)
        self._arcs = _strongest((*plain_weights(problem, ii), *((first, other, 0) for other in others)))
        self._windows = Windows(problem, ii, self._arcs, self._pairs)
        self.complete = _complete_horizon(problem, ii)

    def floor(self) -> int | None:
        """A length that no schedule undercuts: the least whose windows show no contradiction.  None: there is no schedule."""
        if self._windows.at(self.complete) is None:
            return None
        low, step = self._windows.shortest - 1, 1
        high = low + 1
        while high < self.complete and self._windows.at(high) is None:
            low, high, step = high, min(high + step, self.complete), 2 * step
        while low + 1 < high:
            middle = (low + high) // 2
            if self._windows.at(middle) is None:
                low = middle
            else:
                high = middle
        return high

    def branching(self, floor: int) -> Branching | None:
        """An exact search from `floor` on; None when units of several servers ask for more than pairs of ops can say."""
        return None if self._peaks else Branching(self._windows, floor)

    def excludes(self, length: int) -> bool:
        """Whether exact reasoning shows that no schedule is as short as `length`; False says nothing."""
        return self._windows.excludes(length)

    def horizons(self, floor: int) -> Iterator[int]:
        """Horizons to try in turn: the best lengths are mostly close above the floor, where windows are narrow."""
        for margin in (self.ii // 8, self.ii):
            if floor + margin < self.complete:
                yield floor + margin
        yield self.complete

    def question(self, floor: int, horizon: int) -> Question:
        """The question for lengths `floor` to `horizon`; `horizon` is not below `self.floor()`."""
        from twill.modulo.linear import linear_model
        from twill.modulo.question import Question

        gaps = self._windows.at(horizon)
        assert gaps is not None
        count, origin = len(self.problem.ops), self._windows.origin
        return Question(
            self.problem,
            self.ii,
            floor,
            horizon,
            tuple(gaps[origin, v] for v in range(count)),
            tuple(-gaps[v, origin] for v in range(count)),
            linear_model(self._windows, gaps, self._arcs, self._pairs, self._peaks, floor),
        )


def _strongest(arcs: tuple[tuple[int, int, int], ...]) -> list[tuple[int, int, int]]:
    """Of parallel arcs the one that demands most; without loops on one op, which hold already."""
    best: dict[tuple[int, int], int] = {}
    for u, v, gap in arcs:
        if u != v:
            best[u, v] = max(gap, best.get((u, v), gap))
    return [(u, v, gap) for (u, v), gap in best.items()]


def _complete_horizon(problem: Problem, ii: int) -> int:
    """A length that some schedule does not exceed, if there is a schedule at `ii` at all; also a shortest one does not.

    Keep the residues of any schedule; the least stages s >= 0 are longest paths with weights ceil((delay + r_u - r_v) / II) -
    distance, each at most ceil((delay + II - 1) / II) - distance.  A longest path leaves each op at most once.
    """
    turns = {op.name: 0 for op in problem.ops}
    for dep in problem.dependences:
        turns[dep.src] = max(turns[dep.src], -(-(dep.delay + ii - 1) // ii) - dep.distance)
    return ii * (sum(turns.values()) + 1) - 1 + max(op.span for op in problem.ops)
