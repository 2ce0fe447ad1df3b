"""Runs of ops as one op each: a macro op that reserves one unit after the other.

The macro form is the fine form with the ops of a run back to back: every op keeps its reservations, moved to its place in the run,
and a schedule of the macro form is one of the fine form (`expand`).  Only registers differ: the tiles inside of a run are never
there as a whole, because the threads work slice by slice (formulation, section 6.3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from twill import costs
from twill.graph.loopgraph import LoopGraph
from twill.machine import Machine
from twill.problem import Dependence, Op, Origin, Problem
from twill.schedule import Placement, Schedule

SLICES = 8
"""Slices of a tile that are worked on one after the other: 16 of 128 columns at a time."""


def price(graph: LoopGraph, machine: Machine, *, coupling: str = "auto") -> Problem:
    """As `twill.costs.price`, with every run in `graph.chains` as one macro op."""
    return fuse(costs.price(graph, machine, coupling=coupling), graph.chains)


@dataclass(frozen=True)
class Run:
    """A run of ops, back to back.

    name     of the macro op
    ops      in order
    offsets  start of each op after the start of the run, cycles
    outputs  ops whose results are used outside of the run, or in a later iteration
    """

    name: str
    ops: tuple[Op, ...]
    offsets: tuple[int, ...]
    outputs: tuple[str, ...]

    @property
    def span(self) -> int:
        """Cycles until the last op has been issued: the ops of a run are synchronous, so until it is done."""
        return max(offset + max(op.issue, op.cycles) for op, offset in zip(self.ops, self.offsets, strict=True))

    @property
    def place(self) -> dict[str, int]:
        """Op -> its offset."""
        return {op.name: offset for op, offset in zip(self.ops, self.offsets, strict=True)}


def runs(problem: Problem, chains: Iterable[tuple[str, ...]]) -> tuple[Run, ...]:
    """The runs of a fine problem, each op as early as its predecessor in the run and its operands from there allow."""
    return tuple(_run(problem, chain, name) for chain, name in _named(tuple(chains)))


def fuse(problem: Problem, chains: Iterable[tuple[str, ...]]) -> Problem:
    """The problem with every run as one macro op.

    The macro op is named "slices.1" and so on.  An op of the run whose result is used elsewhere stays: it is issued when the run is
    done and takes no time.  While the run lasts it holds its largest tile, in or out, and one slice of its widest one.
    """
    found = runs(problem, chains)
    if not found:
        return problem
    member = {op.name: run for run in found for op in run.ops}
    first = {run.ops[0].name: run for run in found}
    ops: list[Op] = []
    for op in problem.ops:
        if op.name in first:
            ops.append(_macro(problem, first[op.name]))
        if op.name not in member:
            ops.append(op)
        elif op.name in member[op.name].outputs:
            ops.append(replace(op, reservations=(), cycles=0, issue=0))
    kept = [_moved(dep, member) for dep in problem.dependences if not _inside(dep, member)]
    held = [Dependence(run.name, output, run.span, value=run.name) for run in found for output in run.outputs]
    known = {**{o.op: o for o in problem.provenance.origins}, **{run.name: _origin(problem, run) for run in found}}
    said = replace(problem.provenance, origins=tuple(known[op.name] for op in ops if op.name in known))
    return replace(problem, ops=tuple(ops), dependences=_merged([*kept, *held]), provenance=said)


def expand(problem: Problem, chains: Iterable[tuple[str, ...]], schedule: Schedule) -> Schedule:
    """The schedule of the fine `problem` that a schedule of its macro form stands for."""
    starts, groups = schedule.starts, schedule.groups
    inside = {name: (run.name, offset) for run in runs(problem, chains) for name, offset in run.place.items()}
    placements = tuple(
        Placement(op.name, starts[name] + offset, groups[name])
        for op in problem.ops
        for name, offset in [inside.get(op.name, (op.name, 0))]
    )
    first = min(placement.start for placement in placements)
    moved = tuple(replace(placement, start=placement.start - first) for placement in placements)
    length = max(p.start + op.span for p, op in zip(moved, problem.ops, strict=True))
    return Schedule(schedule.ii, length, moved)


def _named(chains: tuple[tuple[str, ...], ...]) -> list[tuple[tuple[str, ...], str]]:
    """Runs with the names of their macro ops: an ordinal, the same for all sub-tiles, and the sub-tile."""
    ordinals: dict[tuple[str, ...], int] = {}
    named = []
    for chain in chains:
        _, mark, part = chain[0].partition("/")
        ordinal = ordinals.setdefault(tuple(name.partition("/")[0] for name in chain), len(ordinals) + 1)
        named.append((chain, f"slices.{ordinal}{mark}{part}"))
    return named


def _run(problem: Problem, chain: tuple[str, ...], name: str) -> Run:
    by_name = problem.by_name
    offsets: dict[str, int] = {}
    free = 0
    for member in chain:
        ready = [offsets[d.src] + d.delay for d in problem.dependences if d.dst == member and d.src in offsets and not d.distance]
        offsets[member] = max([free, *ready])
        free = offsets[member] + max(by_name[member].issue, by_name[member].cycles)
    used = {d.src for d in problem.dependences if d.src in offsets and (d.dst not in offsets or d.distance)}
    ops = tuple(by_name[member] for member in chain)
    return Run(name, ops, tuple(offsets[member] for member in chain), tuple(member for member in chain if member in used))


def _macro(problem: Problem, run: Run) -> Op:
    reservations = [
        replace(row, offset=row.offset + offset) for op, offset in zip(run.ops, run.offsets, strict=True) for row in op.reservations
    ]
    return Op(
        name=run.name,
        kind="slices",
        reservations=tuple(sorted(reservations)),
        cycles=run.span,
        issue=run.span,
        warps=max(op.warps for op in run.ops),
        registers=_registers(problem, run),
        spill=max(op.spill for op in run.ops),
        spill_bytes=max(op.crossing_bytes for op in run.ops),
        stays=any(op.stays for op in run.ops),
    )


def _registers(problem: Problem, run: Run) -> int:
    by_name = problem.by_name
    taken = [by_name[d.src].registers for d in problem.dependences if d.dst == run.ops[0].name and d.carries_value]
    made = sum(by_name[name].registers for name in run.outputs)
    return max([made, *taken]) + -(-max(op.registers for op in run.ops) // SLICES)


def _inside(dep: Dependence, member: dict[str, Run]) -> bool:
    return not dep.distance and dep.src in member and member[dep.src] is member.get(dep.dst)


def _moved(dep: Dependence, member: dict[str, Run]) -> Dependence:
    """A dependence of the fine form between macro ops: a run takes all its operands at its start."""
    source, user = member.get(dep.src), member.get(dep.dst)
    delay = dep.delay if source is None else max(0, source.place[dep.src] + dep.delay - source.span)
    return replace(dep, dst=dep.dst if user is None else user.name, delay=delay)


def _merged(deps: list[Dependence]) -> tuple[Dependence, ...]:
    """Of dependences that differ only in delay and waiting, one that is as strong as all."""
    found: dict[tuple[str, str, int, str, str, bool], Dependence] = {}
    for dep in deps:
        key = (dep.src, dep.dst, dep.distance, dep.kind, dep.value, dep.in_place)
        known = found.setdefault(key, dep)
        found[key] = replace(known, delay=max(known.delay, dep.delay), blocking=known.blocking or dep.blocking)
    return tuple(found.values())


def _origin(problem: Problem, run: Run) -> Origin:
    first = problem.provenance.origin(run.ops[0].name)
    return replace(first, op=run.name, source=", ".join(op.name for op in run.ops), folded=())
