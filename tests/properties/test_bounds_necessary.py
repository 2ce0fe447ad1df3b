"""No bound is above the true smallest interval, and what is called impossible is: against exhaustive search from the definitions."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from oracle.brute_force import feasible, solve
from oracle.strategies import problems

from twill.bounds import contradictions, lower_bounds
from twill.problem import Problem

MAX_II = 4


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(problems(max_ops=3, max_cycles=4))
def test_bounds_are_necessary(problem: Problem) -> None:
    found = solve(problem, MAX_II)
    smallest = MAX_II + 1 if found is None else found[0]
    assert [bound for bound in lower_bounds(problem) if bound.value > smallest] == []


@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(problems(max_ops=3))
def test_contradictions_hold_at_every_interval(problem: Problem) -> None:
    if contradictions(problem):
        assert [ii for ii in range(1, MAX_II + 1) if feasible(problem, ii) is not None] == []
