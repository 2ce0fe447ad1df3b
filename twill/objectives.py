"""What is minimised after II and length, in order (formulation 8.3), and its value for a schedule."""

from __future__ import annotations

from twill.problem import Problem
from twill.schedule import Schedule

# Fewer crossing bytes first: fewer groups at the price of moving tiles between warps would be a bad trade.
DEFAULT_ORDER = ("crossing_bytes", "groups", "warps")

TITLES = {
    "ii": "initiation interval",
    "length": "length of one iteration",
    "crossing_bytes": "bytes of register values that cross warp groups per iteration",
    "groups": "warp groups beside the variable-latency group",
    "warps": "warps of these groups",
}


def measure(problem: Problem, schedule: Schedule, objective: str) -> int:
    """Value of `objective` ("crossing_bytes", "groups" or "warps") for `schedule`."""
    group = schedule.groups
    if objective == "crossing_bytes":
        leaving = {d.src for d in problem.dependences if d.carries_value and group[d.src] != group[d.dst]}
        return sum(op.crossing_bytes for op in problem.ops if op.name in leaving)
    widths: dict[int, int] = {}
    for op in problem.ops:
        if not op.variable_latency:
            g = group[op.name]
            widths[g] = max(widths.get(g, 0), problem.width_of(op.warps))
    return len(widths) if objective == "groups" else sum(widths.values())


def candidates(problem: Problem, objective: str, most: int) -> list[int]:
    """Values up to `most`, ascending and `most` among them, that `objective` can take: all others need not be asked about."""
    if objective == "crossing_bytes":
        reached = {0}
        for op in problem.ops:
            if op.crossing_bytes > 0:
                reached |= {total + op.crossing_bytes for total in reached if total + op.crossing_bytes <= most}
        return sorted(reached | {most})
    regular = [problem.width_of(op.warps) for op in problem.ops if not op.variable_latency]
    if objective == "groups":
        return list(range(min(1, len(regular)), most + 1)) or [most]
    totals = {max(regular, default=0)}  # the widest op's group is there, then any further groups
    while True:
        wider = totals | {total + width for total in totals for width in set(regular) if total + width <= most}
        if wider == totals:
            return sorted(totals | {most})
        totals = wider
