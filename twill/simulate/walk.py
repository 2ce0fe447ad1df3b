"""What each group of a pipelined program does, in its own order: the meaning of stages, guards and running instance numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.pipeline.program import Group, Instruction, Pass, PipelinedProgram, Take


@dataclass(frozen=True)
class Event:
    """A group executes an instruction, or skips it (`active` False) because its iteration does not exist.

    entry      execution of the loop, from 0
    turn       of that execution, from 0
    index      of the instruction in the body
    iteration  that the instruction works on
    instance   of rings: iterations count on from one execution of the loop to the next
    """

    group: int
    entry: int
    turn: int
    index: int
    instruction: Instruction
    iteration: int
    instance: int
    active: bool


def walk(program: PipelinedProgram, group: Group, trips: Sequence[int]) -> Iterator[Event]:
    """All instructions of `group` in order, for executions of the loop with these numbers of iterations."""
    before = 0
    for entry, count in enumerate(trips):
        for turn in range(group.turns(count)):
            for index, instruction in enumerate(group.body):
                iteration = turn - instruction.stage
                active = 0 <= iteration < count and _meets(program, instruction, iteration, count)
                yield Event(group.index, entry, turn, index, instruction, iteration, before + iteration, active)
        before += count


def _meets(program: PipelinedProgram, instruction: Instruction, iteration: int, count: int) -> bool:
    """Whether the other side of a token has the iteration that the token is about."""
    if isinstance(instruction, Pass):
        return 0 <= iteration + program.token(instruction.token).distance < count
    if isinstance(instruction, Take):
        return 0 <= iteration - program.token(instruction.token).distance < count
    return True
