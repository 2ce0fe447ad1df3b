"""Which constraints a schedule breaks, evaluated on the schedule itself: dependences, units, groups, waits and issue order.

With `exact.excesses`, which counts live values, this says whether a candidate that no engine made is a schedule of the problem.
"""

from __future__ import annotations

from collections.abc import Iterator

from twill.problem import Problem
from twill.schedule import Schedule


def breaches(problem: Problem, schedule: Schedule) -> Iterator[str]:
    """One name of a family (D, R, W2', K', C') for everything that `schedule` breaks."""
    yield from _dependences(problem, schedule)
    yield from _units(problem, schedule)
    yield from _groups(problem, schedule)
    yield from _waits(problem, schedule)


def _dependences(problem: Problem, schedule: Schedule) -> Iterator[str]:
    start, group = schedule.starts, schedule.groups
    for d in problem.dependences:
        crosses = group[d.src] != group[d.dst]
        spill = problem.spill(d) if crosses and problem.rules.cross_warp else 0
        late = start[d.dst] + d.distance * schedule.ii - start[d.src] < d.delay + spill
        if late or (crosses and problem.ties(d)):
            yield "D"


def _units(problem: Problem, schedule: Schedule) -> Iterator[str]:
    """Load can only peak where a reservation begins."""
    ii, start = schedule.ii, schedule.starts
    for unit, capacity in problem.limits.units:
        rows = [
            ((start[op.name] + row.offset) % ii, row.duration, row.amount)
            for op in problem.ops
            for row in op.reservations
            if row.unit == unit and row.duration > 0 and row.amount > 0
        ]
        for begin, _, _ in rows:
            # Turns of the circle that a row of `duration` cycles from `at` on covers at phase `begin`.
            load = sum(amount * -(-(duration - (begin - at) % ii) // ii) for at, duration, amount in rows if duration > (begin - at) % ii)
            if load > capacity:
                yield "R"


def _groups(problem: Problem, schedule: Schedule) -> Iterator[str]:
    group = schedule.groups
    widths: dict[int, set[int]] = {}
    for op in problem.ops:
        if (group[op.name] == 0) != op.variable_latency:
            yield "W1'"
        if not op.variable_latency:
            widths.setdefault(group[op.name], set()).add(op.warps)
    if not problem.rules.warp_sets and sum(problem.width_of(max(warps)) for warps in widths.values()) > problem.limits.warps:
        yield "W2'"
    if not problem.rules.mixed and any(len(warps) > 1 for warps in widths.values()):
        yield "W2'"


def _waits(problem: Problem, schedule: Schedule) -> Iterator[str]:
    ii, start, group = schedule.ii, schedule.starts, schedule.groups
    waiting = {d.dst for d in problem.dependences if d.blocking or (problem.moves(d) and group[d.src] != group[d.dst])}
    for v in problem.ops:
        if problem.rules.in_order and v.issue > ii:
            yield "C'"
        for o in problem.ops:
            if o is v or (group[o.name] != group[v.name] and not schedule.meet(group[o.name], group[v.name])):
                continue
            apart = (start[v.name] - start[o.name]) % ii
            if v.name in waiting and problem.window(o) > 0 and (problem.window(o) >= ii or apart < problem.window(o)):
                yield "K'"
            if problem.rules.in_order and o.issue > 0 and v.issue > 0 and apart < o.issue:
                yield "C'"
