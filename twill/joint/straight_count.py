"""Where a schedule exceeds memories or registers of the published straight-line program, counted on its starts.

What `straight_line` says in a formula, evaluated: the formula may then leave out the sums of births that no schedule in sight breaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import NamedTuple

from twill.joint.groups import classes
from twill.joint.straight_line import ORIGIN
from twill.problem import Problem
from twill.schedule import Schedule


class _Life(NamedTuple):
    """Op number `op` holds its result in [begin, end)."""

    op: int
    begin: float
    end: float


def overfull_births(problem: Problem, schedule: Schedule, copies: int) -> frozenset[int]:
    """For each memory and group that holds too much in the program of so many copies, the ops at whose start it does.

    `ORIGIN` stands for time 0.
    """
    starts = [schedule.starts[op.name] for op in problem.ops]
    lives = list(_lives(problem, starts, schedule.ii, copies))
    stores = [({v: op.footprint(memory) for v, op in enumerate(problem.ops)}, capacity) for memory, capacity in problem.limits.memories]
    limit = problem.limits.registers_per_warp
    shares = {op.name: (v, -(-op.registers // op.warps)) for v, op in enumerate(problem.ops)}
    for ops in _sharers(schedule) if limit is not None else ():
        stores.append((dict(shares[op] for op in ops), limit or 0))
    return frozenset(
        birth for sizes, capacity in stores for load, birth in _loads(sizes, lives, starts, schedule.ii, copies) if load > capacity
    )


def _sharers(schedule: Schedule) -> set[tuple[str, ...]]:
    """Ops whose results are in registers of the same warp, for every warp that tells more than others."""
    lanes: dict[object, list[str]] = {}
    sets = dict(schedule.warps)
    for p in schedule.placements:
        # Where groups have warps of their own, those of one group are all alike.
        for lane in sets.get(p.group, (("group", p.group),)):
            lanes.setdefault(lane, []).append(p.op)
    return {tuple(ops) for ops in lanes.values()}


def groups_for_registers(problem: Problem, schedule: Schedule, copies: int) -> int:
    """Groups of one class that the registers of the program need, were its starts those of `schedule`, whatever its groups."""
    limit = problem.limits.registers_per_warp
    if not limit:
        return 0
    starts = [schedule.starts[op.name] for op in problem.ops]
    lives = list(_lives(problem, starts, schedule.ii, copies))
    sizes = [{v: -(-problem.ops[v].registers // problem.ops[v].warps) for v in ops} for ops in classes(problem)]
    return max((-(-max(load for load, _ in _loads(each, lives, starts, schedule.ii, copies)) // limit) for each in sizes), default=0)


def _loads(sizes: dict[int, int], lives: list[_Life], starts: list[int], ii: int, copies: int) -> Iterator[tuple[int, int]]:
    """What is held at time 0 and at every birth, with its op."""
    held = [(life, sizes[life.op]) for life in lives if sizes.get(life.op, 0)]
    births = sorted(v for v, size in sizes.items() if size)
    for birth, time in [(ORIGIN, 0), *((v, starts[v] + copy * ii) for v in births for copy in range(copies))]:
        yield sum(size for life, size in held if life.begin <= time < life.end), birth


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
