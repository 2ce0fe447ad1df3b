"""Solvers, checker and exhaustive oracle agree on random tiny problems, at every II separately and for the shortest length there."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import brute_force
from oracle.strategies import problems

from twill.engines.answers import Engine
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.joint.assemble import Question, assemble, decode
from twill.joint.exact import excesses
from twill.joint.space import Options
from twill.problem import Problem
from twill.schedule import Schedule
from twill.search import LADDER
from twill.verify import check

ENGINES = {name: ProcessEngine(name) for name in available()}


@pytest.fixture(scope="module", autouse=True)
def _close_engines() -> Iterator[None]:
    yield
    for engine in ENGINES.values():
        engine.close()


def ask(engine: Engine, question: Question) -> Schedule | None:
    """A schedule that the engine finds, or None where it proves that there is none."""
    while True:
        formula, space = assemble(question)
        answer = engine.decide(formula, 60)
        assert answer.status in ("sat", "unsat"), answer
        if answer.model is None:
            return None
        found = decode(space, answer.model)
        missed = excesses(question.problem, found) if question.options.registers and question.options.memory else []
        if not missed:
            return found
        question = question.refined(missed)


@pytest.mark.parametrize("name", ENGINES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(problem=problems(max_ops=4), ii=st.integers(1, 4))
def test_verdict_and_shortest_length_are_those_of_the_oracle(name: str, problem: Problem, ii: int) -> None:
    engine = ENGINES[name]
    shortest = brute_force.feasible(problem, ii)
    found = ask(engine, Question(problem, ii))
    assert (found is None) == (shortest is None)
    if found is None or shortest is None:
        return
    assert check(problem, found).violations == ()
    best = ask(engine, Question(problem, ii, shortest))
    assert best is not None
    assert best.length == shortest
    assert check(problem, best).violations == ()
    if shortest > 1:
        assert ask(engine, Question(problem, ii, shortest - 1)) is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(max_ops=5), ii=st.integers(1, 6))
def test_relaxations_are_never_infeasible_when_the_problem_is_feasible(problem: Problem, ii: int) -> None:
    engine = next(iter(ENGINES.values()))
    verdicts = [ask(engine, Question(problem, ii, options=families)) is not None for _, families in LADDER]
    for weaker, stronger in itertools.pairwise(verdicts):
        assert weaker or not stronger


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problem=problems(max_ops=5), ii=st.integers(1, 6))
def test_switchable_redundancy_never_changes_a_verdict(problem: Problem, ii: int) -> None:
    engine = next(iter(ENGINES.values()))
    with_redundancy = ask(engine, Question(problem, ii)) is None
    assert (ask(engine, Question(problem, ii, options=Options(redundant=False))) is None) == with_redundancy
