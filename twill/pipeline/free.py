"""A program whose groups issue to shared units when they are ready, not in the order of the schedule."""

from __future__ import annotations

from dataclasses import replace

from twill.pipeline.program import Group, Instruction, Pass, PipelinedProgram, Take


def without_turns(program: PipelinedProgram) -> PipelinedProgram:
    """`program` without its tokens.  Values are handed over as before, so that results are the same; only times change.

    Tokens keep the order of two groups on a unit that both use.  Where the hardware's own queue orders them well, passing tokens costs more
    than it brings (attention forward with two groups: 1.2 % of the cycles on an H200); elsewhere it pays (matrix products, three groups).
    """
    if not program.tokens:
        return program
    decision = "groups issue to shared units when they are ready: the order of the schedule is not forced"
    return replace(program, groups=tuple(map(_group, program.groups)), tokens=(), decisions=(*program.decisions, decision))


def _group(group: Group) -> Group:
    return replace(group, body=_kept(group.body), before=_kept(group.before), after=_kept(group.after))


def _kept(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    return tuple(each for each in instructions if not isinstance(each, (Pass, Take)))
