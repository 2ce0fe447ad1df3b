"""Whatever a problem or a schedule holds, writing and reading gives it back, and the text is stable and plain."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.strategies import problems, schedules

from twill.frontends.graph_json import problem_from_dict, problem_to_json, schedule_from_dict, schedule_to_json
from twill.problem import Origin, Problem, Provenance
from twill.schedule import Certificate, Result

quiet = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])

names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
texts = st.text(st.characters(codec="utf-8"), max_size=12)


@st.composite
def named(draw: st.DrawFn) -> Problem:
    """Problems whose op names and provenance are any text."""
    problem = draw(problems())
    new = draw(st.lists(names, min_size=len(problem.ops), max_size=len(problem.ops), unique=True))
    name_of = dict(zip((op.name for op in problem.ops), new, strict=True))
    return replace(
        problem,
        name=draw(texts),
        ops=tuple(replace(op, name=name_of[op.name], kind=draw(texts)) for op in problem.ops),
        dependences=tuple(replace(d, src=name_of[d.src], dst=name_of[d.dst], value=draw(texts)) for d in problem.dependences),
        provenance=Provenance(
            file=draw(st.none() | texts),
            loop_line=draw(st.none() | st.integers(0, 9999)),
            decisions=tuple(draw(st.lists(texts, max_size=2))),
            origins=tuple(Origin(op, draw(texts), None, 7, draw(st.none() | texts), ("%1",)) for op in new[:1]),
        ),
    )


@quiet
@given(named())
def test_a_problem_comes_back_as_it_was(problem: Problem) -> None:
    text = problem_to_json(problem)
    again = problem_from_dict(json.loads(text))
    assert again == problem
    assert again.provenance == problem.provenance
    assert text.isascii()
    assert problem_to_json(again) == text


@quiet
@given(named())
def test_the_canonical_text_depends_on_nothing_that_it_leaves_out(problem: Problem) -> None:
    text = problem_to_json(problem, canonical=True)
    bare = replace(problem, dependences=tuple(replace(d, value="") for d in problem.dependences), provenance=Provenance())
    assert text == problem_to_json(bare) == problem_to_json(problem_from_dict(json.loads(text)), canonical=True)


@quiet
@given(st.data())
def test_a_schedule_comes_back_as_it_was(data: st.DataObject) -> None:
    problem = data.draw(problems())
    schedule = data.draw(schedules(problem))
    text = schedule_to_json(problem, Result(schedule, Certificate("feasible")), {"engine": "auto"})
    again = schedule_from_dict(json.loads(text))
    assert (again.problem, again.schedule, again.options) == (problem, schedule, {"engine": "auto"})
    assert again.certificate == Certificate("feasible")
