"""Shorter register lifetimes by moving one op at a time: what is done for loops that are too large to ask a solver for every level.

Deterministic and without proof.  Groups and II stay; neither the length nor the register peak grows.  An op only moves to where it
touches something, a dependence or another op of its group or unit: between such places a lifetime changes evenly, so that one of them
is the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from twill.bounds.paths import longest_paths
from twill.bounds.recurrence import plain_weights
from twill.objectives import measure
from twill.problem import Problem
from twill.schedule import Placement, Schedule

PASSES = 4
"""Times that every op is looked at, at most."""


def polish(problem: Problem, found: Schedule, accepts: Callable[[Schedule], bool]) -> Schedule:
    """`found`, or a schedule with a smaller register peak or as small a one and shorter lifetimes, that `accepts` allows."""
    best, key = found, _key(problem, found)
    for _ in range(PASSES):
        before = key
        for v in range(len(problem.ops)):
            for start in _places(problem, best, v):
                moved = _moved(problem, best, v, start)
                better = _key(problem, moved)
                if better < key and moved.length <= best.length and accepts(moved):
                    best, key = moved, better
        if key == before:
            break
    return best


def least_lifetime(problem: Problem, ii: int) -> int:
    """A bound on the register lifetime at `ii`: every value lives until its last user can start at the earliest."""
    paths = longest_paths(len(problem.ops), plain_weights(problem, ii))
    number = {op.name: v for v, op in enumerate(problem.ops)}
    least = [0] * len(problem.ops)
    for d in problem.dependences:
        if d.carries_value:
            u, v = number[d.src], number[d.dst]
            least[u] = max(least[u], (0 if u == v else paths[u, v]) + d.distance * ii)
    return sum(op.registers * lives for op, lives in zip(problem.ops, least, strict=True))


def _key(problem: Problem, schedule: Schedule) -> tuple[int, int]:
    return measure(problem, schedule, "registers"), measure(problem, schedule, "lifetime")


def _moved(problem: Problem, schedule: Schedule, v: int, start: int) -> Schedule:
    starts = [p.start for p in schedule.placements]
    starts[v] = start
    first = min(starts)
    placements = tuple(Placement(p.op, at - first, p.group) for p, at in zip(schedule.placements, starts, strict=True))
    length = max(p.start + op.span for p, op in zip(placements, problem.ops, strict=True))
    return replace(schedule, length=length, placements=placements)


def _places(problem: Problem, schedule: Schedule, v: int) -> Iterator[int]:
    """Starts of op v at which it touches something, the latest first, but the one that it has."""
    op, ii, start = problem.ops[v], schedule.ii, schedule.starts
    low, high = _window(problem, schedule, v)
    touching = {low, high}
    for other in problem.ops:
        gaps: list[int] = []
        if schedule.groups[other.name] == schedule.groups[op.name]:
            gaps += [other.issue, -op.issue]
        for mine in op.reservations:
            for theirs in other.reservations:
                if mine.unit == theirs.unit:
                    gaps += [theirs.offset + theirs.duration - mine.offset, theirs.offset - mine.offset - mine.duration]
        for gap in gaps:
            at = (start[other.name] + gap - low) % ii + low
            touching.update(range(at, high + 1, ii))
    touching.discard(start[op.name])
    yield from sorted((place for place in touching if low <= place <= high), reverse=True)


def _window(problem: Problem, schedule: Schedule, v: int) -> tuple[int, int]:
    """Earliest and latest start of op v that its dependences allow while all other ops stay, and the length of the iteration."""
    op, start, group = problem.ops[v], schedule.starts, schedule.groups
    low, high = 0, schedule.length - op.span
    for d in problem.dependences:
        if d.src == d.dst:
            continue
        delay = d.delay + (problem.spill(d) if problem.rules.cross_warp and group[d.src] != group[d.dst] else 0) - d.distance * schedule.ii
        if d.dst == op.name:
            low = max(low, start[d.src] + delay)
        elif d.src == op.name:
            high = min(high, start[d.dst] - delay)
    return low, high
