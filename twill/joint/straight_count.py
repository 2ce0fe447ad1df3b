"""Where a schedule exceeds memories or registers of the published straight-line program, counted on its starts.

What `straight_line` says in a formula, evaluated: the formula may then leave out the sums of births that no schedule in sight breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from twill.joint.straight_line import ORIGIN
from twill.problem import Problem
from twill.schedule import Schedule


@dataclass(frozen=True)
class _Life:
    """Op number `op` holds its result in [begin, end)."""

    op: int
    begin: float
    end: float


def overfull_births(problem: Problem, schedule: Schedule, copies: int) -> frozenset[int]:
    """For each memory and group that holds too much in the program of so many copies, the op at whose start it holds most.

    `ORIGIN` stands for time 0.
    """
    starts = [schedule.starts[op.name] for op in problem.ops]
    lives = list(_lives(problem, starts, schedule.ii, copies))
    stores = [({v: op.footprint(memory) for v, op in enumerate(problem.ops)}, capacity) for memory, capacity in problem.limits.memories]
    limit = problem.limits.registers_per_warp
    groups = {p.group for p in schedule.placements} if limit is not None else set()
    for group in groups:
        members = {v: op for v, op in enumerate(problem.ops) if schedule.groups[op.name] == group}
        stores.append(({v: -(-op.registers // op.warps) for v, op in members.items()}, limit or 0))
    return frozenset(birth for sizes, capacity in stores for birth in _worst(sizes, capacity, lives, starts, schedule.ii, copies))


def _worst(sizes: dict[int, int], capacity: int, lives: list[_Life], starts: list[int], ii: int, copies: int) -> Iterator[int]:
    """The birth of largest demand, when that is too large."""
    held = [(life, sizes[life.op]) for life in lives if sizes.get(life.op, 0)]
    births = sorted(v for v, size in sizes.items() if size)
    times = [(ORIGIN, 0), *((v, starts[v] + copy * ii) for v in births for copy in range(copies))]
    loads = [sum(size for life, size in held if life.begin <= time < life.end) for _, time in times]
    if max(loads) > capacity:
        yield times[loads.index(max(loads))][0]


def _lives(problem: Problem, starts: list[int], ii: int, copies: int) -> Iterator[_Life]:
    """E0 to E4, with their quirk: a value whose last use starts no later than itself is live from time 0 up to its birth."""
    number = {op.name: v for v, op in enumerate(problem.ops)}
    carried = {number[d.src] for d in problem.dependences if d.distance > 0}
    uses: dict[int, set[tuple[int, int]]] = {}
    for d in problem.dependences:
        uses.setdefault(number[d.src], set()).add((number[d.dst], d.distance))
    for v, after in uses.items():
        for copy in range(copies):
            born = starts[v] + copy * ii
            used = [starts[x] + (copy + d) * ii for x, d in after if copy + d < copies]
            if copy == copies - 1 and v in carried:
                yield _Life(v, born, inf)
            elif used:
                yield _Life(v, born, max(used)) if max(used) > born else _Life(v, -inf, born)
