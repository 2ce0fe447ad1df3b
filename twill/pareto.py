"""What a smaller II costs: schedules of which none is better than another one in everything.

Points are told apart by II, registers of a thread, warp groups and shared memory.  From every point found the search goes on with
fewer warps, and with fewer registers a thread, each time to the smallest II that is left: proved where the search proves it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from twill.depths import demand
from twill.problem import Problem
from twill.schedule import Result, Schedule
from twill.search import Options

MOST_SEARCHES = 16
"""Searches at most; what was not looked at is said."""

WORST = 4
"""Points with an II of more than that many times the smallest are of no interest."""

STEP = 8
"""Registers a thread by which the limit falls: grants come in such steps."""

Solver = Callable[[Problem, Options], Result]
Check = Callable[[Problem, Schedule], tuple[int, int]]
"""Registers a thread, and warps of regular groups, of a schedule."""


@dataclass(frozen=True)
class Point:
    """A schedule by what it costs.

    registers  a thread, of the group with the most, for values alone
    memory     bytes of shared memory for rings and copies; columns of tensor memory are not counted
    proved     whether its II is the smallest for so many warps and registers
    """

    ii: int
    registers: int
    groups: int
    memory: int
    proved: bool
    schedule: Schedule

    @property
    def costs(self) -> tuple[int, int, int, int]:
        """What is compared: less is better."""
        return self.ii, self.registers, self.groups, self.memory

    def dominates(self, other: Point) -> bool:
        """Whether it is nowhere worse, and somewhere better."""
        return self.costs != other.costs and all(mine <= yours for mine, yours in zip(self.costs, other.costs, strict=True))


@dataclass(frozen=True)
class Front:
    """The points of which none dominates another one, by II; `complete` unless searches ran out."""

    points: tuple[Point, ...]
    searches: int
    complete: bool


def front(problem: Problem, solve: Solver, check: Check, options: Options = Options(), *, first: Result | None = None) -> Front:
    """The non-dominated points that the search comes across.

    first  the answer for the problem itself, when it is known already
    """
    found: list[Point] = []
    waiting: list[tuple[int, int | None]] = [(problem.limits.warps, problem.limits.registers_per_warp)]
    seen, searches = set(waiting), 0
    while waiting and searches < MOST_SEARCHES:
        warps, registers = waiting.pop(0)
        limits = replace(problem.limits, warps=warps, registers_per_warp=registers)
        result = first if first is not None and not searches else solve(replace(problem, limits=limits), options)
        searches += 1
        if result.schedule is None or (found and result.schedule.ii > WORST * min(point.ii for point in found)):
            continue
        held, used = check(problem, result.schedule)
        found.append(_point(problem, result, held))
        for tighter in ((used - 1, registers), (warps, (held - STEP) * 32)):
            if tighter not in seen and tighter[0] > 0 and (tighter[1] is None or tighter[1] > 0):
                seen.add(tighter)
                waiting.append(tighter)
    kept = [point for point in found if not any(other.dominates(point) for other in found)]
    by_costs = {point.costs: point for point in reversed(kept)}
    return Front(tuple(by_costs[costs] for costs in sorted(by_costs)), searches, not waiting)


def _point(problem: Problem, result: Result, registers: int) -> Point:
    schedule = result.schedule
    assert schedule is not None
    claim = next(claim for claim in result.certificate.claims if claim.objective == "ii")
    bare = replace(schedule, depths=())
    return Point(
        ii=schedule.ii,
        registers=registers,
        groups=len(set(schedule.groups.values()) - {0}),
        memory=demand(problem, bare).get("smem", 0),
        proved=claim.proved,
        schedule=schedule,
    )
