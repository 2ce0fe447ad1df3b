"""Hypothesis strategies for tiny problems that exercise every constraint, and for schedules of them, right or wrong."""

from __future__ import annotations

from itertools import groupby

from hypothesis import strategies as st

from twill.problem import Dependence, Limits, Op, Problem, RegisterFile, Reservation, Rules
from twill.schedule import Placement, Schedule

UNITS = ("TC", "SFU")
MEMORIES = ("smem", "tmem")


@st.composite
def every_rule(draw: st.DrawFn) -> Rules:
    """All switches; the default reading in most draws, because the others would decide most problems."""
    return Rules(
        cross_warp=draw(st.sampled_from((True, True, True, False))),
        window=draw(st.sampled_from(("issue", "issue", "issue", "cycles"))),
        in_order=draw(st.sampled_from((False, False, True))),
        hold=draw(st.sampled_from((False, False, True))),
        rings=draw(st.sampled_from((False, False, True))),
        mixed=draw(st.sampled_from((True, True, True, False))),
    )


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    min_ops: int = 2,
    max_ops: int = 4,
    max_cycles: int = 3,
    rules: st.SearchStrategy[Rules] = every_rule(),
) -> Problem:
    """Problems with two to four ops by default: several servers, tables with holes, widths 1, 2, 4, registers, two memories, spills,
    blocking and carried dependences over up to two iterations, variable latency, asynchronous ops, work in place, order-only
    dependences, and `rules` as drawn (`st.just(Rules())` for the default reading).

    Dependences within an iteration point forward, so that only limits, not a cycle, can make every II impossible.
    """
    count = draw(st.integers(min_ops, max_ops))
    limits = draw(_limits())
    ops = tuple(draw(_op(f"op{i}", limits, max_cycles)) for i in range(count))
    dependences = tuple(draw(st.lists(_dependence(count, max_cycles), min_size=count - 1, max_size=2 * count)))
    return Problem("random", ops, dependences, limits, draw(rules))


@st.composite
def _limits(draw: st.DrawFn) -> Limits:
    return Limits(
        units=tuple((unit, draw(st.sampled_from((1, 1, 2)))) for unit in UNITS),
        memories=tuple((memory, draw(st.integers(2, 5))) for memory in MEMORIES),
        warps=draw(st.sampled_from((1, 2, 4, 4, 5, 6, 8))),
        registers_per_warp=draw(st.none() | st.integers(2, 6)),
        registers_per_sm=draw(st.none() | st.integers(4, 16)),
        register_file=draw(st.none() | _register_file()),
    )


@st.composite
def _register_file(draw: st.DrawFn) -> RegisterFile:
    """Two or four warps to a warpgroup, one thread to a warp, so that peaks of a few words need different grants."""
    step = draw(st.sampled_from((1, 2, 3)))
    least = step * draw(st.integers(1, 2))
    return RegisterFile(
        words=draw(st.integers(8, 60)),
        granularity=step,
        least=least,
        most=least + step * draw(st.integers(0, 4)),
        reserved=draw(st.integers(0, 2)),
        held=draw(st.sampled_from((0, 0, 1))),
        threads=1,
        warpgroup=draw(st.sampled_from((2, 4, 4))),
    )


@st.composite
def _op(draw: st.DrawFn, name: str, limits: Limits, max_cycles: int) -> Op:
    cycles = draw(st.sampled_from((0, *range(1, max_cycles + 1), *range(1, max_cycles + 1))))
    unit = draw(st.sampled_from((None, UNITS[0], *UNITS)))
    streaming = draw(st.booleans())
    return Op(
        name=name,
        reservations=() if unit is None else draw(_table(unit, cycles, limits.unit_capacity(unit))),
        cycles=cycles,
        issue=draw(st.integers(0, cycles)),
        warps=draw(st.sampled_from((1, 1, 1, 2, 4))),
        variable_latency=draw(st.sampled_from((False, False, False, True))),
        asynchronous=draw(st.booleans()),
        registers=draw(st.sampled_from((0, 0, 1, 2, 3, 5))),
        memory=draw(_footprint()),
        streaming=streaming,
        latency=draw(st.sampled_from((0, 3))) if streaming else 0,
        spill=draw(st.sampled_from((0, 0, 1, 2))),
        spill_bytes=draw(st.sampled_from((1, 1, 2))),
        stays=draw(st.sampled_from((False, False, False, True))),
    )


@st.composite
def _table(draw: st.DrawFn, unit: str, cycles: int, capacity: int) -> tuple[Reservation, ...]:
    demand = draw(st.lists(st.integers(0, capacity), min_size=cycles, max_size=cycles))
    table, offset = [], 0
    for amount, run in groupby(demand):
        duration = len(list(run))
        if amount:
            table.append(Reservation(unit, offset, duration, amount))
        offset += duration
    return tuple(table)


@st.composite
def _footprint(draw: st.DrawFn) -> tuple[tuple[str, int], ...]:
    memory = draw(st.sampled_from((None, None, *MEMORIES)))
    return () if memory is None else ((memory, draw(st.integers(1, 2))),)


@st.composite
def _dependence(draw: st.DrawFn, count: int, max_cycles: int) -> Dependence:
    src, dst = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
    distance = draw(st.sampled_from((0, 0, 0, 1, 1, 2)))
    if distance == 0:
        src, dst = min(src, dst), max(src, dst)
        distance = 1 if src == dst else 0
    usual = "carried" if distance else "data"
    return Dependence(
        src=f"op{src}",
        dst=f"op{dst}",
        delay=draw(st.integers(0, max_cycles)),
        distance=distance,
        blocking=draw(st.sampled_from((False, False, True))),
        kind=draw(st.sampled_from((usual, usual, usual, usual, "memory", "token", "ring"))),
        in_place=draw(st.sampled_from((False, False, False, True))),
    )


@st.composite
def schedules(draw: st.DrawFn, problem: Problem, *, max_ii: int = 6, max_start: int = 12) -> Schedule:
    """Schedules that place every op: variable-latency ops mostly in group 0, everything else at random."""
    starts = [draw(st.integers(0, max_start)) for _ in problem.ops]
    first = min(starts)
    placements = []
    for op, start in zip(problem.ops, starts, strict=True):
        usual = 0 if op.variable_latency else draw(st.integers(1, 3))
        group = draw(st.sampled_from((usual, usual, usual, usual, usual, usual, usual, 0, 1)))
        placements.append(Placement(op.name, start - first, group))
    length = max(p.start + op.span for p, op in zip(placements, problem.ops, strict=True))
    return Schedule(draw(st.integers(1, max_ii)), length, tuple(placements))
