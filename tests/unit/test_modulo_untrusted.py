"""Solvers that err or lie: nothing they say is believed that does not survive the exact check."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from twill.errors import ExitCode, SolverError
from twill.modulo import shortest, smallest_ii
from twill.modulo.question import Question, Reply
from twill.problem import Dependence, Limits, Op, Problem, Reservation


def attention() -> Problem:
    """Two GEMMs on one tensor core, an exponential between them: II 2, length 4, starts S 0, P 2, O 3 (or P 1, or O before S)."""
    units = {"S": "TC", "P": "SFU", "O": "TC"}
    ops = tuple(Op(name, reservations=(Reservation(unit, 0, 1),), cycles=1) for name, unit in units.items())
    edges = (Dependence("S", "P", 1), Dependence("P", "O", 1), Dependence("O", "O", 1, 1))
    return Problem("attention", ops, edges, Limits((("TC", 1), ("SFU", 1))))


class Fake:
    """Replies the same to every question; remembers how it was asked."""

    name = "Fake 1.0"
    exact = False

    def __init__(self, status: str, starts: Mapping[str, float | None], length: float | None = None) -> None:
        self.reply = Reply(status, starts, length, comment="the fake has no more to say")
        self.asked: list[bool] = []

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        self.asked.append(strict)
        return self.reply


VALID = {"S": 0.0, "P": 1.0, "O": 3.0}


@pytest.mark.parametrize(
    ("starts", "length", "complaint"),
    [
        ({"S": None, "P": None, "O": None}, None, 'it gives no start for "S", "P", "O"'),
        ({"S": 0.0, "P": 1.0}, None, 'it gives no start for "O"'),
        ({"S": 0.0, "P": 0.0, "O": 3.0}, None, '"P" starts 0 cycles after "S", but must wait 1'),
        ({"S": 0.0, "P": 1.0, "O": 2.0}, None, '"S", "O" hold 2 servers of TC in phase 0 of 2; there are 1'),
        ({"S": 0.0, "P": 1.5, "O": 3.0}, None, 'it starts "P" at 1.5, which is not a whole cycle'),
        (VALID, 3.0, "it claims a length of 3, but its starts make 4"),
        ({"S": 0.0, "P": 1.0, "O": 1001.0}, 1002.0, "its length 1002 is outside 4 .. 4"),
    ],
)
def test_an_optimum_that_is_none_is_refused(starts: Mapping[str, float | None], length: float | None, complaint: str) -> None:
    fake = Fake("optimal", starts, length)
    with pytest.raises(SolverError) as raised:
        shortest(attention(), 2, solver=fake)
    assert str(raised.value) == f"Stage 1 at II = 2 has no answer. Fake 1.0 gave a schedule that was refused: {complaint}."
    assert raised.value.exit_code == ExitCode.SOLVER_ERROR
    assert fake.asked == [False, True], "asked once more with tight tolerances, then given up"


def test_a_carried_dependence_is_named_with_its_distance() -> None:
    edges = (Dependence("S", "P", 5, 1), Dependence("P", "S", 0, 2))
    problem = Problem("carried", (Op("S"), Op("P")), edges)
    with pytest.raises(SolverError, match='"P" starts 2 cycles after "S" of the iteration before, but must wait 5'):
        shortest(problem, 2, solver=Fake("optimal", {"S": 0.0, "P": 0.0}))
    with pytest.raises(SolverError, match='"S" starts -6 cycles after "P" of 2 iterations before, but must wait 0'):
        shortest(problem, 2, solver=Fake("optimal", {"S": 0.0, "P": 10.0}))


def test_values_next_to_whole_numbers_are_rounded_and_accepted() -> None:
    near = {"S": 1e-9, "P": 1 - 1e-9, "O": 3 + 1e-9}
    answer = shortest(attention(), 2, solver=Fake("optimal", near, 4 - 1e-9))
    assert (answer.status, answer.length, answer.starts, answer.engine) == ("optimal", 4, (0, 1, 3), "Fake 1.0")


def test_a_valid_schedule_without_a_claim_is_feasible_and_not_optimal() -> None:
    answer = shortest(attention(), 2, solver=Fake("not solved", VALID))
    assert (answer.status, answer.ii, answer.length, answer.starts) == ("feasible", 2, 4, (0, 1, 3))
    assert answer.detail == "the fake has no more to say"
    assert smallest_ii(attention(), 2, solver=Fake("not solved", VALID)).status == "feasible"


@pytest.mark.parametrize("starts", [{}, {"S": 0.0, "P": 0.0, "O": 0.0}, {"S": 0.25, "P": 1.0, "O": 3.0}])
def test_no_claim_and_no_valid_schedule_is_unknown(starts: Mapping[str, float | None]) -> None:
    answer = shortest(attention(), 2, solver=Fake("not solved", starts))
    assert (answer.status, answer.length, answer.starts) == ("unknown", None, ())
    assert answer.detail == "the fake has no more to say"


def test_a_false_claim_of_infeasibility_is_corrected() -> None:
    answer = shortest(attention(), 2, solver=Fake("infeasible", {}))
    assert (answer.status, answer.length) == ("optimal", 4)
    assert answer.engine.startswith("Fake 1.0 and CP-SAT")
    assert answer.detail.endswith("Fake 1.0 had missed it")


def three_on_two() -> Problem:
    """Three rows of 3 cycles on two servers: at II 6 the least length is 6, which windows alone do not show."""
    ops = tuple(Op(f"o{i}", reservations=(Reservation("X", 0, 3),), cycles=3) for i in range(3))
    return Problem("two", ops, (), Limits((("X", 2),)))


class Patient(Fake):
    """Says "infeasible" until lengths up to that of its schedule are asked for."""

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        super().solve(question, time_limit=time_limit, strict=strict)
        return Reply("infeasible", {}) if question.horizon < 7 else self.reply


LATE = {"o0": 0.0, "o1": 1.0, "o2": 4.0}


def test_a_false_claim_of_optimality_is_corrected() -> None:
    answer = shortest(three_on_two(), 6, solver=Patient("optimal", LATE, 7.0))
    assert (answer.status, answer.length, answer.length_bound) == ("optimal", 6, 6)
    assert answer.detail.endswith("Fake 1.0 had missed it")


@pytest.mark.parametrize(("claim", "left"), [("infeasible", "unknown"), ("optimal", "feasible")])
def test_a_claim_that_nobody_confirms_is_not_made(monkeypatch: pytest.MonkeyPatch, claim: str, left: str) -> None:
    monkeypatch.setattr("twill.modulo.solving.CpSat", lambda: Fake("not solved", {}))
    answer = shortest(three_on_two(), 6, solver=Patient(claim, LATE if claim == "optimal" else {}))
    assert answer.status == left
    assert answer.detail.endswith(": Fake 1.0; not confirmed: the fake has no more to say")
    assert answer.length_bound == 5


class Dead(Fake):
    """Cannot be run."""

    def solve(self, question: Question, *, time_limit: float | None, strict: bool) -> Reply:
        super().solve(question, time_limit=time_limit, strict=strict)
        raise SolverError("Fake 1.0 is not installed.")


def test_a_claim_stays_unconfirmed_when_the_second_solver_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twill.modulo.solving.CpSat", lambda: Dead("optimal", {}))
    answer = shortest(three_on_two(), 6, solver=Patient("optimal", LATE))
    assert (answer.status, answer.length) == ("feasible", 7)
    assert answer.detail.endswith("not confirmed: Stage 1 at II = 6 has no answer. Fake 1.0 is not installed.")


def test_a_solver_that_dies_is_asked_once_more_then_reported() -> None:
    dead = Dead("optimal", {})
    with pytest.raises(SolverError) as raised:
        shortest(attention(), 2, solver=dead)
    assert str(raised.value) == "Stage 1 at II = 2 has no answer. Fake 1.0 is not installed."
    assert dead.asked == [False, True]
