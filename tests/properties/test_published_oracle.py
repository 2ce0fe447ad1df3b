"""The published system: formula, checker and exhaustive oracle agree on random tiny problems."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.published import satisfiable, solves
from oracle.strategies import problems, schedules

from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.joint.assemble import Question, assemble, decode
from twill.joint.space import Options
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
