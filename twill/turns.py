"""Copies of a loop body in warp groups of their own: one of them is solved, and what it waits for in which order holds for all.

`twill.stagger` starts K copies T apart and needs all that a copy does to fit into T, the time of its warp group included.  A warp group
that issues in order is busy for most of K * T, so here the groups turn once in K * T, and only what the copies share turns in T.

First a strand: one copy alone at an interval, whose every reservation is also there once for each other copy, a K-th of the interval
later each.  It has its own chain, its part of the registers and its share of the units.  Started K times, it is a schedule of all.

Equal distances cost a few percent of the interval.  So the strand then only gives the order, with iterations, in which a group comes to
its asynchronous ops, its waits, and what others wait for, and a question about all copies finds when.  That all groups have this order is
a restriction: what it excludes is not proved impossible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule
from twill.stagger import Copies


def apply(problem: Problem, copies: Copies) -> bool:
    """Whether the copies are such: groups issue in order, nothing but streaming loads is shared, and each copy is in one group."""
    loads = all(problem.ops[v].streaming for v in shared(copies))
    return problem.rules.in_order and loads and _one_group_each(problem, copies)


def shared(copies: Copies) -> tuple[int, ...]:
    """Ops that are there once for all copies; loads into rings of a given depth are not among the sources, for they wait for slots."""
    return (*copies.sources, *copies.others)


def _one_group_each(problem: Problem, copies: Copies) -> bool:
    """Whether there are warps for a group of every copy, all of whose ops are regular."""
    regular = not any(problem.ops[v].variable_latency for body in copies.bodies for v in body)
    return regular and _warps(problem, copies) * len(copies.bodies) <= problem.limits.warps


def _warps(problem: Problem, copies: Copies) -> int:
    """Warps of the group of a copy."""
    return max(problem.width_of(problem.ops[v].warps) for v in copies.bodies[0])


def _width(limits: Limits) -> int:
    return 1 if limits.register_file is None else limits.register_file.warpgroup


def _words(limits: Limits, warpgroups: int) -> int | None:
    """32-bit words that the values of a warp have when so many warpgroups share the registers evenly, beside one that holds nothing."""
    file = limits.register_file
    if file is None:
        return limits.registers_per_warp
    even = (file.pool(warpgroups + 1) // file.lanes - file.least) // warpgroups // file.granularity * file.granularity
    words = file.threads * (min(file.most, even) - file.reserved) - file.held
    return words if limits.registers_per_warp is None else min(words, limits.registers_per_warp)


def offsets(ii: int, copies: Copies) -> list[int]:
    """Cycles by which each copy starts after the first one."""
    return [turn * ii // len(copies.bodies) for turn in range(len(copies.bodies))]


def strand(problem: Problem, copies: Copies, ii: int, *, granted: bool = False) -> Problem:
    """The problem of the first copy at `ii`, with the units as they are when all others do the same `offsets` later.

    granted  its warps have no more registers than an even share that can be granted; else a part of all registers, which is easier to
             keep and may be a little more
    """
    body = {problem.ops[v].name for v in copies.bodies[0]}
    kept = body | {problem.ops[v].name for v in shared(copies)}
    late = offsets(ii, copies)
    limits, parts = problem.limits, len(copies.bodies)
    return replace(
        problem,
        name=f"{problem.name}, one of {parts} copies",
        limits=replace(
            limits,
            warps=limits.warps // parts,
            registers_per_warp=_words(limits, parts * -(-_warps(problem, copies) // _width(limits)))
            if granted
            else limits.registers_per_warp,
            registers_per_sm=None if limits.registers_per_sm is None else limits.registers_per_sm // parts,
            register_file=None,
        ),
        ops=tuple(_repeated(op, late) if op.name in body else op for op in problem.ops if op.name in kept),
        dependences=tuple(_of_last(d, body, late[-1]) for d in problem.dependences if d.src in kept and d.dst in kept),
    )


def _repeated(op: Op, late: list[int]) -> Op:
    rows = (Reservation(r.unit, r.offset + turn, r.duration, r.amount) for r in op.reservations for turn in late)
    return replace(op, reservations=tuple(sorted(rows)))


def _of_last(dep: Dependence, body: set[str], last: int) -> Dependence:
    """What all copies share waits for the last one of them."""
    return replace(dep, delay=dep.delay + last) if dep.src in body and dep.dst not in body else dep


def started(problem: Problem, copies: Copies, found: Schedule) -> Schedule:
    """The schedule of all copies that `found`, one of their strand, makes: a group for each."""
    starts, groups = found.starts, found.groups
    made = {problem.ops[v].name: (starts[problem.ops[v].name], 0) for v in shared(copies)}
    for turn, (late, copy) in enumerate(zip(offsets(found.ii, copies), copies.bodies, strict=True)):
        for first, v in zip(copies.bodies[0], copy, strict=True):
            name = problem.ops[first].name
            made[problem.ops[v].name] = starts[name] + late, turn + 1 if groups[name] else 0
    least = min(start for start, _ in made.values())
    placements = tuple(Placement(op.name, made[op.name][0] - least, made[op.name][1]) for op in problem.ops)
    return Schedule(found.ii, max(p.start + op.span for p, op in zip(placements, problem.ops, strict=True)), placements)


def in_order_of(problem: Problem, copies: Copies, found: Schedule, ii: int) -> Problem:
    """The problem at `ii` with every copy's group in the order of `found`, a schedule of the strand, as far as others can tell.

    Raises nothing: at an interval without such a schedule the added dependences contradict the others.
    """
    order = _order(problem, copies, found)
    number = {problem.ops[v].name: at for at, v in enumerate(copies.bodies[0])}
    added = [
        replace(d, src=problem.ops[copy[number[d.src]]].name, dst=problem.ops[copy[number[d.dst]]].name)
        for copy in copies.bodies
        for d in _chain(problem, order, found, ii)
    ]
    return replace(problem, dependences=(*problem.dependences, *added))


def _order(problem: Problem, copies: Copies, found: Schedule) -> list[str]:
    """The ops of the first copy that wait, are waited for, or are asynchronous, as its group comes to them from slot 0 on."""
    body = {problem.ops[v].name for v in copies.bodies[0]}
    seen = {name for d in problem.dependences if d.blocking for name in (d.src, d.dst)}
    seen |= {op.name for op in problem.ops if op.asynchronous}
    return sorted(body & seen, key=lambda name: (found.starts[name] % found.ii, name))


def _chain(problem: Problem, order: list[str], found: Schedule, ii: int) -> Iterator[Dependence]:
    """Each op of `order` behind the one before it, the first of the next turn behind the last, in the iterations of `found`.

    They are of kind "ring", since no value goes that way.  The distance, which may be ahead, is in the delay.
    """
    stage = {name: found.starts[name] // found.ii for name in order}
    for (u, v), turn in zip(pairwise([*order, order[0]]), [0] * (len(order) - 1) + [1], strict=True):
        if u != v:
            yield Dependence(u, v, problem.op(u).issue + (stage[v] - stage[u] - turn) * ii, 0, kind="ring")
