"""Programs whose groups do not take turns on shared units."""

from __future__ import annotations

from dataclasses import replace

from twill.pipeline.free import without_turns
from twill.pipeline.program import Group, Issue, Pass, PipelinedProgram, Queue, Take, Token, Wait

FIRST = Group(*(0, "mma", 4, 0, 240, 1, 1, ()), body=(Take(0, 0, "TC.1"), Issue(0, 0, "mma", Queue.WGMMA), Pass(0, 0, "TC.0")))
SECOND = Group(*(1, "mma", 4, 4, 240, 1, 1, ()), body=(Wait(0, 4, "x"), Take(0, 4, "TC.0"), Pass(0, 4, "TC.1")))
TOKENS = (Token("TC.0", "TC", "a", "b", 0, 1, 0, 4), Token("TC.1", "TC", "b", "a", 1, 0, 1, 5))
PROGRAM = PipelinedProgram("product", 8, 8, (), (FIRST, SECOND), tokens=TOKENS, decisions=("one",))


def test_turns_go_and_everything_else_stays() -> None:
    free = without_turns(PROGRAM)
    assert free.tokens == ()
    assert [group.body for group in free.groups] == [(Issue(0, 0, "mma", Queue.WGMMA),), (Wait(0, 4, "x"),)]
    assert free.decisions == ("one", "groups issue to shared units when they are ready: the order of the schedule is not forced")


def test_a_program_without_turns_is_left_alone() -> None:
    program = replace(PROGRAM, tokens=(), groups=(replace(SECOND, body=(Wait(0, 4, "x"),)),))
    assert without_turns(program) is program
