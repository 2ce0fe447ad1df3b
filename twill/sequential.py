"""One op after the other: the schedule that hardly ever fails, as a first answer and an upper bound of the II.

No two iterations overlap, and within one the ops start in an order that respects the dependences, each when everything before it is
done.  Only limits on registers, memory or warps can forbid it, so it is offered to the exact check and not trusted.
"""

from __future__ import annotations

from collections.abc import Sequence

from twill.bounds.order import smallest_first
from twill.problem import Problem
from twill.schedule import Placement, Schedule


def one_after_the_other(problem: Problem, groups: Sequence[int]) -> Schedule | None:
    """The ops in sequence, in these warp groups; None when a cycle of distance 0 leaves no order.

    II and length are equal.  Gaps cover delays, spills and issue times, so that nothing waits for anything else.
    """
    number = {op.name: i for i, op in enumerate(problem.ops)}
    within = [(number[d.src], number[d.dst]) for d in problem.dependences if d.distance == 0 and d.src != d.dst]
    order = smallest_first(len(number), within)
    if order is None:
        return None
    starts: dict[str, int] = {}
    clock = 0
    for op in (problem.ops[v] for v in order):
        delays = [d.delay + problem.spill(d) for d in problem.dependences if d.src == op.name]
        starts[op.name] = clock
        clock += max(op.span, op.issue, *(r.offset + r.duration for r in op.reservations), *delays, 1)
    placements = tuple(Placement(op.name, starts[op.name], group) for op, group in zip(problem.ops, groups, strict=True))
    length = max(starts[op.name] + op.span for op in problem.ops)
    return Schedule(clock, length, placements)
