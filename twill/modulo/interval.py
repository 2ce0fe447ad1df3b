"""The smallest interval that has a modulo schedule, with proof."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from twill.bounds import impossible_cycle
from twill.bounds.contradictions import peak
from twill.bounds.order import components
from twill.bounds.recurrence import worded_cycle
from twill.errors import SolverError
from twill.modulo.answer import ModuloAnswer
from twill.modulo.circle import fold
from twill.modulo.length import shortest
from twill.problem import Op, Problem

if TYPE_CHECKING:
    from twill.modulo.question import Solver


def smallest_ii(
    problem: Problem,
    lower: int = 1,
    *,
    upper: int | None = None,
    time_limit: float | None = None,
    effort: float | None = None,
    solver: Solver | None = None,
    method: str = "auto",
    cross_check: bool = True,
) -> ModuloAnswer:
    """The smallest interval from `lower` on that has a modulo schedule, and the shortest schedule there.

    lower  a proved lower bound; smaller intervals are not tried
    upper  give up above it ("unknown"); None: go on, which ends because from `sequential_ii` on there always is a schedule

    The other arguments are those of `shortest`.  "infeasible" means at every interval.  Intervals are tried one by one; where
    feasibility is `monotone`, in doubling steps and then by bisection.  Raises SolverError as `shortest` does.
    """
    if not problem.ops:
        return ModuloAnswer("optimal", 1, 0, detail="there is nothing to schedule")
    never = _never(problem)
    if never is not None:
        return ModuloAnswer("infeasible", None, lower=lower, detail=never)
    deadline = None if time_limit is None else time.monotonic() + time_limit

    def at(ii: int) -> ModuloAnswer:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        return shortest(problem, ii, time_limit=left, effort=effort, solver=solver, method=method, cross_check=cross_check)

    last = max(lower, sequential_ii(problem)) if upper is None else upper
    answer = _ascend(at, lower, last, growth=2 if monotone(problem) else 1)
    if upper is None and answer.lower > last:
        raise SolverError(f"Stage 1 excludes II = {last}, but one op after the other is a schedule there.")
    return answer


def monotone(problem: Problem) -> bool:
    """Whether a feasible interval stays feasible when it grows (formulation 4.6, Lemma 2).

    So it is when no reservation table rises after the op's start.  With holes it need not be: row 1,0,0,1 fits 2 and 4, not 3.
    """
    return all(
        offset == 0
        for op in problem.ops
        for unit in {row.unit for row in op.reservations}
        for offset, _, _, rises in fold([row for row in op.reservations if row.unit == unit], _extent(op) + 1)[1]
        if rises
    )


def sequential_ii(problem: Problem) -> int:
    """An interval at which, as at all larger ones, running the ops one after the other is a modulo schedule.

    Ops that a cycle of distance 0 binds together start together.  A set of such ops takes as long as its tables and its delays to
    other ops; in an order that respects the dependences of distance 0, every dependence and every unit is then satisfied.  The
    problem has no impossible cycle and no set of such ops overloads a unit.
    """
    leaving = {op.name: 0 for op in problem.ops}
    for dep in problem.dependences:
        leaving[dep.src] = max(leaving[dep.src], dep.delay)
    return sum(max(max(1, _extent(op), leaving[op.name]) for op in ops) for ops in _together(problem))


def _never(problem: Problem) -> str | None:
    """Why no interval has a modulo schedule; None when a large enough one has."""
    cycle = impossible_cycle(problem)
    if cycle is not None:
        return worded_cycle(cycle)
    for ops in _together(problem):
        for unit, capacity in problem.limits.units:
            needed = peak(ops, unit)
            if needed > capacity:
                names = ", ".join(f'"{op.name}"' for op in ops)
                return f"{names} must hold {needed} of {unit} in one cycle; there are {capacity}."
    return None


def _together(problem: Problem) -> list[list[Op]]:
    """Ops that start together: the strong components of the dependences of distance 0 (single ops included)."""
    number = {op.name: v for v, op in enumerate(problem.ops)}
    part = components(len(number), [(number[d.src], number[d.dst]) for d in problem.dependences if d.distance == 0])
    return [[op for v, op in enumerate(problem.ops) if part[v] == root] for root in sorted(set(part))]


def _extent(op: Op) -> int:
    """Cycles from the op's start to the end of its last reservation."""
    return max((row.offset + row.duration for row in op.reservations), default=0)


def _ascend(at: Callable[[int], ModuloAnswer], lower: int, last: int, growth: int) -> ModuloAnswer:
    """Try intervals from `lower` to `last`, in steps that grow by `growth`, until one has a schedule; then bisect."""
    excluded: list[int] = []
    low, high, step = lower - 1, lower, 1
    while not (found := at(high)).starts:
        if found.status != "infeasible":
            return replace(found, ii=None, lower=low + 1, excluded=tuple(excluded))
        excluded.append(high)
        low = high
        if high >= last:
            detail = f"no interval up to {last} has a schedule"
            return replace(found, status="unknown", ii=None, lower=last + 1, excluded=tuple(excluded), detail=detail)
        high, step = min(high + step, last), step * growth
    while high - low > 1:
        middle = (low + high) // 2
        tried = at(middle)
        if tried.starts:
            high, found = middle, tried
        elif tried.status == "infeasible":
            excluded.append(middle)
            low = middle
        else:
            detail = f"smaller intervals from {low + 1} on are open: {tried.detail}"
            return replace(found, status="feasible", lower=low + 1, excluded=tuple(excluded), detail=detail)
    return replace(found, lower=high, excluded=tuple(excluded))
