"""The published search as constraints over every stage of every tile: what the CP-SAT and the SMT encoding have in common.

Per plan (a tile with its depth) one literal, exactly one of them true; per kind of wave one chain of start times, unrolled to the
largest number of stages; stage times are sums over the literals.  Every recurrence appears as lower bounds on start times.  That is
enough, because both objectives grow with the start of the last computation: a minimum makes the chain tight where it matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twill.errors import Unsupported
from twill.perf import lg
from twill.perf.kernel import KernelPlan, RingLoop
from twill.perf.lg import StageTimes
from twill.perf.shapes import Time

OBJECTIVES = ("time", "waiting")
# Beyond this many start times an unrolled encoding takes minutes to write down, let alone to solve.
MAX_START_TIMES = 50_000


@dataclass(frozen=True)
class Goal:
    """Value of a plan in the time unit of the plan: the larger of `floor` and constant + sum of count * (start of last computation)."""

    constant: Time
    floor: Time
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """Plan number `index` is optimal with `value` in the time unit of the plans, as the solver claims."""

    index: int
    value: Time


def goal(plan: KernelPlan[RingLoop], objective: str) -> Goal:
    """What is minimised when `plan` is chosen; `objective` is one of OBJECTIVES."""
    counts = tuple(wave.count for wave in plan.waves)
    if objective == "time":
        constant = plan.launch + sum((wave.count * wave.tail for wave in plan.waves), start=0)
        return Goal(constant, plan.floor, counts)
    computing = sum((wave.count * (plan.steps - 1) * wave.loop.stage.compute for wave in plan.waves), start=0)
    return Goal(-computing, 0, counts)


def by_recurrences(plan: KernelPlan[RingLoop], objective: str) -> Time:
    """Value of `plan` from the recurrences themselves: what every search must agree with."""
    goal_ = goal(plan, objective)
    total = goal_.constant
    for count, wave in zip(goal_.counts, plan.waves, strict=True):
        total += count * lg.starts(wave.loop.stage, wave.loop.depth, plan.steps).compute[-1]
    return max(total, goal_.floor)


def stage_of(plan: KernelPlan[RingLoop], wave: int) -> StageTimes:
    """Stage times of wave kind `wave`; all zero when the plan has fewer kinds."""
    return plan.waves[wave].loop.stage if wave < len(plan.waves) else StageTimes(0, 0, 0)


def require_small(plans: Sequence[KernelPlan[RingLoop]]) -> tuple[int, int]:
    """Stages and wave kinds to unroll; Unsupported when there are too many to be useful."""
    stages = max(plan.steps for plan in plans)
    kinds = max(len(plan.waves) for plan in plans)
    if 3 * stages * kinds > MAX_START_TIMES:
        raise Unsupported(
            f"the unrolled encoding would have {3 * stages * kinds} start times for {stages} stages.",
            remedy="Use --method closed, which does not grow with the number of stages.",
        )
    return stages, kinds
