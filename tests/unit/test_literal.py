"""The published search: its limits, its proofs, its switches, and what it does when an engine fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import twill
from twill.engines.answers import Answer
from twill.errors import SolverError, VerificationFailed
from twill.frontends.graph_json import read_golden, read_schedule, schedule_to_json
from twill.joint.formula import Formula
from twill.literal import Search, as_published, forever, schedule
from twill.problem import Dependence, Limits, Op, Problem, Reservation, Rules
from twill.schedule import Certificate, Placement, Result, Schedule
from twill.search import Options
from twill.verify.published import check_published

INSTANCES = Path(__file__).parent.parent / "golden" / "instances"


def instance(name: str) -> Problem:
    return read_golden(next(INSTANCES.glob(f"{name}_*.json"))).problem


class Fake:
    """An engine that answers every question alike, or raises; `asked` counts."""

    name, version = "fake", "Fake 1"

    def __init__(self, answer: Answer | BaseException) -> None:
        self.answer, self.asked, self.closed = answer, 0, False

    def decide(self, formula: Formula, time_limit: float | None = None) -> Answer:
        self.asked += 1
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def close(self) -> None:
        self.closed = True


def run(problem: Problem, engine: Fake, options: Options | None = None) -> Result:
    return Search(as_published(problem), options or Options(), lambda _: None, engine=engine).run()


def test_it_walks_up_to_the_limit_and_says_so() -> None:
    engine = Fake(Answer("unsat", "fake"))
    result = run(instance("g10"), engine, Options(max_ii=4))
    assert result.schedule is None
    assert (result.certificate.status, result.certificate.reason) == ("unknown", "no solution up to the limit II = 4")
    assert [(c.objective, c.value, c.lower_bound) for c in result.certificate.claims] == [("ii", None, 5)]
    assert engine.asked == 4, "one question a window"
    assert engine.closed


def test_it_ends_with_a_proof_where_a_larger_interval_changes_nothing() -> None:
    problem = instance("g18")
    result = schedule(problem)
    assert (result.schedule, result.certificate.status) == (None, "infeasible")
    assert result.certificate.reason == f"no solution up to II = {forever(problem)}, from where on a larger interval changes nothing"


def test_what_stage_one_excludes_at_every_interval_is_infeasible() -> None:
    twice = (Dependence("a", "b", 1), Dependence("b", "a", 1))
    result = schedule(Problem("cycle", (Op("a"), Op("b")), twice))
    assert result.certificate.status == "infeasible"
    assert result.certificate.reason.startswith("a -> b -> a depends on itself within one iteration")
    wide = Op("a", reservations=(Reservation("U", 0, 1, 2),), cycles=1)
    assert schedule(Problem("wide", (wide,), (), Limits((("U", 1),)))).certificate.status == "infeasible"


def test_intervals_without_a_modulo_schedule_are_no_points_of_the_search() -> None:
    result = schedule(instance("g02"), from_one=True)
    assert [(p.ii, p.length) for p in result.certificate.probes] == [(3, 3)]
    assert [(r.ii, r.through) for r in result.certificate.refuted] == [(1, "stage 1"), (2, "stage 1")]


def test_an_empty_loop_body_needs_no_search() -> None:
    result = schedule(Problem("empty", (), ()))
    assert (result.schedule, result.certificate.status) == (Schedule(1, 0, ()), "optimal")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(Answer("unknown", "fake", detail="fake gave no answer in 1 s"), "fake gave no answer in 1 s"), (KeyboardInterrupt(), "interrupted")],
)
def test_without_a_verdict_nothing_is_claimed(answer: Answer | BaseException, reason: str) -> None:
    engine = Fake(answer)
    result = run(instance("g01"), engine)
    assert (result.schedule, result.certificate.status, result.certificate.reason) == (None, "unknown", reason)
    assert result.certificate.probes == ()
    assert engine.closed


def test_an_engine_that_dies_is_a_solver_error_and_is_closed() -> None:
    engine = Fake(SolverError("engine fake ended with status 9 before it answered."))
    with pytest.raises(SolverError):
        run(instance("g01"), engine)
    assert engine.closed


def test_the_time_limit_holds() -> None:
    result = schedule(instance("g10"), Options(time_limit=1e-9))
    assert result.certificate.status == "unknown"
    assert result.certificate.reason == "the time limit of 1e-09 s is over"


def test_hardware_rules_are_not_part_of_the_reading() -> None:
    rules = Rules(cross_warp=False, window="issue", in_order=True, hold=True, rings=True, mixed=False)
    problem = Problem("p", (Op("a"),), (), Limits(registers_per_warp=3, registers_per_sm=2), rules)
    read = as_published(problem)
    assert read.rules == Rules(cross_warp=False, window="cycles", mixed=False)
    assert read.limits == Limits(registers_per_warp=3)


def mixed_widths() -> Problem:
    """An op of one warp hands a register value to one of four: together for free, or apart at the price of the spill."""
    ops = (Op("a", cycles=1, registers=4, spill=3), Op("b", cycles=1, warps=4))
    return Problem("mixed", ops, (Dependence("a", "b", 1),), Limits(warps=8))


def test_equality_of_warp_sets_keeps_ops_of_different_widths_apart() -> None:
    assert twill.schedule_published(mixed_widths()).schedule == Schedule(1, 2, (Placement("a", 0, 1), Placement("b", 1, 1)))
    equal = replace(mixed_widths(), rules=Rules(mixed=False))
    probes = twill.schedule_published(equal).certificate.probes
    windows = {1: (2,), 2: (2,), 3: (2, 3), 4: (2, 3, 4), 5: (2, 3, 4, 5)}
    points = [(ii, length) for ii, lengths in windows.items() for length in lengths]
    assert [(p.ii, p.length) for p in probes] == points
    assert [p.verdict for p in probes] == ["unsat"] * (len(points) - 1) + ["sat"]


def test_a_solution_that_the_published_system_rejects_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Schedule(2, 4, (Placement("S", 0, 1), Placement("P", 1, 1), Placement("O", 2, 1)))
    monkeypatch.setattr("twill.literal.schedule", lambda *_, **__: Result(wrong, Certificate("optimal")))
    with pytest.raises(VerificationFailed, match="Unit TC, cycle 2 of the straight-line program: demand 2, capacity 1"):
        twill.schedule_published(instance("g01"))


@pytest.mark.parametrize(
    ("starts", "groups", "length", "families"),
    [
        ({"S": 0, "P": 1, "O": 3}, {}, 4, []),
        ({"S": 0, "P": 1, "O": 3}, {}, 3, ["form"]),
        ({"S": 0, "P": 0, "O": 3}, {}, 4, ["dependence"]),
        ({"S": 0, "P": 1, "O": 2}, {}, 4, ["capacity"]),
        ({"S": 0, "P": 1, "O": 3}, {"P": 0}, 4, ["group"]),
        ({"S": 0, "P": 1}, {}, 4, ["form"]),
    ],
)
def test_what_the_published_check_finds(starts: dict[str, int], groups: dict[str, int], length: int, families: list[str]) -> None:
    problem = instance("g01")
    placements = tuple(Placement(op, start, groups.get(op, 1)) for op, start in starts.items())
    found = check_published(problem, Schedule(2, length, placements), length)
    assert [violation.family for violation in found] == families


def test_a_dropped_dependence_still_makes_its_consumer_wait() -> None:
    """The concurrency constraint mentions no copy of the producer, so it is there even where the dependence reaches past the copies."""
    ops = (Op("u"), Op("o", cycles=2, issue=2), Op("v", cycles=1))
    problem = Problem("waits", ops, (Dependence("u", "v", 0, 5, blocking=True),), Limits(warps=1))
    together = Schedule(4, 2, (Placement("u", 0, 1), Placement("o", 0, 1), Placement("v", 1, 1)))
    assert [v.message for v in check_published(problem, together, 2)] == ["v waits, but starts while o is in progress on group 1."]
    result = twill.schedule_published(problem)
    assert result.schedule is not None
    assert result.schedule.starts["v"] not in (result.schedule.starts["o"], result.schedule.starts["o"] + 1)


def test_points_survive_the_result_file(tmp_path: Path) -> None:
    problem = as_published(instance("g10"))
    result = twill.schedule_published(problem)
    path = tmp_path / "schedule.json"
    path.write_text(schedule_to_json(problem, result), encoding="utf-8")
    assert read_schedule(path).certificate == result.certificate
