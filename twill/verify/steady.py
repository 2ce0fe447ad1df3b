"""The steady state: what happens in one II of a schedule that repeats for ever.

An arc is something that lasts from cycle `begin` to before cycle `end` in iteration 0, and II cycles later in the next iteration.
Wrapped around one II, arcs lie over each other; `overlay` cuts the II at every point where one begins or ends and says what lies
over each piece.  So the work depends on the number of ops, never on the number of cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from twill.problem import Dependence, Op, Problem
from twill.schedule import Schedule


class Arc(NamedTuple):
    """`amount` of something, held on behalf of `op` in the cycles [begin, end) of iteration 0."""

    op: str
    begin: int
    end: int
    amount: int

    def instances(self, phase: int, ii: int) -> int:
        """Iterations whose arc covers slot `phase`: the number of integers k with begin <= phase + k * ii < end."""
        first = -((phase - self.begin) // ii)
        after = -((phase - self.end) // ii)
        return max(0, after - first)


class Piece(NamedTuple):
    """The slots [begin, end) of [0, II), of constant load; `holders` are the ops that cause it, each with its live instances."""

    begin: int
    end: int
    load: int
    holders: tuple[tuple[str, int], ...]

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops that cause the load."""
        return tuple(op for op, _ in self.holders)

    def __str__(self) -> str:
        return ", ".join(op if count == 1 else f"{count} x {op}" for op, count in self.holders)


def overlay(arcs: Iterable[Arc], ii: int) -> tuple[Piece, ...]:
    """The pieces of one II, in order; together they are the whole of [0, ii)."""
    kept = tuple(arc for arc in arcs if arc.amount)
    cuts = sorted({0, ii} | {arc.begin % ii for arc in kept} | {arc.end % ii for arc in kept})
    return tuple(_piece(kept, begin, end, ii) for begin, end in pairwise(cuts))


def _piece(arcs: tuple[Arc, ...], begin: int, end: int, ii: int) -> Piece:
    load = 0
    holders: dict[str, int] = {}
    for arc in arcs:
        count = arc.instances(begin, ii)
        if count:
            load += arc.amount * count
            holders[arc.op] = holders.get(arc.op, 0) + count
    return Piece(begin, end, load, tuple(holders.items()))


def peak(pieces: Iterable[Piece]) -> Piece:
    """The first piece with the largest load."""
    return max(pieces, key=lambda piece: (piece.load, -piece.begin))


def overloads(pieces: Iterable[Piece], capacity: int) -> Iterator[Piece]:
    """Of every unbroken run of pieces above `capacity`, the worst."""
    run: list[Piece] = []
    for piece in pieces:
        if piece.load > capacity:
            run.append(piece)
        elif run:
            yield peak(run)
            run = []
    if run:
        yield peak(run)


@dataclass(frozen=True)
class Steady:
    """A schedule that places every op of its problem once, ready to be asked questions."""

    problem: Problem
    ii: int
    ops: dict[str, Op]
    start: dict[str, int]
    group: dict[str, int]
    depths: dict[str, int]

    @classmethod
    def of(cls, problem: Problem, schedule: Schedule) -> Steady:
        """Forget placements of ops that the problem does not have."""
        ops = {op.name: op for op in problem.ops}
        placed = [p for p in schedule.placements if p.op in ops]
        depths = {op: slots for op, slots in schedule.depths if op in ops}
        return cls(problem, schedule.ii, ops, {p.op: p.start for p in placed}, {p.op: p.group for p in placed}, depths)

    def slot(self, op: str) -> int:
        """The slot of [0, II) in which the op starts."""
        return self.start[op] % self.ii

    def crosses(self, dep: Dependence) -> bool:
        """Whether the two ends are in different groups."""
        return self.group[dep.src] != self.group[dep.dst]

    def hands_over(self, dep: Dependence) -> bool:
        """Whether the ends are in different groups and what comes from the source is in registers."""
        return self.crosses(dep) and dep.kind != "ring" and self.ops[dep.src].registers > 0

    def groups(self) -> tuple[int, ...]:
        """Numbers of the groups that hold an op, ascending."""
        return tuple(sorted(set(self.group.values())))

    def members(self, group: int) -> tuple[Op, ...]:
        """Ops of a group, in the order of the problem."""
        return tuple(op for op in self.problem.ops if self.group[op.name] == group)

    def width(self, group: int) -> int:
        """Warps of a group: its widest op's, rounded up to 1, 2, 4, 8 (W2'); wider ones as they are."""
        widest = max(op.warps for op in self.members(group))
        return next((width for width in (1, 2, 4, 8) if width >= widest), widest)

    def lives(self, amount: Callable[[Op], int], ops: Iterable[Op]) -> list[Arc]:
        """One arc per value that is ever alive: from the start of its op to its last use (E')."""
        last = self.last_uses()
        return [Arc(op.name, self.start[op.name], last[op.name], amount(op)) for op in ops if op.name in last]

    def last_uses(self) -> dict[str, int]:
        """Cycle in which the last user lets go of a value, per value; values without a user are never alive."""
        last: dict[str, int] = {}
        for dep in self.problem.dependences:
            if dep.carries_value:
                use = self.start[dep.dst] + dep.distance * self.ii + self.hold(dep)
                last[dep.src] = max(use, last.get(dep.src, use))
        return last

    def hold(self, dep: Dependence) -> int:
        """Cycles from the user's start to when it lets go of the value: none, except for the rule `hold` (A26).

        Under that rule an asynchronous op reads its operands in memory until it completes, unless it works in place; and a value
        that is loaded ahead has its buffer for the latency of the load as well.
        """
        source, user = self.ops[dep.src], self.ops[dep.dst]
        if not (self.problem.rules.hold and source.memory):
            return 0
        ahead = source.latency if source.streaming else 0
        return ahead + user.cycles if user.asynchronous and not dep.in_place else ahead
