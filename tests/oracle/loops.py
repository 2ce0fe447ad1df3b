"""Hypothesis strategies for loops as kernels have them, with schedules: copies, products, arithmetic, stores, in up to three groups."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule

SMEM, TMEM = (("smem", 64),), (("tmem", 32),)

# What ops of each sort are, and sorts of ops whose results they may read.
SORTS: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "load": ({"kind": "tma_load", "variable_latency": True, "streaming": True, "asynchronous": True, "memory": SMEM}, ()),
    "wgmma": ({"kind": "mma", "asynchronous": True, "registers": 32, "warps": 4}, ("load", "alu", "wgmma", "sts")),
    "tcgen": ({"kind": "mma", "asynchronous": True, "memory": TMEM, "warps": 1}, ("load", "sts", "stt", "tcgen")),
    "alu": ({"registers": 32}, ("load", "wgmma", "tcgen", "alu", "stt", "sts", "ldg")),
    "sts": ({"kind": "smem_store", "memory": SMEM, "warps": 4}, ("alu", "wgmma", "ldg")),
    "stt": ({"kind": "tmem_store", "memory": TMEM, "warps": 4}, ("alu", "wgmma", "ldg")),
    "out": ({"kind": "tma_store", "asynchronous": True}, ("sts",)),
    "ldg": ({"kind": "global_load", "asynchronous": True, "registers": 16, "warps": 4}, ("alu",)),
}


@st.composite
def loops(draw: st.DrawFn, max_ops: int = 6) -> tuple[Problem, Schedule]:
    """A loop, and a schedule of it that keeps every dependence; memories and units other than the tensor core are without limit."""
    sorts = draw(st.lists(st.sampled_from(sorted(SORTS)), min_size=1, max_size=max_ops))
    ops = tuple(_op(draw, f"{sort}{n}", sort) for n, sort in enumerate(sorts))
    problem = Problem("random", ops, _dependences(draw, ops, sorts), Limits(units=(("TC", 1),), warps=32))
    problem = _without_idle_loads(problem)
    groups = {op.name: 0 if op.variable_latency else draw(st.integers(1, 3)) for op in problem.ops}
    ii = _least_ii(problem) + draw(st.integers(0, 12))
    starts = _starts(problem, groups, ii, {op.name: draw(st.integers(0, 12)) for op in problem.ops})
    starts = _apart_on_the_tensor_core(problem, groups, ii, starts)
    length = max((starts[op.name] + op.span for op in problem.ops), default=0)
    return problem, Schedule(ii, length, tuple(Placement(op.name, starts[op.name], groups[op.name]) for op in problem.ops))


def _op(draw: st.DrawFn, name: str, sort: str) -> Op:
    fields, _ = SORTS[sort]
    cycles = draw(st.sampled_from((1, 2, 5)))
    op = Op(name, cycles=cycles, issue=1 if fields.get("asynchronous") else cycles, **fields)  # type: ignore[arg-type]
    if sort in ("wgmma", "tcgen"):
        op = replace(op, reservations=(Reservation("TC", 0, cycles),))
    if sort == "load":
        op = replace(op, latency=draw(st.sampled_from((0, 9))))
    return replace(op, spill=draw(st.sampled_from((0, 3)))) if op.registers else op


def _dependences(draw: st.DrawFn, ops: tuple[Op, ...], sorts: list[str]) -> tuple[Dependence, ...]:
    found: dict[tuple[str, str, int], Dependence] = {}
    for n, op in enumerate(ops):
        for m in draw(st.sets(st.integers(0, len(ops) - 1), max_size=3)):
            source = ops[m]
            distance = draw(st.sampled_from((0, 0, 0, 1, 2))) if m < n else draw(st.sampled_from((1, 1, 2)))
            if op.streaming or (source.name, op.name, distance) in found:
                continue
            value = sorts[m] in SORTS[sorts[n]][1]
            delay = 0 if source.streaming else source.cycles + draw(st.sampled_from((0, 2)))
            kind = ("carried" if distance else "data") if value else "memory"
            found[source.name, op.name, distance] = Dependence(
                source.name, op.name, delay, distance, source.asynchronous, kind, in_place=value and _in_place(draw, sorts[m], sorts[n])
            )
    return tuple(replace(d, blocking=False) if d.in_place and d.src[:5] == d.dst[:5] else d for d in found.values())


def _in_place(draw: st.DrawFn, source: str, op: str) -> bool:
    return (op == "tcgen" and source in ("stt", "tcgen") and draw(st.booleans())) or (op == source == "wgmma" and draw(st.booleans()))


def _without_idle_loads(problem: Problem) -> Problem:
    """Loads whose tiles nobody reads are in no kernel."""
    used = {dep.src for dep in problem.dependences}
    ops = tuple(op for op in problem.ops if not op.streaming or op.name in used)
    return replace(problem, ops=ops)


def _least_ii(problem: Problem) -> int:
    return 1 + sum(row.duration for op in problem.ops for row in op.reservations) + sum(dep.delay for dep in problem.dependences)


def _starts(problem: Problem, groups: dict[str, int], ii: int, wanted: dict[str, int]) -> dict[str, int]:
    """The wanted starts, later where dependences say so, from 0 on."""
    starts = dict(wanted)
    for _ in range(len(starts) ** 2 + 1):
        for dep in problem.dependences:
            spill = problem.op(dep.src).spill if groups[dep.src] != groups[dep.dst] and dep.kind != "ring" else 0
            starts[dep.dst] = max(starts[dep.dst], starts[dep.src] + dep.delay + spill - dep.distance * ii)
    first = min(starts.values(), default=0)
    return {op: start - first for op, start in starts.items()}


def _apart_on_the_tensor_core(problem: Problem, groups: dict[str, int], ii: int, starts: dict[str, int]) -> dict[str, int]:
    """The starts, later where two products would need the tensor core at once."""
    products = [op for op in problem.ops if op.reservations]
    for _ in range(200):
        clash = next((b for a in products for b in products if a is not b and (starts[b.name] - starts[a.name]) % ii < a.cycles), None)
        if clash is None:
            break
        starts = _starts(problem, groups, ii, starts | {clash.name: starts[clash.name] + 1})
    return starts
