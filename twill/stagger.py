"""Identical copies of a loop body, started one after the other: a schedule of one copy makes a schedule of all.

K identical bodies at an interval of K * T are one body at interval T, whose loop-carried dependences reach K times as far: copy c starts
c * T later, and what holds for one body round a circle of T cycles holds for all of them round the circle of K * T (but rings of
buffers, one for each copy, may not fit).  Sub-tiles are such bodies.

An op that waits must keep out of the window of its own next copies, too, so that M sets of warp groups take turns, copy c in set
c mod M, where M * T is as long as the window: each has 1/M of the warps.

It is a good first schedule, since a body is much smaller than the problem, and no proof of anything: the caller checks it exactly, and
the copies might do better out of step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from twill.bounds.order import reached
from twill.modulo.symmetry import colours
from twill.problem import Problem
from twill.schedule import Placement, Schedule


@dataclass(frozen=True)
class Copies:
    """Identical bodies.

    bodies   op numbers of each body, in corresponding order
    sources  variable-latency ops that all bodies read and that need nothing
    others   ops that are in no body
    """

    bodies: tuple[tuple[int, ...], ...]
    sources: tuple[int, ...]
    others: tuple[int, ...]


def find(problem: Problem) -> Copies | None:
    """The copies that the problem consists of, with what they share; None when it does not."""
    colour = colours(problem)
    sizes = Counter(colour)
    entered = {d.dst for d in problem.dependences}
    sources = {v for v, op in enumerate(problem.ops) if op.variable_latency and op.name not in entered}
    for shared in ({v for v, c in enumerate(colour) if sizes[c] == 1}, {v for v, c in enumerate(colour) if sizes[c] == 1} | sources):
        bodies = [sorted(body, key=lambda v: (colour[v], v)) for body in _parts(problem, shared)]
        if len(bodies) > 1 and all([colour[v] for v in body] == [colour[v] for v in bodies[0]] for body in bodies):
            return Copies(tuple(map(tuple, bodies)), tuple(sorted(shared & sources)), tuple(sorted(shared - sources)))
    return None


def _parts(problem: Problem, shared: set[int]) -> list[set[int]]:
    """Connected components of the ops that are not shared."""
    number = {op.name: v for v, op in enumerate(problem.ops)}
    beside: list[list[int]] = [[] for _ in problem.ops]
    for d in problem.dependences:
        u, v = number[d.src], number[d.dst]
        if u not in shared and v not in shared:
            beside[u].append(v)
            beside[v].append(u)
    return [set(part) for part in dict.fromkeys(frozenset(reached(v, beside)) for v in range(len(beside)) if v not in shared)]


def group_sets(problem: Problem, copies: Copies, ii: int) -> int:
    """Sets of warp groups that take turns when copies start `ii` cycles apart."""
    waiting = {d.dst for d in problem.dependences if d.blocking}
    windows = [problem.window(op) for op in problem.ops if op.name in waiting]
    return min(len(copies.bodies), max(-(-window // ii) for window in (1, *windows)))


def body(problem: Problem, copies: Copies, sets: int) -> Problem:
    """The problem of the first body with one of so many sets of groups.

    Sources, which all copies share and which can run as early as they must, cost and hold nothing in it.
    """
    kept = {problem.ops[v].name for v in (*copies.sources, *copies.others, *copies.bodies[0])}
    sources = {problem.ops[v].name for v in copies.sources}
    return replace(
        problem,
        name=f"{problem.name}, one of {len(copies.bodies)} copies",
        limits=replace(problem.limits, warps=problem.limits.warps // sets),
        ops=tuple(
            replace(op, reservations=(), cycles=0, issue=0, registers=0, memory=()) if op.name in sources else op
            for op in problem.ops
            if op.name in kept
        ),
        dependences=tuple(
            replace(d, distance=d.distance * len(copies.bodies)) for d in problem.dependences if d.src in kept and d.dst in kept
        ),
    )


def spread(problem: Problem, copies: Copies, sets: int, found: Schedule) -> Schedule:
    """The schedule of all copies that `found`, one of the first body, makes; sources as late as units let them."""
    ii = found.ii * len(copies.bodies)
    most = max(found.groups.values())
    starts: dict[int, int] = {v: found.starts[problem.ops[v].name] for v in copies.others}
    groups: dict[int, int] = {v: found.groups[problem.ops[v].name] for v in copies.others}
    for turn, copy in enumerate(copies.bodies):
        for first, v in zip(copies.bodies[0], copy, strict=True):
            starts[v] = found.starts[problem.ops[first].name] + turn * found.ii
            group = found.groups[problem.ops[first].name]
            groups[v] = group + most * (turn % sets) if group else 0
    for v in copies.sources:
        groups[v] = 0
        starts[v] = _latest(problem, v, starts, groups, ii)
    least = min(starts.values())
    names: dict[int, int] = {0: 0}
    for v in range(len(problem.ops)):
        names.setdefault(groups[v], len(names))
    placements = tuple(Placement(op.name, starts[v] - least, names[groups[v]]) for v, op in enumerate(problem.ops))
    return Schedule(ii, max(p.start + op.span for p, op in zip(placements, problem.ops, strict=True)), placements)


def _latest(problem: Problem, v: int, starts: dict[int, int], groups: dict[int, int], ii: int) -> int:
    """The latest start of source v that its users allow and at which no reservation of it meets that of a placed op."""
    number = {op.name: u for u, op in enumerate(problem.ops)}
    uses = [d for d in problem.dependences if d.src == problem.ops[v].name]
    late = [starts[number[d.dst]] + d.distance * ii - d.delay - (problem.spill(d) if groups[number[d.dst]] else 0) for d in uses]
    start = first = min(late, default=0)
    while start > first - ii:
        step = _back(problem, v, start, starts, ii)
        if step == 0:
            return start
        start -= step
    return first


def _back(problem: Problem, v: int, start: int, starts: dict[int, int], ii: int) -> int:
    """0 when op v meets nothing at `start`, else cycles to go back."""
    for mine in problem.ops[v].reservations:
        for u, at in starts.items():
            for row in problem.ops[u].reservations:
                if row.unit == mine.unit and mine.amount + row.amount > problem.limits.unit_capacity(row.unit):
                    into = (start + mine.offset + mine.duration - at - row.offset) % ii
                    if 0 < into < mine.duration + row.duration:
                        return into
    return 0


def intervals(lowest: int, copies: Copies, tries: int) -> Sequence[int]:
    """Intervals of one body worth a try, ascending from the smallest that the bound of the whole problem leaves."""
    first = -(-lowest // len(copies.bodies))
    return [first, *(first + -(-first * 2**k // 128) for k in range(tries - 1))]
