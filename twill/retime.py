"""The timing of a given order on other costs (formulation 2.8): what a schedule in normalized cycles is worth in raw ones.

Warp groups, stages and orders are kept: the order of reservations on every unit, and in every group that of ops which must not start
while another holds the group.  What remains are differences, M_v + distance * II - M_u >= delay; the smallest II is the largest ratio
of delay to distance over their cycles, and the shortest iteration follows by longest paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from twill.bounds.order import components, smallest_first
from twill.bounds.paths import earliest, positive_cycle
from twill.clock import Clock
from twill.problem import Problem
from twill.schedule import Placement, Schedule


class Retimed(NamedTuple):
    """A schedule in the order asked for, and the ops of the cycle that sets its II (none when no cycle takes time)."""

    schedule: Schedule
    critical: tuple[str, ...]


class Arc(NamedTuple):
    """Op number `dst` starts at least `delay` cycles after op number `src` of `distance` iterations before (after, when negative)."""

    src: int
    dst: int
    delay: int
    distance: int


def retime(problem: Problem, clocks: Sequence[Clock], schedule: Schedule, *, whole_order: bool = False, least: int = 1) -> Retimed | None:
    """The smallest II from `least` on, and the shortest iteration at it, that `problem` allows in the order of `schedule`.

    clocks       how the cycles of each op of `problem` appear in `schedule`
    whole_order  keep the order of all starts within an II, so that values live no longer than they did

    None when the order contradicts itself: costs that `schedule` took to be 0 need not leave every order possible.
    """
    order = _Order(problem, clocks, schedule)
    arcs = [*order.dependences(), *order.units(), *order.groups(), *(order.starts() if whole_order else ())]
    ii, critical = least, ()
    while True:
        cycle = positive_cycle(len(problem.ops), [(a.src, a.dst, a.delay - a.distance * ii) for a in arcs])
        if cycle is None:
            break
        delay, distance = sum(arcs[i].delay for i in cycle), sum(arcs[i].distance for i in cycle)
        if distance <= 0:
            return None
        ii, critical = -(-delay // distance), tuple(problem.ops[arcs[i].src].name for i in cycle)
    return Retimed(_earliest(problem, arcs, ii, schedule), critical)


def _earliest(problem: Problem, arcs: Sequence[Arc], ii: int, schedule: Schedule) -> Schedule:
    """Every op as early as the arcs allow; the first starts at 0."""
    starts = earliest(len(problem.ops), [(a.src, a.dst, a.delay - a.distance * ii) for a in arcs if a.src != a.dst])
    first = min(starts)
    groups = schedule.groups
    placements = tuple(Placement(op.name, start - first, groups[op.name]) for op, start in zip(problem.ops, starts, strict=True))
    return Schedule(ii, max(p.start + op.span for p, op in zip(placements, problem.ops, strict=True)), placements)


class _Row(NamedTuple):
    """A reservation in the steady state of the given schedule: its op, its place there, and its cycles under the new costs."""

    op: int
    begin: int
    end: int
    offset: int
    duration: int
    amount: int


class _Order:
    """What the given schedule orders, as arcs over the new costs."""

    def __init__(self, problem: Problem, clocks: Sequence[Clock], schedule: Schedule) -> None:
        self.problem, self.clocks, self.ii = problem, clocks, schedule.ii
        self.start = [schedule.starts[op.name] for op in problem.ops]
        self.group = [schedule.groups[op.name] for op in problem.ops]
        self.stage = [start // self.ii for start in self.start]
        self.number = {op.name: v for v, op in enumerate(problem.ops)}
        self.place = self._places()

    def _places(self) -> list[int]:
        """Place of each op in the order of starts within an II; where starts coincide, producers come first."""
        together = [
            (u, v)
            for dep in self.problem.dependences
            for u, v in [(self.number[dep.src], self.number[dep.dst])]
            if self.start[u] == self.start[v] + dep.distance * self.ii
        ]
        part = components(len(self.start), together)
        parts = smallest_first(len(self.start), [(part[u], part[v]) for u, v in together if part[u] != part[v]])
        assert parts is not None, "components have no cycles"
        sources_first = sorted(range(len(self.start)), key=lambda v: (parts.index(part[v]), v))
        ordered = sorted(sources_first, key=lambda v: self.start[v] % self.ii)
        return [ordered.index(v) for v in range(len(self.start))]

    def _arc(self, u: int, v: int, delay: int, turns: int) -> Arc:
        """v starts `delay` after u, where both are counted within one II and v is `turns` of them further."""
        return Arc(u, v, delay, turns - self.stage[v] + self.stage[u])

    def dependences(self) -> Iterator[Arc]:
        for dep in self.problem.dependences:
            u, v = self.number[dep.src], self.number[dep.dst]
            crosses = self.group[u] != self.group[v] and self.problem.rules.cross_warp
            yield Arc(u, v, dep.delay + (self.problem.spill(dep) if crosses else 0), dep.distance)

    def units(self) -> Iterator[Arc]:
        """Reservations that did not overlap stay apart, in their order; those that did are free.

        Rows that overlap now overlapped pairwise before, hence all at one cycle, so the servers suffice now as they did then.
        """
        for unit, _ in self.problem.limits.units:
            rows = [
                _Row(v, r + clock.at(row.offset), r + clock.at(row.offset + row.duration), row.offset, row.duration, row.amount)
                for v, (op, clock) in enumerate(zip(self.problem.ops, self.clocks, strict=True))
                for r in [self.start[v] % self.ii]
                for row in op.reservations
                if row.unit == unit and row.duration and row.amount
            ]
            yield from (self._arc(x.op, y.op, x.offset + x.duration - y.offset, self._turns(x, y)) for x in rows for y in rows)

    def _turns(self, x: _Row, y: _Row) -> int:
        """Turns of II until the first instance of y that comes after a given one of x."""
        if x is y:
            return max(1, -(-(x.end - x.begin) // self.ii))
        if x.end > x.begin and y.end > y.begin:
            return -((y.begin - x.end) // self.ii)
        # A row without cycles overlapped nothing: the order of the beginnings decides.
        turns = -((y.begin - x.begin) // self.ii)
        coincide = y.begin + turns * self.ii == x.begin
        return turns + (coincide and (self.place[y.op], y.offset) < (self.place[x.op], x.offset))

    def groups(self) -> Iterator[Arc]:
        """An op that waits starts after what holds its group, and before the next instance of that; in-order groups do so always."""
        problem = self.problem
        waiting = {self.number[dep.dst] for dep in problem.dependences if dep.blocking}
        for dep in problem.dependences:
            u, v = self.number[dep.src], self.number[dep.dst]
            if self.group[u] != self.group[v] and problem.moves(dep):
                waiting.add(v)
        for v, op in enumerate(problem.ops):
            if problem.rules.in_order:
                yield Arc(v, v, op.issue, 1)
            for o, other in enumerate(problem.ops):
                if o == v or self.group[o] != self.group[v]:
                    continue
                later = self.place[v] < self.place[o]
                if problem.rules.in_order and other.issue > 0 and op.issue > 0:
                    yield self._arc(o, v, other.issue, int(later))
                if v in waiting and problem.window(other) > 0:
                    yield self._arc(o, v, problem.window(other), int(later))
                    yield self._arc(v, o, 1, int(not later))

    def starts(self) -> Iterator[Arc]:
        """The order of all starts within an II."""
        ordered = sorted(range(len(self.start)), key=lambda v: self.place[v])
        for u, v in pairwise(ordered):
            yield self._arc(u, v, 0, 0)
        yield self._arc(ordered[-1], ordered[0], 0, 1)
