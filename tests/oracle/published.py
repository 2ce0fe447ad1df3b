"""The published straight-line system on tiny problems, copy by copy and cycle by cycle, and its verdicts by trying every schedule.

Who runs where is a set of lanes for every op: in the usual reading one lane a group, under `warp_sets` the warps that the op is on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from oracle.brute_force import groupings
from oracle.definition import Groups, Starts
from twill.problem import Problem

Lanes = dict[str, frozenset[int]]


def satisfiable(problem: Problem, ii: int, length: int) -> bool:
    """Whether some start vector and some lanes solve the system at (ii, length)."""
    spans = [range(length - op.span + 1) for op in problem.ops]
    cases = list(warp_sets(problem) if problem.rules.warp_sets else map(lanes_of, groupings(problem)))
    for chosen in product(*spans) if cases else ():
        starts = {op.name: start for op, start in zip(problem.ops, chosen, strict=True)}
        if any(solves_on(problem, ii, length, starts, lanes) for lanes in cases):
            return True
    return False


def lanes_of(groups: Groups) -> Lanes:
    """Every group is a lane of its own."""
    return {op: frozenset((group,)) for op, group in groups.items()}


def warp_sets(problem: Problem) -> Iterator[Lanes]:
    """Every way to give each regular op as many warps as it needs, names of warps aside; warp 0 is for variable latency."""
    kept = [d for d in problem.dependences if d.kind != "ring" and problem.op(d.src).registers > 0 and not problem.rules.cross_warp]

    def extend(chosen: Lanes, used: int) -> Iterator[Lanes]:
        if len(chosen) == len(problem.ops):
            if all(chosen[d.src] == chosen[d.dst] for d in kept):
                yield chosen
            return
        op = problem.ops[len(chosen)]
        if op.variable_latency:
            yield from extend({**chosen, op.name: frozenset((0,))}, used)
            return
        for old in range(op.warps + 1):
            new = range(used + 1, used + 1 + op.warps - old)
            for shared in combinations(range(1, used + 1), old) if used + len(new) <= problem.limits.warps else ():
                yield from extend({**chosen, op.name: frozenset((*shared, *new))}, used + len(new))

    return extend({}, 0)


def solves(problem: Problem, ii: int, length: int, starts: Starts, groups: Groups) -> bool:
    """Whether the schedule solves the system; the grouping fits the machine."""
    return solves_on(problem, ii, length, starts, lanes_of(groups))


def solves_on(problem: Problem, ii: int, length: int, starts: Starts, groups: Lanes) -> bool:
    """Whether starts and lanes solve the system; the machine has as many lanes."""
    copies = range(-(-length // ii))
    at = {(op.name, i): starts[op.name] + i * ii for op in problem.ops for i in copies}
    clock = range((len(copies) - 1) * ii + length + 1)
    alive = {(op.name, i): _alive(problem, at, op.name, i, len(copies), clock) for op in problem.ops for i in copies}
    return (
        _ordered(problem, at, groups)
        and _served(problem, at, clock)
        and _undisturbed(problem, at, groups)
        and _stored(problem, alive, groups, clock)
    )


def _ordered(problem: Problem, at: dict[tuple[str, int], int], groups: Lanes) -> bool:
    for d in problem.dependences:
        apart = groups[d.src] != groups[d.dst] and problem.rules.cross_warp
        wait = d.delay + (problem.op(d.src).spill if apart and d.kind != "ring" else 0)
        for (name, i), start in at.items():
            if name == d.src and (d.dst, i + d.distance) in at and at[d.dst, i + d.distance] < start + wait:
                return False
    return True


def _served(problem: Problem, at: dict[tuple[str, int], int], clock: range) -> bool:
    for unit, capacity in problem.limits.units:
        for t in clock:
            load = sum(
                row.amount
                for (name, _), start in at.items()
                for row in problem.op(name).reservations
                if row.unit == unit and start + row.offset <= t < start + row.offset + row.duration
            )
            if load > capacity:
                return False
    return True


def _undisturbed(problem: Problem, at: dict[tuple[str, int], int], groups: Lanes) -> bool:
    for d in problem.dependences:
        if not (d.blocking or (groups[d.src] != groups[d.dst] and problem.op(d.src).registers > 0 and d.kind != "ring")):
            continue
        for (v, _), t in at.items():
            for (o, _), begun in at.items():
                if v == d.dst and o != v and groups[o] & groups[v] and begun <= t < begun + problem.op(o).cycles:
                    return False
    return True


def _alive(problem: Problem, at: dict[tuple[str, int], int], v: str, i: int, copies: int, clock: range) -> set[int]:
    """Cycles at which copy i of the value of v is live, from the last one back to the first (E0 to E4)."""
    users = [d for d in problem.dependences if d.src == v]
    reads = {at[d.dst, i + d.distance] for d in users if (d.dst, i + d.distance) in at}
    live: set[int] = set()
    if i == copies - 1 and any(d.distance for d in users):
        live.add(clock[-1])
    for t in reversed(clock[1:]):
        born = at[v, i] == t
        if (t in live and not born) or (t not in live and t in reads):
            live.add(t - 1)
    return live


def _stored(problem: Problem, alive: dict[tuple[str, int], set[int]], groups: Lanes, clock: range) -> bool:
    for t in clock:
        now = [problem.op(name) for (name, _), cycles in alive.items() if t in cycles]
        if any(sum(dict(op.memory).get(memory, 0) for op in now) > capacity for memory, capacity in problem.limits.memories):
            return False
        for lane in frozenset().union(*groups.values()):
            held = sum(-(-op.registers // op.warps) for op in now if lane in groups[op.name])
            if problem.limits.registers_per_warp is not None and held > problem.limits.registers_per_warp:
                return False
    return True
