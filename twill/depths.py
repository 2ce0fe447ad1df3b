"""Depths of the rings of buffers that streaming loads fill: from lifetimes, and beyond that to run ahead of the loop.

A value in memory needs as many slots as instances of it overlap, the hidden latency of its load included (formulation 4.7).  That
is the least depth with which nothing waits if every load takes the time that the model says.  Real loads take different times, and
a mean is then a lower bound (performance-model, section 4.3, Fact C): two slots more recover all but 3 % of what 25 % of jitter costs
(section 7.5), so that many are added where the memory has room for them (section 6, ii).
"""

from __future__ import annotations

from dataclasses import replace

from twill.errors import BadInput
from twill.problem import Dependence, Op, Problem
from twill.resources import Ring, memory_shortfall
from twill.schedule import Schedule

JITTER_SLOTS = 2
"""Slots that a ring has beyond what lifetimes need."""

SMEM = "smem"
"""The memory through which register values reach other groups."""


def limited(problem: Problem, slots: int) -> Problem:
    """The problem with `slots` slots for every streaming load: an instance is loaded when that of `slots` iterations before is free.

    The new dependences are of kind "ring"; bounds, solvers and checker treat them as any other, so that the II is the smallest that
    this depth allows, and a bound names the ring where it is what limits the II.
    """
    rings = [
        Dependence(dep.dst, dep.src, _held(problem, dep), slots - dep.distance, kind="ring")
        for dep in problem.dependences
        if dep.carries_value and dep.distance <= slots and _loads(problem.op(dep.src))
    ]
    return replace(problem, dependences=(*problem.dependences, *rings))


def fixed(problem: Problem, schedule: Schedule, slots: int) -> Schedule:
    """A schedule of the `limited` problem with the depths that it was made for.

    Raises BadInput when the rings do not fit into a memory, or an instance lives for more iterations than there are slots.
    """
    needed = lifetimes(problem, schedule)
    loads = [op for op in problem.ops if _loads(op) and op.name in needed]
    for op in loads:
        if needed[op.name] > slots:
            raise BadInput(
                f"{op.name} needs {needed[op.name]} slots, its ring has {slots}.", remedy=f"Give --depth {needed[op.name]} or more."
            )
    made = replace(schedule, depths=tuple((op.name, slots) for op in loads))
    taken = demand(problem, made)
    for memory, capacity in problem.limits.memories:
        step = sum(op.footprint(memory) for op in loads)
        shortfall = memory_shortfall(memory, taken[memory], capacity, Ring(slots, step) if step else None)
        if shortfall:
            raise BadInput(f"with --depth {slots}, {shortfall}", remedy="Give --depth auto for what fits.")
    return made


def run_ahead(problem: Problem, schedule: Schedule) -> Schedule:
    """The schedule with rings of `JITTER_SLOTS` more slots than lifetimes need, as far as every memory has room.

    Slots are handed out one at a time, to the ring that has gained fewest, in the order of the ops.
    """
    needed = lifetimes(problem, schedule)
    loads = [op for op in problem.ops if _loads(op) and op.name in needed]
    depths = {op.name: needed[op.name] for op in loads}
    taken = demand(problem, schedule)
    for _ in range(JITTER_SLOTS):
        for op in loads:
            if all(taken[memory] + size <= problem.limits.memory_capacity(memory) for memory, size in op.memory):
                depths[op.name] += 1
                for memory, size in op.memory:
                    taken[memory] += size
    return replace(schedule, depths=tuple(depths.items()))


def lifetimes(problem: Problem, schedule: Schedule) -> dict[str, int]:
    """Slots that the lifetime of each used value in memory needs: as many as instances overlap, at least 1."""
    start = schedule.starts
    end: dict[str, int] = {}
    for dep in problem.dependences:
        if dep.carries_value and problem.op(dep.src).memory:
            over = start[dep.dst] + dep.distance * schedule.ii + _held(problem, dep)
            end[dep.src] = max(end.get(dep.src, over), over)
    return {op.name: max(1, -(-(end[op.name] - start[op.name]) // schedule.ii)) for op in problem.ops if op.name in end}


def _ring(problem: Problem, schedule: Schedule, chain: tuple[str, ...]) -> int:
    """Slots for a chain of values that follow each other in place; 0 when nobody uses them."""
    start = schedule.starts
    ends = [start[d.dst] + d.distance * schedule.ii + _held(problem, d) for d in problem.uses(chain)]
    return max(1, -(-(max(ends) - start[chain[0]]) // schedule.ii)) if ends else 0


def staged(problem: Problem, schedule: Schedule) -> dict[str, int]:
    """Slots in shared memory through which each register value that leaves its group does so.

    A copy is made `spill` cycles before the first group begins to use it; its slot is free when the last one has begun.
    """
    start, group = schedule.starts, schedule.groups
    found = {}
    for op in problem.ops:
        leaving = [d for d in problem.dependences if d.src == op.name and d.carries_value and group[d.dst] != group[op.name]]
        if op.registers > 0 and not op.memory and leaving:
            begun = [start[d.dst] + d.distance * schedule.ii for d in leaving]
            found[op.name] = max(1, -(-(max(begun) - min(begun) + op.spill) // schedule.ii))
    return found


def demand(problem: Problem, schedule: Schedule) -> dict[str, int]:
    """What rings take of each memory: a ring for every value that is used, and for every register value that leaves its group."""
    given = dict(schedule.depths)
    taken = {memory: 0 for memory, _ in problem.limits.memories}
    for chain in problem.chains:
        slots = given[chain[0]] if chain[0] in given else _ring(problem, schedule, chain)
        for memory in taken:
            taken[memory] += slots * problem.buffer(chain, memory)
    if SMEM in taken:
        taken[SMEM] += sum(slots * problem.op(op).crossing_bytes for op, slots in staged(problem, schedule).items())
    return taken


def _loads(op: Op) -> bool:
    return op.streaming and bool(op.memory)


def _held(problem: Problem, dep: Dependence) -> int:
    """Cycles after the start of the user for which a slot is taken, the latency that the load's dependences hide included."""
    source = problem.op(dep.src)
    hidden = source.latency if source.streaming and not problem.rules.hold else 0
    return problem.held(dep) + hidden
