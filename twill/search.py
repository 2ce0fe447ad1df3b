"""The search: smallest II, then shortest iteration, then the further objectives, each step proved or labelled as not proved.

Order of formulation 4.7.  One question decides an II for every length at once, because the formula has no horizon; feasibility is
monotone in II when no reservation table has holes (Lemma 2), so the first II above the bounds is found by galloping and bisection.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from twill.asking import Asker, LateError, StoppedError
from twill.bounds import contradictions, full_unit, least_ii, lower_bounds
from twill.engines.answers import Engine
from twill.engines.race import Race
from twill.engines.registry import RACE_FULL_FROM, make
from twill.errors import Place, SolverError, Unsupported
from twill.interval import PATIENCE, IntervalSearch, turning
from twill.joint.assemble import Question
from twill.joint.space import Options as Families
from twill.levels import Levels
from twill.modulo import ModuloAnswer, monotone, smallest_ii
from twill.objectives import measure
from twill.options import Options
from twill.problem import Problem
from twill.schedule import Bound, Certificate, Claim, Refutation, Result, Schedule

__all__ = ["EMPTY", "LADDER", "MOST_OPS", "Options", "Search", "agree", "refuse_too_many", "schedule"]

# Seconds for the last question after a race, which has an answer.
UNRACED = 120.0

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
    checker is the caller's business.  Raises SolverError when an engine dies or lies, Unsupported for more than `MOST_OPS` ops and for
    the rule `warp_sets`.
    """
    refuse_too_many(problem)
    if problem.rules.warp_sets:
        raise Unsupported("the rule warp_sets belongs to the published reading.", remedy="Use --literal, or leave the rule out.")
    tell = progress or (lambda _: None)
    if isinstance(options.depth, int):
        from twill.depths import limited

        problem = limited(problem, options.depth)
    return _with_depths(problem, Search(problem, options, tell).run(), options)


def _with_depths(problem: Problem, result: Result, options: Options) -> Result:
    if result.schedule is None:
        return result
    if options.depth is None and not problem.rules.rings:
        return result
    from twill.depths import fixed, run_ahead

    ahead = fixed(problem, result.schedule, options.depth) if isinstance(options.depth, int) else run_ahead(problem, result.schedule)
    return replace(result, schedule=ahead)


class Search(Levels):
    """One search and what it has established so far.  `engine` may be given for tests; else it is made from the options."""

    def __init__(self, problem: Problem, options: Options, progress: Callable[[str], None], engine: Engine | None = None) -> None:
        measured = options.effort is not None
        # A race would make the answer about copies in turns depend on who is first.
        ops = 0 if turning(problem) else len(problem.ops)
        full = ops >= RACE_FULL_FROM and full_unit(problem)
        made = engine or make(options.engine, memory_mb=options.memory_limit_mb, ops=ops, full=full, measured=measured)
        families = Families(redundant=options.redundant, symmetry=options.symmetry)
        limit = options.effort if measured else options.time_limit
        super().__init__(problem, options, progress, made, Asker(problem, made, limit, measured=measured, families=families))
        self.bounds: tuple[Bound, ...] = ()
        self.interval: IntervalSearch | None = None
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
        for objective in self._after_slack():
            if objective == "length":
                self._shortest()
            elif objective == "canonical":
                self._canonical()
            else:
                self._least(objective)
        self._again()
        self._polish()
        self._as_found()
        status = "optimal" if all(c.proved for c in self.claims) else "feasible"
        self._left_open()
        return Result(self.best, self._certificate(status))

    # Stage 1 -----------------------------------------------------------------------------------------------------------------

    def _stage_one(self) -> str | None:
        """Smallest II of stage 1; a sentence instead when it is proved that there is none.

        Copies that take turns are not asked about: units and dependences alone are no easier for so many ops, and groups say more.
        """
        if turning(self.problem) is not None:
            self.modulo = ModuloAnswer("unknown", None, lower=self.lowest)
            return None
        seconds, effort = self._stage_one_limit()
        answer = self.modulo = smallest_ii(self.problem, self.lowest, time_limit=seconds, effort=effort)
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
        self.turned = interval.turned if self._unrefined else None
        self.refuted += interval.refuted
        self.interval = None

    def _claim_ii(self) -> None:
        assert self.best is not None
        ii = self.best.ii
        if ii > self.lowest:
            span = f"II from {self.lowest} to {ii - 1}"
            evidence = f"{span} got no verdict in the time that each question had"
            if self.turned is not None:
                evidence = f"copies in turns; of {span}, a question just below got no verdict, and the others were not asked about"
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
        """`fact`, that `ii` is excluded, with the first rung of the ladder that excludes it; for copies in turns that takes too long."""
        if self.turned is not None:
            return fact
        for name, families in LADDER[:-1]:
            try:
                if self.asker.ask(Question(self.problem, ii, options=families), PATIENCE) is None:
                    return f"{fact}; {name} alone exclude it"
            except LateError:
                return fact
        return f"{fact}; without register limits there is one"

    def _again(self) -> None:
        """The schedule once more where it depends on which engine was first, on what came too late, or on which questions led to it.

        The last is so in loops that are too large for a canonical choice.  Now one engine alone is asked, only for what has been
        established, in a process of its own, so that the answer is always the same.
        """
        racing = isinstance(self.engine, Race)
        chosen = any(c.objective == "canonical" and c.proved for c in self.claims)
        if not (racing or self.asker.late or self._unrefined) or self.best is None or chosen or self.turned is not None:
            return
        question = Question(self.problem, self.best.ii, self._fixed_length(), self._fixed())
        if isinstance(self.engine, Race) and not self.engine.contested and self.asker.first == (question, self.best):
            return  # this is what a new process of the first engine was asked, and answered
        engine = self.engine.alone() if isinstance(self.engine, Race) else self.engine
        engine.close()
        asker = Asker(self.problem, engine, self.asker.left(), measured=self.asker.measured, families=self.asker.families)
        with suppress(LateError, StoppedError, SolverError):
            found = asker.ask(question, UNRACED)
            self.best = self.best if found is None else found
        self.refuted = [r for r in self.refuted if r.through == "stage 1" or self._supports_a_claim(r)]

    def _supports_a_claim(self, refutation: Refutation) -> bool:
        """Whether it excludes what is next to the II or the length that was found."""
        assert self.best is not None
        if refutation.length is None:
            return refutation.ii == self.best.ii - 1
        return refutation.ii == self.best.ii and refutation.length == self.best.length - 1

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
        if self.turned is not None:
            self._polish()
        done = {c.objective for c in self.claims}
        if "ii" not in done:
            self.claims.append(Claim("ii", self.best.ii, min(self.lowest, self.best.ii), self.lowest >= self.best.ii, why))
        if "length" not in done:
            excluded = [r.length + 1 for r in self.refuted if r.ii == self.best.ii and r.length is not None]
            low = min(self.best.length, max(1, *excluded, 1))
            self.claims.append(Claim("length", self.best.length, low, False, why))
        for objective in self.order:
            if objective not in done and objective != "length":
                self.claims.append(Claim(objective, measure(self.problem, self.best, objective), 0, False, why))
        self._left_open()
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
