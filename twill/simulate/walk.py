"""What each group of a pipelined program does, in its own order: the meaning of stages, guards and running instance numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.pipeline.program import Group, Instruction


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


def walk(group: Group, trips: Sequence[int]) -> Iterator[Event]:
    """All instructions of `group` in order, for executions of the loop with these numbers of iterations."""
    before = 0
    for entry, count in enumerate(trips):
        for turn in range(group.turns(count)):
            for index, instruction in enumerate(group.body):
                iteration = turn - instruction.stage
                yield Event(group.index, entry, turn, index, instruction, iteration, before + iteration, 0 <= iteration < count)
        before += count
