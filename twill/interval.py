"""The smallest initiation interval of stage 2: gallop up to a schedule, then close the gap, each interval excluded by proof.

Feasibility is monotone in II when no reservation table has holes (formulation 4.6, Lemma 2).  A question that gets no verdict in
its time leaves its interval open: the search goes on above it, so that there is a schedule early, and comes back with more patience.
"""

from __future__ import annotations

from collections.abc import Callable

from twill.asking import Asker, LateError, StoppedError
from twill.joint.assemble import Question
from twill.modulo import ModuloAnswer, monotone
from twill.problem import Problem
from twill.schedule import Refutation, Schedule
from twill.sequential import one_after_the_other

# Seconds for one question before the search looks for an easier interval; grows by GROWTH in every round.
PATIENCE = 20.0
GROWTH = 4
# The first step up from the bound is this fraction of it: answers are at the bound or well above it, rarely one cycle above.
FIRST_STEP = 64
# Share of a time limit after which the gap is left open, so that time remains for length and objectives.
SHARE = 0.6


class IntervalSearch:
    """Search for the smallest II from `lowest` on, which is a proved bound.

    best     the schedule with the smallest II found, None if none
    lowest   smallest II that is not excluded
    refuted  what was excluded, in the order of the search
    """

    def __init__(
        self,
        asker: Asker,
        modulo: ModuloAnswer,
        lowest: int,
        max_ii: int | None,
        note: Callable[[str], None],
    ) -> None:
        self.asker, self.modulo, self.lowest, self.max_ii, self.note = asker, modulo, lowest, max_ii, note
        self.problem: Problem = asker.problem
        self.monotone = monotone(self.problem)
        self.best: Schedule | None = None
        self.refuted: list[Refutation] = []

    def run(self) -> int | None:
        """Search; the II at which it is proved that no II works is returned when there is none, else None."""
        if self._try_stage_one():
            return None
        first = self._probe(self.lowest, PATIENCE)
        if first:
            return None
        sure = never_ii(self.problem)
        if not self.monotone:
            self._walk(sure)
            return None
        simple = one_after_the_other(self.problem)
        if simple is not None and not self._above_limit(simple.ii) and self.asker.accepts(simple):
            self.best, sure = simple, simple.ii
            self.note(f"II = {simple.ii}: one op after the other")
        elif first is False and sure > self.lowest and self.asker.ask(Question(self.problem, sure)) is None:
            return sure
        self._climb(sure)
        self._close()
        return None

    def _climb(self, sure: int) -> None:
        """Double the step until some II has a schedule; `sure` is large enough for any."""
        step, ii = max(1, self.lowest // FIRST_STEP), self.lowest
        while not self._probe(ii, PATIENCE):
            if self.best is not None and ii + step >= self.best.ii:
                return
            if ii >= sure:
                raise StoppedError(f"no verdict at II = {ii}, where a schedule must exist if there is one at all")
            ii = min(max(ii, self.lowest - 1) + step, sure)
            step *= 2

    def _close(self) -> None:
        """Bisect between what is excluded and what is feasible, with growing patience, until they meet."""
        patience = PATIENCE
        while self.best is not None and self.best.ii > self.lowest and self.asker.spent() < SHARE:
            floor = self.lowest - 1
            asked: set[int] = set()
            while self.best.ii - floor > 1 and self.asker.spent() < SHARE:
                # An order can rarely be compressed to what another one beats, so the II just below is asked first.
                below = self.best.ii - 1
                middle = below if below not in asked else (floor + self.best.ii) // 2
                asked.add(middle)
                if not self._probe(middle, patience):
                    floor = middle
            patience *= GROWTH

    def _walk(self, last: int) -> None:
        """Try every II in turn: with holes in a reservation table feasibility is not monotone (g24)."""
        ii, open_below = self.lowest, False
        while not (verdict := self._probe(ii, PATIENCE)):
            open_below |= verdict is None
            if not open_below:
                self.lowest = ii + 1
            ii += 1
            if ii > last:
                raise StoppedError(f"no schedule up to II = {last}; reservation tables with holes allow no proof that none exists above")

    def _try_stage_one(self) -> bool:
        """Whether II and length of stage 1 are those of a joint schedule: then both are proved at once, which is the common case."""
        ii, length = self.modulo.ii, self.modulo.length
        if ii is None or ii != self.lowest or length is None or self._above_limit(ii):
            return False
        try:
            self.best = self.asker.ask(Question(self.problem, ii, length), PATIENCE)
        except LateError:
            return False
        if self.best is None:
            self._refute(ii, length, f"no schedule of at most {length} cycles at II = {ii} ({self.asker.version})")
        return self.best is not None

    def _probe(self, ii: int, patience: float) -> bool | None:
        """Whether a schedule of any length exists at `ii`, None when that stays open; keeps a schedule, records a refutation."""
        if any(r.ii == ii and r.length is None for r in self.refuted):
            return False
        if self._above_limit(ii):
            raise StoppedError(f"no schedule up to the limit II = {self.max_ii}")
        try:
            found = self.asker.ask(Question(self.problem, ii), patience)
        except LateError:
            self.note(f"II = {ii}: no verdict in {patience:g} s, left open")
            return None
        if found is None:
            self._refute(ii, None, f"no schedule of any length at II = {ii} ({self.asker.version})")
            if self.monotone:
                self.lowest = max(self.lowest, ii + 1)
            return False
        found = self.asker.compressed(found)
        if self.best is None or found.ii < self.best.ii:
            self.best = found
        self.note(f"II = {found.ii}: schedule of length {found.length}")
        return True

    def _above_limit(self, ii: int) -> bool:
        return self.max_ii is not None and ii > self.max_ii

    def _refute(self, ii: int, length: int | None, detail: str) -> None:
        self.refuted.append(Refutation(ii, length, self.asker.engine.name, detail))
        self.note(detail)


def never_ii(problem: Problem) -> int:
    """I* of formulation 3.3: with non-increasing tables, infeasible at I* means infeasible at every II (Lemma 4)."""
    ops = problem.by_name
    delays = [d.delay + ops[d.src].spill for d in problem.dependences]
    spans = [x for op in problem.ops for x in (op.cycles, op.issue)]
    return len(problem.ops) * max(1, *delays, *spans)
