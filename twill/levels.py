"""What is minimised once the smallest II is known: length and further objectives, level by level, each proved or labelled as not proved.

Every level is asked about with the values of those before it as constraints (formulation 8.3).  In loops with many ops the last ones are
lowered without questions instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

from twill.asking import Asker, LateError
from twill.canonical import renumbered, settle
from twill.engines.answers import Engine
from twill.joint.assemble import Question
from twill.joint.breaches import breaches
from twill.modulo import ModuloAnswer, monotone, shortest
from twill.modulo.stage import Stage
from twill.objectives import MOST_REFINED, OF_GROUPS, REFINEMENTS, TITLES, candidates, measure, usual_order
from twill.options import Options
from twill.polish import least_lifetime, polish
from twill.problem import Problem
from twill.schedule import Claim, Refutation, Schedule

# Seconds that stage 1 gets at most, and share of what is left.  Attention loops need less than one second; with a full unit and 80 ops
# it may not end, and from MANY_OPS on heuristics have more use for the time.
STAGE_ONE = 30.0
STAGE_ONE_SHARE = 1 / 4
MANY_OPS = 50


class Levels:
    """The levels of one search, and what is established so far.

    order    objectives after the II, most important first
    modulo   the answer of stage 1
    claims   what has been minimised, the II first
    refuted  what was excluded
    best     the best schedule so far
    turned   as in `twill.interval.IntervalSearch`: such a schedule is kept as it is
    """

    def __init__(self, problem: Problem, options: Options, progress: Callable[[str], None], engine: Engine, asker: Asker) -> None:
        self.problem, self.options, self.progress, self.engine, self.asker = problem, options, progress, engine, asker
        self.modulo: ModuloAnswer | None = None
        self.refuted: list[Refutation] = []
        self.claims: list[Claim] = []
        self.best: Schedule | None = None
        self.turned: Problem | None = None
        order = usual_order(problem) if options.objectives is None else options.objectives
        order = order if "length" in order else ("length", *order)
        if options.objectives is None and options.slack:
            order = (*OF_GROUPS, *(objective for objective in order if objective not in OF_GROUPS))
        self.order = order

    def _stage_one_limit(self) -> tuple[float | None, float | None]:
        """Seconds or effort for one answer of stage 1: it only helps, so it may not use up the time of stage 2."""
        left = self.asker.left()
        share = STAGE_ONE_SHARE / (1 if len(self.problem.ops) < MANY_OPS else 2)
        limit = STAGE_ONE if left is None else min(STAGE_ONE, left * share)
        return (None, limit) if self.asker.measured else (limit, None)

    def _patience(self) -> float | None:
        """Seconds for one question about length or an objective: half of what is left, so that something is left for the rest."""
        left = self.asker.left()
        return None if left is None else left / 2

    def _after_slack(self) -> tuple[str, ...]:
        """The objectives that are left when those of the groups that come first were minimised at the largest II that the slack allows.

        A schedule stays one at a larger II, with the same groups (Lemma 2), so that these values are the best within the slack; then the
        smallest II follows at which they can be had.
        """
        assert self.best is not None
        first = len(list(itertools.takewhile(OF_GROUPS.__contains__, self.order)))
        smallest = self.best.ii
        largest = smallest + int(smallest * self.options.slack / 100)
        if largest == smallest or not first or not monotone(self.problem):
            return self.order
        tight, self.turned = self.best, None
        try:
            self.best = self.asker.ask(Question(self.problem, largest), self._patience()) or tight
        except LateError:
            return self.order
        for objective in self.order[:first]:
            self._least(objective)
        low, high = smallest, self.best.ii
        while low < high:
            middle = (low + high) // 2
            try:
                found = self.asker.ask(Question(self.problem, middle, at_most=self._fixed()), self._patience())
            except LateError:
                break
            low, high, self.best = (middle + 1, high, self.best) if found is None else (low, middle, found)
        claim, why = self.claims[0], self.claims[0].evidence
        if high > smallest:
            why = f"the smallest within {float(self.options.slack):g} % of {smallest} that these values allow; {smallest}: {why}"
        self.claims[0] = replace(claim, value=high, evidence=why, proved=claim.proved and low == high)
        return self.order[first:]

    def _fixed(self) -> tuple[tuple[str, int], ...]:
        """What has been minimised, as bounds; not the II and the length, which questions name."""
        apart = ("ii", "length", "canonical")
        return tuple((c.objective, c.value) for c in self.claims if c.objective not in apart and c.value is not None)

    def _fixed_length(self) -> int | None:
        return next((c.value for c in self.claims if c.objective == "length"), None)

    def _shortest(self) -> None:
        """Shortest iteration at the II found: first what stage 1 reached, then bisection."""
        assert self.best is not None and self.modulo is not None
        ii, fixed = self.best.ii, self._fixed()
        if self.turned is not None:
            self._length_as_turned()
            return
        seconds, effort = self._stage_one_limit()
        alone = self.modulo if self.modulo.ii == ii else shortest(self.problem, ii, time_limit=seconds, effort=effort)
        low = max(1, alone.length_bound, *(r.length + 1 for r in self.refuted if r.ii == ii and r.length is not None))
        evidence = "equals the shortest modulo schedule" if alone.length == low else "equals the longest path"
        target = max(low, alone.length or low)
        self.best = self._compressed(self.best)
        while self.best.length > low:
            target = min(target, self.best.length - 1)
            try:
                found = self.asker.ask(Question(self.problem, ii, target, fixed), self._patience())
            except LateError as late:
                evidence = f"lengths from {low} on got no verdict: {late}"
                break
            if found is not None:
                # The order of a schedule tells how short it can be; just below that is where the proof usually is.
                self.best = self._compressed(found)
                target = max(low, self.best.length - 1 if self.best.length < found.length else (low + found.length) // 2)
                continue
            evidence = f"no schedule of length {target} ({self.engine.version})"
            if not fixed:
                detail = f"no schedule of at most {target} cycles at II = {ii} ({self.engine.version})"
                self.refuted.append(Refutation(ii, target, self.engine.name, detail))
            target, low = min(target + 4 * (target - low + 1), (target + self.best.length) // 2), target + 1
        self.claims.append(Claim("length", self.best.length, low, self.best.length == low, evidence))
        self.progress(f"length {self.best.length}")

    def _length_as_turned(self) -> None:
        """The length of a schedule of copies in turns, and the bound on it; how short it gets would depend on the time that is left."""
        assert self.best is not None
        low = Stage(self.problem, self.best.ii).floor() or 1
        why = "that of the copies in turns, which no question shortens (--objective asks for it)"
        tight = self.best.length == low
        self.claims.append(Claim("length", self.best.length, low, tight, "equals the longest path" if tight else why))

    def _compressed(self, found: Schedule) -> Schedule:
        """`found` as short as its order allows, where that leaves everything fixed as it is: what depends on groups alone does."""
        if any(objective not in OF_GROUPS for objective, _ in self._fixed()):
            return found
        return self.asker.compressed(found, found.ii)

    def _least(self, objective: str) -> None:
        """Least value of `objective` with everything before it fixed, by bisection over the values it can take."""
        assert self.best is not None
        fixed, length = self._fixed(), self._fixed_length()
        values = candidates(self.problem, objective, measure(self.problem, self.best, objective))
        evidence = "no smaller value is possible"
        low, high, middle = 0, len(values) - 1, 0
        while low < high:
            question = Question(self.problem, self.best.ii, length, (*fixed, (objective, values[middle])))
            try:
                found = self.asker.ask(question, self._patience())
            except LateError as late:
                evidence = f"values from {values[low]} on got no verdict: {late}"
                break
            if found is not None:
                self.best, self.turned = found, None
                high = values.index(measure(self.problem, found, objective))
            else:
                evidence = f"no schedule with at most {values[middle]} ({self.engine.version})"
                low = middle + 1
            middle = (low + high) // 2
        self.claims.append(Claim(objective, values[high], values[low], low == high, evidence))
        self.progress(f"{TITLES[objective]}: {values[high]}")

    def _as_found(self) -> None:
        """Values of the schedule that was kept: where one was not proved best, a later question may have improved it."""
        assert self.best is not None
        self.claims = [replace(claim, value=measure(self.problem, self.best, claim.objective)) for claim in self.claims]

    @property
    def _unrefined(self) -> bool:
        """Whether the loop is too large for questions about what only tells schedules of one structure apart."""
        return self.options.objectives is None and not set(REFINEMENTS) & set(self.order)

    def _polish(self) -> None:
        """Lifetimes made shorter without questions, where these are too many; groups numbered in the order of the ops."""
        assert self.best is not None
        if self._unrefined:
            self.best = renumbered(self.problem, polish(self.problem, self.best, self._accepts))

    def _accepts(self, candidate: Schedule) -> bool:
        """Whether a schedule is one of the problem, and in the order of `turned`."""
        kept = self.turned is None or next(breaches(self.turned, candidate), None) is None
        return kept and self.asker.accepts(candidate)

    def _left_open(self) -> None:
        """Claims about what was lowered without questions: values, and what bounds say about them."""
        assert self.best is not None
        if not self._unrefined:
            return
        ii, why = self.best.ii, f"lowered op by op, not proved beyond {MOST_REFINED} ops (--objective asks for it)"
        least = least_lifetime(self.problem, ii)
        for objective, low in (("registers", -(-least // ii)), ("lifetime", least)):
            value = measure(self.problem, self.best, objective)
            tight = "no smaller value is possible"
            self.claims.append(Claim(objective, value, min(low, value), low >= value, tight if low >= value else why))
        self.claims.append(Claim("canonical", 0, 0, False, f"starts as found beyond {MOST_REFINED} ops (--objective asks for it)"))

    def _canonical(self) -> None:
        """Of all schedules that are as good, the one whose ops start earliest and have the smallest group numbers, op by op in order."""
        assert self.best is not None
        late = settle(self.problem, self.asker, self.best, self._fixed(), self._fixed_length(), self._patience)
        self.best = late.schedule
        evidence = late.evidence or f"no schedule as good has smaller starts and groups, op by op ({self.engine.version})"
        self.claims.append(Claim("canonical", 0, 0, not late.evidence, evidence))
        self.progress("canonical schedule")
