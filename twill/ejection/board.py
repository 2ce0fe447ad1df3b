"""Ops that are placed so far: starts, warp groups, who waits, how long values live, and which limit they exceed.

Not counted, so that the caller's exact check may refuse what came out: register grants, the steps in which they are given, slots of
rings for values that leave their group, and units with several servers beyond what pairs of ops exclude.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twill.ejection.table import REGISTERS, Numbers, Table, Truths

NEVER = -(2**50)


@dataclass(frozen=True)
class Excess:
    """A limit that is exceeded: how much each of these values takes at the worst moment, and the excess as a share of the limit."""

    values: tuple[int, ...]
    taken: tuple[int, ...]
    share: float


class Board:
    """The placed ops of one attempt."""

    def __init__(self, table: Table) -> None:
        self.table, self.ii = table, table.ii
        self.start: Numbers = np.zeros(table.count, dtype=np.int64)
        self.group: Numbers = np.full(table.count, -1, dtype=np.int64)
        self.placed: Truths = np.zeros(table.count, dtype=bool)
        self.waiting: Truths = table.waits.copy()
        self.until: Numbers = np.full(len(table.values), NEVER, dtype=np.int64)
        self._owner = np.array([value.owner for value in table.values], dtype=np.int64)
        self._size = np.array([value.size for value in table.values], dtype=np.int64)
        self._pool = np.array([value.pool for value in table.values], dtype=np.int64)

    def place(self, v: int, start: int, group: int) -> None:
        """Put op v there."""
        self.start[v], self.group[v], self.placed[v] = start, group, True
        self._changed(v)

    def remove(self, v: int) -> None:
        """Take op v away."""
        self.placed[v] = False
        self._changed(v)

    def _changed(self, v: int) -> None:
        for x in (v, *np.flatnonzero(self.table.moves[v] & self.placed)):
            if self.placed[x]:
                self.waiting[x] = self.would_wait(int(x), int(self.group[x]))
        for k in self.table.touched[v]:
            value = self.table.values[k]
            ends = [int(self.start[user]) + after for user, after in value.uses if self.placed[user]] if self.placed[value.owner] else []
            self.until[k] = max(ends, default=NEVER)

    def would_wait(self, v: int, group: int) -> bool:
        """Whether op v waits before it starts when it is in `group`."""
        table = self.table
        return bool(table.waits[v] or (table.moves[:, v] & self.placed & (self.group != group)).any())

    def begin_to_wait(self, v: int, group: int) -> list[int]:
        """Users of the value of op v that would wait if it were in `group`, and start while their group is held."""
        new = np.flatnonzero(self.table.moves[v] & self.placed & (self.group != group) & ~self.waiting)
        return [int(x) for x in new if x != v and self._held(int(x))]

    def _held(self, x: int) -> bool:
        mates = np.flatnonzero(self.placed & (self.group == self.group[x]))
        mates = mates[mates != x]
        return bool((((self.start[x] - self.start[mates]) % self.ii) < self.table.window[mates]).any())

    def widths(self) -> dict[int, int]:
        """Width of each regular group."""
        found: dict[int, int] = {}
        for u in np.flatnonzero(self.placed & self.table.free):
            g = int(self.group[u])
            found[g] = max(found.get(g, 0), int(self.table.width[u]))
        return dict(sorted(found.items()))

    def excess(self, v: int) -> Excess | None:
        """A limit that is exceeded since op v was placed, the first that is found."""
        pools = {self.table.values[k].pool for k in self.table.touched[v]}
        found = self._memory(pools)
        if found is None and REGISTERS in pools:
            values = [self.table.values[k] for k in self.table.touched[v]]
            groups = {int(self.group[value.owner]) for value in values if self.placed[value.owner]}
            found = self._registers(sorted(groups | {int(self.group[v])}))
        return found

    def _memory(self, pools: set[int]) -> Excess | None:
        problem = self.table.problem
        for pool, (_, capacity) in enumerate(problem.limits.memories):
            if pool in pools:
                held = np.flatnonzero((self._pool == pool) & (self.until > NEVER))
                starts = self.start[self._owner[held]]
                if problem.rules.rings:
                    taken = self._size[held] * np.maximum(0, -((starts - self.until[held]) // self.ii))
                    load = int(taken.sum())
                else:
                    load, taken = self._peak(held, self._size[held])
                if load > capacity:
                    return _exceeded(held, taken, load, capacity)
        return None

    def _registers(self, groups: list[int]) -> Excess | None:
        limits = self.table.problem.limits
        if limits.registers_per_warp is None and limits.registers_per_sm is None:
            return None
        peaks = []
        for group in groups if limits.registers_per_sm is None else sorted({0, *self.widths()}):
            mine = self.placed & (self.group == group)
            width = int(self.table.width[mine].max(initial=1))
            held = np.flatnonzero((self._pool == REGISTERS) & (self.until > NEVER) & mine[self._owner])
            load, taken = self._peak(held, -(-self._size[held] // width), self._copies(group, width, mine))
            if limits.registers_per_warp is not None and load > limits.registers_per_warp:
                return _exceeded(held, taken, load, limits.registers_per_warp)
            peaks.append((width * load, held, taken))
        total = sum(peak for peak, _, _ in peaks)
        if limits.registers_per_sm is not None and total > limits.registers_per_sm:
            _, held, taken = max(peaks, key=lambda at: at[0])
            return _exceeded(held, taken, total, limits.registers_per_sm)
        return None

    def _copies(self, group: int, width: int, mine: Truths) -> dict[int, int]:
        """Words of copies of other groups' values (A22), by the phase at which users of them start."""
        found: dict[int, int] = {}
        if self.table.problem.rules.rings:
            others = self.placed & (self.group != group)
            for u, x in zip(*np.nonzero(self.table.moves & others[:, None] & mine[None, :]), strict=True):
                if not self.table.problem.ops[u].memory:
                    phase = int(self.start[x]) % self.ii
                    found[phase] = found.get(phase, 0) + -(-self.table.problem.ops[u].registers // width)
        return found

    def _peak(self, held: Numbers, size: Numbers, extra: dict[int, int] | None = None) -> tuple[int, Numbers]:
        """The most that is taken when one of the values, or a user of a copy (`extra`, by phase), starts, and what each value takes."""
        starts, ends = self.start[self._owner[held]], self.until[held]
        added = extra or {}
        phases = np.array([*(starts % self.ii), *added], dtype=np.int64)
        if not len(phases):
            return 0, size
        live = -((phases[None, :] - ends[:, None]) // self.ii) + (starts[:, None] - phases[None, :]) // -self.ii
        load = size @ live + np.array([*(added.get(int(phase), 0) for phase in phases)], dtype=np.int64)
        worst = int(load.argmax())
        return int(load[worst]), size * live[:, worst]

    def ends(self, k: int) -> Iterator[int]:
        """The placed ops between which value k lives."""
        value = self.table.values[k]
        yield value.owner
        yield max((int(self.start[user]) + after, user) for user, after in value.uses if self.placed[user])[1]


def _exceeded(held: Numbers, taken: Numbers, load: int, limit: int) -> Excess:
    return Excess(tuple(map(int, held)), tuple(map(int, taken)), (load - limit) / max(1, limit))
