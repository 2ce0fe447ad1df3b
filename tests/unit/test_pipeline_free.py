"""Programs whose groups do not take turns on shared units."""

from __future__ import annotations

from twill.pipeline.expand import FREE, expand
from twill.pipeline.program import Pass, PipelinedProgram, Take
from twill.problem import Limits, Op, Problem, Reservation
from twill.schedule import Placement, Schedule

LIMITS = Limits(units=(("TC", 1),), warps=8)
A, B = (Op(name, "mma", (Reservation("TC", 0, 4),), cycles=4, issue=1, warps=4, asynchronous=True, registers=4096) for name in "ab")
PROBLEM = Problem("products", (A, B), (), LIMITS)
SCHEDULE = Schedule(8, 8, (Placement("a", 0, 1), Placement("b", 4, 2)))


def turns(program: PipelinedProgram) -> int:
    return sum(isinstance(i, (Pass, Take)) for group in program.groups for i in group.body)


def test_turns_go_and_everything_else_stays() -> None:
    kept, free = expand(PROBLEM, SCHEDULE), expand(PROBLEM, SCHEDULE, in_turn=False)
    assert turns(kept) == 2 * len(kept.tokens) > 0
    assert (turns(free), free.tokens) == (0, ())
    assert [[i for i in group.body if not isinstance(i, (Pass, Take))] for group in kept.groups] == [list(g.body) for g in free.groups]
    assert free.decisions[-1] == FREE
    assert FREE not in kept.decisions


def test_turns_that_need_too_many_barriers_are_no_obstacle_without_them() -> None:
    many = tuple(Op(f"op.{k}", "mma", (Reservation("TC", 0, 4),), cycles=4, issue=1, warps=1, asynchronous=True) for k in range(16))
    problem = Problem("products", many, (), Limits(units=(("TC", 1),), warps=16))
    schedule = Schedule(64, 64, tuple(Placement(op.name, 4 * k, 1 + k % 8) for k, op in enumerate(many)))
    assert expand(problem, schedule, in_turn=False).tokens == ()
