"""Ejection search on random tiny problems: what is placed keeps the rules, and what is accepted is a schedule for checker and oracle."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import brute_force
from oracle.strategies import problems

from twill.bounds import contradictions
from twill.ejection.attempt import Attempt
from twill.ejection.bundles import bundled
from twill.ejection.table import Table
from twill.heuristic import groupings
from twill.joint.breaches import breaches
from twill.joint.exact import excesses
from twill.problem import Problem
from twill.schedule import Schedule
from twill.verify import check

quiet = settings(deadline=None, suppress_health_check=list(HealthCheck))


def attempted(problem: Problem, ii: int, steps: int = 60) -> Schedule | None:
    """What the first attempt at this interval makes of all groups that are proposed."""
    bundles = bundled(problem)
    table = Table(bundles.problem, ii, bundles.ties)
    for groups in groupings(bundles.problem) if table.possible else ():
        attempt = Attempt(table, groups, 1)
        if attempt.run(steps):
            return bundles.schedule(problem, attempt.schedule())
    return None


@settings(quiet, max_examples=60)
@given(problem=problems(max_ops=5), ii=st.integers(1, 8))
def test_what_is_placed_keeps_dependences_waits_issue_order_and_group_widths(problem: Problem, ii: int) -> None:
    found = None if contradictions(problem) else attempted(problem, ii)
    if found is not None:
        several = any(capacity > 1 for _, capacity in problem.limits.units)
        assert set(breaches(problem, found)) <= ({"R"} if several else set())


@settings(quiet, max_examples=60)
@given(problem=problems(max_ops=4), ii=st.integers(1, 4))
def test_what_the_exact_evaluation_accepts_the_checker_and_the_oracle_accept(problem: Problem, ii: int) -> None:
    found = None if contradictions(problem) else attempted(problem, ii)
    if found is not None and not [*breaches(problem, found), *excesses(problem, found)]:
        assert check(problem, found).violations == ()
        assert brute_force.feasible(problem, ii) is not None
