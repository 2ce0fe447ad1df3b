"""Iterative modulo scheduling with warp groups: a schedule at once, somewhat above the smallest II, as an incumbent for the search.

After Rau (MICRO 1994): ops by the longest path below them; each at the first cycle, within one II of what its scheduled producers
allow, that collides with nothing; where there is none, at a cycle all the same, and what is in the way is scheduled again.  Warp groups
are chosen before, by a few rules of thumb.  Registers and memory are not looked at: the caller checks every candidate exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from twill.bounds.paths import positive_cycle
from twill.problem import Op, Problem
from twill.schedule import Placement, Schedule
from twill.sequential import one_after_the_other

# Placements per op before an interval is given up (Rau: 2 to 6).
BUDGET = 6
# Intervals above the bound, in 64ths of it: coarse far from it, fine close to it.
STEPS = (256, 128, 64, 32, 16, 8, 4, 2, 1, 0)

Ban = tuple[int, int]
"""Differences of starts lo .. hi, modulo II, that are not allowed."""


def intervals(lowest: int) -> list[int]:
    """Intervals worth a try, descending: at the larger ones there is a schedule at once."""
    return [lowest + -(-lowest * step // 64) for step in STEPS]


def candidates(problem: Problem, ii: int) -> Iterator[Schedule]:
    """Schedules at `ii`, in which dependences, units, waits and issue order hold; other limits need not."""
    if problem.rules.in_order and any(op.issue > ii for op in problem.ops):
        return
    several = max(_chains(problem), default=0) > 1
    for groups in groupings(problem):
        for chains in (False, True) if several else (False,):
            starts = _Attempt(problem, groups, ii, chains=chains).run()
            if starts is not None:
                yield _schedule(problem, groups, ii, starts)


def in_sequence(problem: Problem) -> Iterator[Schedule]:
    """One op after the other, in every grouping: what fits into the limits if anything does."""
    for groups in groupings(problem):
        made = one_after_the_other(problem, groups)
        if made is not None:
            yield made


def _chains(problem: Problem) -> tuple[int, ...]:
    """Independent chains of regular ops: a number from 1 for each op of one, 0 for variable-latency ops."""
    number = {op.name: v for v, op in enumerate(problem.ops)}
    regular = {op.name for op in problem.ops if not op.variable_latency}
    joined = [(number[d.src], number[d.dst]) for d in problem.dependences if d.src in regular and d.dst in regular]
    return _partition(problem.ops, joined, False)


def groupings(problem: Problem) -> Iterator[tuple[int, ...]]:
    """Warp group of each op, in several ways that fit into the warps: chains apart, register values kept, one for all, one for each."""
    ops = problem.ops
    number = {op.name: v for v, op in enumerate(ops)}
    regular = [not op.variable_latency for op in ops]
    edges = [(number[d.src], number[d.dst], problem.moves(d)) for d in problem.dependences]
    apart = not problem.rules.mixed
    within = [(u, v) for u, v, _ in edges if regular[u] and regular[v]]
    kept = [(u, v) for u, v, moves in edges if moves and regular[u] and regular[v]]
    synchronous = [(u, v) for u, v in within if not ops[u].asynchronous and not ops[v].asynchronous]
    seen = set()
    for joined in (within, kept, synchronous, [], [(u, v) for u in range(len(ops)) for v in range(u) if regular[u] and regular[v]]):
        for groups in (_partition(ops, joined, apart), _folded(problem, _partition(ops, joined, apart))):
            if groups not in seen and _width(problem, groups) <= problem.limits.warps:
                seen.add(groups)
                yield groups


def _partition(ops: tuple[Op, ...], joined: list[tuple[int, int]], apart: bool) -> tuple[int, ...]:
    """Groups of ops that `joined` connects, numbered from 1 in the order of the ops; 0 for variable-latency ops."""
    root = list(range(len(ops)))

    def find(v: int) -> int:
        while root[v] != v:
            v = root[v]
        return v

    for u, v in joined:
        if not apart or ops[u].warps == ops[v].warps:
            a, b = sorted((find(u), find(v)))
            root[b] = a
    names: dict[int, int] = {}
    return tuple(0 if op.variable_latency else names.setdefault(find(v), len(names) + 1) for v, op in enumerate(ops))


def _folded(problem: Problem, groups: tuple[int, ...]) -> tuple[int, ...]:
    """The groups dealt out to as many as fit into the warps."""
    if not problem.rules.mixed:
        return groups
    widest = max((problem.width_of(op.warps) for op in problem.ops if not op.variable_latency), default=1)
    most = max(1, problem.limits.warps // widest)
    return tuple(0 if g == 0 else 1 + (g - 1) % most for g in groups)


def _width(problem: Problem, groups: tuple[int, ...]) -> int:
    widths: dict[int, int] = {}
    for op, g in zip(problem.ops, groups, strict=True):
        if g:
            widths[g] = max(widths.get(g, 0), problem.width_of(op.warps))
    return sum(widths.values())


def _schedule(problem: Problem, groups: tuple[int, ...], ii: int, starts: list[int]) -> Schedule:
    first = min(starts)
    placements = tuple(Placement(op.name, start - first, g) for op, start, g in zip(problem.ops, starts, groups, strict=True))
    return Schedule(ii, max(p.start + op.span for p, op in zip(placements, problem.ops, strict=True)), placements)


class _Attempt:
    """One try at one interval with given groups."""

    def __init__(self, problem: Problem, groups: tuple[int, ...], ii: int, *, chains: bool) -> None:
        self.problem, self.groups, self.ii, self.chains = problem, groups, ii, chains
        number = {op.name: v for v, op in enumerate(problem.ops)}
        self.ends = [(number[d.src], number[d.dst], d) for d in problem.dependences]
        crossing = problem.rules.cross_warp
        self.arcs = [
            (u, v, d.delay - d.distance * ii + (problem.spill(d) if crossing and groups[u] != groups[v] else 0)) for u, v, d in self.ends
        ]
        self.stays = all(groups[u] == groups[v] for u, v, d in self.ends if problem.ties(d))
        self.starts: list[int | None] = [None] * len(problem.ops)

    def run(self) -> list[int] | None:
        """Start cycles, or None when the budget is used up or the interval is impossible."""
        count = len(self.problem.ops)
        if not self.stays or positive_cycle(count, self.arcs) is not None or not self._possible():
            return None
        chain = _chains(self.problem) if self.chains else (0,) * count
        order = sorted(range(count), key=lambda v: (chain[v], -self._heights[v], v))
        # Chains begin one after the other: together they would keep all their values alive at once.
        floor = [max(0, c - 1) * self.ii // max(1, *chain) for c in chain]
        last: list[int | None] = [None] * count
        for _ in range(BUDGET * count):
            v = next((v for v in order if self.starts[v] is None), None)
            if v is None:
                self._sink()
                return [start for start in self.starts if start is not None]
            earliest = max([floor[v], *(self._start(u) + gap for u, w, gap in self._into[v] if u != v and self.starts[u] is not None)])
            start = self._free(v, earliest)
            if start is None:
                before = last[v]
                start = earliest if before is None or before < earliest else before + 1
                self._make_room(v, start)
            self.starts[v] = last[v] = start
            for _, w, gap in self._out_of[v]:
                if w != v and self.starts[w] is not None and self._start(w) < start + gap:
                    self.starts[w] = None
        return None

    def _sink(self) -> None:
        """Move producers towards their uses, so that values live no longer than they must."""
        weight = [op.registers + sum(size for _, size in op.memory) for op in self.problem.ops]
        for v in sorted(range(len(weight)), key=lambda v: -self._start(v)):
            taken = sum(weight[u] for u in {u for u, w, d in self.ends if w == v and u != v and d.carries_value})
            latest = min((self._start(w) - gap for _, w, gap in self._out_of[v] if w != v), default=self._start(v))
            if weight[v] > taken:
                start = latest
                while start > self._start(v) and (step := self._collision(v, start, back=True)):
                    start -= step
                self.starts[v] = max(start, self._start(v))

    def _start(self, v: int) -> int:
        start = self.starts[v]
        assert start is not None
        return start

    def _possible(self) -> bool:
        """Whether every op is compatible with itself and no pair excludes all differences."""
        longest = max((row.duration for op in self.problem.ops for row in op.reservations), default=0)
        widest = max((hi - lo + 1 for row in self._bans for _, bans in row for lo, hi in bans), default=0)
        return longest <= self.ii and widest < self.ii and all(self._fits(v, 0, alone=True) for v in range(len(self.groups)))

    @cached_property
    def _into(self) -> list[list[tuple[int, int, int]]]:
        return [[arc for arc in self.arcs if arc[1] == v] for v in range(len(self.groups))]

    @cached_property
    def _out_of(self) -> list[list[tuple[int, int, int]]]:
        return [[arc for arc in self.arcs if arc[0] == v] for v in range(len(self.groups))]

    @cached_property
    def _heights(self) -> list[int]:
        """Longest path from each op to any end."""
        heights = [op.span for op in self.problem.ops]
        for _ in heights:
            changed = False
            for u, v, gap in self.arcs:
                if heights[v] + gap > heights[u]:
                    heights[u], changed = heights[v] + gap, True
            if not changed:
                break
        return heights

    @cached_property
    def _bans(self) -> list[list[tuple[int, tuple[Ban, ...]]]]:
        """For each op v: (o, differences t_v - t_o that are banned), for every o that can be in its way."""
        count = len(self.groups)
        waits = {v for u, v, d in self.ends if d.blocking or (self.problem.moves(d) and self.groups[u] != self.groups[v])}
        table: list[list[tuple[int, tuple[Ban, ...]]]] = []
        for v in range(count):
            row = [(o, tuple(self._banned(v, o, waits))) for o in range(count) if o != v]
            table.append([(o, bans) for o, bans in row if bans])
        return table

    def _banned(self, v: int, o: int, waits: set[int]) -> Iterator[Ban]:
        problem, op, other = self.problem, self.problem.ops[v], self.problem.ops[o]
        if self.groups[o] == self.groups[v]:
            ordered = problem.rules.in_order and op.issue > 0 and other.issue > 0
            after = max(problem.window(other) if v in waits else 0, other.issue if ordered else 0)
            before = max(problem.window(op) if o in waits else 0, op.issue if ordered else 0)
            if after:
                yield 0, after - 1
            if before:
                yield 1 - before, 0
        for mine in op.reservations:
            for theirs in other.reservations:
                shared = mine.unit == theirs.unit and mine.duration > 0 and theirs.duration > 0
                if shared and mine.amount + theirs.amount > problem.limits.unit_capacity(mine.unit):
                    apart = theirs.offset - mine.offset
                    yield apart - mine.duration + 1, apart + theirs.duration - 1

    def _free(self, v: int, earliest: int) -> int | None:
        """The first cycle from `earliest` on, within one II, at which op v collides with nothing."""
        start = earliest
        while start < earliest + self.ii:
            step = self._collision(v, start)
            if step == 0:
                return start
            start += step
        return None

    def _collision(self, v: int, start: int, *, back: bool = False) -> int:
        """0 when op v may start at `start`, else cycles to go on, or back, before it can be different."""
        for o, bans in self._bans[v]:
            placed = self.starts[o]
            if placed is not None:
                for lo, hi in bans:
                    inside = (start - placed - lo) % self.ii
                    if inside <= hi - lo:
                        return inside + 1 if back else hi - lo - inside + 1
        return 0 if self._fits(v, start) else 1

    def _fits(self, v: int, start: int, *, alone: bool = False) -> bool:
        """Whether units with several servers have one free for op v, or all units for op v `alone`.

        Load can only peak where a reservation begins.
        """
        for unit in {row.unit for row in self.problem.ops[v].reservations}:
            capacity = self.problem.limits.unit_capacity(unit)
            if capacity > 1 or alone:
                placed = [(o, s) for o, s in enumerate(self.starts) if s is not None and o != v] + [(v, start)]
                rows = [(s + r.offset, r) for o, s in placed for r in self.problem.ops[o].reservations if r.unit == unit and r.duration]
                for begin, _ in rows:
                    if sum(row.amount for at, row in rows if (begin - at) % self.ii < row.duration) > capacity:
                        return False
        return True

    def _make_room(self, v: int, start: int) -> None:
        """Take away what op v collides with at `start`."""
        for o, bans in self._bans[v]:
            placed = self.starts[o]
            if placed is not None and any((start - placed - lo) % self.ii <= hi - lo for lo, hi in bans):
                self.starts[o] = None
        units = {row.unit for row in self.problem.ops[v].reservations}
        for o, other in enumerate(self.problem.ops):
            if o != v and any(row.unit in units for row in other.reservations) and not self._fits(v, start):
                self.starts[o] = None
