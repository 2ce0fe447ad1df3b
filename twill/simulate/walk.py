"""What each group of a pipelined program does, in its own order: the meaning of stages, guards and running instance numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twill.pipeline.program import Buffer, Channel, Group, Instruction, PipelinedProgram, Release, Wait

LOOP, BEFORE, AFTER = "loop", "before", "after"


@dataclass(frozen=True)
class Event:
    """A group executes an instruction, or skips it (`active` False) because its iteration does not exist.

    entry      execution of the loop, from 0
    where      LOOP, BEFORE or AFTER
    turn       of that execution, from 0; 0 outside of the loop
    index      of the instruction in the body
    iteration  that the instruction works on; before the loop that before the first one, behind it the last one
    earlier    iterations of all executions before this one
    """

    group: int
    entry: int
    where: str
    turn: int
    index: int
    instruction: Instruction
    iteration: int
    earlier: int
    active: bool = True

    def instance(self, buffer: Buffer, iteration: int) -> int:
        """Number of the instance of `iteration` in a ring; instances count on from one execution of the loop to the next."""
        if buffer.entry:
            return self.entry
        return self.earlier + (self.entry + 1) * buffer.initial + iteration

    def filling(self, channel: Channel, buffer: Buffer, iteration: int) -> int:
        """Number of the instance of `iteration` among those that a channel announces: barriers count these."""
        if buffer.entry:
            return self.entry
        return self.earlier + (self.entry + 1) * channel.initial + iteration

    def number(self, iteration: int) -> int:
        """Number of an iteration, counted on from one execution of the loop to the next."""
        return self.earlier + iteration


def walk(program: PipelinedProgram, group: Group, trips: Sequence[int]) -> Iterator[Event]:
    """All instructions of `group` in order, for executions of the loop with these numbers of iterations."""
    earlier = 0
    for entry, count in enumerate(trips):
        yield from before(group, entry, earlier)
        yield from inside(program, group, entry, earlier, count)
        yield from after(group, entry, earlier, count)
        earlier += count


def before(group: Group, entry: int, earlier: int) -> Iterator[Event]:
    """What a group does before an execution of the loop; `earlier`: iterations of those before it."""
    for index, instruction in enumerate(group.before):
        yield Event(group.index, entry, BEFORE, 0, index, instruction, -1, earlier)


def inside(program: PipelinedProgram, group: Group, entry: int, earlier: int, count: int) -> Iterator[Event]:
    """What it does in an execution of the loop with `count` iterations."""
    for turn in range(group.turns(count)):
        for index, instruction in enumerate(group.body):
            iteration = turn - instruction.stage
            initial = _initial(program, instruction)
            active = -initial <= iteration < count - initial
            yield Event(group.index, entry, LOOP, turn, index, instruction, iteration, earlier, active)


def after(group: Group, entry: int, earlier: int, count: int) -> Iterator[Event]:
    """What it does behind it."""
    for index, instruction in enumerate(group.after):
        yield Event(group.index, entry, AFTER, 0, index, instruction, count - 1, earlier)


def _initial(program: PipelinedProgram, instruction: Instruction) -> int:
    """Instances that readers of a ring find at the beginning of the loop, and leave for what is behind it."""
    if isinstance(instruction, Wait):
        return program.channel(instruction.channel).initial
    if isinstance(instruction, Release):
        return program.buffer(instruction.buffer).initial
    return 0
