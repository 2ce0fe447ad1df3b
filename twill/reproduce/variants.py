"""Problems with something taken away, or fixed beforehand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from twill.modulo import shortest
from twill.problem import Dependence, Op, Problem


def with_warps(problem: Problem, warps: int) -> Problem:
    """The machine with fewer regular warps."""
    return replace(problem, limits=replace(problem.limits, warps=warps))


def without_crossing(problem: Problem) -> Problem:
    """No register value may leave its group."""
    return replace(problem, rules=replace(problem.rules, cross_warp=False))


def equal_warps(problem: Problem) -> Problem:
    """Ops that need different numbers of warps may not share a group (formulation 4.5, A13): who issues for the tensor core stays apart."""
    return replace(problem, rules=replace(problem.rules, mixed=False))


def with_thread_registers(problem: Problem, registers: int) -> Problem:
    """At most so many registers a thread for values."""
    return replace(problem, limits=replace(problem.limits, registers_per_warp=32 * registers))


def pipelined_first(problem: Problem, ii: int) -> Problem | None:
    """The problem with all starts as in the shortest modulo schedule at `ii`, which knows no warps: only the groups are left to choose.

    Software pipelining first, warp specialisation after it.  None when there is no modulo schedule.
    """
    found = shortest(problem, ii)
    if not found.starts:
        return None
    first = min(range(len(problem.ops)), key=found.starts.__getitem__)
    anchor = problem.ops[first].name
    fixed = []
    for op, start in zip(problem.ops, found.starts, strict=True):
        if op.name != anchor:
            turns = -(-(start - found.starts[first]) // ii)
            fixed.append(Dependence(anchor, op.name, start - found.starts[first], kind="ring"))
            fixed.append(Dependence(op.name, anchor, turns * ii - (start - found.starts[first]), turns, kind="ring"))
    return replace(problem, dependences=(*problem.dependences, *fixed))


def rows(problem: Problem, parts: int, keys: int) -> Problem:
    """Hopper forward, split into two sub-tiles of 64 rows and 128 keys, as `parts` sub-tiles with `keys` keys.

    What is as wide as the keys shrinks with them: score products, softmax, the depth of the second product, loads.  The rescaling of the
    output and vectors of a row stay.  Every further sub-tile keeps another 16 KiB of queries in shared memory.
    """
    share = Fraction(keys, 128)
    ops = {op.name: _resized(op, share) for op in problem.ops}
    before = {op.name: op for op in problem.ops}
    dependences = [_resized_dependence(d, before[d.src], ops[d.src]) for d in problem.dependences]
    more = range(2, parts)
    copies = [replace(op, name=_part(name, n)) for n in more for name, op in ops.items() if name.endswith("/1")]
    inner = [replace(d, src=_part(d.src, n), dst=_part(d.dst, n)) for n in more for d in dependences if "/1" in (d.src + d.dst)]
    memories = tuple((m, left - 16384 * (parts - 2)) if m == "smem" else (m, left) for m, left in problem.limits.memories)
    return replace(
        problem,
        name=f"{problem.name}, {parts} x 64 rows, {keys} keys",
        ops=(*ops.values(), *copies),
        dependences=(*dependences, *inner),
        limits=replace(problem.limits, memories=memories),
    )


def _part(name: str, number: int) -> str:
    return f"{name.removesuffix('/1')}/{number}" if name.endswith("/1") else name


SHORT = 16
"""Cycles below which an op works on one value a row: its time does not depend on the keys."""


def _resized(op: Op, share: Fraction) -> Op:
    stays = op.name.startswith("elementwise.5") or op.cycles < SHORT
    work = Fraction(1) if stays else share
    keeps = stays or op.name.startswith("mma.2") or op.registers < 4096
    return replace(
        op,
        cycles=_up(op.cycles * work),
        issue=_up(op.issue * work),
        reservations=tuple(replace(r, duration=_up(r.duration * work)) for r in op.reservations),
        registers=op.registers if keeps else _up(op.registers * share),
        spill_bytes=op.spill_bytes if keeps else _up(op.spill_bytes * share),
        memory=tuple((memory, _up(size * share)) for memory, size in op.memory),
    )


def _resized_dependence(dep: Dependence, before: Op, after: Op) -> Dependence:
    """A delay is as much longer than its op as it was."""
    return replace(dep, delay=max(0, dep.delay + after.cycles - before.cycles) if dep.delay else 0)


def _up(value: Fraction | int) -> int:
    return -int(-Fraction(value) // 1)
