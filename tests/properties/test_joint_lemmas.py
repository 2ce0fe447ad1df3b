"""The facts that the search relies on (formulation 4.6), and the shortcuts it takes, as properties of random tiny problems."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle import brute_force
from oracle.strategies import problems

from twill import heuristic
from twill.asking import Asker
from twill.engines.answers import Engine
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.interval import never_ii
from twill.joint.assemble import Question, System, stage_limit
from twill.joint.breaches import breaches
from twill.joint.exact import excesses
from twill.joint.space import Options
from twill.modulo import monotone
from twill.problem import Problem
from twill.schedule import Schedule
from twill.search import Options as SearchOptions
from twill.search import schedule
from twill.verify import check

slow = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The best engine, one process for all questions."""
    made = ProcessEngine(available()[0])
    yield made
    made.close()


def feasible(engine: Engine, question: Question, families: Options = Options()) -> Schedule | None:
    return Asker(question.problem, engine, families=families).ask(question)


@settings(slow, max_examples=40)
@given(problem=problems(max_ops=4), ii=st.integers(1, 5), length=st.integers(1, 12))
def test_lemma_1_a_longer_iteration_is_never_harder(engine: Engine, problem: Problem, ii: int, length: int) -> None:
    if feasible(engine, Question(problem, ii, length)) is not None:
        assert feasible(engine, Question(problem, ii, length + 1)) is not None


@settings(slow, max_examples=40)
@given(problem=problems(max_ops=4), ii=st.integers(1, 5))
def test_lemma_2_a_larger_interval_is_never_harder_without_holes(engine: Engine, problem: Problem, ii: int) -> None:
    assume(monotone(problem))
    found = feasible(engine, Question(problem, ii))
    if found is not None:
        assert feasible(engine, Question(problem, ii + 1)) is not None


@settings(slow, max_examples=40)
@given(problem=problems(max_ops=3), ii=st.integers(1, 4))
def test_lemma_3_stages_beyond_the_limit_are_never_needed(problem: Problem, ii: int) -> None:
    """The oracle enumerates up to the complete length bound; its shortest schedule is no longer than starts within the limit allow."""
    shortest = brute_force.feasible(problem, ii)
    if shortest is not None:
        last_start = ii * (stage_limit(problem, ii) + 1) - 1
        assert shortest <= last_start + max(op.span for op in problem.ops)


@settings(slow, max_examples=30)
@given(problem=problems(max_ops=4), beyond=st.integers(1, 20))
def test_lemma_4_what_has_no_schedule_at_the_last_interval_has_none_above(engine: Engine, problem: Problem, beyond: int) -> None:
    assume(monotone(problem))
    last = never_ii(problem)
    above = feasible(engine, Question(problem, last + beyond)) is not None
    assert (feasible(engine, Question(problem, last)) is not None) == above


@settings(slow, max_examples=40)
@given(problem=problems(max_ops=5), ii=st.integers(1, 6), length=st.none() | st.integers(1, 12))
def test_symmetry_breaking_never_changes_a_verdict(engine: Engine, problem: Problem, ii: int, length: int | None) -> None:
    question = Question(problem, ii, length)
    with_symmetry = feasible(engine, question) is not None
    assert (feasible(engine, question, Options(symmetry=False)) is not None) == with_symmetry


@settings(slow, max_examples=25)
@given(problem=problems(max_ops=4))
def test_neither_redundancy_nor_symmetry_breaking_changes_the_answer(problem: Problem) -> None:
    answers = []
    for on in (True, False):
        result = schedule(problem, SearchOptions(objectives=("groups",), redundant=on, symmetry=on))
        values = [(claim.objective, claim.value, claim.proved) for claim in result.certificate.claims]
        answers.append((result.certificate.status, values))
    assert answers[0] == answers[1]


@settings(slow, max_examples=40)
@given(problem=problems(max_ops=5), ii=st.integers(1, 6))
def test_a_heuristic_schedule_is_never_better_than_the_exact_answer(engine: Engine, problem: Problem, ii: int) -> None:
    """Every candidate keeps what it promises; what the exact check accepts, checker and solver accept as well."""
    for candidate in (*heuristic.candidates(problem, ii), *heuristic.in_sequence(problem)):
        if candidate.ii == ii:
            assert list(breaches(problem, candidate)) == []
        accepted = not list(breaches(problem, candidate)) and not excesses(problem, candidate)
        assert accepted == (not check(problem, candidate).violations)
        if accepted:
            assert feasible(engine, Question(problem, candidate.ii, candidate.length)) is not None


@pytest.mark.parametrize("name", available())
def test_formulas_that_share_a_stem_are_decided_as_if_each_were_told_alone(name: str) -> None:
    engine, alone = ProcessEngine(name), ProcessEngine(name)
    strangers = itertools.count(-1, -1)

    @settings(slow, max_examples=15)
    @given(problem=problems(max_ops=4), asked=st.lists(st.tuples(st.integers(1, 3), st.none() | st.integers(1, 9)), min_size=3, max_size=6))
    def run(problem: Problem, asked: list[tuple[int, int | None]]) -> None:
        systems: dict[int, System] = {}
        for ii, length in asked:
            question = Question(problem, ii, length, at_most=(("groups", 2),) if length else ())
            system = systems.setdefault(ii, System(problem, ii, question.options, question.counted))
            formula = system.formula(question, system.complete(question))
            told_alone = replace(formula, source=next(strangers))
            assert engine.decide(formula, 60).status == alone.decide(told_alone, 60).status

    try:
        run()
    finally:
        engine.close()
        alone.close()
