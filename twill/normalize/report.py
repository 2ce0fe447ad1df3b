"""What every method must report about what it did to the costs (formulation 2.7)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from twill.clock import Clock
from twill.problem import Problem


@dataclass(frozen=True)
class Report:
    """Costs before and after.

    method      "scale", "zlp" or "zlp-lex"
    entries     costs in the pool
    positive    those that were positive
    collapsed   of these the ones that became 0: (name, cost)
    total       sum of the values, over entries
    smallest    smallest positive value; 0 when there is none
    largest     largest value
    budget      limit on the sum, over distinct costs for "zlp-lex"; None for "scale"
    distortion  F, in cross products of the costs that the program saw: proved least; None for "scale"
    factor      the common factor; None for the other methods
    cost_error  largest relative error of a cost of at least 1/16 of the largest; None for the other methods
    unit_error  largest relative error of a unit's busy time; None for the other methods
    bound       lower bound on the II, in normalized cycles
    changed     False when the costs were left alone
    """

    method: str
    entries: int
    positive: int
    collapsed: tuple[tuple[str, int], ...]
    total: int
    smallest: int
    largest: int
    bound: int
    budget: int | None = None
    distortion: int | None = None
    factor: Fraction | None = None
    cost_error: float | None = None
    unit_error: float | None = None
    changed: bool = True

    @property
    def spread(self) -> Fraction:
        """Largest over smallest positive value; 0 when all are 0."""
        return Fraction(self.largest, self.smallest) if self.smallest else Fraction(0)


@dataclass(frozen=True)
class Normalized:
    """A problem in normalized cycles, the report that belongs to it, and how the time of each op was mapped."""

    problem: Problem
    report: Report
    clocks: tuple[Clock, ...]
