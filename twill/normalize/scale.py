"""One common scale (formulation 2.6): every cost times the same factor, rounded, so that no ratio is distorted beyond rounding.

Candidates are the factors at which some cost lands on an integer or on a rounding border.  Of those that bring the lower bound on the
II into the window, the one with the least error wins; all of it is integer arithmetic, apart from the comparison of errors, each of which
is a single division.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from twill.bounds.recurrence import recurrence_bounds
from twill.bounds.resource import resource_bounds
from twill.normalize.pool import Entry, Key, delay_entries, issue_entries, rebuilt, run_entries, runs, spill_entries
from twill.problem import Problem
from twill.schedule import Bound

Vector = NDArray[np.int64]

LARGEST_VALUE = 400
"""Values that candidates give to the cost that they are made from."""

_CHUNK = 4096


@dataclass(frozen=True)
class Scale:
    """A factor with its errors, and a lower bound on the II (in scaled cycles) that is quick to compute."""

    factor: Fraction
    cost_error: float
    unit_error: float
    floor: float = 0.0

    @property
    def rank(self) -> tuple[float, Fraction]:
        """The least error first, ties to the smaller factor."""
        return max(self.cost_error / 2, self.unit_error), self.factor


def entries(problem: Problem) -> list[Entry]:
    """All costs: runs, issue times, delays, spills."""
    return [*run_entries(problem), *issue_entries(problem), *delay_entries(problem), *spill_entries(problem)]


def scaled(pool: Sequence[Entry], factor: Fraction) -> dict[Key, int]:
    """The values of all entries: cost times `factor`, halves rounded up."""
    p, q = factor.numerator, factor.denominator
    return {entry.key: (2 * p * entry.cost + q) // (2 * q) for entry in pool}


def lower_bound(problem: Problem) -> int:
    """max(ResMII, RecMII)."""
    bounds = (*resource_bounds(problem), *recurrence_bounds(problem))
    return max((b.value for b in bounds if b.kind in ("resource", "recurrence")), default=1)


def best_scale(problem: Problem, target: int) -> Scale:
    """The factor of least error that brings the lower bound into [target / 2, target], or a window that is as little above as possible.

    A problem whose lower bound is no larger than `target` keeps its costs.
    """
    if lower_bound(problem) <= target:
        return Scale(Fraction(1), 0.0, 0.0)
    pool = entries(problem)
    ranked = sorted(_candidates(problem, pool), key=lambda scale: scale.rank)
    bounds: dict[Fraction, int] = {}
    top = target
    while True:
        for scale in ranked:
            if scale.floor > top:
                continue
            if scale.factor not in bounds:
                bounds[scale.factor] = lower_bound(rebuilt(problem, scaled(pool, scale.factor)))
            if target <= 2 * bounds[scale.factor] and bounds[scale.factor] <= top:
                return scale
        top *= 2


def _candidates(problem: Problem, pool: Sequence[Entry]) -> Iterator[Scale]:
    costs = np.array(sorted({entry.cost for entry in pool if entry.cost > 0}), dtype=np.int64)
    factors = sorted({Fraction(half, 2 * int(cost)) for cost in costs for half in range(1, 2 * LARGEST_VALUE + 1)})
    units = [unit for unit in _units(problem, pool, costs) if unit.counts.any()]
    slowest = max(recurrence_bounds(problem), key=lambda b: b.value if b.kind == "recurrence" else 0, default=Bound("recurrence", 1))
    for first in range(0, len(factors), _CHUNK):
        yield from _judged(factors[first : first + _CHUNK], costs, units, slowest)


@dataclass(frozen=True)
class _Unit:
    """How often each distinct cost occurs among the runs on a unit, counted with the servers that are held."""

    counts: Vector
    capacity: int


def _judged(factors: Sequence[Fraction], costs: Vector, units: Sequence[_Unit], slowest: Bound) -> Iterator[Scale]:
    p = np.array([factor.numerator for factor in factors], dtype=np.int64)
    q = np.array([factor.denominator for factor in factors], dtype=np.int64)
    exact = np.multiply.outer(p, costs)
    values = (2 * exact + q[:, None]) // (2 * q[:, None])
    big = costs * 16 >= costs.max()
    cost_errors = (np.abs(values * q[:, None] - exact) / exact)[:, big].max(axis=1)
    unit_errors = np.zeros(len(factors))
    # Rounding takes at most half a cycle from each delay of the slowest recurrence, whose ratio is more than its bound less 1.
    floors = (slowest.value - 1) * (p / q) - len(slowest.ops) / 2
    for unit in units:
        busy = values @ unit.counts
        raw = p * (costs @ unit.counts)
        unit_errors = np.maximum(unit_errors, np.abs(busy * q - raw) / raw)
        floors = np.maximum(floors, busy / unit.capacity)
    for row in zip(factors, cost_errors.tolist(), unit_errors.tolist(), floors.tolist(), strict=True):
        yield Scale(*row)


def _units(problem: Problem, pool: Sequence[Entry], costs: Vector) -> Iterator[_Unit]:
    place = {int(cost): i for i, cost in enumerate(costs)}
    for unit, capacity in problem.limits.units:
        counts = np.zeros(len(costs), dtype=np.int64)
        for entry in pool:
            if entry.kind == "run" and entry.cost > 0:
                counts[place[entry.cost]] += dict(runs(problem.ops[entry.subject])[entry.part].demand).get(unit, 0)
        if capacity > 0:
            yield _Unit(counts, capacity)
