"""One op after the other: the schedule that hardly ever fails, as a first answer and an upper bound of the II.

No two iterations overlap, and within one the ops start in an order that respects the dependences, each when everything before it is
done.  Only limits on registers, memory or warps can forbid it, so it is offered to the exact check and not trusted.
"""

from __future__ import annotations

import networkx as nx

from twill.problem import Problem
from twill.schedule import Placement, Schedule


def one_after_the_other(problem: Problem) -> Schedule | None:
    """The ops in sequence, all regular ones in one group; None when a cycle of distance 0 leaves no order.

    II and length are equal.  Gaps cover delays, spills and issue times, so that nothing waits for anything else.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(op.name for op in problem.ops)
    graph.add_edges_from((d.src, d.dst) for d in problem.dependences if d.distance == 0 and d.src != d.dst)
    rank = {op.name: i for i, op in enumerate(problem.ops)}
    try:
        order = list(nx.lexicographical_topological_sort(graph, key=rank.__getitem__))
    except nx.NetworkXUnfeasible:
        return None
    ops = problem.by_name
    starts: dict[str, int] = {}
    clock = 0
    for name in order:
        op = ops[name]
        delays = [d.delay + op.spill for d in problem.dependences if d.src == name]
        starts[name] = clock
        clock += max(op.span, op.issue, *(r.offset + r.duration for r in op.reservations), *delays, 1)
    placements = tuple(Placement(op.name, starts[op.name], 0 if op.variable_latency else 1) for op in problem.ops)
    length = max(starts[op.name] + op.span for op in problem.ops)
    return Schedule(clock, length, placements)
