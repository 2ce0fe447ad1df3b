"""Warp time: a warp group is one instruction stream (formulation 3.2, 4.4 K', 4.8 C').

Waiting.  v waits in every grouping if a blocking dependence enters it, or if a register value reaches it over a dependence whose
ends are always apart.  K' says for every other op o of its group: window(o) < II and (r_v - r_o) mod II >= window(o).  So two
waiting ops of one group keep out of each other's windows: round the circle of II phases the windows are disjoint and sum to at most
II (a single one is not limited: hence min(window, II)).  Weighted by the width of the group, which is at least that of each member,
and added over the regular groups, whose widths sum to at most W:

    sum over regular waiting v of min(window(v), II) * width(v) <= W * II

The left side divided by II does not grow with II, so bisection finds the smallest interval.

Waiting in one group.  Between one waiting op b and the next of its group, a gap of at least window(b) passes; a gap in which another op
o with a window starts is at least window(o) + 1, for o starts after b (which is not in the window of o) and its window ends before
the next one starts.  All such o may share one gap, at best that of the waiting op with the largest window:

    II >= sum of window(b) - max window(b) + max(max window(b), max window(o) + 1)        two or more waiting ops
    II >= max window(o) + 1                                                               one waiting op

Issue (`Rules.in_order`).  The issue spans of all ops of one group are disjoint:

    II >= issue(v);   II >= sum of issue(v) over ops that always share a group;   sum over regular v of issue(v) * width(v) <= W * II
    with at most G groups, k + 1 of the k * G + 1 longest spans are in one group: II >= the sum of the k + 1 shortest of these
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from twill.bounds.groups import Pool, apart, bound_together, pools
from twill.bounds.words import counted
from twill.problem import Op, Problem
from twill.schedule import Bound


def warp_time_bounds(problem: Problem) -> tuple[Bound, ...]:
    """The bounds that say more than 1, the largest per kind and subject."""
    waiting = _waiting(problem)
    found = [*_all_warps(problem, waiting), *(_one_group(problem, ops, waiting) for ops in bound_together(problem))]
    if problem.rules.in_order:
        found += _issue_bounds(problem)
    largest: dict[tuple[str, str], Bound] = {}
    for bound in found:
        known = largest.get((bound.kind, bound.subject))
        if bound.value > (1 if known is None else known.value):
            largest[bound.kind, bound.subject] = bound
    return tuple(largest.values())


def _waiting(problem: Problem) -> frozenset[str]:
    return frozenset(d.dst for d in problem.dependences if d.blocking or (problem.moves(d) and apart(problem, d)))


def _all_warps(problem: Problem, waiting: frozenset[str]) -> Iterator[Bound]:
    warps = problem.limits.warps
    ops = [op for op in problem.ops if op.name in waiting and not op.variable_latency and problem.window(op) > 0]
    if warps <= 0 or not ops:
        return
    costs = [(problem.window(op), problem.width_of(op.warps)) for op in ops]
    busy = sum(window * width for window, width in costs)
    low, high = 0, -(-busy // warps)
    while low + 1 < high:
        middle = (low + high) // 2
        if sum(min(window, middle) * width for window, width in costs) <= warps * middle:
            high = middle
        else:
            low = middle
    detail = f"{counted(len(ops), 'op')} that must wait synchronously: {busy} warp-cycles on {counted(warps, 'regular warp')}"
    yield Bound("warp time", high, "regular warps", _names(ops), detail)


def _one_group(problem: Problem, ops: Sequence[Op], waiting: frozenset[str]) -> Bound:
    waits = [op for op in ops if op.name in waiting]
    others = [op for op in ops if op.name not in waiting and problem.window(op) > 0]
    windows = [problem.window(op) for op in waits]
    other = max((problem.window(op) for op in others), default=-1) + 1
    widest = max(windows, default=0)
    value = sum(windows) - widest + max(widest, other) if len(waits) > 1 else other if waits else 1
    members = [op for op in ops if op in waits or op in others]
    detail = f"{counted(len(members), 'op')} share one warp group, {len(waits)} of them must wait synchronously"
    return Bound("warp time", value, "one warp group", _names(members), detail)


def _issue_bounds(problem: Problem) -> Iterator[Bound]:
    warps = problem.limits.warps
    issuing = [op for op in problem.ops if op.issue > 0]
    for op in issuing:
        yield Bound("issue time", op.issue, "one warp group", (op.name,), f"its issue takes {counted(op.issue, 'cycle')}")
    for ops in bound_together(problem):
        members = [op for op in ops if op.issue > 0]
        busy = sum(op.issue for op in members)
        detail = f"{counted(len(members), 'op')} share one warp group: {counted(busy, 'cycle')} of issue"
        yield Bound("issue time", busy, "one warp group", _names(members), detail)
    for pool in pools(problem):
        yield from _pigeonholes(pool)
    regular = [op for op in issuing if not op.variable_latency]
    if warps > 0 and regular:
        busy = sum(op.issue * problem.width_of(op.warps) for op in regular)
        detail = f"{counted(len(regular), 'op')}: {busy} warp-cycles of issue on {counted(warps, 'regular warp')}"
        yield Bound("issue time", -(-busy // warps), "regular warps", _names(regular), detail)


def _pigeonholes(pool: Pool) -> Iterator[Bound]:
    if pool.groups < 2:
        return
    longest = sorted((op for op in pool.ops if op.issue > 0), key=lambda op: -op.issue)
    for k in range(1, (len(longest) - 1) // pool.groups + 1):
        chosen = longest[: k * pool.groups + 1]
        busy = sum(op.issue for op in chosen[-(k + 1) :])
        detail = f"{k + 1} of {len(chosen)} ops must share one of {pool.groups} warp groups: {counted(busy, 'cycle')} of issue"
        yield Bound("issue time", busy, "one warp group", _names(chosen), detail)


def _names(ops: Sequence[Op]) -> tuple[str, ...]:
    return tuple(op.name for op in ops)
