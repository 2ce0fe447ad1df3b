"""Time per output tile when one thread block works through many of them (performance model sections 4.5 and 4.6).

All times are in the unit of the stage times.
"""

from __future__ import annotations

from fractions import Fraction

from twill.perf.cycle_ratio import Edge, max_cycle_ratio
from twill.perf.lg import StageTimes, require_positive
from twill.perf.shapes import Time, quotient


def cooperative_period(main_loop: Time, epilogue: Time) -> Time:
    """Period per tile when all computing groups share each tile; `main_loop` is S * m."""
    return main_loop + epilogue


def ping_pong_pair_period(main_loop: Time, epilogue: Time) -> Time:
    """Period per pair of tiles when two groups own alternate tiles and take turns on the tensor cores; `main_loop` is S * m."""
    return max(2 * main_loop, main_loop + epilogue)


def tile_period_bound(stage: StageTimes, depth: int, count: int, epilogue: Time) -> Time:
    """Lower bound in closed form on `tile_period`; each term is a cycle of its event graph."""
    require_positive("ring depth", depth)
    require_positive("number of stages", count)
    slower = max(stage.loading, stage.compute)
    bound = max(count * stage.loading, count * stage.compute + epilogue, quotient(count * stage.round_trip, depth))
    for trips in range(1, (count - 1) // depth + 1):
        once = trips * stage.round_trip + (count - trips * depth - 1) * slower + stage.compute + epilogue
        bound = max(bound, once)
    return bound


def tile_period(stage: StageTimes, depth: int, count: int, epilogue: Time) -> Fraction:
    """Exact period per output tile of `count` stages when the loading role runs ahead into the next tile.

    The maximum cycle ratio of a graph with two events per stage, load j (event j) and computation j (event count + j); the
    epilogue holds the computing role after the last computation, while the ring keeps filling.
    """
    bound = tile_period_bound(stage, depth, count, epilogue)
    edges: list[Edge] = []
    for j in range(count):
        last = j == count - 1
        following = 0 if last else j + 1
        edges.append(Edge(j, following, stage.loading, int(last)))
        edges.append(Edge(j, count + j, stage.loading + stage.latency, 0))
        edges.append(Edge(count + j, count + following, stage.compute + (epilogue if last else 0), int(last)))
        edges.append(Edge(count + j, (j + depth) % count, stage.compute + stage.release, (j + depth) // count))
    return max_cycle_ratio(2 * count, tuple(edges), at_least=bound)
