"""Closing the gap between what is excluded and what is feasible: how many questions that takes."""

from __future__ import annotations

from twill.asking import Asker
from twill.interval import IntervalSearch
from twill.modulo import ModuloAnswer
from twill.problem import Limits, Op, Problem
from twill.schedule import Placement, Schedule


class Idle:
    """An engine that nobody is to ask."""

    name = "yices"
    version = ""


class Simulated(IntervalSearch):
    """Schedules exist from `smallest` on, and each is found exactly where it is asked for, so that compressing it gains nothing."""

    smallest = 1
    asked = 0

    def _probe(self, ii: int, patience: float) -> bool | None:
        self.asked += 1
        if ii < self.smallest:
            self.lowest = max(self.lowest, ii + 1)
            return False
        self.best = Schedule(ii, 1, (Placement("op", 0, 1),))
        return True


def questions(lowest: int, smallest: int, first: int) -> int:
    """Questions until the smallest interval is proved, from a first schedule on."""
    problem = Problem("one", (Op("op", cycles=1, issue=1),), (), Limits(warps=1))
    search = Simulated(Asker(problem, Idle()), ModuloAnswer("unknown", None), lowest, None, lambda _: None)
    search.smallest, search.best = smallest, Schedule(first, 1, (Placement("op", 0, 1),))
    search._close()
    assert search.best is not None and search.best.ii == search.lowest == smallest
    return search.asked


def test_the_interval_just_below_is_asked_first() -> None:
    assert questions(100, 140, 140) == 1


def test_questions_grow_with_the_logarithm_of_the_cycles() -> None:
    for factor in (1, 10, 100, 1000):
        gap = 64 * factor
        assert questions(1000 * factor, 1000 * factor + gap // 2, 1000 * factor + gap) <= 2 * gap.bit_length() + 1
