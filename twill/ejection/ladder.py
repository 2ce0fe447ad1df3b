"""Which intervals are attempted in turn: closer to the bound as long as that succeeds, less close when it does not."""

from __future__ import annotations

import random
from fractions import Fraction

from twill.ejection.attempt import Attempt
from twill.ejection.bundles import bundled
from twill.ejection.table import Table
from twill.heuristic import groupings
from twill.problem import Problem
from twill.schedule import Schedule

# Placements between two looks at the time.
STEPS = 50
# Placements per op of one attempt, without a good schedule and with one; more in each further round.
FIRST_BUDGET, BUDGET = 5, 4
MOST_ROUNDS = 4
# How much of the gap between bound and best schedule is left at the next interval, in turn as attempts fail.
REACHES = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(1))
# Without a schedule: intervals above the bound, as a share of it, in turn.
ABOVE = (Fraction(1, 2), Fraction(2), Fraction(1, 8), Fraction(8))
# A schedule with more than so many times the smallest II is not varied.
FAR_OFF = 2
# One op in so many of a varied schedule is moved by up to a quarter of the interval.
MOVED = 10


class Ladder:
    """Attempts at a problem whose bound is `lowest`.

    steps  placements so far, the measure of what they cost
    vain   attempts since the last improvement
    """

    def __init__(self, problem: Problem, lowest: int) -> None:
        self.problem, self.lowest, self.steps, self.vain = problem, lowest, 0, 0
        self._bundles = bundled(problem)
        self._proposals = tuple(groupings(self._bundles.problem)) or ((1,) * len(problem.ops),)
        self._table: Table | None = None
        self._attempt: Attempt | None = None
        self._until = 0
        self._seed = 0

    def advance(self, best: Schedule | None) -> Schedule | None:
        """Some steps towards a schedule with a smaller II than `best`: the schedule if these were the last ones to it."""
        attempt = self._attempt
        if attempt is None or attempt.steps >= self._until or (best is not None and attempt.ii >= best.ii):
            attempt = self._attempt = self._next(best)
        before = attempt.steps
        done = attempt.table.possible and attempt.run(min(STEPS, self._until - before))
        self.steps += max(1, attempt.steps - before)
        if not done:
            if not attempt.table.possible:
                self._attempt = None
            return None
        self._attempt = None
        return self._bundles.schedule(self.problem, attempt.schedule())

    def improved(self) -> None:
        """The last schedule was an improvement: the next one is tried for with hope again."""
        self.vain = 0

    def near(self, best: Schedule | None) -> bool:
        """Whether that schedule is good enough to be varied."""
        return best is not None and best.ii <= FAR_OFF * self.lowest

    def _next(self, best: Schedule | None) -> Attempt:
        """The next attempt: without a good schedule, proposals of groups in turn; else turn about with variations of it."""
        self._seed, turn = self._seed + 1, self.vain
        self.vain += 1
        near = best if self.near(best) else None
        if near is None:
            round_, step = divmod(turn, len(ABOVE))
            gap, proposal = int(self.lowest * ABOVE[step]), round_
        else:
            round_, step = turn // (4 * len(REACHES)), turn // 2 % len(REACHES)
            gap, proposal = int((near.ii - 1 - self.lowest) * REACHES[step]), self._seed
        table = self._at(self.lowest + gap if best is None else min(self.lowest + gap, best.ii - 1))
        self._until = (BUDGET if near else FIRST_BUDGET) * table.count * (1 + min(round_, MOST_ROUNDS))
        if near is not None and turn % 2 == 0:
            return self._variation(table, near)
        return Attempt(table, self._proposals[proposal % len(self._proposals)], self._seed)

    def _variation(self, table: Table, best: Schedule) -> Attempt:
        """Ops where `best` has them, at the smaller interval of the table; some of them elsewhere."""
        draw, starts, groups = random.Random(self._seed), best.starts, best.groups
        hints = [starts[op.name] * table.ii // best.ii for op in table.problem.ops]
        for v, _ in enumerate(hints):
            if not draw.randrange(MOVED):
                hints[v] += draw.randint(-table.ii // 4, table.ii // 4)
        return Attempt(table, [groups[op.name] for op in table.problem.ops], self._seed, hints)

    def _at(self, ii: int) -> Table:
        if self._table is None or self._table.ii != ii:
            self._table = Table(self._bundles.problem, ii, self._bundles.ties)
        return self._table
