"""The shortest modulo schedule at one interval, with proof.

1. Exact reasoning first: slow dependence cycles, overloaded units, the floor, which is the least length that windows leave open, and
   branching on what is left (`branch`) as long as that takes no longer than a solver.
2. The solver minimises the length between the floor and a horizon close above it, where windows are narrow; when there is nothing,
   the horizon moves up, the last time so far that no schedule is missed.
3. Every schedule is re-checked exactly, and CP-SAT must confirm what a floating-point solver excludes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twill.bounds.recurrence import broken_recurrence
from twill.errors import SolverError
from twill.modulo import exact
from twill.modulo.answer import EXACT, TIGHT, ModuloAnswer
from twill.modulo.circle import overload
from twill.modulo.stage import Stage
from twill.problem import Problem

if TYPE_CHECKING:
    from twill.modulo.question import Solver


def shortest(
    problem: Problem,
    ii: int,
    *,
    time_limit: float | None = None,
    effort: float | None = None,
    solver: Solver | None = None,
    method: str = "auto",
    cross_check: bool = True,
) -> ModuloAnswer:
    """The shortest schedule of `problem` at interval `ii` under dependences and unit capacities.

    method       "auto" (branching, and CBC where that takes long), "cbc" (mixed-integer linear model) or "cpsat" (constraint model in
                 exact integers)
    solver       used instead of `method` when given
    effort       instead of a time limit: no solver but CP-SAT, each question with so much of its deterministic time
    cross_check  CP-SAT confirms that there is no schedule, or no shorter one, when another solver says so

    A reply that does not survive the exact check is asked for once more with tighter tolerances.  Where CBC does not answer, or gives
    up after a fixed number of nodes, CP-SAT is asked.
    Raises SolverError when no reply survives; ValueError for an interval below 1 or an unknown method.
    """
    if ii < 1 or method not in ("auto", "cbc", "cpsat"):
        raise ValueError(f'no stage 1 at interval {ii} with method "{method}"')
    if not problem.ops:
        return ModuloAnswer("optimal", ii, 0, detail="there is nothing to schedule")
    reason = broken_recurrence(problem, ii) or overload(problem, ii)
    if reason is not None:
        return ModuloAnswer("infeasible", ii, detail=reason)
    stage = Stage(problem, ii)
    floor = stage.floor()
    if floor is None:
        return ModuloAnswer("infeasible", ii, detail="dependences and exclusive units contradict each other")
    if method == "auto" and solver is None:
        reasoned = _reasoned(stage, floor)
        if reasoned is not None:
            return reasoned
    from twill.modulo import solving

    return solving.shortest(stage, floor, time_limit=time_limit, effort=effort, solver=solver, method=method, cross_check=cross_check)


def _reasoned(stage: Stage, floor: int) -> ModuloAnswer | None:
    """What branching shows; None when it does not come to an end."""
    search = stage.branching(floor)
    if search is None or not search.run(stage.complete):
        return None
    if not search.starts:
        return ModuloAnswer("infeasible", stage.ii, detail=f"no schedule of any length: {EXACT}")
    broken = exact.broken(stage.problem, stage.ii, search.starts)
    if broken is not None:
        raise SolverError(f"Stage 1 at II = {stage.ii} made a schedule that breaks the problem: {broken}.", remedy="Please report it.")
    detail = TIGHT if search.length == floor else f"no shorter one: {EXACT}"
    return ModuloAnswer("optimal", stage.ii, search.length, search.starts, search.length, stage.ii, detail=detail)
