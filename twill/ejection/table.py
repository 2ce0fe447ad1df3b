"""What does not change while ops are placed at one interval: least gaps, what bans what, which values there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from twill.bounds.arrays import ArrayGaps
from twill.bounds.gaps import FAR
from twill.bounds.recurrence import plain_weights
from twill.problem import Dependence, Problem

Numbers = NDArray[np.int64]
Truths = NDArray[np.bool_]

REGISTERS = -1
"""The pool of values in registers; memories are numbered from 0."""


@dataclass(frozen=True)
class Value:
    """What is held from the start of op `owner` on until the last use: (op, cycles after its start), counted in the owner's iteration."""

    owner: int
    size: int
    pool: int
    uses: tuple[tuple[int, int], ...]


class Table:
    """The problem at one interval, in arrays.

    gap       least difference of starts, over all paths, without spills; FAR where there is none
    crossing  the same for single dependences, with spills
    close     [u, v]: the ops are ends of one dependence, or of two with an end in common
    moves     [u, v]: a register value of u has to change its group when v is in another one
    bans      for each op v: (ops o, lowest, highest banned difference of the starts of v and o), modulo the interval, for units
    values    all values; `touched` lists those whose lifetimes each op takes part in
    kin       ops with equal numbers must share a group
    """

    def __init__(self, problem: Problem, ii: int, ties: tuple[tuple[str, str], ...] = ()) -> None:
        self.problem, self.ii, self.count = problem, ii, len(problem.ops)
        self.number = {op.name: v for v, op in enumerate(problem.ops)}
        closed = ArrayGaps.of(self.count, plain_weights(problem, ii))
        closed.close()
        self.gap = closed.values
        self._ends = [(self.number[d.src], self.number[d.dst], d) for d in problem.dependences]
        self.crossing, self.moves = self._crossing()
        linked = (self.crossing > FAR // 2) | (self.crossing > FAR // 2).T
        self.close = linked | ((linked.astype(np.int64) @ linked.astype(np.int64)) > 0)
        pairs = [(u, v) for u, v, d in self._ends if problem.ties(d)] + [(self.number[u], self.number[v]) for u, v in ties]
        self.kin = _components(self.count, pairs)
        ops = problem.ops
        self.waits = np.zeros(self.count, dtype=bool)
        self.waits[[v for _, v, d in self._ends if d.blocking]] = True
        self.window = np.array([problem.window(op) for op in ops], dtype=np.int64)
        self.issue = np.array([op.issue for op in ops], dtype=np.int64)
        self.width = np.array([problem.width_of(op.warps) for op in ops], dtype=np.int64)
        self.free = np.array([not op.variable_latency for op in ops])
        self.bans = [self._banned(v) for v in range(self.count)]
        self.values = tuple(self._values())
        self.touched: list[list[int]] = [[] for _ in ops]
        for k, value in enumerate(self.values):
            for v in dict.fromkeys((value.owner, *(user for user, _ in value.uses))):
                self.touched[v].append(k)
        # Longest path from each op to any end: what has much behind it is placed first.
        self.height = (self.gap + np.array([op.span for op in ops])).max(axis=1)

    @property
    def possible(self) -> bool:
        """Whether dependences and every op alone leave this interval possible."""
        longest = max((r.duration for op in self.problem.ops for r in op.reservations), default=0)
        held = int(self.issue.max(initial=0)) if self.problem.rules.in_order else 0
        return not (np.diag(self.gap) > 0).any() and max(longest, held) <= self.ii

    def _crossing(self) -> tuple[Numbers, Truths]:
        gaps = np.full((self.count, self.count), FAR, dtype=np.int64)
        moves = np.zeros((self.count, self.count), dtype=bool)
        for u, v, d in self._ends:
            if u != v:
                spill = self.problem.spill(d) if self.problem.rules.cross_warp else 0
                gaps[u, v] = max(gaps[u, v], d.delay - d.distance * self.ii + spill)
                moves[u, v] |= self.problem.moves(d)
        return gaps, moves

    def _banned(self, v: int) -> tuple[Numbers, Numbers, Numbers]:
        limits, rows = self.problem.limits, []
        for o, other in enumerate(self.problem.ops):
            for mine in self.problem.ops[v].reservations if o != v else ():
                for theirs in other.reservations:
                    meet = mine.unit == theirs.unit and mine.duration > 0 and theirs.duration > 0
                    if meet and mine.amount + theirs.amount > limits.unit_capacity(mine.unit):
                        apart = theirs.offset - mine.offset
                        rows.append((o, apart - mine.duration + 1, apart + theirs.duration - 1))
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return columns[:, 0], columns[:, 1], columns[:, 2]

    def _values(self) -> Iterator[Value]:
        """Values with users in registers and in memories; under the rule `rings` those of a chain share their buffers."""
        problem = self.problem
        chains = problem.chains if problem.rules.rings else tuple((op.name,) for op in problem.ops)
        for op in problem.ops:
            uses = self._uses([d for d in problem.dependences if d.src == op.name and d.carries_value])
            if op.registers and uses:
                yield Value(self.number[op.name], op.registers, REGISTERS, uses)
        for pool, (memory, _) in enumerate(problem.limits.memories):
            for chain in chains:
                uses = self._uses(list(problem.uses(chain)))
                if uses and problem.buffer(chain, memory):
                    yield Value(self.number[chain[0]], problem.buffer(chain, memory), pool, uses)

    def _uses(self, dependences: list[Dependence]) -> tuple[tuple[int, int], ...]:
        latest: dict[int, int] = {}
        for d in dependences:
            after = d.distance * self.ii + self.problem.held(d)
            latest[self.number[d.dst]] = max(latest.get(self.number[d.dst], after), after)
        return tuple(latest.items())


def _components(count: int, pairs: list[tuple[int, int]]) -> Numbers:
    root = list(range(count))

    def find(v: int) -> int:
        while root[v] != v:
            v = root[v]
        return v

    for u, v in pairs:
        root[find(u)] = find(v)
    return np.array([find(v) for v in range(count)], dtype=np.int64)
