"""Programs with one thing wrong, or at least different."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    Group,
    Instruction,
    Issue,
    PipelinedProgram,
    Release,
    Wait,
)

SORTS = ("drop", "swap", "later", "earlier", "shallow", "phase", "early", "count", "arrivals", "pending", "copies")


@dataclass(frozen=True)
class Mutant:
    """`program` with a change of a sort in SORTS; `what` says which.

    drop      a synchronizing instruction is left out
    swap      two neighbours change places
    later, earlier   an instruction works on the iteration before, or on the next one
    shallow   a ring has a slot less
    phase     waits on a barrier begin with the other parity
    early     a slot is given back, or announced, before the op in front of that
    count     an instruction arrives once more or less
    arrivals  a barrier expects one arrival more or less
    pending   a wait leaves one op more under way
    copies    a value has a copy less
    """

    sort: str
    what: str
    program: PipelinedProgram


def mutants(program: PipelinedProgram) -> Iterator[Mutant]:
    """All of them, in a fixed order."""
    for group in program.groups:
        for sort, what, body in _bodies(group):
            yield Mutant(sort, f"group {group.index}: {what}", _with_group(program, replace(group, body=body)))
        for n, register in enumerate(group.registers):
            if register.copies > 1:
                fewer = replace(register, copies=register.copies - 1)
                registers = (*group.registers[:n], fewer, *group.registers[n + 1 :])
                yield Mutant(
                    "copies", f"{register.value} in group {group.index}", _with_group(program, replace(group, registers=registers))
                )
    yield from _rings(program)
    yield from _channels(program)


def _with_group(program: PipelinedProgram, group: Group) -> PipelinedProgram:
    stages = max(group.stages, 1 + max((i.stage for i in group.body), default=0))
    changed = replace(group, stages=stages)
    return replace(program, groups=tuple(changed if g.index == group.index else g for g in program.groups))


def _bodies(group: Group) -> Iterator[tuple[str, str, tuple[Instruction, ...]]]:
    body = group.body
    for n, i in enumerate(body):
        where = f"{type(i).__name__} at {n}"
        if not isinstance(i, Issue):
            yield "drop", where, (*body[:n], *body[n + 1 :])
            yield "later", where, (*body[:n], replace(i, stage=i.stage + 1), *body[n + 1 :])
            if i.stage:
                yield "earlier", where, (*body[:n], replace(i, stage=i.stage - 1), *body[n + 1 :])
        if n + 1 < len(body) and not (isinstance(i, Issue) and isinstance(body[n + 1], Issue)):
            yield "swap", where, (*body[:n], body[n + 1], i, *body[n + 2 :])
        if isinstance(i, (Arrive, Release)):
            at = next((k for k in range(n - 1, -1, -1) if isinstance(body[k], Issue)), None)
            if at is not None and at < n - 1:
                yield "early", where, (*body[:at], i, *body[at:n], *body[n + 1 :])
            yield "count", f"{where}, more", (*body[:n], replace(i, count=i.count + 1), *body[n + 1 :])
            if i.count > 1:
                yield "count", f"{where}, less", (*body[:n], replace(i, count=i.count - 1), *body[n + 1 :])
        if isinstance(i, Await) and i.queue.ordered:
            yield "pending", where, (*body[:n], replace(i, pending=i.pending + 1), *body[n + 1 :])


def _changed(barrier: Barrier) -> Iterator[tuple[str, str, Barrier]]:
    yield "phase", "", replace(barrier, parity=1 - barrier.parity)
    yield "arrivals", ", more", replace(barrier, arrivals=barrier.arrivals + 1)
    if barrier.arrivals > 1:
        yield "arrivals", ", less", replace(barrier, arrivals=barrier.arrivals - 1)


def _rings(program: PipelinedProgram) -> Iterator[Mutant]:
    for n, buffer in enumerate(program.buffers):
        rest = program.buffers[:n], program.buffers[n + 1 :]
        if buffer.slots > 1:
            yield Mutant("shallow", buffer.name, replace(program, buffers=(*rest[0], replace(buffer, slots=buffer.slots - 1), *rest[1])))
        for sort, how, barrier in _changed(buffer.empty) if buffer.empty is not None else ():
            changed = (*rest[0], replace(buffer, empty=barrier), *rest[1])
            yield Mutant(sort, f"empty barriers of {buffer.name}{how}", replace(program, buffers=changed))


def _channels(program: PipelinedProgram) -> Iterator[Mutant]:
    for n, channel in enumerate(program.channels):
        for sort, how, barrier in _changed(channel.full):
            changed = (*program.channels[:n], replace(channel, full=barrier), *program.channels[n + 1 :])
            yield Mutant(sort, f"full barriers of {channel.name}{how}", replace(program, channels=changed))


def waits(program: PipelinedProgram) -> int:
    """Instructions on which groups wait."""
    return sum(isinstance(i, (Acquire, Wait, Await)) for group in program.groups for i in group.body)
