"""Schedules without any engine: what the heuristics offer and the exact check accepts, the best of which is the incumbent of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from twill.asking import Asker
from twill.problem import Problem
from twill.schedule import Schedule

if TYPE_CHECKING:
    from twill.ejection import Ladder

# Share of a time limit that ejection search has before engines are asked, and attempts in a row that may be in vain then.
EJECTION_SHARE = 0.6
EJECTIONS = 12
# Share that it has as long as no schedule is known but one op after the other, or one as bad: engines rarely find a first one.
FIRST_SHARE = 0.9
# Attempts when the limit is over already.  On loops of 40 to 60 ops that takes 0.2 to 0.5 s and comes to 1.0 to 1.5 times the bound.
HASTY = 3
# Effort of one placement per op of the problem: about what CP-SAT does in the same time.
PLACEMENT = 2e-5


class Incumbent:
    """The best schedule so far, of a search from `lowest` on, which is a proved bound of the II.

    max_ii  no schedule above this II is kept
    note    told every improvement
    best    the schedule with the smallest II found, None if none
    ladder  the ejection search, once it has begun
    """

    def __init__(self, asker: Asker, lowest: int, max_ii: int | None, note: Callable[[str], None]) -> None:
        self.asker, self.lowest, self.max_ii, self.note = asker, lowest, max_ii, note
        self.problem: Problem = asker.problem
        self.best: Schedule | None = None
        self.ladder: Ladder | None = None

    def _above_limit(self, ii: int) -> bool:
        return self.max_ii is not None and ii > self.max_ii

    def _first_schedule(self) -> None:
        """A schedule without any engine, at a larger II: the best of what the heuristics offer and the exact check accepts."""
        from twill import heuristic

        self._in_sequence()
        if self._eject(EJECTION_SHARE, EJECTIONS):
            return
        succeeded = False
        for ii in heuristic.intervals(self.lowest):
            if self.best is not None and ii >= self.best.ii:
                continue
            found = self._offer(heuristic.candidates(self.problem, ii))
            if succeeded and not found:
                break
            succeeded = found

    def _in_sequence(self) -> None:
        """One op after the other, as it is made: what better schedules replace at once is not worth any time."""
        from twill import heuristic

        if self.best is None:
            made = (found for found in heuristic.in_sequence(self.problem) if not self._above_limit(found.ii))
            self.best = next(filter(self.asker.accepts, made), None)

    def _in_haste(self) -> None:
        """A few attempts of ejection search, when time is over and nothing better than a sequence is known: some tenths of a second."""
        from twill.ejection import Ladder

        ladder = Ladder(self.problem, self.lowest)
        for _ in range(HASTY):
            if self.best is not None and self.best.ii <= self.lowest:
                return
            found = ladder.advance(self.best)
            better = found is not None and not self._above_limit(found.ii) and (self.best is None or found.ii < self.best.ii)
            if found is not None and better and self.asker.accepts(found):
                self.best = found
                ladder.improved()

    def _eject(self, share: float, vain: int) -> bool:
        """Whether ejection search improved the schedule: again and again, until so many attempts in a row are in vain."""
        from twill.ejection import Ladder

        ladder = self.ladder = self.ladder or Ladder(self.problem, self.lowest)
        found = False
        while ladder.vain < vain and (self.best is None or self.best.ii > self.lowest):
            if self.asker.spent() >= (share if ladder.near(self.best) else max(share, FIRST_SHARE)):
                break
            before, steps = self.best, ladder.steps
            candidate = ladder.advance(before)
            self.asker.charge((ladder.steps - steps) * len(self.problem.ops) * PLACEMENT)
            if candidate is not None and self._offer([candidate]) and self.best is not before:
                ladder.improved()
                found = True
        return found

    def _offer(self, schedules: Iterable[Schedule]) -> bool:
        """Whether a schedule is accepted; the best is kept."""
        found = False
        for candidate in schedules:
            self.asker.left()
            found |= self._offered(candidate) is not None
        return found

    def _offered(self, candidate: Schedule) -> Schedule | None:
        """What an accepted schedule is when compressed, None for another one; the best is kept."""
        if self._above_limit(candidate.ii) or not self.asker.accepts(candidate):
            return None
        made = self.asker.compressed(candidate, self.lowest)
        if self.best is None or (made.ii, made.length) < (self.best.ii, self.best.length):
            self.best = made
            self.note(f"II = {made.ii}: schedule of length {made.length}, by heuristics")
        return made
