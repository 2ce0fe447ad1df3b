"""The search: smallest II, then shortest iteration, then the further objectives, each step proved or labelled as not proved.

Order of formulation 4.7.  One question decides an II for every length at once, because the formula has no horizon; feasibility is
monotone in II when no reservation table has holes (Lemma 2), so the first II above the bounds is found by galloping and bisection.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from twill.bounds import contradictions, least_ii, lower_bounds
from twill.engines.answers import Engine
from twill.engines.process import DEFAULT_MEMORY_MB
from twill.engines.registry import make
from twill.joint.assemble import Question, assemble, decode
from twill.joint.exact import excesses
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


# Relaxations in the order of formulation 4.7, cheapest first, with what each adds.
LADDER = (
    ("units and dependences", Families(memory=False, groups=False, blocking=False, registers=False)),
    ("memory capacity", Families(groups=False, blocking=False, registers=False)),
    ("warp groups, spills and blocking waits", Families(registers=False)),
    ("registers", Families()),
)


def schedule(problem: Problem, options: Options = Options(), progress: Callable[[str], None] | None = None) -> Result:
    """Search for the best schedule of `problem`.

    The result's status is "optimal", "feasible" (a schedule, not all of it proved best), "infeasible" (proved) or "unknown".  Ctrl-C
    and the time limit end the search early with what is proved by then.  The certificate's `checked` is False: the independent
    checker is the caller's business.  Raises SolverError when an engine dies or lies.
    """
    return Search(problem, options, progress or (lambda _: None)).run()


class _StoppedError(Exception):
    """Time, memory or patience is over."""


class Search:
    """One search and what it has established so far.  `engine` may be given for tests; else it is made from the options."""

    def __init__(self, problem: Problem, options: Options, progress: Callable[[str], None], engine: Engine | None = None) -> None:
        self.problem, self.options, self.progress = problem, options, progress
        self.engine = engine or make(options.engine, memory_mb=options.memory_limit_mb)
        self.deadline = None if options.time_limit is None else time.monotonic() + options.time_limit
        self.bounds: tuple[Bound, ...] = ()
        self.modulo: ModuloAnswer | None = None
        self.refuted: list[Refutation] = []
        self.claims: list[Claim] = []
        self.best: Schedule | None = None
        self.lowest = 1
        self.engines: list[str] = []
        self.counted = Question(problem, 1).counted

    def run(self) -> Result:
        """Search until done or stopped."""
        if not self.problem.ops:
            return Result(Schedule(1, 0, ()), Certificate("optimal", reason="the loop body has no ops to schedule"))
        try:
            return self._run()
        except (KeyboardInterrupt, _StoppedError) as stop:
            why = str(stop) if isinstance(stop, _StoppedError) else "interrupted"
            return self._stopped(why)
        finally:
            self.engine.close()

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
        answer = self.modulo = smallest_ii(self.problem, self.lowest, time_limit=self._left())
        self.engines.append(answer.engine)
        for ii in answer.excluded:
            self._refute(ii, None, "stage 1", f"no modulo schedule at II = {ii}: units and dependences alone exclude it")
        self.lowest = max(self.lowest, answer.lower)
        if answer.status == "infeasible":
            return answer.detail
        self.progress(f"stage 1: II = {answer.ii}, length {answer.length}")
        return None

    # Stage 2: II -------------------------------------------------------------------------------------------------------------

    def _smallest_ii(self) -> str | None:
        """Find the smallest II with a joint schedule; a sentence instead when it is proved that there is none."""
        if self._try_stage_one() or self._try(self.lowest):
            self._claim_ii()
            return None
        if monotone(self.problem):
            never = never_ii(self.problem)
            if never > self.lowest and self._ask(Question(self.problem, never)) is None:
                return self._blame_text(never, f"there is no schedule at II = {never}, hence at no II (formulation 3.3, Lemma 4)")
            self._gallop(never)
        else:
            self._walk(never_ii(self.problem))
        self._claim_ii()
        return None

    def _gallop(self, sure: int) -> None:
        """Grow II in doubling steps until a schedule exists, then bisect (Lemma 2).  `sure` is known to be feasible."""
        low, step = self.lowest - 1, 1
        high = self.lowest
        while not self._try(high):
            low, step = high, step * 2
            high = min(high + step, sure)
        while high - low > 1:
            middle = (low + high) // 2
            if self._try(middle):
                high = middle
            else:
                low = middle

    def _walk(self, last: int) -> None:
        """Try every II in turn: with holes in a reservation table feasibility is not monotone (g24)."""
        ii = self.lowest
        while not self._try(ii):
            ii += 1
            if ii > last:
                raise _StoppedError(f"no schedule up to II = {last}; reservation tables with holes allow no proof that none exists above")

    def _try_stage_one(self) -> bool:
        """Whether II and length of stage 1 are those of a joint schedule: then both are proved at once, which is the common case."""
        assert self.modulo is not None
        ii, length = self.modulo.ii, self.modulo.length
        if ii is None or ii != self.lowest or length is None or self._above_limit(ii):
            return False
        self.best = self._ask(Question(self.problem, ii, length))
        if self.best is None:
            self._refute(ii, length, self.engine.name, f"no schedule of at most {length} cycles at II = {ii} ({self.engine.version})")
        return self.best is not None

    def _try(self, ii: int) -> bool:
        """Whether a schedule of any length exists at `ii`; keeps it, or records the refutation."""
        if any(r.ii == ii and r.length is None for r in self.refuted):
            return False
        if self._above_limit(ii):
            raise _StoppedError(f"no schedule up to the limit II = {self.options.max_ii}")
        found = self._ask(Question(self.problem, ii))
        if found is None:
            self._refute(ii, None, self.engine.name, f"no schedule of any length at II = {ii} ({self.engine.version})")
            self.lowest = ii + 1 if monotone(self.problem) or ii == self.lowest else self.lowest
            return False
        if self.best is None or found.ii < self.best.ii:
            self.best = found
        self.progress(f"II = {ii}: schedule of length {found.length}")
        return True

    def _above_limit(self, ii: int) -> bool:
        return self.options.max_ii is not None and ii > self.options.max_ii

    def _claim_ii(self) -> None:
        assert self.best is not None
        ii = self.best.ii
        tight = [b for b in self.bounds if b.value == ii]
        if tight:
            evidence = f"equals the {tight[0].kind} bound" + (f" of {tight[0].subject}" if tight[0].subject else "")
        elif any(r.ii == ii - 1 for r in self.refuted):
            evidence = self._blame(ii - 1)
        else:
            evidence = "no smaller II is possible" if ii == 1 else "no smaller II has a modulo schedule"
        self.claims.append(Claim("ii", ii, ii, True, evidence))

    def _blame(self, ii: int) -> str:
        """What excludes `ii`: the first rung of the ladder that does."""
        refutation = next(r for r in self.refuted if r.ii == ii and r.length is None)
        if refutation.through == "stage 1":
            return refutation.detail
        smaller = ", nor at any smaller II (Lemma 2)" if monotone(self.problem) else ""
        return self._blame_text(ii, f"no schedule of any length at II = {ii}{smaller} ({self.engine.version})")

    def _blame_text(self, ii: int, fact: str) -> str:
        for name, families in LADDER[:-1]:
            if self._ask(Question(self.problem, ii, options=families)) is None:
                return f"{fact}; {name} alone exclude it"
        return f"{fact}; without register limits there is one"

    # Stage 2: length and further objectives ----------------------------------------------------------------------------------

    def _shortest(self) -> None:
        """Shortest iteration at the II found: first what stage 1 reached, then bisection."""
        assert self.best is not None and self.modulo is not None
        ii = self.best.ii
        alone = self.modulo if self.modulo.ii == ii else shortest(self.problem, ii, time_limit=self._left())
        low = max(1, alone.length_bound, *(r.length + 1 for r in self.refuted if r.ii == ii and r.length is not None))
        evidence = "equals the shortest modulo schedule" if alone.length == low else "equals the longest path"
        target = max(low, alone.length or low)
        while self.best.length > low:
            target = min(target, self.best.length - 1)
            found = self._ask(Question(self.problem, ii, target))
            if found is not None:
                self.best = found
                target = max(low, min(found.length - 1, (low + found.length) // 2))
                continue
            evidence = f"no schedule of length {target} ({self.engine.version})"
            self._refute(ii, target, self.engine.name, f"no schedule of at most {target} cycles at II = {ii} ({self.engine.version})")
            target, low = min(target + 4 * (target - low + 1), (target + self.best.length) // 2), target + 1
        self.claims.append(Claim("length", self.best.length, low, True, evidence))
        self.progress(f"length {self.best.length}")

    def _least(self, objective: str) -> None:
        """Least value of `objective` with everything before it fixed, by bisection over the values it can take."""
        assert self.best is not None
        fixed = tuple((c.objective, c.value) for c in self.claims[2:] if c.value is not None)
        values = candidates(self.problem, objective, measure(self.problem, self.best, objective))
        evidence = "no smaller value is possible"
        low, high, middle = 0, len(values) - 1, 0
        while low < high:
            found = self._ask(Question(self.problem, self.best.ii, self.best.length, (*fixed, (objective, values[middle]))))
            if found is not None:
                self.best = found
                high = values.index(measure(self.problem, found, objective))
            else:
                evidence = f"no schedule with at most {values[middle]} ({self.engine.version})"
                low = middle + 1
            middle = (low + high) // 2
        self.claims.append(Claim(objective, values[high], values[high], True, evidence))
        self.progress(f"{TITLES[objective]}: {values[high]}")

    # Questions ---------------------------------------------------------------------------------------------------------------

    def _ask(self, question: Question) -> Schedule | None:
        """A schedule that answers the question, None when it is proved that there is none; stops the search on "unknown".

        How many live instances have to be counted (see `exact`) is kept for the next questions.
        """
        while True:
            question = replace(question, counted=self.counted)
            formula, space = assemble(question)
            answer = self.engine.decide(formula, self._left())
            if self.engine.version not in self.engines:
                self.engines.append(self.engine.version)
            if answer.status == "unsat":
                return None
            if answer.status != "sat" or answer.model is None:
                raise _StoppedError(answer.detail or f"{answer.engine} gave no verdict")
            found = decode(space, answer.model)
            missed = excesses(self.problem, found) if question.options == Families() else []
            if not missed:
                return found
            self.counted = question.refined(missed).counted

    def _left(self) -> float | None:
        """Seconds left, None without a limit; stops the search when there are none."""
        if self.deadline is None:
            return None
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise _StoppedError(f"the time limit of {self.options.time_limit:g} s is over")
        return left

    def _refute(self, ii: int, length: int | None, through: str, detail: str) -> None:
        self.refuted.append(Refutation(ii, length, through, detail))
        self.progress(detail)

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
            tuple(self.engines),
            reason=reason,
        )

    def _infeasible(self, reason: str) -> Result:
        return Result(None, self._certificate("infeasible", reason))

    def _stopped(self, why: str) -> Result:
        """What is known when the search is stopped: claims made so far, and for the next objective value and bound, unproved."""
        if self.best is None:
            self.claims.append(Claim("ii", None, self.lowest, False, why))
            return Result(None, self._certificate("unknown", why))
        done = {c.objective for c in self.claims}
        if "ii" not in done:
            self.claims.append(Claim("ii", self.best.ii, min(self.lowest, self.best.ii), self.lowest >= self.best.ii, why))
        if "length" not in done:
            self.claims.append(Claim("length", self.best.length, 1, False, why))
        for objective in self.options.objectives:
            if objective not in done:
                self.claims.append(Claim(objective, measure(self.problem, self.best, objective), 0, False, why))
        return Result(self.best, self._certificate("feasible", why))


def never_ii(problem: Problem) -> int:
    """I* of formulation 3.3: with non-increasing tables, infeasible at I* means infeasible at every II (Lemma 4)."""
    ops = problem.by_name
    delays = [d.delay + ops[d.src].spill for d in problem.dependences]
    spans = [x for op in problem.ops for x in (op.cycles, op.issue)]
    return len(problem.ops) * max(1, *delays, *spans)
