"""Normalized costs: what goes into the pool, what comes out, what is reported (cases S1 and formulation 2.3 to 2.7)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from twill.clock import Clock
from twill.normalize import Settings, normalize, prepared
from twill.normalize.pool import Run, delay_entries, issue_entries, op_entries, rebuilt, run_entries, runs, spill_entries
from twill.normalize.scale import best_scale, lower_bound
from twill.normalize.zlp import least_distortion
from twill.problem import Dependence, Limits, Op, Problem, Reservation


def costs_as_ops(*costs: int) -> Problem:
    """One op per cost, each alone on a unit for all of its span."""
    ops = tuple(Op(f"o{i}", reservations=(Reservation("U", 0, c),), cycles=c, issue=c) for i, c in enumerate(costs))
    return Problem("costs", ops, (), Limits((("U", 1),), (), 8))


TILE = Op(
    "tile",
    reservations=(Reservation("TC", 0, 4), Reservation("TC", 2, 4), Reservation("ALU", 8, 2)),
    cycles=12,
    issue=3,
    spill=5,
    latency=20,
)


@pytest.mark.parametrize(
    ("costs", "budget", "values", "distortion"),
    [((12, 3, 1), 12, (9, 2, 1), 3), ((4, 2), 6, (4, 2), 0), ((100, 1), 10, (1, 0), 1), ((133, 128), 10, (1, 1), 5)],
)
def test_s1_of_many_optima_the_largest_sum(costs: tuple[int, ...], budget: int, values: tuple[int, ...], distortion: int) -> None:
    found = least_distortion(costs, budget, largest_sum=True)
    assert (found.values, found.distortion) == (values, distortion)


def test_s1_through_a_problem() -> None:
    made = normalize(costs_as_ops(12, 3, 1), "zlp-lex", Settings(budget=12))
    assert [op.cycles for op in made.problem.ops] == [9, 2, 1]
    assert (made.report.distortion, made.report.total, made.report.spread, made.report.collapsed) == (3, 12, 9, ())


def test_s1_a_positive_cost_that_became_zero_is_named() -> None:
    made = normalize(costs_as_ops(100, 1), "zlp", Settings(budget=10))
    assert [(op.cycles, op.issue, op.reservations) for op in made.problem.ops] == [(1, 1, (Reservation("U", 0, 1),)), (0, 0, ())]
    assert made.report.collapsed == (('cycles 0 to 1 of "o1" (U)', 1),)


def test_nothing_positive_is_nothing_to_normalize() -> None:
    with pytest.raises(ValueError, match="nothing to normalize"):
        least_distortion((0, 0), 5)
    problem = Problem("still", (Op("a"), Op("b")), (Dependence("a", "b", 0),))
    for method in ("scale", "zlp", "zlp-lex"):
        made = normalize(problem, method)
        assert (made.problem, made.report.changed) == (problem, False)


def test_what_no_interval_satisfies_is_left_alone() -> None:
    circle = (Dependence("a", "b", 100), Dependence("b", "a", 0))
    problem = Problem("circle", (Op("a"), Op("b")), circle)
    assert normalize(problem, "zlp").problem == problem


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown method 'best'"):
        normalize(costs_as_ops(1), "best")


def test_tables_are_cut_into_runs_of_constant_demand_the_idle_rest_included() -> None:
    assert runs(TILE) == (
        Run(0, 2, (("TC", 1),)),
        Run(2, 4, (("TC", 2),)),
        Run(4, 6, (("TC", 1),)),
        Run(6, 8, ()),
        Run(8, 10, (("ALU", 1),)),
        Run(10, 12, ()),
    )
    assert runs(Op("free")) == ()
    assert runs(Op("issued", issue=4)) == (Run(0, 4, ()),)


def test_the_pools_of_the_methods() -> None:
    problem = Problem("one", (TILE, Op("free")), (Dependence("tile", "free", 7), Dependence("tile", "tile", 0, 1)))
    assert [e.cost for e in run_entries(problem)] == [2, 2, 2, 2, 2, 2]
    assert run_entries(problem)[1].name == 'cycles 2 to 4 of "tile" (TC)'
    assert run_entries(problem)[3].name == 'cycles 6 to 8 of "tile" (no unit)'
    assert [e.cost for e in op_entries(problem)] == [12, 0]
    assert [(e.name, e.cost) for e in issue_entries(problem)] == [('issue of "tile"', 3), ('latency of "tile"', 20)]
    assert [e.cost for e in delay_entries(problem)] == [7, 0]
    assert [e.cost for e in spill_entries(problem)] == [5, 0]
    assert [e.name for e in prepared.pool(problem)] == ['span of "tile"', 'delay from "tile" to "free"', 'spill of "tile"']


def test_runs_get_their_values_and_the_rest_follows() -> None:
    problem = Problem("one", (TILE,), (Dependence("tile", "tile", 9, 1),))
    values = {("run", 0, part): value for part, value in enumerate((1, 3, 0, 1, 2, 1))}
    op = rebuilt(problem, values).ops[0]
    assert op.reservations == (Reservation("TC", 0, 4), Reservation("TC", 1, 3), Reservation("ALU", 5, 2))
    assert (op.cycles, op.issue, op.latency, op.spill) == (8, 3, 13, 0)


def test_a_clock_rounds_up_inside_a_run_so_that_no_issue_vanishes() -> None:
    clock = Clock(12, ((0, 0), (4, 1), (12, 5)))
    assert [clock.at(c) for c in (0, 1, 4, 5, 8, 12, 99)] == [0, 1, 1, 2, 3, 5, 5]
    assert clock.stretched(24) == 10


def test_costs_close_to_the_first_of_their_cluster_are_merged_to_their_mean() -> None:
    assert prepared.merged([133, 100, 110, 109, 111, 10], Fraction(1, 10)) == [133, 106, 106, 106, 111, 10]
    assert prepared.merged([1, 2], Fraction(1)) == [2, 2]
    assert prepared.merged([5, 7], Fraction(0)) == [5, 7]


def test_small_costs_are_dropped_before_the_program() -> None:
    assert prepared.floored([320, 10, 9], 32) == [320, 10, 0]


def test_the_published_program_collapses_where_the_ratios_do_not_fit() -> None:
    """Formulation 2.4: one cycle more of budget, and three costs come back."""
    assert least_distortion((90, 57, 18, 6, 10), 12).values == (1, 1, 0, 0, 0)
    assert least_distortion((90, 57, 18, 6, 10), 24).values == (11, 7, 2, 1, 1)


def test_a_scale_keeps_every_ratio_within_rounding() -> None:
    problem = costs_as_ops(512, 512, 256, 64, 100)
    made = normalize(problem, "scale")
    report = made.report
    assert report.factor is not None
    assert [op.cycles for op in made.problem.ops] == [int(report.factor * c + Fraction(1, 2)) for c in (512, 512, 256, 64, 100)]
    assert 32 <= report.bound <= 64
    assert report.bound == lower_bound(made.problem)
    assert (report.budget, report.distortion) == (None, None)


def test_a_problem_that_is_small_already_keeps_its_costs() -> None:
    made = normalize(costs_as_ops(20, 30), "scale")
    assert (made.report.factor, made.report.changed, made.problem) == (1, False, costs_as_ops(20, 30))


def test_the_window_is_widened_upwards_when_no_scale_reaches_it() -> None:
    """70 ops of one cycle on one unit: at least 70 cycles as soon as one cycle remains of each."""
    problem = costs_as_ops(*[1000] * 70)
    found = best_scale(problem, 32)
    assert lower_bound(normalize(problem, "scale", Settings(target=32)).problem) == 70
    assert found.factor == Fraction(1, 1000)


def test_issue_times_are_scaled_like_every_cost() -> None:
    op = replace(TILE, reservations=(Reservation("TC", 0, 640),), cycles=640, issue=128, latency=0, spill=320)
    made = normalize(Problem("one", (op,), (), Limits((("TC", 1),))), "scale")
    new = made.problem.ops[0]
    assert (Fraction(new.issue, new.cycles), Fraction(new.spill, new.cycles)) == (Fraction(1, 5), Fraction(1, 2))
