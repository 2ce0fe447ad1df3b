"""What is minimised after the II, in order (formulation 8.3), and its value for a schedule."""

from __future__ import annotations

from collections.abc import Sequence

from twill.joint.exact import register_peak
from twill.problem import Problem
from twill.schedule import Schedule

# Fewer crossing bytes before fewer groups: fewer groups at the price of moving tiles between warps would be a bad trade.
DEFAULT_ORDER = ("length", "crossing_bytes", "groups", "warps", "edges", "registers", "lifetime", "canonical")
"""The order of formulation 8.3."""

HARDWARE_ORDER = ("crossing_bytes", "groups", "warps", "edges", "length", "registers", "lifetime", "canonical")
"""The order where rings and copies are charged: the length of an iteration only matters before and behind the loop, hand-offs always."""

REFINEMENTS = ("registers", "lifetime", "canonical")
"""Levels that only tell schedules of the same structure apart.  They are left out of large searches, which are called optimal without."""

MOST_REFINED = 12
"""Ops of the largest loop body whose refinements are minimised unless they are asked for: each question costs as much as all before."""

OF_GROUPS = ("crossing_bytes", "groups", "warps", "edges")
"""Objectives that only depend on which ops share a group."""

TITLES = {
    "ii": "initiation interval",
    "length": "length of one iteration",
    "crossing_bytes": "bytes of register values that cross warp groups per iteration",
    "groups": "warp groups beside the variable-latency group",
    "warps": "warps of these groups",
    "edges": "ops and other groups that wait for them",
    "registers": "32-bit registers of all groups at their peaks",
    "lifetime": "register words times cycles that values live",
    "canonical": "the smallest starts and groups, op by op",
}


def usual_order(problem: Problem) -> tuple[str, ...]:
    """The objectives after the II for a problem."""
    order = HARDWARE_ORDER if problem.rules.in_order and problem.rules.rings else DEFAULT_ORDER
    return order if len(problem.ops) <= MOST_REFINED else tuple(o for o in order if o not in REFINEMENTS)


def measure(problem: Problem, schedule: Schedule, objective: str) -> int:
    """Value of `objective` for `schedule`; that of "canonical" is 0, it is a vector."""
    group = schedule.groups
    if objective == "ii":
        return schedule.ii
    if objective == "length":
        return schedule.length
    if objective == "crossing_bytes":
        leaving = {d.src for d in problem.dependences if d.carries_value and group[d.src] != group[d.dst]}
        return sum(op.crossing_bytes for op in problem.ops if op.name in leaving)
    if objective == "edges":
        return len({(d.src, group[d.dst]) for d in problem.dependences if d.kind != "ring" and group[d.src] != group[d.dst]})
    if objective == "registers":
        return register_peak(problem, schedule)
    if objective == "lifetime":
        return _lifetime(problem, schedule)
    if objective == "canonical":
        return 0
    widths: dict[int, int] = {}
    for op in problem.ops:
        if not op.variable_latency:
            g = group[op.name]
            widths[g] = max(widths.get(g, 0), problem.width_of(op.warps))
    return len(widths) if objective == "groups" else sum(widths.values())


def _lifetime(problem: Problem, schedule: Schedule) -> int:
    start = schedule.starts
    end: dict[str, int] = {}
    for d in problem.dependences:
        if d.carries_value and problem.op(d.src).registers:
            use = start[d.dst] + d.distance * schedule.ii
            end[d.src] = max(end.get(d.src, use), use)
    return sum(problem.op(op).registers * (last - start[op]) for op, last in end.items())


def candidates(problem: Problem, objective: str, most: int) -> Sequence[int]:
    """Values up to `most`, ascending and `most` among them, that `objective` can take: all others need not be asked about."""
    if objective == "crossing_bytes":
        reached = {0}
        for op in problem.ops:
            if op.crossing_bytes > 0:
                reached |= {total + op.crossing_bytes for total in reached if total + op.crossing_bytes <= most}
        return sorted(reached | {most})
    if objective in ("edges", "registers", "lifetime"):
        return range(most + 1)
    regular = [problem.width_of(op.warps) for op in problem.ops if not op.variable_latency]
    if objective == "groups":
        return list(range(min(1, len(regular)), most + 1)) or [most]
    totals = {max(regular, default=0)}  # the widest op's group is there, then any further groups
    while True:
        wider = totals | {total + width for total in totals for width in set(regular) if total + width <= most}
        if wider == totals:
            return sorted(totals | {most})
        totals = wider
