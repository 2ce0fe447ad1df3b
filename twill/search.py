"""The search: smallest II, then shortest iteration, then the further objectives, each step proved or labelled as not proved.

Order of formulation 4.7.  One question decides an II for every length at once, because the formula has no horizon; feasibility is
monotone in II when no reservation table has holes (Lemma 2), so the first II above the bounds is found by galloping and bisection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from twill.asking import Asker, LateError, StoppedError
from twill.bounds import contradictions, least_ii, lower_bounds
from twill.engines.answers import Engine
from twill.engines.process import DEFAULT_MEMORY_MB
from twill.engines.registry import make
from twill.errors import Place, SolverError, Unsupported
from twill.interval import PATIENCE, IntervalSearch
from twill.joint.assemble import Question
from twill.joint.space import Options as Families
from twill.modulo import ModuloAnswer, monotone, shortest, smallest_ii
from twill.objectives import DEFAULT_ORDER, TITLES, candidates, measure
from twill.problem import Problem
from twill.schedule import Bound, Certificate, Claim, Refutation, Result, Schedule


@dataclass(frozen=True)
class Options:
    """How to search.

    engine           "auto", "yices" or "cpsat"
    time_limit       seconds for the whole search, None for no limit
    memory_limit_mb  memory of an engine's process
    max_ii           give up above this II; None: as far as a proof needs
    objectives       minimised in this order after II and length
    """

    engine: str = "auto"
    time_limit: float | None = None
    memory_limit_mb: int | None = DEFAULT_MEMORY_MB
    max_ii: int | None = None
    objectives: tuple[str, ...] = DEFAULT_ORDER


# Seconds that stage 1 gets at most.  Attention loops need less than one; with a full unit and 80 ops it may not end.
STAGE_ONE = 30.0

# Relaxations in the order of formulation 4.7, cheapest first, with what each adds.
LADDER = (
    ("units and dependences", Families(memory=False, groups=False, blocking=False, registers=False)),
    ("memory capacity", Families(groups=False, blocking=False, registers=False)),
    ("warp groups, spills and blocking waits", Families(registers=False)),
    ("registers", Families()),
)


_NOTHING = "the loop body has no ops to schedule"
EMPTY = Result(
    Schedule(1, 0, ()),
    Certificate("optimal", claims=(Claim("ii", 1, 1, True, _NOTHING), Claim("length", 0, 0, True, _NOTHING)), reason=_NOTHING),
)
"""The answer for a loop body without ops."""


MOST_OPS = 500
"""Ops of the largest loop body that is searched: bounds and windows take cubic time in them, beyond any time limit for more."""


def schedule(problem: Problem, options: Options = Options(), progress: Callable[[str], None] | None = None) -> Result:
    """Search for the best schedule of `problem`.

    The result's status is "optimal", "feasible" (a schedule, not all of it proved best), "infeasible" (proved) or "unknown".  Ctrl-C
    and the time limit end the search early with what is proved by then.  The certificate's `checked` is False: the independent
    checker is the caller's business.  Raises SolverError when an engine dies or lies, Unsupported for more than `MOST_OPS` ops.
    """
    refuse_too_many(problem)
    return Search(problem, options, progress or (lambda _: None)).run()


class Search:
    """One search and what it has established so far.  `engine` may be given for tests; else it is made from the options."""

    def __init__(self, problem: Problem, options: Options, progress: Callable[[str], None], engine: Engine | None = None) -> None:
        self.problem, self.options, self.progress = problem, options, progress
        self.engine = engine or make(options.engine, memory_mb=options.memory_limit_mb, ops=len(problem.ops))
        self.asker = Asker(problem, self.engine, options.time_limit)
        self.bounds: tuple[Bound, ...] = ()
        self.modulo: ModuloAnswer | None = None
        self.interval: IntervalSearch | None = None
        self.refuted: list[Refutation] = []
        self.claims: list[Claim] = []
        self.best: Schedule | None = None
        self.lowest = 1
        self.engines: list[str] = []

    def run(self) -> Result:
        """Search until done or stopped."""
        if not self.problem.ops:
            return EMPTY
        try:
            result = self._run()
        except (KeyboardInterrupt, StoppedError) as stop:
            why = str(stop) if isinstance(stop, StoppedError) else "interrupted"
            result = self._stopped(why)
        finally:
            self.engine.close()
        agree(self.problem, result)
        return result

    def _run(self) -> Result:
        reasons = contradictions(self.problem)
        if reasons:
            return self._infeasible(" ".join(reasons))
        self.bounds = lower_bounds(self.problem)
        self.lowest = least_ii(self.bounds)
        self.progress(f"bounds: II >= {self.lowest}")
        impossible = self._stage_one()
        if impossible is not None:
            return self._infeasible(impossible)
        never = self._smallest_ii()
        if never is not None:
            return self._infeasible(never)
        self._shortest()
        for objective in self.options.objectives:
            self._least(objective)
        status = "optimal" if all(c.proved for c in self.claims) else "feasible"
        return Result(self.best, self._certificate(status))

    # Stage 1 -----------------------------------------------------------------------------------------------------------------

    def _stage_one(self) -> str | None:
        """Smallest II of stage 1; a sentence instead when it is proved that there is none."""
        answer = self.modulo = smallest_ii(self.problem, self.lowest, time_limit=self._stage_one_limit())
        self.engines.append(answer.engine)
        for ii in answer.excluded:
            detail = f"no modulo schedule at II = {ii}: units and dependences alone exclude it"
            self.refuted.append(Refutation(ii, None, "stage 1", detail))
        self.lowest = max(self.lowest, answer.lower)
        if answer.status == "infeasible":
            return answer.detail
        self.progress(f"stage 1: II = {answer.ii}, length {answer.length}")
        return None

    # Stage 2: II -------------------------------------------------------------------------------------------------------------

    def _smallest_ii(self) -> str | None:
        """Find the smallest II with a joint schedule; a sentence instead when it is proved that there is none."""
        assert self.modulo is not None
        interval = self.interval = IntervalSearch(self.asker, self.modulo, self.lowest, self.options.max_ii, self.progress)
        never = interval.run()
        self._take(interval)
        if never is not None:
            return self._blame(never, f"there is no schedule at II = {never}, hence at no II (formulation 3.3, Lemma 4)")
        self._claim_ii()
        return None

    def _take(self, interval: IntervalSearch) -> None:
        """Take over what the search for the II established."""
        self.best, self.lowest = interval.best, interval.lowest
        self.refuted += interval.refuted
        self.interval = None

    def _claim_ii(self) -> None:
        assert self.best is not None
        ii = self.best.ii
        if ii > self.lowest:
            evidence = f"II from {self.lowest} to {ii - 1} got no verdict in the time that each question had"
            self.claims.append(Claim("ii", ii, self.lowest, False, evidence))
            return
        tight = [b for b in self.bounds if b.value == ii]
        below = next((r for r in self.refuted if r.ii == ii - 1 and r.length is None), None)
        if tight:
            evidence = f"equals the {tight[0].kind} bound" + (f" of {tight[0].subject}" if tight[0].subject else "")
        elif below is None:
            evidence = "no smaller II is possible" if ii == 1 else "no smaller II has a modulo schedule"
        elif below.through == "stage 1":
            evidence = below.detail
        else:
            smaller = ", nor at any smaller II (Lemma 2)" if monotone(self.problem) else ""
            evidence = self._blame(ii - 1, f"no schedule of any length at II = {ii - 1}{smaller} ({self.engine.version})")
        self.claims.append(Claim("ii", ii, ii, True, evidence))

    def _blame(self, ii: int, fact: str) -> str:
        """`fact`, that `ii` is excluded, with the first rung of the ladder that excludes it."""
        for name, families in LADDER[:-1]:
            try:
                if self.asker.ask(Question(self.problem, ii, options=families), PATIENCE) is None:
                    return f"{fact}; {name} alone exclude it"
            except LateError:
                return fact
        return f"{fact}; without register limits there is one"

    # Stage 2: length and further objectives ----------------------------------------------------------------------------------

    def _stage_one_limit(self) -> float:
        """Seconds for one answer of stage 1: it only helps, so it may not use up the time of stage 2."""
        left = self.asker.left()
        return STAGE_ONE if left is None else min(STAGE_ONE, left / 4)

    def _patience(self) -> float | None:
        """Seconds for one question about length or an objective: half of what is left, so that something is left for the rest."""
        left = self.asker.left()
        return None if left is None else left / 2

    def _shortest(self) -> None:
        """Shortest iteration at the II found: first what stage 1 reached, then bisection."""
        assert self.best is not None and self.modulo is not None
        ii = self.best.ii
        alone = self.modulo if self.modulo.ii == ii else shortest(self.problem, ii, time_limit=self._stage_one_limit())
        low = max(1, alone.length_bound, *(r.length + 1 for r in self.refuted if r.ii == ii and r.length is not None))
        evidence = "equals the shortest modulo schedule" if alone.length == low else "equals the longest path"
        target = max(low, alone.length or low)
        self.best = self.asker.compressed(self.best, ii)
        while self.best.length > low:
            target = min(target, self.best.length - 1)
            try:
                found = self.asker.ask(Question(self.problem, ii, target), self._patience())
            except LateError as late:
                evidence = f"lengths from {low} on got no verdict: {late}"
                break
            if found is not None:
                # The order of a schedule tells how short it can be; just below that is where the proof usually is.
                self.best = self.asker.compressed(found, ii)
                target = max(low, self.best.length - 1 if self.best.length < found.length else (low + found.length) // 2)
                continue
            evidence = f"no schedule of length {target} ({self.engine.version})"
            detail = f"no schedule of at most {target} cycles at II = {ii} ({self.engine.version})"
            self.refuted.append(Refutation(ii, target, self.engine.name, detail))
            target, low = min(target + 4 * (target - low + 1), (target + self.best.length) // 2), target + 1
        self.claims.append(Claim("length", self.best.length, low, self.best.length == low, evidence))
        self.progress(f"length {self.best.length}")

    def _least(self, objective: str) -> None:
        """Least value of `objective` with everything before it fixed, by bisection over the values it can take."""
        assert self.best is not None
        fixed = tuple((c.objective, c.value) for c in self.claims[2:] if c.value is not None)
        values = candidates(self.problem, objective, measure(self.problem, self.best, objective))
        evidence = "no smaller value is possible"
        low, high, middle = 0, len(values) - 1, 0
        while low < high:
            question = Question(self.problem, self.best.ii, self.best.length, (*fixed, (objective, values[middle])))
            try:
                found = self.asker.ask(question, self._patience())
            except LateError as late:
                evidence = f"values from {values[low]} on got no verdict: {late}"
                break
            if found is not None:
                self.best = found
                high = values.index(measure(self.problem, found, objective))
            else:
                evidence = f"no schedule with at most {values[middle]} ({self.engine.version})"
                low = middle + 1
            middle = (low + high) // 2
        self.claims.append(Claim(objective, values[high], values[low], low == high, evidence))
        self.progress(f"{TITLES[objective]}: {values[high]}")

    # Results -----------------------------------------------------------------------------------------------------------------

    def _certificate(self, status: str, reason: str = "") -> Certificate:
        modulo = None
        if self.modulo is not None and self.modulo.ii is not None and self.modulo.length is not None:
            modulo = (self.modulo.ii, self.modulo.length)
        return Certificate(
            status,
            self.bounds,
            modulo,
            tuple(self.claims),
            tuple(self.refuted),
            (*self.engines, *self.asker.versions),
            reason=reason,
        )

    def _infeasible(self, reason: str) -> Result:
        return Result(None, self._certificate("infeasible", reason))

    def _stopped(self, why: str) -> Result:
        """What is known when the search is stopped: claims made so far, and for the next objective value and bound, unproved."""
        if self.interval is not None:
            self._take(self.interval)
        if self.best is None:
            self.claims.append(Claim("ii", None, self.lowest, False, why))
            return Result(None, self._certificate("unknown", why))
        done = {c.objective for c in self.claims}
        if "ii" not in done:
            self.claims.append(Claim("ii", self.best.ii, min(self.lowest, self.best.ii), self.lowest >= self.best.ii, why))
        if "length" not in done:
            excluded = [r.length + 1 for r in self.refuted if r.ii == self.best.ii and r.length is not None]
            low = min(self.best.length, max(1, *excluded, 1))
            self.claims.append(Claim("length", self.best.length, low, False, why))
        for objective in self.options.objectives:
            if objective not in done:
                self.claims.append(Claim(objective, measure(self.problem, self.best, objective), 0, False, why))
        return Result(self.best, self._certificate("feasible", why))


def refuse_too_many(problem: Problem) -> None:
    """Raise Unsupported when the loop body has more than `MOST_OPS` ops."""
    if len(problem.ops) > MOST_OPS:
        raise Unsupported(
            f"the loop body has {len(problem.ops)} ops; up to {MOST_OPS} are scheduled.",
            place=Place(problem.provenance.file),
            remedy="Fold ops that belong together, or split the loop.",
        )


def agree(problem: Problem, result: Result) -> None:
    """Raise SolverError when something that a solver excluded denies the schedule that was found."""
    found = result.schedule
    if found is None:
        return
    for refutation in result.certificate.refuted:
        above = refutation.length is None and refutation.ii > found.ii and monotone(problem)
        if (refutation.ii == found.ii or above) and (refutation.length is None or found.length <= refutation.length):
            message = f"{refutation.detail}, but there is a schedule of {found.length} cycles at II = {found.ii}."
            raise SolverError(message, remedy="Another --engine may help; please report it with the input.")
