"""Lower bounds on the initiation interval, each with a witness, and reasons why no interval can work at all.

Everything here is exact integer arithmetic on the Problem; no solver is asked.  Each bound is a necessary condition of the default
reading (formulation 4.4): its module says why.
"""

from __future__ import annotations

from twill.bounds.area import area_bounds, impossible_areas
from twill.bounds.contradictions import impossible_ops
from twill.bounds.recurrence import impossible_cycle, recurrence_bounds, worded_cycle
from twill.bounds.resource import demand, resource_bounds
from twill.bounds.warps import warp_time_bounds
from twill.errors import Infeasible
from twill.problem import Problem
from twill.schedule import Bound

__all__ = ["contradictions", "full_unit", "impossible_cycle", "least_ii", "lower_bounds"]


def lower_bounds(problem: Problem) -> tuple[Bound, ...]:
    """All lower bounds that say something: resources (largest first), recurrences, memory and register areas, warp time.

    A bound without a witness (no op uses the unit, no cycle costs a cycle) is left out; every interval is at least 1 anyway.
    Raises Infeasible when dependences form a cycle within one iteration that takes time: no interval satisfies it.
    """
    cycle = impossible_cycle(problem)
    if cycle is not None:
        raise Infeasible(worded_cycle(cycle))
    recurrences = recurrence_bounds(problem)
    start = least_ii(recurrences)
    return (*resource_bounds(problem), *recurrences, *area_bounds(problem, start), *warp_time_bounds(problem))


def least_ii(bounds: tuple[Bound, ...]) -> int:
    """Smallest interval that all the bounds admit, at least 1."""
    return max((bound.value for bound in bounds), default=1)


def contradictions(problem: Problem) -> tuple[str, ...]:
    """Reasons, one sentence each, why no interval can work, as far as they show without search; empty when none was found.

    These are proofs: an impossible cycle, an op that needs more than the machine has, values that are always live and do not fit.
    """
    cycle = impossible_cycle(problem)
    if cycle is not None:
        return (worded_cycle(cycle),)
    return (*impossible_ops(problem), *impossible_areas(problem, least_ii(recurrence_bounds(problem))))


def full_unit(problem: Problem) -> bool:
    """Whether some unit is busy in every cycle at the smallest interval that the bounds admit: such problems are hard to solve."""
    if impossible_cycle(problem) is not None:
        return False
    least = least_ii(lower_bounds(problem))
    return any(capacity > 0 and demand(problem, unit) == capacity * least for unit, capacity in problem.limits.units)
