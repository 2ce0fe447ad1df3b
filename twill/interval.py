"""The smallest initiation interval of stage 2: gallop up to a schedule, then close the gap, each interval excluded by proof.

Feasibility is monotone in II when no reservation table has holes (formulation 4.6, Lemma 2).  A question that gets no verdict in
its time leaves its interval open: the search goes on above it, so that there is a schedule early, and comes back with more patience.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from twill.asking import Asker, LateError, StoppedError
from twill.engines.answers import Engine
from twill.engines.race import Race
from twill.incumbent import Incumbent
from twill.joint.assemble import Question
from twill.joint.teams import Teams, certain_teams, teams
from twill.modulo import ModuloAnswer, monotone
from twill.problem import Problem
from twill.schedule import Refutation, Schedule

if TYPE_CHECKING:
    from twill.stagger import Copies

# Seconds for one question before the search looks for an easier interval, at most this share of the time limit; grows by GROWTH in
# every round.
PATIENCE = 20.0
PATIENT_SHARE = 1 / 16
GROWTH = 4
TEAM_SHARE = 1 / 4
# The first step up from the bound is this fraction of it: answers are at the bound or well above it, rarely one cycle above.
FIRST_STEP = 64
# Share of a time limit after which the gap is left open, so that time remains for length and objectives.
SHARE = 0.6
# From this many ops on a first schedule is made before any engine is asked: proofs may take longer than the time limit.
LARGE = 60
# From this many ops on it pays to ask about one of several identical copies first.
COPIES_FROM = 30
# Intervals of one of several identical copies that are asked about.
COPY_TRIES = 4
# Questions about the length of one copy.
SHORTENINGS = 6
# Intervals that are asked about with a warp group for every sub-tile.
GALLOPS = 6
# So many intervals without a schedule raise the question whether there is one at all.
DOUBT = 3
# Share of a time limit after which engines leave what is still open to ejection search, and after which that ends, too, or so many
# attempts in a row were in vain.
ENGINE_SHARE = 0.7
LAST_SHARE = 0.8
LAST_EJECTIONS = 60


class IntervalSearch(Incumbent):
    """Search for the smallest II from `lowest` on, which is a proved bound.

    best     the schedule with the smallest II found, None if none
    lowest   smallest II that is not excluded
    refuted  what was excluded, in the order of the search
    turned   the problem with an order for identical copies, when `best` is a schedule of such in turns (`twill.turns`)
    """

    def __init__(
        self,
        asker: Asker,
        modulo: ModuloAnswer,
        lowest: int,
        max_ii: int | None,
        note: Callable[[str], None],
    ) -> None:
        super().__init__(asker, lowest, max_ii, note)
        self.modulo, self.monotone = modulo, monotone(self.problem)
        self.refuted: list[Refutation] = []
        self.turned: Problem | None = None

    def run(self) -> int | None:
        """Search; the II at which it is proved that no II works is returned when there is none, else None.

        A limit that is over before any schedule was found leaves a loop of `COPIES_FROM` ops or more what a few attempts of ejection
        search make of it, or as it runs one op after the other.
        """
        try:
            return self._search()
        except StoppedError:
            if len(self.problem.ops) >= COPIES_FROM and self.best is None:
                self._in_sequence()
                self._in_haste()
            raise

    def _search(self) -> int | None:
        copies = turning(self.problem)
        if copies is not None and self._take_turns(copies):
            return None
        if len(self.problem.ops) >= LARGE:
            self._in_turn()
            if self.best is not None and self.best.ii == self.lowest:
                return None
            self._first_schedule()
            if self.best is not None and self.best.ii == self.lowest:
                return None
        if self._try_teams() and self.monotone:
            self._close()
            return None
        if self._try_stage_one():
            return None
        if COPIES_FROM <= len(self.problem.ops) < LARGE:
            self._in_turn()
        if self.best is not None and self.best.ii == self.lowest:
            return None
        first = self._probe(self.lowest, self.patience)
        if first or (self.best is not None and self.best.ii == self.lowest):
            return None
        if not self.monotone:
            self._walk(never_ii(self.problem))
            return None
        if first is None and self.best is None:
            self._first_schedule()
        never = self._climb()
        if never is None:
            self._close()
        return never

    @property
    def patience(self) -> float:
        """Seconds for one question in the first round."""
        limit = self.asker.time_limit
        return PATIENCE if limit is None else min(PATIENCE, limit * PATIENT_SHARE)

    @property
    def _team_patience(self) -> float:
        """Seconds for the question with groups given at the bound itself: where it has an answer, nothing is left to prove."""
        limit = self.asker.time_limit
        return PATIENCE if limit is None else min(PATIENCE, limit * TEAM_SHARE)

    def _take_turns(self, copies: Copies) -> bool:
        """Whether there is a schedule of copies in turns that is to be kept: proved best, or with nothing better in sight.

        Then `turned` is the problem with its order.  So the answer is the same whatever else the machine does.
        """
        from twill.turn_search import TurnSearch
        from twill.turns import in_order_of

        search = TurnSearch(self.asker, self._alone, copies, self.lowest)
        search.run(self._offered)
        found = self.best
        if found is None or search.strand is None:
            return False
        self.turned = in_order_of(self.problem, copies, search.strand, found.ii)
        if found.ii > self.lowest and not search.late and self.monotone:
            self._probe(found.ii - 1, search.patience or self.patience)
        if self.best is not found:
            self.turned = None
        return self.turned is not None

    @property
    def _alone(self) -> Engine:
        """One engine."""
        return self.asker.engine.engines[0] if isinstance(self.asker.engine, Race) else self.asker.engine

    def _in_turn(self) -> None:
        """A schedule of identical copies that start one after the other, found for one copy of them."""
        from twill import stagger

        copies = stagger.find(self.problem)
        if copies is None:
            return
        limit = self.asker.time_limit
        patience = PATIENCE if limit is None else min(PATIENCE, limit / 3)  # the bound is what matters
        for ii in stagger.intervals(self.lowest, copies, COPY_TRIES):
            sets = stagger.group_sets(self.problem, copies, ii)
            one = stagger.body(self.problem, copies, sets)
            asker = Asker(one, self._alone, self.asker.left(), measured=self.asker.measured, families=self.asker.families)
            try:
                found = asker.ask(Question(one, ii), patience)
            except LateError:
                continue
            finally:
                patience = self.patience
            if found is not None and self._offer([stagger.spread(self.problem, copies, sets, asker.compressed(found, ii))]):
                shorter = self._shortened(asker, found)
                self._offer([stagger.spread(self.problem, copies, sets, shorter)])
                return

    def _shortened(self, asker: Asker, found: Schedule) -> Schedule:
        """A shorter schedule at the same II, as short as a few questions find it: halfway to the longest path each time."""
        low, best = 0, asker.compressed(found, found.ii)
        for _ in range(SHORTENINGS):
            target = (low + best.length) // 2
            try:
                shorter = asker.ask(Question(asker.problem, best.ii, target), self.patience / GROWTH)
            except LateError:
                shorter = None
            low, best = (target, best) if shorter is None else (low, asker.compressed(shorter, best.ii))
        return best

    def _climb(self) -> int | None:
        """Gallop up from the bound to a first schedule; the II that excludes all others when it is proved that there is none."""
        sure = never_ii(self.problem)
        excluded = any(r.length is None and r.ii == self.lowest - 1 for r in self.refuted)
        ii, step = self.lowest - excluded, max(1, self.lowest // FIRST_STEP)
        for tried in count(1):
            if self.best is not None and ii + step >= self.best.ii:
                return None
            if tried == DOUBT and self.best is None and self._excluded(sure):
                return sure
            if ii >= sure:
                raise StoppedError(f"no verdict at II = {ii}, where a schedule must exist if there is one at all")
            ii = min(max(ii, self.lowest - 1) + step, sure)
            if self._probe(ii, self.patience):
                return None
            step *= 2
        raise AssertionError("unreachable")

    def _excluded(self, ii: int) -> bool:
        """Whether it is soon proved that there is no schedule at `ii`."""
        try:
            return self.asker.ask(Question(self.problem, ii), self.patience / 10) is None
        except LateError:
            return False

    def _close(self) -> None:
        """Bisect between what is excluded and what is feasible, with growing patience, until they meet."""
        patience, share = self.patience, SHARE if self.ladder is None else ENGINE_SHARE
        while self.best is not None and self.best.ii > self.lowest and self.asker.spent() < share:
            floor, quick = self.lowest - 1, len(self.problem.ops) < LARGE
            asked: set[int] = set()
            while self.best.ii - floor > 1 and self.asker.spent() < share:
                # An order can rarely be compressed to what another one beats, so the II just below is asked first, and again as long as
                # that halves the gap: else the number of questions would grow with the cycles.
                before = self.best.ii
                middle = before - 1 if quick and before - 1 not in asked else (floor + before) // 2
                asked.add(middle)
                found = self._probe(middle, patience)
                quick = len(self.problem.ops) < LARGE and (not found or 2 * (before - self.best.ii) >= before - floor)
                if not found:
                    floor = middle
            patience *= GROWTH
        if self.ladder is not None:
            self._eject(LAST_SHARE, LAST_EJECTIONS)

    def _walk(self, last: int) -> None:
        """Try every II in turn: with holes in a reservation table feasibility is not monotone (g24)."""
        ii, open_below = self.lowest, False
        while not (verdict := self._probe(ii, self.patience)):
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
            found = self.asker.ask(Question(self.problem, ii, length), self.patience)
        except LateError:
            return False
        if found is None:
            self._refute(ii, length, f"no schedule of at most {length} cycles at II = {ii} ({self.asker.version})")
        self.best = found or self.best
        return found is not None

    def _try_teams(self) -> bool:
        """Whether schedules were found in which every sub-tile has a warp group of its own: gallop up from the bound, then bisect.

        With groups given, a question is quick.  Intervals that it leaves out are open still.
        """
        chosen, step = teams(self.problem), max(1, self.lowest // FIRST_STEP)
        floor, ii = self.lowest - 1, self.lowest
        for _ in range(GALLOPS if chosen else 0):
            if self._above_limit(ii) or (self.best is not None and ii >= self.best.ii):
                return False
            if self._ask_teams(ii, chosen):
                break
            floor, ii, step = ii, ii + step, 2 * step
        else:
            return False
        while self.best is not None and self.best.ii - floor > 1:
            middle = (floor + self.best.ii) // 2
            if not self._ask_teams(middle, chosen):
                floor = middle
        return True

    def _ask_teams(self, ii: int, chosen: Teams) -> bool:
        try:
            patience = self._team_patience if ii == self.lowest else self._team_patience / GROWTH
            found = self.asker.ask(Question(self.problem, ii, teams=chosen), patience)
        except LateError:
            return False
        if found is None:
            return False
        self.best = self.asker.compressed(found, self.lowest)
        self.note(f"II = {self.best.ii}: one warp group for every sub-tile, length {self.best.length}")
        return True

    def _probe(self, ii: int, patience: float) -> bool | None:
        """Whether a schedule of any length exists at `ii`, None when that stays open; keeps a schedule, records a refutation."""
        if any(r.ii == ii and r.length is None for r in self.refuted):
            return False
        if self._above_limit(ii):
            raise StoppedError(f"no schedule up to the limit II = {self.max_ii}")
        try:
            found = self.asker.ask(Question(self.problem, ii, teams=certain_teams(self.problem, ii)), patience)
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

    def _refute(self, ii: int, length: int | None, detail: str) -> None:
        self.refuted.append(Refutation(ii, length, self.asker.engine.name, detail))
        self.note(detail)


def turning(problem: Problem) -> Copies | None:
    """The copies of a large loop body that take turns in warp groups of their own; None when it is not made of such."""
    if len(problem.ops) < COPIES_FROM:
        return None
    from twill import stagger, turns

    copies = stagger.find(problem)
    return copies if copies is not None and turns.apply(problem, copies) else None


def never_ii(problem: Problem) -> int:
    """I* of formulation 3.3: with non-increasing tables, infeasible at I* means infeasible at every II (Lemma 4)."""
    delays = [d.delay + problem.spill(d) for d in problem.dependences]
    spans = [x for op in problem.ops for x in (op.cycles, op.issue)]
    return len(problem.ops) * max(1, *delays, *spans)
