"""Shortcuts of the searches on random tiny problems: each gives the answer that the long way gives, or a schedule that holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from oracle.published import satisfiable
from oracle.strategies import problems, schedules

from twill import literal, stagger
from twill.asking import Asker
from twill.engines.answers import Engine
from twill.engines.process import ProcessEngine
from twill.engines.registry import available
from twill.joint.assemble import Question
from twill.joint.straight_count import overfull_births
from twill.modulo import monotone
from twill.options import Options
from twill.problem import Problem, Rules
from twill.search import schedule
from twill.verify import check
from twill.verify.published import check_published

quiet = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    """The best engine, one process for all questions."""
    made = ProcessEngine(available()[0])
    yield made
    made.close()


@settings(quiet, max_examples=60)
@given(drawn=problems(max_ops=3), ii=st.integers(1, 3), copies=st.integers(1, 2))
def test_a_larger_interval_with_as_many_copies_never_loses_a_published_solution(drawn: Problem, ii: int, copies: int) -> None:
    problem = literal.as_published(drawn)
    assume(monotone(problem))
    if satisfiable(problem, ii, copies * ii):
        assert satisfiable(problem, ii + 1, copies * (ii + 1))


@settings(quiet, max_examples=15)
@given(drawn=problems(max_ops=4))
def test_intervals_refuted_together_leave_the_published_answer_as_it_is(drawn: Problem) -> None:
    one_by_one = literal.schedule(drawn, Options(max_ii=12))
    with mock.patch.object(literal, "GALLOP_FROM", 1):
        together = literal.schedule(drawn, Options(max_ii=12))
    assert together.certificate.status == one_by_one.certificate.status
    assert [(c.objective, c.value) for c in together.certificate.claims] == [(c.objective, c.value) for c in one_by_one.certificate.claims]


@settings(quiet, max_examples=200)
@given(data=st.data())
def test_counting_on_the_starts_finds_what_the_published_checker_finds(data: st.DataObject) -> None:
    problem = literal.as_published(data.draw(problems(max_ops=4)))
    made = data.draw(schedules(problem, max_ii=4, max_start=8))
    copies = -(-made.length // made.ii)
    found = {v.family for v in check_published(problem, made, made.length)} & {"memory", "registers"}
    assume("form" not in {v.family for v in check_published(problem, made, made.length)})
    assert bool(overfull_births(problem, made, copies)) == bool(found)


@settings(quiet, max_examples=15)
@given(problem=problems(max_ops=4, rules=st.just(Rules())))
def test_summing_up_everywhere_or_only_where_a_model_breaks_a_limit_gives_the_same_answer(problem: Problem) -> None:
    where_needed = schedule(problem, Options(objectives=(), max_ii=20))
    with mock.patch("twill.asking.MOST_ROUNDS", 1):
        everywhere = schedule(problem, Options(objectives=(), max_ii=20))
    for result in (where_needed, everywhere):
        assert result.schedule is None or not check(problem, result.schedule).violations
    answers = [[(c.objective, c.value) for c in result.certificate.claims] for result in (where_needed, everywhere)]
    assert answers[0] == answers[1]
    assert where_needed.certificate.status == everywhere.certificate.status


@settings(quiet, max_examples=40)
@given(one=problems(max_ops=3, rules=st.just(Rules())), times=st.integers(2, 3), ii=st.integers(2, 6))
def test_what_holds_for_one_copy_holds_for_all(engine: Engine, one: Problem, times: int, ii: int) -> None:
    problem, copies = copied(one, times)
    sets = stagger.group_sets(problem, copies, ii)
    body = stagger.body(problem, copies, sets)
    # An op that only waits when its value comes from another group may still meet its own next copy: that is for the exact check.
    assume(sets == 1 and all(body.window(op) <= ii for op in body.ops))
    found = Asker(body, engine).ask(Question(body, ii))
    if found is not None:
        made = stagger.spread(problem, copies, sets, found)
        assert made.ii == times * ii
        assert check(problem, made).violations == ()


def copied(one: Problem, times: int) -> tuple[Problem, stagger.Copies]:
    """So many independent copies of a problem, and which op is which."""
    ops = tuple(replace(op, name=f"{op.name}/{copy}") for copy in range(times) for op in one.ops)
    dependences = tuple(
        replace(d, src=f"{d.src}/{copy}", dst=f"{d.dst}/{copy}", value=f"{d.value}/{copy}" if d.value else d.value)
        for copy in range(times)
        for d in one.dependences
    )
    size = len(one.ops)
    bodies = tuple(tuple(range(copy * size, (copy + 1) * size)) for copy in range(times))
    return replace(one, ops=ops, dependences=dependences), stagger.Copies(bodies, (), ())
