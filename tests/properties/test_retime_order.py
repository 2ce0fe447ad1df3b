"""A schedule timed anew on its own costs stays right and gets no slower; on normalized costs of a random problem it stays right."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.brute_force import search
from oracle.strategies import problems

from twill.normalize import Settings, normalize
from twill.normalize.pool import clocks
from twill.normalize.scale import entries
from twill.problem import Problem
from twill.retime import retime
from twill.schedule import Placement, Schedule
from twill.verify import check

LIMITED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
LIVENESS = {"memory", "registers"}
"""Families about how long values live, which only the order of all starts fixes."""


def schedule_of(problem: Problem, ii: int) -> Schedule | None:
    found = search(problem, ii)
    if found is None:
        return None
    return Schedule(ii, found.length, tuple(Placement(op.name, found.starts[op.name], found.groups[op.name]) for op in problem.ops))


@LIMITED
@given(problem=problems(), ii=st.integers(1, 4), whole_order=st.booleans())
def test_on_its_own_costs(problem: Problem, ii: int, whole_order: bool) -> None:
    schedule = schedule_of(problem, ii)
    assume(schedule is not None)
    assert schedule is not None
    own = clocks(problem, {entry.key: entry.cost for entry in entries(problem)})
    made = retime(problem, own, schedule, whole_order=whole_order)
    assert made is not None
    assert made.schedule.ii <= ii
    assert {v.family for v in check(problem, made.schedule).violations} <= LIVENESS


@LIMITED
@given(problem=problems(), ii=st.integers(1, 4), method=st.sampled_from(("zlp", "zlp-lex")), budget=st.sampled_from((2, 5, 20)))
def test_from_normalized_costs(problem: Problem, ii: int, method: str, budget: int) -> None:
    normalized = normalize(problem, method, Settings(budget=budget))
    schedule = schedule_of(normalized.problem, ii)
    assume(schedule is not None)
    assert schedule is not None
    made = retime(problem, normalized.clocks, schedule)
    if made is not None:
        assert {v.family for v in check(problem, made.schedule).violations} <= LIVENESS
