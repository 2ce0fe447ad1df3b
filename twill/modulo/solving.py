"""The shortest modulo schedule of a prepared stage by solvers, whose replies are re-checked; see `length`, which asks for it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from twill.errors import SolverError
from twill.modulo.answer import EXACT, TIGHT, ModuloAnswer
from twill.modulo.cbc import HORIZON_LIMIT, Cbc
from twill.modulo.cpsat import CpSat
from twill.modulo.question import Question, Solver
from twill.modulo.stage import Stage
from twill.modulo.verdict import RefusedError, Verdict, judge


def shortest(
    stage: Stage, floor: int, *, time_limit: float | None, effort: float | None, solver: Solver | None, method: str, cross_check: bool
) -> ModuloAnswer:
    """The shortest schedule, of `floor` cycles at least; arguments and errors as for `length.shortest`."""
    deadline = None if time_limit is None or effort is not None else time.monotonic() + time_limit
    asked = _Asked([CpSat(effort)] if effort is not None else _solvers(method, solver, stage.complete), deadline)
    answer = _answer(stage.ii, floor, _search(stage, asked, floor), asked)
    if cross_check and asked.inexact:
        answer = _confirm(stage, answer, floor, _Asked([CpSat()], deadline))
    return answer


class _Asked:
    """Solvers to ask in turn, and those whose replies survived."""

    def __init__(self, solvers: Sequence[Solver], deadline: float | None) -> None:
        self.solvers, self.deadline = solvers, deadline
        self.names: dict[str, bool] = {}
        self.refusals: list[str] = []

    @property
    def engine(self) -> str:
        """Names of the solvers whose replies survived."""
        return " and ".join(self.names) or EXACT

    @property
    def inexact(self) -> bool:
        """Whether a reply survived whose exclusions are no proofs."""
        return not all(self.names.values())

    def ask(self, question: Question) -> Verdict:
        """The first verdict that decides the question, else the first one with a schedule, else "unknown".

        Raises SolverError when no reply of any solver survives.
        """
        found: list[Verdict] = []
        for turn, solver in enumerate(self.solvers):
            verdict = self._survivor(solver, question, share=turn + 1 < len(self.solvers))
            if verdict is not None:
                found.append(verdict)
            if verdict is not None and verdict.status in ("optimal", "infeasible"):
                return verdict
        if not found:
            raise SolverError(f"Stage 1 at II = {question.ii} has no answer. {self.refusals[0]}")
        return next((verdict for verdict in found if verdict.starts), found[-1])

    def _survivor(self, solver: Solver, question: Question, *, share: bool) -> Verdict | None:
        """Verdict on the solver's reply; on a second one, with tight tolerances, when the first is refused; None if that is, too."""
        for strict in (False, True):
            left = self._left(share=share)
            if left is not None and left <= 0:
                return Verdict("unknown", comment="the time limit is over")
            try:
                verdict = judge(question, solver.solve(question, time_limit=left, strict=strict))
            except RefusedError as refusal:
                self.refusals.append(f"{solver.name} gave a schedule that was refused: {refusal}.")
            except SolverError as failure:
                self.refusals.append(str(failure))
            else:
                self.names[solver.name] = solver.exact
                return verdict
        return None

    def _left(self, *, share: bool) -> float | None:
        """Seconds left; half of them when another solver is still to be asked."""
        if self.deadline is None:
            return None
        return (self.deadline - time.monotonic()) / (2 if share else 1)


def _solvers(method: str, solver: Solver | None, horizon: int) -> list[Solver]:
    if solver is not None:
        return [solver]
    return [CpSat()] if method == "cpsat" or horizon >= HORIZON_LIMIT else [Cbc(), CpSat()]


def _search(stage: Stage, asked: _Asked, floor: int) -> Verdict:
    low = floor
    for horizon in stage.horizons(floor):
        verdict = asked.ask(stage.question(low, horizon))
        if verdict.status != "infeasible":
            return verdict
        low = horizon + 1
    return Verdict("infeasible")


def _answer(ii: int, floor: int, verdict: Verdict, asked: _Asked) -> ModuloAnswer:
    detail = verdict.comment
    if verdict.status == "infeasible":
        detail = f"no schedule of any length: {asked.engine}"
    elif verdict.status == "optimal":
        detail = TIGHT if verdict.length == floor else f"no shorter one: {asked.engine}"
    proved = verdict.length if verdict.status == "optimal" and not asked.inexact else None
    return ModuloAnswer(verdict.status, ii, verdict.length, verdict.starts, proved or floor, ii, engine=asked.engine, detail=detail)


def _confirm(stage: Stage, answer: ModuloAnswer, floor: int, second: _Asked) -> ModuloAnswer:
    """Prove or correct in integers what `answer` excludes; an exclusion that cannot be confirmed in time is not claimed."""
    if answer.status == "optimal" and answer.length is not None and answer.length > floor:
        if stage.excludes(answer.length - 1):
            return replace(answer, length_bound=answer.length, detail=TIGHT)
        question = stage.question(floor, answer.length - 1)
    elif answer.status == "infeasible":
        question = stage.question(floor, stage.complete)
    else:
        return answer
    try:
        verdict = second.ask(question)
    except SolverError as failure:
        verdict = Verdict("unknown", comment=failure.message)
    if verdict.status == "unknown":
        weaker = "feasible" if answer.starts else "unknown"
        return replace(answer, status=weaker, detail=f"{answer.detail}; not confirmed: {verdict.comment}")
    engine = answer.engine if second.engine in answer.engine else f"{answer.engine} and {second.engine}"
    if verdict.status == "infeasible":
        detail = f"{answer.detail}, confirmed by {second.engine}"
        return replace(answer, length_bound=answer.length or floor, engine=engine, detail=detail)
    corrected = _answer(stage.ii, floor, verdict, second)
    return replace(corrected, engine=engine, detail=f"{corrected.detail}; {answer.engine} had missed it")
