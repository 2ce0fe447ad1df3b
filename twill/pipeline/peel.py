"""Prologue, steady state and epilogue of a group: the guarded form without guards, for loops that are long enough."""

from __future__ import annotations

from dataclasses import dataclass

from twill.pipeline.program import Group, Instruction


@dataclass(frozen=True)
class Peeled:
    """Straight-line turns around a loop without guards.

    prologue  turns before the first complete one
    steady    a complete turn
    epilogue  turns behind the last complete one
    """

    prologue: tuple[tuple[Instruction, ...], ...]
    steady: tuple[Instruction, ...]
    epilogue: tuple[tuple[Instruction, ...], ...]

    @property
    def least(self) -> int:
        """Smallest trip count for which the peeled form is right; shorter loops need the guarded form (none for 0 iterations)."""
        return len(self.prologue)

    def repeats(self, trips: int) -> int:
        """How often the steady state is executed in a loop of `trips` iterations, `least` or more."""
        return trips - len(self.prologue)


def peel(group: Group) -> Peeled:
    """The group's loop without guards: turn t of the prologue leaves out what belongs to iterations before the first one, turn e of
    the epilogue what belongs to iterations behind the last one."""
    turns = range(1, group.stages)
    return Peeled(
        prologue=tuple(tuple(i for i in group.body if i.stage < turn) for turn in turns),
        steady=group.body,
        epilogue=tuple(tuple(i for i in group.body if i.stage >= turn) for turn in turns),
    )
