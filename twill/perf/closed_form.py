"""Closed forms of the ring recurrences: constant time per value, no transient.

Theorem 1 (performance model section 2) for the published model and Theorem 2 (section 4.4) with latency and release.  With
L = loading, m = compute, C = L + latency + m + release and B = depth, a longest path from the first load to computation i makes c
trips round the ring (weight C, advance B) and spends its other steps on the slower of the two roles (weight max(L, m)); its
length is linear in c, so an end point wins.  All times are in the unit of the stage times; stages count from 1.
"""

from __future__ import annotations

from twill.perf.lg import LgParameters, StageTimes, require_positive, stage_times
from twill.perf.shapes import Shape, Tile, Time, quotient, steps, waves


def period(stage: StageTimes, depth: int) -> Time:
    """Steady time per stage, max(L, m, C / B): the largest mean of the three cycles of the recurrences."""
    require_positive("ring depth", depth)
    return max(stage.loading, stage.compute, quotient(stage.round_trip, depth))


def compute_start(i: int, stage: StageTimes, depth: int) -> Time:
    """Sm(i): start of computation i.  Equals the published recurrence for every i, B, L and m."""
    require_positive("stage", i)
    require_positive("ring depth", depth)
    slower = max(stage.loading, stage.compute)
    trips, rest = divmod(i - 1, depth)
    return stage.loading + stage.latency + max((i - 1) * slower, trips * stage.round_trip + rest * slower)


def load_a_start(i: int, stage: StageTimes, depth: int) -> Time:
    """Sa(i): start of the A load of stage i."""
    require_positive("stage", i)
    require_positive("ring depth", depth)
    unhindered = (i - 1) * stage.loading
    if i <= depth:
        return unhindered
    return max(unhindered, compute_start(i - depth, stage, depth) + stage.compute + stage.release)


def load_b_start(i: int, stage: StageTimes, depth: int) -> Time:
    """Sb(i) = Sa(i) + a: start of the B load of stage i; the slot is free already when the A load has started."""
    return load_a_start(i, stage, depth) + stage.load_a


def compute_wait(count: int, stage: StageTimes, depth: int) -> Time:
    """Time that the computing role waits in one output tile of `count` stages, the first fill included."""
    return compute_start(count, stage, depth) - (count - 1) * stage.compute


def smallest_full_depth(stage: StageTimes) -> int:
    """D*: fewest slots that cost no time, ceil(C / max(L, m)); 1 when nothing takes any time."""
    slower = max(stage.loading, stage.compute)
    return max(1, int(-(-stage.round_trip // slower))) if slower > 0 else 1


def kernel_time(shape: Shape, tile: Tile, depth: int, parameters: LgParameters) -> Time:
    """T of the published model in the parameters' time unit; the value of `twill.perf.lg.kernel_time`."""
    last = compute_start(steps(shape, tile), stage_times(tile, parameters), depth)
    return waves(shape, tile, parameters.sm_count) * (last + parameters.epilogue) + parameters.launch


def wait_time(shape: Shape, tile: Tile, depth: int, parameters: LgParameters) -> Time:
    """V of the published model in the parameters' time unit; the value of `twill.perf.lg.wait_time`."""
    wait = compute_wait(steps(shape, tile), stage_times(tile, parameters), depth)
    return waves(shape, tile, parameters.sm_count) * wait
