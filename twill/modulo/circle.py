"""Reservation tables on the circle of II phases (formulation 3.1 (3)).

In the steady state every op runs once per interval, so its demand on a unit is folded modulo II: rows longer than II count
several times, rows with holes may meet themselves.  Folded, an op has a constant part (its base) and disjoint arcs above it.

The load of a unit is highest at a phase where some arc begins that rises over what its op held just before.  So capacity holds on
the whole circle if it holds where arcs rise, which takes no variable per phase.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from twill.bounds.resource import demand
from twill.bounds.words import counted
from twill.problem import Problem, Reservation


class Arc(NamedTuple):
    """`amount` servers above the base of op number `op`, in the phases [offset, offset + length) after its start, modulo II.

    0 < length < II; `rises` says that the op holds more here than just before.
    """

    op: int
    offset: int
    length: int
    amount: int
    rises: bool


class Circle(NamedTuple):
    """A unit at one interval: the servers that the bases of all ops leave over, and the arcs that share them."""

    unit: str
    free: int
    arcs: tuple[Arc, ...]


class Separation(NamedTuple):
    """Arcs of two ops never overlap: low <= t[second] - t[first] + k * II <= high for some integer k (high - low < II)."""

    first: int
    second: int
    low: int
    high: int


class Peak(NamedTuple):
    """Where arc `at` starts, it and those of `others` that cover its first phase together hold at most `free` servers."""

    at: Arc
    others: tuple[Arc, ...]
    free: int


def circles(problem: Problem, ii: int) -> tuple[Circle, ...]:
    """Every unit that ops use, folded at `ii`."""
    return tuple(c for c in (_circle(problem, unit, capacity, ii) for unit, capacity in problem.limits.units) if c is not None)


def overload(problem: Problem, ii: int) -> str | None:
    """A sentence when a unit cannot serve one iteration in `ii` cycles, or one op collides with itself; None otherwise."""
    for unit, capacity in problem.limits.units:
        needed = demand(problem, unit)
        if needed > capacity * ii:
            return f"one iteration needs {counted(needed, 'cycle')} of {unit}, which offers {capacity * ii} in {ii}"
        for op in problem.ops:
            base, arcs = fold([r for r in op.reservations if r.unit == unit], ii)
            peak = base + max((amount for _, _, amount, _ in arcs), default=0)
            if peak > capacity:
                return f'"{op.name}" overlaps its own next iterations on {unit}: it needs {peak} at once, there are {capacity}'
    return None


def separations(circle: Circle, ii: int) -> Iterator[Separation]:
    """Pairs of arcs of different ops that do not fit side by side."""
    for a, b in combinations(circle.arcs, 2):
        if a.op != b.op and a.amount + b.amount > circle.free:
            shift = b.offset - a.offset
            yield Separation(a.op, b.op, a.length - shift, ii - b.length - shift)


def peaks(circle: Circle) -> Iterator[Peak]:
    """Where arcs that fit in pairs might be too many together."""
    for at in circle.arcs:
        others = tuple(a for a in circle.arcs if a.op != at.op and a.amount + at.amount <= circle.free)
        most: dict[int, int] = {}
        for arc in others:
            most[arc.op] = max(most.get(arc.op, 0), arc.amount)
        if at.rises and at.amount + sum(most.values()) > circle.free:
            yield Peak(at, others, circle.free)


def fold(rows: Sequence[Reservation], ii: int) -> tuple[int, list[tuple[int, int, int, bool]]]:
    """Demand of one op on one unit modulo `ii`: its base, and arcs (offset, length, amount over the base, rises)."""

    def load(phase: int) -> int:
        turns = sum(row.amount * (row.duration // ii) for row in rows)
        return turns + sum(row.amount for row in rows if (phase - row.offset) % ii < row.duration % ii)

    points = sorted({0, *(row.offset % ii for row in rows), *((row.offset + row.duration) % ii for row in rows)})
    loads = [load(point) for point in points]
    base = min(loads)
    steps = [i for i in range(len(points)) if loads[i] != loads[i - 1]]
    ends = [points[i] for i in steps[1:]] + [points[steps[0]] + ii] if steps else []
    return base, [
        (points[i], end - points[i], loads[i] - base, loads[i] > loads[i - 1])
        for i, end in zip(steps, ends, strict=True)
        if loads[i] > base
    ]


def _circle(problem: Problem, unit: str, capacity: int, ii: int) -> Circle | None:
    free, arcs, used = capacity, [], False
    for number, op in enumerate(problem.ops):
        rows = [r for r in op.reservations if r.unit == unit]
        used = used or bool(rows)
        base, pieces = fold(rows, ii)
        free -= base
        arcs += [Arc(number, *piece) for piece in pieces]
    return Circle(unit, free, tuple(arcs)) if used else None
