"""The published system: formula, checker and exhaustive oracle agree on random tiny problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.published import satisfiable, solves, solves_on, warp_sets
from oracle.strategies import problems, schedules

from twill.asking import Asker
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.joint.assemble import Question, assemble, decode, make_system
from twill.joint.space import Options
from twill.joint.warp_sets import ALL_SETS, KINSHIP
from twill.literal import as_published
from twill.problem import Problem
from twill.schedule import Schedule
from twill.verify.published import check_published

ENGINES = {name: ProcessEngine(name) for name in available()}
LIMITED = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@pytest.fixture(scope="module", autouse=True)
def _close_engines() -> Iterator[None]:
    yield
    for engine in ENGINES.values():
        engine.close()


def ask(name: str, problem: Problem, ii: int, length: int) -> Schedule | None:
    """A solution that the engine finds, or None where it proves that there is none."""
    formula, space = assemble(Question(problem, ii, length, options=Options(literal=True)))
    answer = ENGINES[name].decide(formula, 60)
    assert answer.status in ("sat", "unsat"), answer
    return None if answer.model is None else decode(space, answer.model)


@pytest.mark.parametrize("name", ENGINES)
@LIMITED
@given(drawn=problems(max_ops=3), ii=st.integers(1, 4), length=st.integers(3, 7))
def test_verdicts_are_those_of_the_oracle(name: str, drawn: Problem, ii: int, length: int) -> None:
    problem = as_published(drawn)
    found = ask(name, problem, ii, length)
    assert (found is not None) == satisfiable(problem, ii, length)
    assert found is None or check_published(problem, found, length) == ()


@pytest.mark.parametrize("name", ENGINES)
@settings(LIMITED, max_examples=60)
@given(drawn=problems(max_ops=3), ii=st.integers(1, 4), length=st.integers(3, 6))
def test_warp_sets_are_those_of_the_oracle(name: str, drawn: Problem, ii: int, length: int) -> None:
    """Every layer for itself: all sets give the verdict, relaxed ones allow more, blocks less, and the search gives it."""
    problem = as_published(replace(drawn, rules=replace(drawn.rules, warp_sets=True)))
    expected = satisfiable(problem, ii, length)
    question = Question(problem, ii, length, options=Options(literal=True))
    relaxed, kinship, blocks, every = (layer(name, question, groups) for groups in (None, KINSHIP, 8, ALL_SETS))
    assert (every is not None) == expected
    assert not expected or (relaxed is not None and kinship is not None)
    assert expected or blocks is None
    found = Asker(problem, ENGINES[name]).ask(question)
    assert (found is not None) == expected
    for each in (blocks, every, found):
        assert each is None or check_published(problem, each, length) == ()


def layer(name: str, question: Question, groups: int | None) -> Schedule | None:
    """A solution of the question with these groups, None where it has none."""
    system = make_system(question)
    answer = ENGINES[name].decide(system.formula(question, groups), 60)
    assert answer.status in ("sat", "unsat"), answer
    return None if answer.model is None else decode(system.space, answer.model)


@settings(LIMITED, max_examples=60)
@given(data=st.data(), drawn=problems(max_ops=4), more=st.integers(0, 3))
def test_the_checker_accepts_the_warp_sets_that_the_definition_accepts(data: st.DataObject, drawn: Problem, more: int) -> None:
    problem = as_published(replace(drawn, rules=replace(drawn.rules, warp_sets=True)))
    schedule = data.draw(schedules(problem, max_start=5))
    choices = list(islice(warp_sets(problem), 200))
    assume(choices)
    lanes = data.draw(st.sampled_from(choices))
    numbers = {warps: number for number, warps in enumerate(sorted({*lanes.values()} - {frozenset((0,))}, key=sorted), start=1)}
    groups = {op: numbers.get(warps, 0) for op, warps in lanes.items()}
    placed = tuple(replace(p, group=groups[p.op]) for p in schedule.placements)
    chosen = replace(schedule, placements=placed, warps=tuple((number, tuple(sorted(warps))) for warps, number in numbers.items()))
    length = schedule.length + more
    assert (check_published(problem, chosen, length) == ()) == solves_on(problem, schedule.ii, length, schedule.starts, lanes)


@LIMITED
@given(drawn=problems(max_ops=3), ii=st.integers(1, 4), length=st.integers(3, 7))
def test_a_longer_window_never_loses_a_solution(drawn: Problem, ii: int, length: int) -> None:
    """Lemma 1: at a fixed II and a fixed number of copies the published system is monotone in L."""
    problem, name = as_published(drawn), next(iter(ENGINES))
    if -(-length // ii) == -(-(length + 1) // ii) and ask(name, problem, ii, length) is not None:
        assert ask(name, problem, ii, length + 1) is not None


@LIMITED
@given(data=st.data(), drawn=problems(max_ops=4), more=st.integers(0, 3))
def test_the_checker_accepts_what_the_definition_accepts(data: st.DataObject, drawn: Problem, more: int) -> None:
    problem = as_published(drawn)
    schedule = data.draw(schedules(problem, max_start=5))
    families = {violation.family for violation in check_published(problem, schedule, schedule.length + more)}
    if not families & {"group", "warps"}:
        assert (not families) == solves(problem, schedule.ii, schedule.length + more, schedule.starts, schedule.groups)
