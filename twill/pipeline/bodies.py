"""The body of every group's loop: ops, and the instructions that hand values over, in program order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise

from twill.pipeline.places import Place, Places
from twill.pipeline.program import (
    Acquire,
    Arrive,
    Await,
    Barrier,
    Buffer,
    By,
    Channel,
    Fence,
    Instruction,
    Issue,
    Part,
    Pass,
    Queue,
    Read,
    Receive,
    Release,
    Send,
    Take,
    Token,
    Wait,
)
from twill.pipeline.rings import SMEM, Ring, Use


class Turn(IntEnum):
    """Order of what stands at one place."""

    PASS = 0
    AWAIT = 1
    ACQUIRE = 2
    WAIT = 3
    RECEIVE = 4
    GIVE_BACK = 5
    TAKE = 6
    ANSWER = 7
    ANNOUNCE = 8
    ISSUE = 9
    FENCE = 10
    ARRIVE = 11
    RELEASE = 12


Make = Callable[[int, int], Instruction]
"""An instruction from its stage and cycle."""


@dataclass
class Bodies:
    """Instructions of all groups, as they are found."""

    at: Places
    entries: dict[int, list[tuple[tuple[int, int, int, int, int, int], Instruction]]] = field(default_factory=dict)

    def add(self, group: int, place: Place, turn: Turn, make: Make) -> None:
        """Put an instruction of `group` at `place`."""
        stage, slot = self.at.tl.turn(group, place.time)
        mine = self.entries.setdefault(group, [])
        mine.append(((slot, place.fixed, place.rank, place.phase, turn, len(mine)), make(stage, place.time)))

    def body(self, group: int) -> tuple[Instruction, ...]:
        """The body of a group, complete.  A group that takes tokens before its first op begins its turns as much earlier."""
        ordered = [instruction for _, instruction in sorted(self.entries.get(group, []), key=lambda entry: entry[0])]
        early = min((i.stage for i in ordered), default=0)
        shifted = [replace(i, stage=i.stage - early) for i in ordered] if early < 0 else ordered
        return tuple(replace(i, pending=_pending(shifted, n)) if isinstance(i, Await) else i for n, i in enumerate(shifted))


def _pending(body: list[Instruction], n: int) -> int:
    """Ops of the queue that are issued between an op and the wait for it."""
    wait = body[n]
    assert isinstance(wait, Await)
    issues = [(k, i) for k, i in enumerate(body) if isinstance(i, Issue) and i.queue is wait.queue]
    if not wait.queue.ordered:
        return 0
    begin = next(i.stage * len(body) + k for k, i in issues if i.op == wait.op)
    end = wait.stage * len(body) + n
    return sum(-(-(end - k) // len(body)) - ((begin - k) // len(body) + 1) for k, _ in issues)


# ------------------------------------------------------------------------------------------------------------------------ ops
def add_ops(bodies: Bodies, rings: tuple[Ring, ...]) -> None:
    """Every op with what it reads and writes, and the waits of groups for their own asynchronous ops."""
    at, tl = bodies.at, bodies.at.tl
    into = {value: ring.name for ring in rings if ring.memory and not ring.copied for value in ring.values}
    for op in tl.problem.ops:
        reads = tuple(
            Read(dep.src, dep.distance, into.get(dep.src, ""))
            for dep in tl.problem.dependences
            if dep.dst == op.name and dep.carries_value and (tl.ops[dep.src].registers or dep.src in into)
        )
        queue = tl.queues[op.name]
        make = _issue(op.name, queue, reads, into.get(op.name, ""))
        bodies.add(tl.group[op.name], at.at(op.name, 0), Turn.ISSUE, make)
    for name, place in at.awaits.items():
        bodies.add(tl.group[name], place, Turn.AWAIT, _await(name, tl.queues[name]))


def _issue(op: str, queue: Queue, reads: tuple[Read, ...], into: str) -> Make:
    return lambda stage, cycle: Issue(stage, cycle, op, queue, reads, into)


def _await(op: str, queue: Queue) -> Make:
    return lambda stage, cycle: Await(stage, cycle, op, queue, 0)


# ---------------------------------------------------------------------------------------------------------------------- rings
@dataclass(frozen=True)
class Filler:
    """How an instance of `value` gets into its ring: where that is begun, and who says that it is there."""

    value: str
    begin: Place
    ready: Place
    by: By


def add_ring(bodies: Bodies, ring: Ring) -> tuple[Buffer, tuple[Channel, ...]]:
    """Everything about one ring: taking slots, filling, waiting, giving back.  Returns the ring and the channels of its values."""
    tl = bodies.at.tl
    fillers = [_filler(bodies.at, ring, value) for value in ring.values]
    parts = tuple(Part(value, 0, tl.ops[value].footprint(ring.memory) if not ring.copied else ring.slot) for value in ring.values)
    empty = _add_releases(bodies, ring)
    if empty is not None:
        bodies.add(ring.group, replace(fillers[0].begin, phase=-1), Turn.ACQUIRE, lambda stage, cycle: Acquire(stage, cycle, ring.name))
    if ring.copied:
        value = ring.values[0]
        bodies.add(ring.group, fillers[0].begin, Turn.ISSUE, lambda stage, cycle: Send(stage, cycle, value, ring.name))
    channels = [channel for filler in fillers if (channel := _add_channel(bodies, ring, filler)) is not None]
    for filler in fillers:
        _add_fence(bodies, ring, filler)
    return Buffer(ring.name, ring.memory, ring.slot, ring.slots, parts if ring.memory else (), empty=empty), tuple(channels)


def _filler(at: Places, ring: Ring, value: str) -> Filler:
    tl = at.tl
    if ring.copied:
        return Filler(value, at.at_copy(ring, 0), at.at_copy(ring, 1), By.THREADS)
    queue = tl.queues[value]
    if queue is Queue.TMA:
        return Filler(value, at.at(value, 0), at.at(value, -1), By.BYTES)
    by = {Queue.COPY: By.COPIES, Queue.TENSOR: By.COMMIT}.get(queue, By.THREADS)
    return Filler(value, at.at(value, 0), at.awaits[value] if queue.own else at.at(value, 1), by)


def _add_channel(bodies: Bodies, ring: Ring, filler: Filler) -> Channel | None:
    """The channel of a value, when some group must be told that an instance is there."""
    tl = bodies.at.tl
    by_barrier = tl.queues[filler.value] in (Queue.TMA, Queue.COPY, Queue.TENSOR) and not ring.copied
    group = tl.group[filler.value]
    uses = [u for u in ring.uses if u.value == filler.value and (u.group != group or (by_barrier and u.blocking))]
    if not uses:
        return None
    name = ring.name if filler.value == ring.values[0] else filler.value
    size = tl.ops[filler.value].footprint(ring.memory) if filler.by is By.BYTES else 0
    count = {By.THREADS: tl.width[group], By.COPIES: 32 * tl.width[group]}.get(filler.by, 1)
    turn = Turn.ANNOUNCE if filler.by is By.BYTES else Turn.ARRIVE
    op = filler.value if filler.by is not By.THREADS else ""
    bodies.add(group, filler.ready, turn, lambda stage, cycle: Arrive(stage, cycle, name, filler.by, count, size, op))
    consumers = tuple(sorted({use.group for use in uses}))
    for consumer in consumers:
        first = min(bodies.at.at(use.op, -1, use.distance) for use in uses if use.group == consumer)
        bodies.add(consumer, first, Turn.WAIT, lambda stage, cycle: Wait(stage, cycle, name))
        if ring.copied:
            bodies.add(consumer, first, Turn.RECEIVE, lambda stage, cycle: Receive(stage, cycle, filler.value, ring.name))
    return Channel(name, (filler.value,), ring.name, group, consumers, Barrier(count, size))


def _add_releases(bodies: Bodies, ring: Ring) -> Barrier | None:
    """Every group gives an instance back after its last use; the barrier that it then arrives on, None when nobody needs to know."""
    tl = bodies.at.tl
    by_tensor = [use for use in ring.readers if ring.memory and tl.queues[use.op] is Queue.TENSOR]
    told = by_tensor if tl.queues[ring.values[0]] is not Queue.TENSOR or ring.copied else []
    if not ring.crossing and not told:
        return None
    arrivals = 0
    for group in sorted({use.group for use in ring.readers}):
        mine = [use for use in ring.readers if use.group == group]
        places = [_over(bodies.at, ring, use) for use in mine if use not in by_tensor]
        commits = [_over(bodies.at, ring, use) for use in mine if use in by_tensor]
        if places:
            arrivals += tl.width[group]
            turn = Turn.GIVE_BACK if max(places).phase == -1 else Turn.RELEASE
            bodies.add(group, max(places), turn, _release(ring.name, By.THREADS, tl.width[group]))
        if commits:
            arrivals += 1
            bodies.add(group, max(commits), Turn.RELEASE, _release(ring.name, By.COMMIT, 1))
    return Barrier(arrivals, parity=1)


def _release(buffer: str, by: By, count: int) -> Make:
    return lambda stage, cycle: Release(stage, cycle, buffer, by, count)


def _over(at: Places, ring: Ring, use: Use) -> Place:
    """Where a group needs an instance no longer: a copy or an order at its first use, anything else when the op is done."""
    if ring.copied or not ring.memory:
        return min(at.at(other.op, -1, other.distance) for other in ring.readers if other.group == use.group)
    return at.done(use)


def _add_fence(bodies: Bodies, ring: Ring, filler: Filler) -> None:
    """What the threads of a group write for themselves is visible to all of them, and to asynchronous units, behind a fence.

    Threads read from tensor memory what they wrote there themselves.
    """
    tl = bodies.at.tl
    if not ring.memory or ring.copied or tl.queues[filler.value] is not Queue.NONE:
        return
    mine = [use for use in ring.uses if use.value == filler.value and use.group == ring.group]
    if any(ring.memory == SMEM or tl.queues[use.op] is not Queue.NONE for use in mine):
        bodies.add(ring.group, bodies.at.at(filler.value, 1), Turn.FENCE, lambda stage, cycle: Fence(stage, cycle, ring.name))


# --------------------------------------------------------------------------------------------------------------------- tokens
def add_tokens(bodies: Bodies, tokens: tuple[Token, ...]) -> None:
    """Passing a token right after its op was issued, and taking it right before the other one is.

    A token that answers another one is passed when that was taken, and taken before that is passed for the next iteration.
    """
    at = bodies.at
    named = {token.name: token for token in tokens}
    for token in tokens:
        passed, taken = at.at(token.before, 1), at.at(token.after, -1, token.distance)
        if token.answers:
            passed = at.at(token.before, -1, named[token.answers].distance)
        bodies.add(token.giver, passed, Turn.ANSWER if token.answers else Turn.PASS, _pass(token.name))
        bodies.add(token.taker, taken, Turn.TAKE, _take(token.name))


def _pass(token: str) -> Make:
    return lambda stage, cycle: Pass(stage, cycle, token)


def _take(token: str) -> Make:
    return lambda stage, cycle: Take(stage, cycle, token)


def add_guards(bodies: Bodies, rings: Iterable[Ring], buffers: Iterable[Buffer]) -> None:
    """A fence before a slot is written that threads of the same group might still read.

    Threads that write to tensor memory overwrite only what they read themselves.  None where there is one between the last read of a
    slot and the write anyway, or an empty barrier that all of them arrive on.
    """
    told = {buffer.name for buffer in buffers if buffer.empty is not None}
    for ring in rings:
        if not ring.memory or ring.copied:
            continue
        if ring.name not in told:
            _add_guard(bodies, ring, ring.values[0], ring.readers, ring.slots)
        for value, after in pairwise(ring.values):
            _add_guard(bodies, ring, after, [use for use in ring.readers if use.value == value], 0)


def _add_guard(bodies: Bodies, ring: Ring, writer: str, uses: Iterable[Use], later: int) -> None:
    """A fence between what threads of the writer's group read and the write `later` iterations later, unless there is one."""
    tl = bodies.at.tl
    group = tl.group[writer]
    readers = [use for use in uses if tl.queues[use.op] is Queue.NONE and use.group == group]
    if not readers or (tl.queues[writer] is Queue.NONE and ring.memory != SMEM):
        return
    body = bodies.body(group)
    at, turn = positions(body), len(body)
    read = max(at[use.op] + use.distance * turn for use in readers)
    written = at[writer] + later * turn
    fences = [i.stage * turn + n for n, i in enumerate(body) if isinstance(i, Fence)]
    # Only fences of iterations that there are whenever the slot is written again.
    if not any(read < fence + k * turn < written for fence in fences for k in range(later + 1)):
        bodies.add(group, bodies.at.at(writer, -1), Turn.FENCE, lambda stage, cycle: Fence(stage, cycle, ring.name))


def stages(body: tuple[Instruction, ...]) -> int:
    """Stages of a body."""
    return 1 + max((instruction.stage for instruction in body), default=0)


def positions(body: tuple[Instruction, ...]) -> Mapping[str, int]:
    """Where each op is issued, counted in instructions from the beginning of the turn that works on iteration 0 in stage 0."""
    return {i.op: i.stage * len(body) + n for n, i in enumerate(body) if isinstance(i, Issue)}
