"""Closing the gap between what is excluded and what is feasible: how many questions that takes."""

from __future__ import annotations

from itertools import pairwise

import pytest

from twill import heuristic
from twill.asking import Asker, StoppedError
from twill.interval import COPIES_FROM, IntervalSearch
from twill.modulo import ModuloAnswer
from twill.problem import Dependence, Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule
from twill.verify import check


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


class Late(IntervalSearch):
    """The limit is over before anything was found."""

    def _search(self) -> int | None:
        raise StoppedError("the time limit of 1 s is over")


@pytest.mark.parametrize(("ops", "scheduled"), [(COPIES_FROM - 1, False), (COPIES_FROM, True)])
def test_a_long_loop_without_an_answer_has_what_a_few_attempts_find(ops: int, scheduled: bool) -> None:
    problem = on_one_unit(ops)
    search = Late(Asker(problem, Idle()), ModuloAnswer("unknown", None), 2 * ops, None, lambda _: None)
    with pytest.raises(StoppedError):
        search.run()
    assert (search.best is not None) == scheduled
    if search.best is not None:
        assert check(problem, search.best).violations == ()
        assert 2 * ops <= search.best.ii < next(heuristic.in_sequence(problem)).ii


def test_a_long_loop_without_an_answer_has_no_schedule_above_the_limit() -> None:
    problem = on_one_unit(COPIES_FROM)
    search = Late(Asker(problem, Idle()), ModuloAnswer("unknown", None), 2, 2 * COPIES_FROM - 1, lambda _: None)
    with pytest.raises(StoppedError):
        search.run()
    assert search.best is None


def on_one_unit(ops: int) -> Problem:
    """A chain of ops that take two cycles of one unit each, and five until their results are there."""
    row = tuple(Op(f"op{i}", cycles=2, issue=1, reservations=(Reservation("ALU", 0, 2, 1),)) for i in range(ops))
    chain = tuple(Dependence(a.name, b.name, 5, 0) for a, b in pairwise(row))
    return Problem("chain", row, chain, Limits(units=(("ALU", 1),), warps=1))
