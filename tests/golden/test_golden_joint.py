"""Every golden instance, asked of the joint formula: verdicts at and below the answer, and the published reading's probes."""

from __future__ import annotations

from pathlib import Path

import pytest

from twill.engines.answers import Engine
from twill.engines.process import ProcessEngine
from twill.frontends.graph_json import read_golden
from twill.joint.assemble import Question, assemble, decode
from twill.joint.exact import excesses
from twill.joint.space import Options
from twill.schedule import Schedule
from twill.verify import check

INSTANCES = sorted(Path(__file__).parent.joinpath("instances").glob("[gr]*.json"))
SMALL = [path for path in INSTANCES if path.name.startswith("g")]


def name(path: Path) -> str:
    return path.stem


@pytest.fixture(scope="module", params=["yices", "cpsat"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn, one process for all questions."""
    made = ProcessEngine(request.param)
    request.addfinalizer(made.close)
    return made


def ask(engine: Engine, question: Question) -> Schedule | None:
    """A schedule that answers the question, or None when the engine proves that there is none."""
    while True:
        formula, space = assemble(question)
        answer = engine.decide(formula, 120)
        assert answer.status in ("sat", "unsat")
        if answer.model is None:
            return None
        found = decode(space, answer.model)
        missed = excesses(question.problem, found)
        if not missed:
            return found
        question = question.refined(missed)


@pytest.mark.parametrize("path", INSTANCES, ids=name)
def test_answer_is_feasible_and_nothing_below_it_is(engine: Engine, path: Path) -> None:
    golden = read_golden(path)
    answer = golden.expect["default"]
    if answer["status"] == "unsat":
        for ii in [entry["ii"] for entry in answer["infeasible_ii"]]:
            assert ask(engine, Question(golden.problem, ii)) is None
        return
    ii, length = answer["ii"], answer["length"]
    found = ask(engine, Question(golden.problem, ii, length))
    assert found is not None
    assert check(golden.problem, found).violations == ()
    assert (found.ii, found.length) == (ii, length)
    assert ask(engine, Question(golden.problem, ii, length - 1)) is None
    for entry in answer.get("infeasible_ii", ()):
        assert ask(engine, Question(golden.problem, entry["ii"])) is None


def test_feasibility_of_single_intervals_where_it_is_not_monotone(engine: Engine) -> None:
    golden = read_golden(Path(__file__).parent / "instances" / "g24_non_monotone_ii.json")
    for entry in golden.expect["default"]["feasible_by_ii"]:
        assert (ask(engine, Question(golden.problem, entry["ii"])) is not None) == entry["feasible"]


@pytest.mark.parametrize("path", [p for p in SMALL if "literal" in read_golden(p).expect], ids=name)
def test_published_reading_agrees_with_every_recorded_probe(engine: Engine, path: Path) -> None:
    golden = read_golden(path)
    for probe in golden.expect["literal"]["probes"]:
        formula, _ = assemble(Question(golden.problem, probe["ii"], probe["length"], options=Options(literal=True)))
        assert engine.decide(formula, 120).status == probe["verdict"], probe


@pytest.mark.parametrize("path", INSTANCES, ids=name)
def test_redundant_constraints_do_not_change_a_verdict(engine: Engine, path: Path) -> None:
    golden = read_golden(path)
    answer = golden.expect["default"]
    ii = answer.get("ii", 2)
    for question in (Question(golden.problem, ii), Question(golden.problem, max(1, ii - 1))):
        plain = Question(question.problem, question.ii, options=Options(redundant=False))
        assert (ask(engine, question) is None) == (ask(engine, plain) is None)
